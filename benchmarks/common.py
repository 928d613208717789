"""What the benchmarks share: data from the shared folder, files of results, and scores."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from adaptner.corpora.corpus import Corpus, load_corpus
from adaptner.metrics.significance import mean_sd
from adaptner.metrics.spans import Score, score_entities
from adaptner.models.tagger import Tagger
from adaptner.types import Sentence
from adaptner.vectors.word_vectors import WordVectors, read_vectors

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"
RESULTS = ROOT / "docs/results"


def corpus_folders(group: str) -> list[Path]:
    """Returns the folders of a group of shared corpora, for example bio8, in alphabetical order."""
    return [f for f in sorted((SHARED / "data" / group).iterdir()) if f.is_dir()]


def shared_corpus(name: str) -> Corpus:
    """Loads a shared corpus, for example bio8/bc2gm."""
    return load_corpus(SHARED / "data" / name)


def shared_vectors(name: str) -> WordVectors:
    return read_vectors(SHARED / "vectors" / name)


def without_labels(sentences: Iterable[Sentence]) -> list[Sentence]:
    """Returns the sentences that have words, without their entities."""
    return [s.without_entities() for s in sentences if len(s)]


def score_tagger(tagger: Tagger, sentences: Sequence[Sentence]) -> Score:
    """Returns the micro-averaged score of the tagger on labelled sentences."""
    predicted = tagger.predict_sentences(sentences)
    return score_entities([s.entities for s in sentences], predicted).overall


class ResultFile:
    """A file with one JSON object per run and line, so that a repeated command skips finished runs."""

    def __init__(self, path: Path, key: Sequence[str], **defaults: Any) -> None:
        """``key`` names the fields that identify a run; ``defaults`` are values of fields that rows of
        older files lack."""
        self.path, self.key = path, key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        lines = path.read_text(encoding="utf-8").splitlines()
        self.rows = [{**defaults, **json.loads(line)} for line in lines]
        self._finished = {self._identity(row) for row in self.rows}

    def __contains__(self, run: dict[str, Any]) -> bool:
        return self._identity(run) in self._finished

    def add(self, row: dict[str, Any]) -> None:
        self.rows.append(row)
        self._finished.add(self._identity(row))
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    def _identity(self, run: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(run[field] for field in self.key)


def print_scores(rows: Sequence[dict[str, Any]], corpus: str, sizes: Sequence[int]) -> list[float]:
    """Prints mean F1 ± standard deviation of a corpus for each size; returns the means.

    If rows have ``mentions``, the number of draws without an entity and the mean number of mentions in
    a draw follow in brackets."""
    means, texts = [], []
    for size in sizes:
        found = [r for r in rows if r["corpus"] == corpus and r["size"] == size]
        mean, sd = mean_sd([100 * r["f1"] for r in found])
        means.append(mean)
        texts.append(f"{mean:5.1f} ± {sd:4.1f}")
        if mentions := [r["mentions"] for r in found if "mentions" in r]:
            texts[-1] += f" ({mentions.count(0)}, {mean_sd(mentions)[0]:.1f})"
    print(f"{corpus:16}" + "  ".join(texts), flush=True)
    return means
