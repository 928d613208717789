"""The few-shot protocol: adapt to draws from a corpus, tag its test split and score.

Ruling "Draws": draws have seeds 0 to draws - 1 and come from the target's train split, either from all
its sentences or only from those with an entity; the whole test split is scored unless ``limit`` says
otherwise; a draw without entities counts in the mean.
Ruling "DANN": a method that needs unlabelled text gets the target's train split without its labels,
and the score records how many sentences it used.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial

from adaptner.corpora.corpus import Corpus
from adaptner.corpora.sources import SourceDomain
from adaptner.episodes import DrawsFrom, check_draws, draw_sentences, draw_share
from adaptner.methods.base import Method
from adaptner.metrics.spans import Scores, correct_tokens, score_entities
from adaptner.models.base import Base
from adaptner.training.budget import Budget

PROTOCOL = "few-shot/strict-micro-f1"
# To be raised when the same method gets other results: by another draw of sentences, another
# preparation of corpora or another score. Stored results are identified by it.
PROTOCOL_VERSION = 1


def protocol_name(draws_from: DrawsFrom) -> str:
    """The protocol of results whose draws are of this kind."""
    return PROTOCOL if draws_from == "all" else f"few-shot/draws-{draws_from}/strict-micro-f1"


@dataclass(frozen=True)
class DrawScore:
    """The score of one draw."""

    corpus: str
    method: str
    base: str  # method that pretrained the base
    size: int  # sentences drawn
    share: float | None  # percentage of the train split, if the draw was defined by one
    seed: int
    precision: float
    recall: float
    f1: float
    steps: int
    seconds: float  # of adaptation alone
    sentences: int  # test sentences scored
    entities: int  # in the draw
    unlabelled: int  # sentences of target text used without labels
    protocol: str
    data: str  # checksum of the target corpus
    # label -> correct, predicted and gold entities, and tokens of gold entities with that label
    by_type: dict[str, dict[str, int]] = field(default_factory=dict)
    draws_from: DrawsFrom = "all"
    # Euclidean distance that adaptation moved the encoder, and that pretraining had moved it; None if
    # the tagger's encoder is another than the base's, or if the base does not say
    encoder_change: float | None = None
    base_encoder_change: float | None = None

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
    draws_from: DrawsFrom = "all",
    noise: int = 0,
) -> Iterator[DrawScore]:
    """Yields a score for each size and seed, then for each share (percentage of the train split) and
    seed. ``sources`` are for methods that train on them during adaptation. ``noise`` is added to the
    seed of adaptation, not to that of the draw."""
    check_draws(draws_from, sizes, shares)
    train, test = target.split("train"), target.split("test")[:limit]
    text = method.protocol_text(train)
    drawings = [
        *((None, partial(draw_sentences, train, size, draws_from=draws_from)) for size in sizes),
        *((share, partial(draw_share, train, share)) for share in shares),
    ]
    for share, draw in drawings:
        for seed in seeds:
            support = draw(seed)
            drawn = {id(s) for s in support}  # train and test are the same split in some corpora
            scored = [s for s in test if id(s) not in drawn]
            start = time.perf_counter()
            tagger = method.adapt(
                base,
                support,
                labels=target.labels,
                sources=sources,
                unlabelled=text,
                seed=seed + noise,
                budget=budget,
            )
            seconds = time.perf_counter() - start
            gold = [s.entities for s in scored]
            predicted = tagger.predict_sentences(scored)
            scores = score_entities(gold, predicted)
            score = scores.overall
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
                protocol=protocol_name(draws_from),
                data=target.sha256,
                by_type=_by_type(scores, correct_tokens(scored, predicted)),
                draws_from=draws_from,
                encoder_change=tagger.encoder.distance(dict(base.model.encoder.named_parameters())),
                base_encoder_change=base.facts.get("encoder_change"),
            )


def _by_type(scores: Scores, tokens: Mapping[str, int]) -> dict[str, dict[str, int]]:
    return {
        label: {
            "correct": score.true_positives,
            "predicted": score.predicted,
            "gold": score.gold,
            "tokens": tokens[label],
        }
        for label, score in scores.by_label.items()
    }
