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
from adaptner.nn.four_bit import FourBit
from adaptner.nn.grams import Grams

ENDING = ".safetensors"
FORMAT_NAME, FORMAT_NUMBER = "adaptner subword vectors", 1
_TENSORS = ("words", "table", "table_scale", "grams", "grams_scale")
_OWN = ("format", "format_number", "width", "min_gram", "max_gram", "lower")  # the rest are facts

Content = tuple[tuple[str, ...], FourBit, Grams, dict[str, str]]


def write_subwords(
    path: Path, words: Sequence[str], table: FourBit, grams: Grams, facts: Mapping[str, str]
) -> None:
    about = {
        "format": FORMAT_NAME,
        "format_number": str(FORMAT_NUMBER),
        "width": str(table.shape[1]),
        "min_gram": str(grams.least),
        "max_gram": str(grams.most),
        "lower": json.dumps(grams.lower),
        **facts,
    }
    tensors = {
        "words": np.frombuffer("\n".join(words).encode(), dtype=np.uint8),
        "table": table.packed,
        "table_scale": table.scale,
        "grams": grams.table.packed,
        "grams_scale": grams.table.scale,
    }
    tensors = {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}
    with atomic_file(path, "wb") as file:
        file.write(_sorted_header(save(tensors, about)))


def read_subwords(path: Path) -> Content:
    """Words, their rows, the n-grams, and the facts of their making."""
    try:
        with safe_open(path, "numpy") as file:
            about = file.metadata() or {}
            _check_format(path, about)
            tensors = {name: file.get_tensor(name) for name in _TENSORS}
        words = tuple(bytes(tensors["words"]).decode().split("\n"))
        table = FourBit(tensors["table"], tensors["table_scale"])
        rows = FourBit(tensors["grams"], tensors["grams_scale"])
        limits = int(about["min_gram"]), int(about["max_gram"])
        grams = Grams(rows, *limits, lower=bool(json.loads(about["lower"])))
        widths = {int(about["width"]), table.shape[1], rows.shape[1]}
    except UnicodeDecodeError as error:
        raise BadVectors(file=path, reason="its words are not UTF-8") from error
    except (SafetensorError, ValueError, KeyError, TypeError, OSError) as error:
        raise BadVectors(file=path, reason=f"damaged or cut off ({error})") from error
    if len(words) != len(table) or len(set(words)) != len(words):
        reason = f"{len(set(words))} different words for {len(table)} rows"
        raise BadVectors(file=path, reason=reason)
    if len(widths) > 1 or not table.shape[1]:
        said = ", ".join(map(str, sorted(widths)))
        raise BadVectors(file=path, reason=f"rows of different widths ({said})")
    if not (np.isfinite(table.scale).all() and np.isfinite(rows.scale).all()):
        raise BadVectors(file=path, reason="it holds numbers that are not finite")
    facts = {name: value for name, value in about.items() if name not in _OWN}
    return words, table, grams, facts


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
