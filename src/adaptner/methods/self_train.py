"""SELF-TRAIN: a source tagger labels the target's raw text and learns from what it is surest of
(Jia2019, 4.4; Daumé III 2008)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Literal

from pydantic import Field

from adaptner.adaptation.joint_training import JointConfig, train_jointly
from adaptner.adaptation.unchanged_base import use_base_unchanged
from adaptner.errors import TooFewSentences
from adaptner.methods.base import AdaptRequest, Capabilities, MethodConfig
from adaptner.methods.families.joint import JointMethodConfig, SourceAndTargetMethod
from adaptner.models.base import Base
from adaptner.models.tagger import Tagger
from adaptner.types import Entity, Sentence


class SelfTrainTuneConfig(JointConfig):
    zero_shot: Literal[False] = False  # it never uses a label of the target
    share: float = Field(
        0.5, gt=0, le=1, description="of the sentences with entities, surest first"
    )
    rounds: int = Field(1, ge=1, description="of labelling and learning")


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
    Config: ClassVar[type[MethodConfig]] = SelfTrainConfig
    config: SelfTrainConfig

    def tagger(self, base: Base, given: AdaptRequest) -> Tagger:
        config, known = self.config.adaptation, self.labelled(base, given.sources)
        text = [s.without_entities() for s in given.unlabelled if len(s)]
        text = text or [s.without_entities() for s in given.support if len(s)]
        if not text:
            raise TooFewSentences(
                found=0, what="the target's raw text", needed=1, option="--unlabelled TEXT"
            )
        found = use_base_unchanged(base, (), self.name, labels=given.labels)
        options = {**given.options(), "labels": base.labels}
        for _ in range(config.rounds):
            own = most_confident(text, found.predict_sentences(text), config.share)
            found = train_jointly(base, own, known, config, shared=True, **options)
        found.facts["unlabelled"] = len(text)
        return found


def most_confident(
    text: Sequence[Sentence], found: Sequence[Sequence[Entity]], share: float
) -> list[Sentence]:
    """The sentences in which an entity was found, labelled so, by the least sure of their entities;
    where there is none, all sentences serve, as they are."""
    labelled = [
        (min(e.score or 0.0 for e in entities), place)
        for place, entities in enumerate(found)
        if entities
    ]
    if not labelled:
        return list(text)
    labelled.sort(key=lambda each: (-each[0], each[1]))
    chosen = sorted(place for _, place in labelled[: math.ceil(share * len(labelled))])
    return [
        replace(text[place], entities=tuple(replace(e, score=None) for e in found[place]))
        for place in chosen
    ]
