"""What PDALN's learning can be told, and how its steps are shared out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from adaptner.adaptation.fine_tune import FineTuneConfig
from adaptner.methods.pdaln.distillation import SelfTrainingKind


class PDALNTuneConfig(FineTuneConfig):
    """Batch, τ, μ_y and the copies are of 5.3. α, α', β, γ and the rounds are not in the text. α, β: the
    weight that L_c has; α': of 0 to 100 the best on CoNLL03 -> SEC, which is no target of the paper's
    (docs/results/pdaln.md); γ: a teacher's word weighs as much as the labels."""

    decoder: Literal["fresh"] = "fresh"
    freeze_decoder: Literal[False] = False
    batch: int = Field(32, ge=1, description="sentences of each kind a step")
    zero_shot: bool = Field(False, description="no labelled sentence of the target: eq. 8")
    sentence_weight: float = Field(1.0, ge=0, description="α, of L_MMD^d; 0 leaves it out")
    text_weight: float = Field(30.0, ge=0, description="α', of L_MMD^d without labels")
    word_weight: float = Field(1.0, ge=0, description="β, of L_MMD^w; 0 leaves it out")
    tag_weight: float = Field(0.25, ge=0, description="μ_y, of each tag")
    contrast_weight: float = Field(1.0, ge=0, description="of L_c; 0 leaves it out")
    temperature: float = Field(0.05, gt=0, description="τ")
    unit_length: bool = Field(True, description="z of eq. 7 has length 1; the text does not say so")
    distil_weight: float = Field(0.5, ge=0, le=1, description="γ; 0 leaves L_distill out")
    rounds: int = Field(2, ge=0, description="of teacher and student; 0 stops after eq. 9")
    first_share: float = Field(
        0.5, gt=0, le=1, description="of the steps, for eq. 9; the rounds have the rest"
    )
    self_training: SelfTrainingKind = Field(
        "teacher", description="or mean-teacher, vat: its rivals"
    )
    confidence: float = Field(0.0, ge=0, le=1, description="least sure token a teacher is heard on")
    teacher_decay: float = Field(0.99, ge=0, lt=1, description="of the mean teacher, at every step")
    radius: float = Field(0.1, gt=0, description="VAT's, in mean lengths of a word vector")
    augment: bool = Field(True, description="D_aug; false: the rounds learn from D_s")
    source_ratio: int = Field(5, ge=1, description="source sentences for each of the target")
    target_copies: int = Field(4, ge=0, description="replacements of a target sentence")
    source_copies: int = Field(2, ge=0, description="replacements of a source sentence")


def stages(steps: int, config: PDALNTuneConfig) -> Iterator[int]:
    """Steps of eq. 8 or 9, then of every round that has any."""
    rounds = 0 if config.zero_shot else config.rounds
    first = steps if not rounds else min(steps, max(1, round(config.first_share * steps)))
    yield first
    for number in range(rounds):
        until, since = ((steps - first) * n // rounds for n in (number + 1, number))
        if until > since:
            yield until - since
