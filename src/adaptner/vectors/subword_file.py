"""Word vectors of our own in one file: packed rows of words and of n-grams (see docs/vectors.md).

A safetensors file: numbers and words and nothing that could run. What it says of itself is checked
against what it holds before anything is believed.
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
FORMAT_NAME, FORMAT_NUMBER = "adaptner subword vectors", 2  # 2 is 1 with what names mean
_TENSORS = ("words", "table", "table_scale", "grams", "grams_scale")
_SENSES = ("sense_names", "sense_directions", "sense_middle")  # all of them or none
_OWN = ("format", "format_number", "width", "min_gram", "max_gram", "lower")  # the rest are facts

SubwordFileContent = tuple[
    tuple[str, ...], FourBitTable, NgramVectors, dict[str, str], LabelDirections | None
]


def write_subwords(
    path: Path,
    words: Sequence[str],
    table: FourBitTable,
    grams: NgramVectors,
    facts: Mapping[str, str],
    senses: LabelDirections | None = None,
) -> None:
    about = {
        "format": FORMAT_NAME,
        "format_number": str(1 if senses is None else 2),
        "width": str(table.shape[1]),
        "min_gram": str(grams.least),
        "max_gram": str(grams.most),
        "lower": json.dumps(grams.lower),
        **facts,
    }
    tensors = {
        "words": _as_bytes(words),
        "table": table.packed,
        "table_scale": table.scale,
        "grams": grams.table.packed,
        "grams_scale": grams.table.scale,
    }
    if senses is not None:
        told = (_as_bytes(senses.names), senses.directions, senses.middle)
        tensors.update(zip(_SENSES, told, strict=True))
    tensors = {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}
    with atomic_file(path, "wb") as file:
        file.write(_sorted_header(save(tensors, about)))


def read_subwords(path: Path) -> SubwordFileContent:
    """Words, their rows, the n-grams, the facts of their making, and what names mean."""
    try:
        with safe_open(path, "numpy") as file:
            about = file.metadata() or {}
            _check_format(path, about)
            kept = {*_TENSORS, *_SENSES} if _SENSES[0] in file.keys() else _TENSORS  # noqa: SIM118
            tensors = {name: file.get_tensor(name) for name in kept}
        words = _as_words(tensors["words"])
        table = FourBitTable(tensors["table"], tensors["table_scale"])
        rows = FourBitTable(tensors["grams"], tensors["grams_scale"])
        limits = int(about["min_gram"]), int(about["max_gram"])
        grams = NgramVectors(rows, *limits, lower=bool(json.loads(about["lower"])))
        widths = {int(about["width"]), table.shape[1], rows.shape[1]}
        senses = None
        if _SENSES[0] in tensors:
            names, directions, middle = (tensors[name] for name in _SENSES)
            senses = LabelDirections(_as_words(names), directions, middle)
            widths |= {directions.shape[1], len(middle)}
    except UnicodeDecodeError as error:
        raise BadVectors(file=path, reason="its words are not UTF-8") from error
    except (SafetensorError, ValueError, KeyError, TypeError, OSError) as error:
        raise BadVectors(file=path, reason=f"damaged or cut off ({error})") from error
    if len(words) != len(table) or len(set(words)) != len(words):
        reason = f"{len(set(words))} different words for {len(table)} rows"
        raise BadVectors(file=path, reason=reason)
    if senses is not None and len(senses.names) != len(senses.directions):
        reason = f"{len(senses.names)} names for {len(senses.directions)} directions"
        raise BadVectors(file=path, reason=reason)
    if len(widths) > 1 or not table.shape[1]:
        said = ", ".join(map(str, sorted(widths)))
        raise BadVectors(file=path, reason=f"rows of different widths ({said})")
    if not (np.isfinite(table.scale).all() and np.isfinite(rows.scale).all()):
        raise BadVectors(file=path, reason="it holds numbers that are not finite")
    facts = {name: value for name, value in about.items() if name not in _OWN}
    return words, table, grams, facts, senses


def _as_bytes(words: Sequence[str]) -> np.ndarray:
    return np.frombuffer("\n".join(words).encode(), dtype=np.uint8)


def _as_words(content: np.ndarray) -> tuple[str, ...]:
    return tuple(bytes(content).decode().split("\n")) if len(content) else ()


def _check_format(path: Path, about: Mapping[str, str]) -> None:
    if about.get("format") != FORMAT_NAME:
        reason = (
            f"a safetensors file, but not of {FORMAT_NAME}; make one with `adaptner vectors train`"
        )
        raise BadVectors(file=path, reason=reason)
    if int(about.get("format_number", "0")) > FORMAT_NUMBER:
        raise BadVectors(file=path, reason="written by a newer adaptner: upgrade this one")


def _sorted_header(content: bytes) -> bytes:
    """The same file with its header in a fixed order: safetensors writes metadata in any order, and
    a saved model must have the same bytes each time."""
    length = int.from_bytes(content[:8], "little")
    header = json.dumps(
        json.loads(content[8 : 8 + length]),
        ensure_ascii=False,
        sort_keys=True,
        separators=(",", ":"),
    ).encode()
    header += b" " * (-len(header) % 8)  # the tensors begin at a multiple of eight
    return len(header).to_bytes(8, "little") + header + content[8 + length :]
