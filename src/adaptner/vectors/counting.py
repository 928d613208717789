"""Word vectors by counting: an SVD of the mutual information of words and their neighbours.

It needs little text and no training. On 75 million words it takes minutes, while skip-gram takes
almost an hour, and taggers are equally good with both (docs/results/few-shot.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from adaptner.corpora.raw_text import find_text_files, sentences_of_files
from adaptner.errors import EmptyFile, EmptyVocabulary
from adaptner.progress import ProgressCallback, Shown, no_progress
from adaptner.vectors.cooccurrence import context_blocks, count_cooccurrences
from adaptner.vectors.factorisation import leading_singular_vectors, shifted_mutual_information
from adaptner.vectors.four_bit import FourBitTable
from adaptner.vectors.ngram_fit import fit_ngram_vectors
from adaptner.vectors.ngrams import NgramVectors
from adaptner.vectors.settings import VectorSettings, check_call
from adaptner.vectors.subword_file import write_subwords
from adaptner.version import __version__


class CountingSettings(VectorSettings):
    least: int = Field(6, ge=1, description="Occurrences that a word needs for its own vector.")
    contexts: int = Field(50_000, ge=1, description="Number of frequent words used as contexts.")
    # Chosen from 0, 1/4, 1/2, 0.7, and 1 on development sentences (docs/results/few-shot.md).
    power: float = Field(
        1.0, ge=0, description="Exponent of the singular values that scale the dimensions."
    )


def train_count_vectors(
    texts: Sequence[Path],
    output: Path,
    settings: CountingSettings,
    *,
    tokenised: bool = True,
    shown: Shown = lambda title: nullcontext(no_progress),
) -> dict[str, Any]:
    """Makes vectors of ``texts``, writes them to ``output``, and returns facts about them."""
    check_call("count", "scipy", output)
    files = find_text_files(texts)
    facts = {"tokens": 0, "sentences": 0}
    state = sha256()

    def read(progress: ProgressCallback, first_pass: bool) -> Iterator[str]:
        for sentence in sentences_of_files(files, progress, tokenised=tokenised):
            text = sentence.lower() if settings.lower else sentence
            if first_pass:
                facts["tokens"] += text.count(" ") + 1
                facts["sentences"] += 1
                state.update(f"{text}\n".encode())
            yield text

    with shown("counting words and pairs") as progress:
        passes = iter((True, False))  # The first pass collects facts about the text.

        def sentences() -> Iterable[str]:
            return read(progress, next(passes))

        counts = count_cooccurrences(sentences, settings.window, settings.least)
    if not facts["sentences"]:
        raise EmptyFile(file=files[0], unit="sentence")
    if len(counts.words) < 2:
        raise EmptyVocabulary(least=settings.least, tokens=facts["tokens"])
    with shown("factorising") as progress:
        blocks = [shifted_mutual_information(b) for b in context_blocks(counts, settings.contexts)]
        vectors, values = leading_singular_vectors(blocks, settings.width, settings.seed, progress)
    table = np.zeros((len(counts.words), settings.width), dtype=np.float32)
    table[:, : len(values)] = vectors * values**settings.power
    grams = _normalise(table, counts.words, settings)
    made_of = {**facts, "text_sha256": state.hexdigest()}
    metadata = {
        "made_by": f"adaptner {__version__}, counted",
        **{n: str(getattr(settings, n)) for n in ("window", "least", "contexts", "power", "seed")},
        **{name: str(value) for name, value in made_of.items()},
    }
    write_subwords(output, counts.words, FourBitTable.of(table), grams, metadata)
    return {
        "words": len(counts.words),
        "width": settings.width,
        "buckets": settings.buckets,
        **made_of,
        "bytes": output.stat().st_size,
    }


def _normalise(table: np.ndarray, words: Sequence[str], settings: CountingSettings) -> NgramVectors:
    """Gives the rows of ``table`` unit length, in place, and returns n-gram vectors fitted to them.
    Words whose contexts are all too rare get the mean of their n-grams."""
    length = np.linalg.norm(table, axis=1)
    known = np.flatnonzero(length)
    table[known] /= length[known, None]
    grams = fit_ngram_vectors(
        [words[int(i)] for i in known],
        table[known],
        least=settings.min_gram,
        most=settings.max_gram,
        buckets=settings.buckets,
        lower=settings.lower,
    )
    for i in np.flatnonzero(length == 0):
        if len(rows := grams.rows(words[int(i)])):
            table[i] = grams.table[rows].mean(axis=0)
    return grams
