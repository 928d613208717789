"""Reads and writes subword vectors in a safetensors file (format: docs/vectors.md).

The file contains packed rows of words and n-grams, and no code. Its metadata are checked against its
tensors.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from adaptner.errors import BadVectors
from adaptner.files import atomic_file
from adaptner.vectors.four_bit import FourBitTable
from adaptner.vectors.label_directions import LabelDirections
from adaptner.vectors.ngrams import NgramVectors

ENDING = ".safetensors"
FORMAT_NAME, FORMAT_NUMBER = "adaptner subword vectors", 2  # 2 has label directions
_TENSORS = ("words", "table", "table_scale", "grams", "grams_scale")
_DIRECTIONS = ("sense_names", "sense_directions", "sense_middle")  # all or none
# Other keys are facts.
_FORMAT_KEYS = ("format", "format_number", "width", "min_gram", "max_gram", "lower")

SubwordFileContent = tuple[
    tuple[str, ...], FourBitTable, NgramVectors, dict[str, str], LabelDirections | None
]


def write_subwords(
    path: Path,
    words: Sequence[str],
    table: FourBitTable,
    grams: NgramVectors,
    facts: Mapping[str, str],
    directions: LabelDirections | None = None,
) -> None:
    metadata = {
        "format": FORMAT_NAME,
        "format_number": str(1 if directions is None else 2),
        "width": str(table.shape[1]),
        "min_gram": str(grams.least),
        "max_gram": str(grams.most),
        "lower": json.dumps(grams.lower),
        **facts,
    }
    tensors = {
        "words": _join(words),
        "table": table.packed,
        "table_scale": table.scale,
        "grams": grams.table.packed,
        "grams_scale": grams.table.scale,
    }
    if directions is not None:
        values = (_join(directions.names), directions.directions, directions.middle)
        tensors.update(zip(_DIRECTIONS, values, strict=True))
    tensors = {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}
    with atomic_file(path, "wb") as file:
        file.write(_sorted_header(save(tensors, metadata)))


def read_subwords(path: Path) -> SubwordFileContent:
    """Returns words, their table, n-grams, facts, and label directions; raises BadVectors."""
    try:
        with safe_open(path, "numpy") as file:
            metadata = file.metadata() or {}
            _check_format(path, metadata)
            has_directions = _DIRECTIONS[0] in file.keys()  # noqa: SIM118
            names = {*_TENSORS, *_DIRECTIONS} if has_directions else _TENSORS
            tensors = {name: file.get_tensor(name) for name in names}
        words = _split(tensors["words"])
        table = FourBitTable(tensors["table"], tensors["table_scale"])
        rows = FourBitTable(tensors["grams"], tensors["grams_scale"])
        lengths = int(metadata["min_gram"]), int(metadata["max_gram"])
        grams = NgramVectors(rows, *lengths, lower=bool(json.loads(metadata["lower"])))
        widths = {int(metadata["width"]), table.shape[1], rows.shape[1]}
        directions = None
        if has_directions:
            labels, rows_of_labels, middle = (tensors[name] for name in _DIRECTIONS)
            directions = LabelDirections(_split(labels), rows_of_labels, middle)
            widths |= {rows_of_labels.shape[1], len(middle)}
    except UnicodeDecodeError as error:
        raise BadVectors(file=path, reason="the words are not UTF-8") from error
    except (SafetensorError, ValueError, KeyError, TypeError, OSError) as error:
        raise BadVectors(file=path, reason=f"damaged or truncated ({error})") from error
    if len(words) != len(table) or len(set(words)) != len(words):
        reason = f"{len(set(words))} different words for {len(table)} rows"
        raise BadVectors(file=path, reason=reason)
    if directions is not None and len(directions.names) != len(directions.directions):
        reason = f"{len(directions.names)} names for {len(directions.directions)} directions"
        raise BadVectors(file=path, reason=reason)
    if len(widths) > 1 or not table.shape[1]:
        reason = f"rows of different widths ({', '.join(map(str, sorted(widths)))})"
        raise BadVectors(file=path, reason=reason)
    if not (np.isfinite(table.scale).all() and np.isfinite(rows.scale).all()):
        raise BadVectors(file=path, reason="it contains numbers that are not finite")
    facts = {name: value for name, value in metadata.items() if name not in _FORMAT_KEYS}
    return words, table, grams, facts, directions


def _join(words: Sequence[str]) -> np.ndarray:
    return np.frombuffer("\n".join(words).encode(), dtype=np.uint8)


def _split(content: np.ndarray) -> tuple[str, ...]:
    return tuple(bytes(content).decode().split("\n")) if len(content) else ()


def _check_format(path: Path, metadata: Mapping[str, str]) -> None:
    if metadata.get("format") != FORMAT_NAME:
        reason = f"a safetensors file without {FORMAT_NAME}; make one with `adaptner vectors train`"
        raise BadVectors(file=path, reason=reason)
    if int(metadata.get("format_number", "0")) > FORMAT_NUMBER:
        raise BadVectors(file=path, reason="written by a newer version; upgrade adaptner")


def _sorted_header(content: bytes) -> bytes:
    """Sorts the header, because safetensors writes metadata in random order.

    A saved model must have the same bytes each time.
    """
    length = int.from_bytes(content[:8], "little")
    header = json.dumps(
        json.loads(content[8 : 8 + length]),
        ensure_ascii=False,
        sort_keys=True,
        separators=(",", ":"),
    ).encode()
    header += b" " * (-len(header) % 8)  # tensors begin at a multiple of eight
    return len(header).to_bytes(8, "little") + header + content[8 + length :]
