"""Batches for encoders that read word vectors and characters.

A batch holds every distinct word of a task once, and an index of where it occurs, so that each word is
encoded once.
"""

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
# Longer words are cut in the middle: endings carry the type, and a sequence of hundreds of letters
# would set the width of the whole batch.
MAX_WORD_LENGTH = 32
MAX_CACHED_WORDS = 200_000  # bounds the memory, however much text is tagged


@dataclass(frozen=True)
class NgramRows:
    """The n-grams of the words without a word vector, one word after another."""

    stays_on_cpu: ClassVar[bool] = True  # like the table of n-gram vectors

    rows: Tensor  # (P,) rows of the n-gram table
    starts: Tensor  # (U,) position in ``rows`` of the first n-gram of each word
    places: Tensor  # (U,) position of the word in the flattened (G, W)


@dataclass(frozen=True)
class WordBatch(Batch):
    """``rows`` (G, W): the row of each distinct word in the word vectors."""

    chars: Tensor  # (G, W, C)
    shapes: Tensor  # (G, W, SHAPE_FEATURES), 0 or 1
    char_packing: Packing
    index: Tensor  # (G, B, L) the distinct word at each token
    packing: Packing
    pieces: NgramRows | None = None  # None if no word here needs n-grams
    word_ids: np.ndarray | None = None  # (G, W) ids of the distinct words in ``word_index``
    word_index: WordIndex | None = None

    def select_words(self, places: np.ndarray) -> WordBatch:
        """This batch with only the distinct words at ``places`` (ascending), to compute what depends
        on words alone."""
        assert self.word_index is not None
        assert self.word_ids is not None
        word_ids = self.word_ids[:, places]
        fields = self.word_index.word_fields(word_ids)
        moved = {name: on_device(value, self.mask.device) for name, value in fields.items()}
        return replace(self, **moved, word_ids=word_ids)


class WordIndex:
    """Vector rows, characters and shapes of all words met so far, in arrays indexed by word id.

    Word 0 pads tasks that have fewer distinct words than others in their batch."""

    def __init__(self) -> None:
        self.ids: dict[str, int] = {"": 0}
        self.rows = np.zeros(1024, dtype=np.int64)
        self.lengths = np.ones(1024, dtype=np.int64)
        self.chars = np.zeros((1024, MAX_WORD_LENGTH), dtype=np.int64)
        self.shapes = np.zeros((1024, SHAPE_FEATURES), dtype=np.float32)
        # by word id, only for words without a vector that have n-grams
        self.pieces: dict[int, np.ndarray] = {}
        self._adding = Lock()

    def add(self, word: str, row: int, chars: list[int], pieces: np.ndarray | None = None) -> int:
        """The id of the word, which is new or was added by another thread meanwhile."""
        with self._adding:
            if word in self.ids:
                return self.ids[word]
            word_id = len(self.ids)
            if word_id == len(self.rows):
                self.rows, self.lengths, self.chars, self.shapes = (
                    np.concatenate([a, np.zeros_like(a)])
                    for a in (self.rows, self.lengths, self.chars, self.shapes)
                )
            self.rows[word_id] = row
            self.lengths[word_id] = len(chars)
            self.chars[word_id, : len(chars)] = chars
            self.shapes[word_id] = word_shape(word)
            if pieces is not None:
                self.pieces[word_id] = pieces
            # last, so that no other thread finds a word whose arrays are not filled yet
            self.ids[word] = word_id
            return word_id

    def word_fields(self, word_ids: np.ndarray) -> dict[str, Any]:
        """The fields of a ``WordBatch`` that depend on its words alone. ``word_ids`` (G, W), longest
        word first."""
        lengths = self.lengths[word_ids]
        width = int(lengths.max())
        return {
            "rows": torch.from_numpy(self.rows[word_ids]),
            "chars": torch.from_numpy(self.chars[word_ids, :width]),
            "shapes": torch.from_numpy(self.shapes[word_ids]),
            "char_packing": Packing.of(torch.from_numpy(lengths), width),
            "pieces": self._ngram_rows(word_ids),
        }

    def _ngram_rows(self, word_ids: np.ndarray) -> NgramRows | None:
        if not self.pieces:
            return None
        with_ngrams = [
            (place, self.pieces[word_id])
            for place, word_id in enumerate(word_ids.ravel().tolist())
            if word_id in self.pieces
        ]
        if not with_ngrams:
            return None
        places, rows = zip(*with_ngrams, strict=True)
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
        """The ids of a word's characters, at most ``MAX_WORD_LENGTH`` of them."""
        if len(word) > MAX_WORD_LENGTH:
            half = MAX_WORD_LENGTH // 2
            word = word[:half] + word[-half:]
        return [self._chars.get(c, UNKNOWN_CHAR) for c in word]

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
        used = {vectors.row(word) for s in sentences for word in s.tokens}
        used.update(map(vectors.row, words))
        rows = sorted(used - {unknown})
        if len(rows) == unknown:
            return None
        restricted = WordVectors(  # no n-grams: trainable embeddings have none
            tuple(vectors.words[row] for row in rows),
            np.zeros((len(rows), vectors.width), dtype=np.float32),  # the encoder has the values
        )
        return torch.tensor([*rows, unknown]), WordBatcher(restricted, self.alphabet)

    def _make_batch(self, sentences: SortedSentences) -> WordBatch:
        words = self._words
        if len(words.ids) > MAX_CACHED_WORDS:
            words = self._words = WordIndex()
        mask = sentences.mask
        distinct, places = [], []
        for task in sentences.tasks:
            unique, first, inverse = np.unique(
                self._word_ids(words, task), return_index=True, return_inverse=True
            )
            # Words of one length keep the order of the task: the order of ids depends on earlier
            # batches, and dropout is drawn word by word in this order.
            longest_first = np.lexsort((first, -words.lengths[unique]))
            distinct.append(unique[longest_first])
            places.append(np.argsort(longest_first)[inverse])
        width = max(map(len, distinct))
        word_ids = np.stack([np.pad(ids, (0, width - len(ids))) for ids in distinct])
        index = np.zeros(mask.shape, dtype=np.int64)
        index[mask] = np.concatenate(places)
        return WordBatch(
            **words.word_fields(word_ids),
            mask=torch.from_numpy(mask),
            tags=sentences.tags,
            order=sentences.order,
            index=torch.from_numpy(index),
            packing=Packing.of(torch.from_numpy(sentences.lengths), mask.shape[2]),
            word_ids=word_ids,
            word_index=words,
        )

    def _word_ids(self, words: WordIndex, task: Sequence[Sentence]) -> np.ndarray:
        ids = []
        for sentence in task:
            for word in sentence.tokens:
                word_id = words.ids.get(word)
                if word_id is None:
                    word_id = words.add(
                        word, self.vectors.row(word), self.char_ids(word), self.vectors.pieces(word)
                    )
                ids.append(word_id)
        return np.array(ids)


def alphabet_of(sentences: Iterable[Sentence], min_count: int = 2) -> str:
    """The characters that occur at least ``min_count`` times, sorted; no spaces."""
    counts: Counter[str] = Counter()
    for sentence in sentences:
        counts.update(sentence.text)
    return "".join(sorted(c for c, n in counts.items() if n >= min_count and not c.isspace()))
