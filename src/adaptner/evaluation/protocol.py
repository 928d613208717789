"""The few-shot protocol: draws x sizes on one corpus, each adapted, tagged and scored.

Ruling "Draws": seeds 0 to draws - 1, from the target's train split; the whole test split unless
``limit`` says otherwise, in which case the row does too; a draw without entities stays in the mean.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from adaptner.corpora.corpus import Corpus
from adaptner.episodes import draw
from adaptner.evaluation.scorer import score_entities
from adaptner.methods.method import Method
from adaptner.training.base import Base
from adaptner.training.budget import Budget

PROTOCOL = "few-shot/strict-micro-f1"


@dataclass(frozen=True)
class Row:
    """One draw. ``sentences`` of the test split were scored; ``seconds`` is the adaptation alone."""

    corpus: str
    method: str
    size: int
    seed: int
    precision: float
    recall: float
    f1: float
    steps: int
    seconds: float
    sentences: int
    entities: int  # in the draw
    protocol: str
    data: str  # checksum of the target corpus

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


def few_shot(
    method: Method,
    base: Base,
    target: Corpus,
    sizes: Sequence[int],
    seeds: Sequence[int],
    *,
    limit: int | None = None,
    budget: Budget | None = None,
) -> Iterator[Row]:
    """A row per size and seed, as they are done."""
    train, test = target.split("train"), target.split("test")[:limit]
    gold = [s.entities for s in test]
    for size in sizes:
        for seed in seeds:
            support = draw(train, size, seed)
            begun = time.perf_counter()
            tagger = method.adapt(base, support, labels=target.labels, seed=seed, budget=budget)
            seconds = time.perf_counter() - begun
            score = score_entities(gold, tagger.predict_sentences(test)).overall
            yield Row(
                corpus=target.name,
                method=method.name,
                size=size,
                seed=seed,
                precision=score.precision,
                recall=score.recall,
                f1=score.f1,
                steps=int(tagger.facts["steps"]),
                seconds=round(seconds, 3),
                sentences=len(test),
                entities=sum(len(s.entities) for s in support),
                protocol=PROTOCOL,
                data=target.sha256,
            )
