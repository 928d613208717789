"""Settings of Jia2019's parameter generation network."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from adaptner.adaptation.fine_tune import FreshDecoderConfig
from adaptner.methods.families.raw_text import RawTextConfig


class CrossDomainConfig(RawTextConfig, FreshDecoderConfig):
    """Section 4.1, and the authors' published settings where the paper is silent (50 negatives).

    Neither states λ_d and λ_t; they are 1. Batch, steps and AdamW are those of all adaptation here;
    the paper's batch of 30 and SGD are in the recipe."""

    domain_size: int = Field(
        8, ge=0, description="Size U of the domain embedding; 0 leaves it out (CO-LM)."
    )
    task_size: int = Field(
        8, ge=0, description="Size V of the task embedding; 0 leaves it out (CO-NER)."
    )
    data: Literal["all", "target", "ner"] = Field(
        "all",
        description="What to learn from: everything, nothing of the sources (target, CO-LM), or "
        "labelled sentences without raw text (ner, CO-NER).",
    )
    mixed_text: bool = Field(
        False, description="Let all language models read the text of all domains (MIX-DATA)."
    )
    zero_shot: bool = Field(
        False, description="Use no labelled sentence of the target (unsupervised)."
    )
    near_start: bool = Field(
        True,
        description="In zero-shot learning, start the target's domain embedding from the mean of the "
        "sources' instead of at random.",
    )
    source_weight: float = Field(
        1.0, ge=0, description="Weight λ_d of the source; the target's is 1."
    )
    lm_weight: float = Field(
        1.0, ge=0, description="Weight λ_t of language modelling; that of NER is 1."
    )

    @model_validator(mode="after")
    def _zero_shot_needs_all(self) -> Self:
        if self.zero_shot and self.data != "all":
            raise ValueError("zero_shot needs data = 'all': labels and raw text of the sources")
        return self
