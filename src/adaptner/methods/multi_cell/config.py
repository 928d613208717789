"""Multi-Cell's settings."""

from __future__ import annotations

from pydantic import Field

from adaptner.adaptation.source_target_steps import SourceTargetConfig


class MultiCellTuneConfig(SourceTargetConfig):
    """50 negatives are NCRF++'s and Jia2019's default; the weights are 1."""

    zero_shot: bool = Field(
        False, description="Learn from the target's text instead of its labels."
    )
    lm_weight: float = Field(
        1.0, ge=0, description="Weight of the language models, which learn without labels only."
    )
    negatives: int = Field(
        50, ge=1, description="Negative samples of a batch for the language models."
    )
    vocabulary: int = Field(
        100_000, ge=1, description="Maximum number of words that the language models predict."
    )
    type_weight: float = Field(
        1.0, ge=0, description="Weight of the loss of predicting a token's type from each cell."
    )
    attention_weight: float = Field(
        1.0, ge=0, description="Weight of the loss of attending to the cell of a token's type."
    )
