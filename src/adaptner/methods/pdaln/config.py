"""PDALN's settings, and how its stages share the budget."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Literal

from pydantic import Field

from adaptner.adaptation.fine_tune import FreshDecoderConfig
from adaptner.training.budget import Budget

SelfTrainingKind = Literal["teacher", "mean-teacher", "vat"]


class PDALNTuneConfig(FreshDecoderConfig):
    """Batch size, τ, μ_y and the numbers of copies are those of section 5.3.

    The paper does not state α, α', β, γ and the number of rounds. α and β: 1, as the weight of L_c.
    α': the best of 0 to 100 on CoNLL03 -> SEC, which is no target of the paper's
    (docs/results/pdaln.md). γ: a teacher's word weighs as much as the labels."""

    batch: int = Field(32, ge=1, description="Sentences of each kind in a batch.")
    zero_shot: bool = Field(False, description="Use no labelled sentence of the target (eq. 8).")
    sentence_weight: float = Field(
        1.0, ge=0, description="Weight α of the sentence discrepancy L_MMD^d; 0 leaves it out."
    )
    text_weight: float = Field(
        30.0, ge=0, description="Weight α' of L_MMD^d if the target has no labels."
    )
    word_weight: float = Field(
        1.0, ge=0, description="Weight β of the word discrepancy L_MMD^w; 0 leaves it out."
    )
    tag_weight: float = Field(0.25, ge=0, description="Weight μ_y of each tag in L_MMD^w.")
    contrast_weight: float = Field(
        1.0, ge=0, description="Weight of the contrastive loss L_c; 0 leaves it out."
    )
    temperature: float = Field(0.05, gt=0, description="Temperature τ of L_c.")
    unit_length: bool = Field(
        True, description="Normalise z of eq. 7 to length 1, which the paper does not mention."
    )
    distil_weight: float = Field(
        0.5, ge=0, le=1, description="Weight γ of the distillation loss; 0 leaves it out."
    )
    rounds: int = Field(2, ge=0, description="Rounds of teacher and student; 0 stops after eq. 9.")
    first_share: float = Field(
        0.5, gt=0, le=1, description="Share of the steps for eq. 9; the rounds have the rest."
    )
    self_training: SelfTrainingKind = Field(
        "teacher",
        description="PDALN's teacher or one of the two methods that the paper compares with it.",
    )
    confidence: float = Field(
        0.0,
        ge=0,
        le=1,
        description="Minimum probability of a token's tag for the teacher to be believed.",
    )
    teacher_decay: float = Field(
        0.99, ge=0, lt=1, description="Share of the mean teacher that each step keeps."
    )
    radius: float = Field(
        0.1,
        gt=0,
        description="Radius of virtual adversarial training, in mean lengths of a word vector.",
    )
    augment: bool = Field(
        True, description="Learn from D_aug in the rounds, instead of from the source sentences."
    )
    source_ratio: int = Field(
        5, ge=1, description="Source sentences in D_aug for each target sentence."
    )
    target_copies: int = Field(4, ge=0, description="Copies of each target sentence in D_aug.")
    source_copies: int = Field(2, ge=0, description="Copies of each source sentence in D_aug.")


def split_budget(budget: Budget, config: PDALNTuneConfig) -> Iterator[Budget]:
    """The budget of eq. 8 or 9, then of each round that has any step."""
    rounds = 0 if config.zero_shot else config.rounds
    steps = budget.steps
    first = steps if not rounds else min(steps, max(1, round(config.first_share * steps)))
    ends = [first, *(first + (steps - first) * n // rounds for n in range(1, rounds + 1))]
    for start, end in pairwise([0, *ends]):
        if end > start:
            seconds = None if budget.seconds is None else budget.seconds * (end - start) / steps
            yield Budget(end - start, seconds)
