"""The few-shot protocol: draws x sizes on one corpus, each adapted, tagged and scored.

Ruling "Draws": seeds 0 to draws - 1, from the target's train split; the whole test split unless
``limit`` says otherwise, in which case the row does too; a draw without entities stays in the mean.
Ruling "DANN": a method that makes use of unlabelled text gets the target's train split without its
labels, and its row says so.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial

from adaptner.corpora.corpus import Corpus
from adaptner.corpora.sources import SourceDomain
from adaptner.episodes import draw_sentences, draw_share
from adaptner.methods.base import Method
from adaptner.metrics.spans import correct_tokens, score_entities
from adaptner.models.base import Base
from adaptner.training.budget import Budget

PROTOCOL = "few-shot/strict-micro-f1"
# To be raised when the same method gets other results: by another draw of sentences, another
# preparation of corpora or another score. Stored results are identified by it.
PROTOCOL_VERSION = 1


@dataclass(frozen=True)
class DrawScore:
    """One draw. ``sentences`` of the test split were scored; ``seconds`` is all that adapting took,
    and nothing else."""

    corpus: str
    method: str
    base: str  # the method that made it
    size: int  # sentences drawn
    share: float | None  # percent of the train split, where the draw was asked for so
    seed: int
    precision: float
    recall: float
    f1: float
    steps: int
    seconds: float
    sentences: int
    entities: int  # in the draw
    unlabelled: int  # sentences of target text used without labels
    protocol: str
    data: str  # checksum of the target corpus
    # label -> correct, predicted and gold entities, and the tokens of gold ones with the right label
    by_type: dict[str, dict[str, int]] = field(default_factory=dict)

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


def evaluate_few_shot(
    method: Method,
    base: Base,
    target: Corpus,
    sizes: Sequence[int],
    seeds: Sequence[int],
    *,
    shares: Sequence[float] = (),
    sources: Sequence[SourceDomain] = (),
    limit: int | None = None,
    budget: Budget | None = None,
) -> Iterator[DrawScore]:
    """A row per size and seed, then per share (percent of the train split) and seed, as they are
    done. ``sources`` are for methods that learn from them when they adapt."""
    train, test = target.split("train"), target.split("test")[:limit]
    text = method.protocol_text(train)
    wanted = [
        *((None, partial(draw_sentences, train, size)) for size in sizes),
        *((share, partial(draw_share, train, share)) for share in shares),
    ]
    for share, drawn in wanted:
        for seed in seeds:
            support = drawn(seed)
            held = {id(s) for s in support}  # of a corpus that is one set the rest is scored
            scored = [s for s in test if id(s) not in held]
            begun = time.perf_counter()
            tagger = method.adapt(
                base,
                support,
                labels=target.labels,
                sources=sources,
                unlabelled=text,
                seed=seed,
                budget=budget,
            )
            seconds = time.perf_counter() - begun
            gold = [s.entities for s in scored]
            predicted = tagger.predict_sentences(scored)
            scores = score_entities(gold, predicted)
            score, tokens = scores.overall, correct_tokens(scored, predicted)
            yield DrawScore(
                corpus=target.name,
                method=method.name,
                base=base.method,
                size=len(support),
                share=share,
                seed=seed,
                precision=score.precision,
                recall=score.recall,
                f1=score.f1,
                steps=int(tagger.facts["steps"]),
                seconds=round(seconds, 3),
                sentences=len(scored),
                entities=sum(len(s.entities) for s in support),
                unlabelled=int(tagger.facts.get("unlabelled", 0)),
                protocol=PROTOCOL,
                data=target.sha256,
                by_type={
                    label: {
                        "correct": own.true_positives,
                        "predicted": own.predicted,
                        "gold": own.gold,
                        "tokens": tokens[label],
                    }
                    for label, own in scores.by_label.items()
                },
            )
