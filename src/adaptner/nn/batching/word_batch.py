"""Batches for an encoder that reads word vectors and characters: every distinct word of a task once,
and where it stands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from adaptner.nn.batching.batch import Batch, Batcher, SortedSentences, on_device
from adaptner.nn.batching.word_shapes import SHAPE_FEATURES, word_shape
from adaptner.nn.rnn.packing import Packing
from adaptner.types import LabelSet, Sentence
from adaptner.vectors.word_vectors import WordVectors

UNKNOWN_CHAR = 1  # 0 is padding
# Of longer words the first and last halves are read: endings carry the type, and sequences of
# hundreds of letters would otherwise set the width of the whole batch.
MAX_WORD_LENGTH = 32
MAX_CACHED_WORDS = 200_000  # words; bounded, whatever a user tags


@dataclass(frozen=True)
class NgramRows:
    """The n-grams of the words that have no row in the word vectors, one word after another."""

    stays_on_cpu: ClassVar[bool] = True  # as the table of n-grams does, which numpy reads

    rows: Tensor  # (P,) in the table of n-grams
    starts: Tensor  # (U,) where each word's begin in ``rows``
    places: Tensor  # (U,) where the word is in the flattened (G, W)


@dataclass(frozen=True)
class WordBatch(Batch):
    """``rows`` (G, W): of each distinct word in the word vectors."""

    chars: Tensor  # (G, W, C)
    shapes: Tensor  # (G, W, KINDS), each 0 or 1
    char_packing: Packing
    index: Tensor  # (G, B, L) which distinct word stands where
    packing: Packing
    pieces: NgramRows | None = None  # with vectors that have n-grams, if a word here needs them
    numbers: np.ndarray | None = None  # (G, W) of the distinct words in ``known``
    known: WordIndex | None = None

    def select_words(self, places: np.ndarray) -> WordBatch:
        """The same, but of the distinct words there are only those at ``places``, in rising order:
        for what is about words alone."""
        assert self.known is not None
        assert self.numbers is not None
        numbers = self.numbers[:, places]
        spelled = {
            n: on_device(v, self.mask.device) for n, v in self.known.word_fields(numbers).items()
        }
        return replace(self, **spelled, numbers=numbers)


class WordIndex:
    """What is known of every word met so far, in arrays that a batch picks its rows from.

    Word 0 is the filler of tasks that have fewer distinct words than their neighbours."""

    def __init__(self) -> None:
        self.number: dict[str, int] = {"": 0}
        self.rows = np.zeros(1024, dtype=np.int64)
        self.lengths = np.ones(1024, dtype=np.int64)
        self.chars = np.zeros((1024, MAX_WORD_LENGTH), dtype=np.int64)
        self.shapes = np.zeros((1024, SHAPE_FEATURES), dtype=np.float32)
        # by number, for the words made up of n-grams; empty with vectors that have none
        self.pieces: dict[int, np.ndarray] = {}
        self._adding = Lock()

    def add(self, word: str, row: int, chars: list[int], pieces: np.ndarray | None = None) -> int:
        with self._adding:  # two threads must not give two words one number
            if word in self.number:
                return self.number[word]
            number = len(self.number)
            if number == len(self.rows):
                self.rows, self.lengths, self.chars, self.shapes = (
                    np.concatenate([a, np.zeros_like(a)])
                    for a in (self.rows, self.lengths, self.chars, self.shapes)
                )
            self.rows[number] = row
            self.lengths[number] = len(chars)
            self.chars[number, : len(chars)] = chars
            self.shapes[number] = word_shape(word)
            if pieces is not None:
                self.pieces[number] = pieces
            # last, so that another thread never finds a word whose arrays are not filled yet
            self.number[word] = number
            return number

    def word_fields(self, numbers: np.ndarray) -> dict[str, Any]:
        """The fields of a batch that are about words alone: of the words (G, W), longest first."""
        lengths = self.lengths[numbers]
        width = int(lengths.max())
        return {
            "rows": torch.from_numpy(self.rows[numbers]),
            "chars": torch.from_numpy(self.chars[numbers, :width]),
            "shapes": torch.from_numpy(self.shapes[numbers]),
            "char_packing": Packing.of(torch.from_numpy(lengths), width),
            "pieces": self.pieces_of(numbers),
        }

    def pieces_of(self, numbers: np.ndarray) -> NgramRows | None:
        """Those of the words ``numbers`` that are made up of n-grams."""
        if not self.pieces:
            return None
        found = [
            (place, self.pieces[number])
            for place, number in enumerate(numbers.ravel().tolist())
            if number in self.pieces
        ]
        if not found:
            return None
        places, rows = zip(*found, strict=True)
        starts = np.cumsum([0, *map(len, rows[:-1])])
        return NgramRows(
            rows=torch.from_numpy(np.concatenate(rows, dtype=np.int64)),
            starts=torch.from_numpy(starts),
            places=torch.tensor(places),
        )


class WordBatcher(Batcher):
    def __init__(self, vectors: WordVectors, alphabet: str) -> None:
        self.vectors = vectors
        self.alphabet = alphabet
        self._chars = {c: i + 2 for i, c in enumerate(alphabet)}
        self._words = WordIndex()

    def char_ids(self, word: str) -> list[int]:
        """The characters of a word that are read, as numbers."""
        half = MAX_WORD_LENGTH // 2
        read = word if len(word) <= MAX_WORD_LENGTH else word[:half] + word[-half:]
        return [self._chars.get(c, UNKNOWN_CHAR) for c in read]

    def __call__(
        self, tasks: Sequence[Sequence[Sentence]], labels: Sequence[LabelSet] | None = None
    ) -> WordBatch:
        batch = super().__call__(tasks, labels)
        assert isinstance(batch, WordBatch)
        return batch

    def restrict(
        self, sentences: Iterable[Sentence], words: Iterable[str] = ()
    ) -> tuple[Tensor, WordBatcher] | None:
        vectors, unknown = self.vectors, len(self.vectors.words)
        read = {vectors.row(word) for s in sentences for word in s.tokens}
        read.update(map(vectors.row, words))
        kept = sorted(read - {unknown})
        if len(kept) == unknown:
            return None
        fewer = WordVectors(  # without n-grams, which tuned vectors drop (see TunedWords)
            tuple(vectors.words[row] for row in kept),
            np.zeros((len(kept), vectors.width), dtype=np.float32),  # the values are in the encoder
        )
        return torch.tensor([*kept, unknown]), WordBatcher(fewer, self.alphabet)

    def _read(self, arranged: SortedSentences) -> WordBatch:
        words = self._words
        if len(words.number) > MAX_CACHED_WORDS:
            words = self._words = WordIndex()
        mask = arranged.mask
        distinct, places = [], []
        for task in arranged.tasks:
            number = self._numbers(words, task)
            unique, first, inverse = np.unique(number, return_index=True, return_inverse=True)
            # Words as long as each other stand as they come in the task, not as their numbers go:
            # those tell what was seen before, and dropout is drawn word by word in this order.
            longest_first = np.lexsort((first, -words.lengths[unique]))
            distinct.append(unique[longest_first])
            places.append(np.argsort(longest_first)[inverse])
        most = max(map(len, distinct))
        numbers = np.stack([np.pad(own, (0, most - len(own))) for own in distinct])
        index = np.zeros(mask.shape, dtype=np.int64)
        index[mask] = np.concatenate(places)
        return WordBatch(
            **words.word_fields(numbers),
            mask=torch.from_numpy(mask),
            tags=arranged.tags,
            order=arranged.order,
            index=torch.from_numpy(index),
            packing=Packing.of(torch.from_numpy(arranged.lengths), mask.shape[2]),
            numbers=numbers,
            known=words,
        )

    def _numbers(self, words: WordIndex, task: Sequence[Sentence]) -> np.ndarray:
        known = words.number
        found = []
        for sentence in task:
            for word in sentence.tokens:
                number = known.get(word)
                if number is None:
                    number = words.add(
                        word,
                        self.vectors.row(word),
                        self.char_ids(word),
                        self.vectors.pieces(word),
                    )
                found.append(number)
        return np.array(found)


def alphabet_of(sentences: Iterable[Sentence], least: int = 2) -> str:
    """The characters seen at least ``least`` times, sorted."""
    counts: Counter[str] = Counter()
    for sentence in sentences:
        counts.update(sentence.text)
    return "".join(sorted(c for c, n in counts.items() if n >= least and not c.isspace()))
