"""Word vectors: look-up, and reading and writing the usual files.

The table is a numpy array, memory-mapped if possible, or a table packed at four bits. A batch copies
only the rows it needs, so that a large table needs little memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import numpy as np

from adaptner.errors import BadVectors, FileMissing
from adaptner.files import atomic_file
from adaptner.vectors.four_bit import FourBitTable
from adaptner.vectors.label_directions import LabelDirections
from adaptner.vectors.ngrams import NgramVectors
from adaptner.vectors.subword_file import ENDING, read_subwords, write_subwords

_FASTTEXT_MAGIC = 793712314


@dataclass(frozen=True)
class WordVectors:
    """Row i of ``table`` is the vector of ``words[i]``; ``grams`` give vectors to other words."""

    words: tuple[str, ...]
    table: np.ndarray | FourBitTable
    grams: NgramVectors | None = None
    facts: Mapping[str, str] = field(default_factory=dict)  # how subword vectors were made
    directions: LabelDirections | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "_rows", {w: i for i, w in enumerate(self.words)})

    @property
    def width(self) -> int:
        return int(self.table.shape[1])

    def row(self, word: str) -> int:
        """Returns the row of the word or its lower-case form, or the number of words if unknown."""
        rows: dict[str, int] = self._rows  # type: ignore[attr-defined]
        found = rows.get(word)
        if found is None:
            found = rows.get(word.lower(), len(self.words))
        return found

    def pieces(self, word: str) -> np.ndarray | None:
        """Returns the rows of ``grams`` whose mean is the vector of an unknown word.

        Returns None if the word is known or has no n-grams.
        """
        if self.grams is None or self.row(word) < len(self.words):
            return None
        rows = self.grams.rows(word)
        return rows if len(rows) else None

    def vector(self, word: str) -> np.ndarray | None:
        """Returns the vector of the word, or None if it has none."""
        row = self.row(word)
        if row < len(self.words):
            return np.asarray(self.table[row], dtype=np.float32)
        pieces = self.pieces(word)
        if pieces is None:
            return None
        assert self.grams is not None
        return np.asarray(self.grams.table[pieces].mean(axis=0))

    def digest(self) -> str:
        """Returns a SHA-256 of words and vectors."""
        state = sha256("\n".join(self.words).encode())
        table = self.table
        if isinstance(table, FourBitTable):
            state.update(table.tobytes())
        else:
            state.update(np.ascontiguousarray(table).tobytes())
        if self.grams is not None:
            state.update(repr((self.grams.least, self.grams.most, self.grams.lower)).encode())
            state.update(self.grams.table.tobytes())
        return state.hexdigest()

    @classmethod
    def random(
        cls,
        sentences: Iterable[Iterable[str]],
        width: int,
        rng: np.random.Generator,
        least: int = 2,
    ) -> WordVectors:
        """Returns random vectors for the lower-cased words that occur at least ``least`` times.

        Rarer words stay unknown, so that the vector of unknown words is trained, too.
        """
        counts = Counter(w.lower() for s in sentences for w in s)
        words = tuple(sorted(w for w, c in counts.items() if c >= least))
        return cls(words, rng.normal(0, 0.1, (len(words), width)).astype(np.float32))


def read_vectors(path: str | Path) -> WordVectors:
    """Reads ``.safetensors`` (adaptner), ``.npy`` with ``.vocab.txt``, ``.bin`` (word2vec), or text.

    Text may have a header line (word2vec, fastText) or none (GloVe). Raises BadVectors.
    """
    path = Path(path)
    if not path.is_file():
        hint = "give a .safetensors, .npy, .vec, .txt, or .bin file"
        raise FileMissing(file=path, hint=hint)
    if path.suffix == ENDING:
        return WordVectors(*read_subwords(path))
    if path.suffix == ".npy":
        return _read_pair(path)
    if path.suffix == ".bin":
        return _read_binary(path)
    return _read_text(path)


def _read_pair(path: Path) -> WordVectors:
    vocabulary = path.with_suffix(".vocab.txt")
    if not vocabulary.is_file():
        raise BadVectors(file=path, reason=f"its word list {vocabulary.name} is missing")
    try:
        table = np.load(path, mmap_mode="r", allow_pickle=False)
        words = vocabulary.read_bytes().decode().split("\n")
    except UnicodeDecodeError as error:
        raise BadVectors(file=path, reason=f"{vocabulary.name} is not UTF-8") from error
    except (ValueError, EOFError, OSError) as error:
        raise BadVectors(file=path, reason=f"unreadable array ({error})") from error
    if not isinstance(table, np.ndarray) or not np.issubdtype(table.dtype, np.floating):
        raise BadVectors(file=path, reason="not an array of floating-point numbers")
    if words and words[-1] == "":
        words.pop()
    if table.ndim != 2 or len(words) != len(table):
        raise BadVectors(file=path, reason=f"array of shape {table.shape} for {len(words)} words")
    return WordVectors(tuple(words), table)


def _read_text(path: Path) -> WordVectors:
    words: list[str] = []
    rows: list[np.ndarray] = []
    expected, width = None, 0
    with open(path, encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            parts = line.rstrip("\n").rstrip(" ").split(" ")
            if number == 1 and len(parts) == 2 and all(p.isdigit() for p in parts):
                # word2vec and fastText begin with the number of rows and columns.
                expected, width = map(int, parts)
                continue
            width = width or len(parts) - 1
            # Words of GloVe 840B may contain spaces, so count numbers from the right.
            try:
                rows.append(np.array(parts[-width:], dtype=np.float32))
            except ValueError as error:
                raise BadVectors(
                    file=path, line=number, reason="not a word and its vector"
                ) from error
            if width < 1 or len(parts) <= width:
                raise BadVectors(file=path, line=number, reason=f"fewer than {width} numbers")
            words.append(" ".join(parts[:-width]))
    if not words:
        raise BadVectors(file=path, reason="it contains no vectors")
    if expected not in (None, len(words)):
        reason = f"it contains {len(words)} words, but its first line says {expected}"
        raise BadVectors(file=path, reason=reason)
    return WordVectors(tuple(words), np.stack(rows))


def _read_binary(path: Path) -> WordVectors:
    content = path.read_bytes()
    if int.from_bytes(content[:4], "little") == _FASTTEXT_MAGIC:
        raise BadVectors(file=path, reason="it is a fastText model; give its .vec file")
    end = content.find(b"\n", 0, 100)
    try:
        count, width = map(int, content[:end].split())
    except ValueError as error:
        raise BadVectors(file=path, reason="it has no word2vec header") from error
    # A damaged header must not cause an allocation of terabytes.
    if count < 1 or width < 1 or count * (4 * width + 1) > len(content):
        raise BadVectors(file=path, reason=f"too short for {count} words of {width} numbers")
    words: list[str] = []
    table = np.empty((count, width), dtype=np.float32)
    at = end + 1
    for i in range(count):
        space = content.find(b" ", at)
        stop = space + 1 + 4 * width
        if space < 0 or stop > len(content):
            raise BadVectors(file=path, reason=f"ends after {i} of {count} words")
        words.append(content[at:space].decode("utf-8", errors="replace").lstrip("\n"))
        table[i] = np.frombuffer(content, dtype="<f4", count=width, offset=space + 1)
        at = stop
    return WordVectors(tuple(words), table)


def write_vectors(vectors: WordVectors, path: Path) -> None:
    """Writes vectors with n-grams to ``.safetensors``, others to ``.npy`` and ``.vocab.txt``.

    Existing files are replaced, not modified, because models may share or map them.
    """
    if path.suffix == ENDING:
        assert isinstance(vectors.table, FourBitTable)
        assert vectors.grams is not None
        content = (vectors.words, vectors.table, vectors.grams, vectors.facts, vectors.directions)
        write_subwords(path, *content)
        return
    with atomic_file(path, "wb") as file:
        np.save(file, np.asarray(vectors.table, dtype=np.float32), allow_pickle=False)
    # Bytes preserve words such as "\r" and "\x85".
    with atomic_file(path.with_suffix(".vocab.txt"), "wb") as file:
        file.write("".join(f"{w}\n" for w in vectors.words).encode())
