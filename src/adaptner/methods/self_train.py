"""SELF-TRAIN: a source tagger labels the target's raw text and learns from its most confident
sentences (Jia2019, section 4.4; Daumé III 2008)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from pydantic import Field

from adaptner.adaptation.joint_training import JointConfig, SharedJointTraining
from adaptner.adaptation.loop import run
from adaptner.adaptation.request import AdaptRequest
from adaptner.adaptation.unchanged_base import use_base_unchanged
from adaptner.methods.base import Capabilities
from adaptner.methods.families.joint import JointMethodConfig, SourceAndTargetMethod
from adaptner.models.base import Base
from adaptner.models.tagger import Tagger
from adaptner.types import Entity, Sentence


class SelfTrainTuneConfig(JointConfig):
    zero_shot: Literal[False] = False  # it never reads a label of the target
    share: float = Field(
        0.5,
        gt=0,
        le=1,
        description="Share of the sentences with predicted entities to learn from, most confident "
        "first.",
    )
    rounds: int = Field(1, ge=1, description="Rounds of labelling and learning.")


class SelfTrainConfig(JointMethodConfig):
    decoders: Literal["own", "shared"] = "shared"
    adaptation: SelfTrainTuneConfig = SelfTrainTuneConfig()


class SelfTrain(SourceAndTargetMethod):
    name = "self-train"
    title = "SELF-TRAIN"
    paper = "Jia2019"
    version = 2  # 1 ranked by the geometric mean of token marginals
    needs = "source corpora, at adaptation too; raw target text"
    base_method = "finetuning"
    capabilities = Capabilities(
        target_labels="unused", sources="required", text="in memory", new_labels=False
    )
    Config = SelfTrainConfig
    config: SelfTrainConfig
    Objective = SharedJointTraining

    def tagger(self, base: Base, request: AdaptRequest) -> Tagger:
        config, sources = self.config.adaptation, self.labelled(base, request.sources)
        text = request.target_text()
        tagger = use_base_unchanged(base, (), self.name, labels=request.labels)
        for _ in range(config.rounds):
            support = most_confident(text, tagger.predict_sentences(text), config.share)
            labelled = replace(request, support=support, labels=base.labels, unlabelled=())
            tagger = run(self.objective(base, labelled, sources))
        tagger.facts["unlabelled"] = len(text)
        return tagger


def most_confident(
    text: Sequence[Sentence], found: Sequence[Sequence[Entity]], share: float
) -> list[Sentence]:
    """The given share of the sentences with predicted entities, labelled with them. A sentence counts
    as confident as its least confident entity. If there is no entity at all, the whole text."""
    scores = [
        (min(e.score or 0.0 for e in entities), number)
        for number, entities in enumerate(found)
        if entities
    ]
    if not scores:
        return list(text)
    scores.sort(key=lambda pair: (-pair[0], pair[1]))
    best = sorted(number for _, number in scores[: math.ceil(share * len(scores))])
    return [
        replace(text[n], entities=tuple(replace(e, score=None) for e in found[n])) for n in best
    ]
