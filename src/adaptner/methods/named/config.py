"""The settings of `named`. The defaults serve all targets (docs/results/few-shot.md)."""

from __future__ import annotations

from pydantic import Field

from adaptner.adaptation.dictionary_tagger import DICTIONARY_SCORE
from adaptner.adaptation.fine_tune import FineTuneConfig
from adaptner.methods.families.source_pretrained import SourceConfig
from adaptner.nn.encoders.config import EncoderConfig
from adaptner.training.optimiser import OptimiserConfig


class LinearFitConfig(FineTuneConfig):
    """Settings of the decoder fit. Those of steps, batches and rates apply to the fine-tuning that
    replaces it for many mentions."""

    optimiser: OptimiserConfig = OptimiserConfig(name="adamw", rate=0.02, weight_decay=1e-6)
    encoder_scale: float = Field(
        0.3, gt=0, description="Learning rate of the encoder, relative to the decoder's."
    )
    linear_steps: int = Field(60, ge=1, description="Maximum number of L-BFGS steps.")
    fine_tune_from: int = Field(
        150, ge=1, description="Number of mentions from which the encoder is fine-tuned as well."
    )
    penalty: float = Field(
        0.25, ge=0, description="Weight of the squared distance of the tag weights from the prior."
    )
    bias_penalty: float = Field(2.0, ge=0, description="The same for the tag biases.")
    transition_penalty: float = Field(
        0.05, ge=0, description="The same for transition, start and end scores."
    )
    name_weight: float = Field(
        2.0, ge=0, description="Weight of the label name in the prior; 0 ignores names."
    )
    state_share: float = Field(
        0.3,
        ge=0,
        le=1,
        description="Share of `name_weight` that applies to the encoder's states; the word vector "
        "gets the rest.",
    )
    border_weight: float = Field(
        0.15, ge=0, description="Weight of the pretrained entity borders in the prior."
    )
    entity_bias: float = Field(
        4.0,
        description="Bias added to an entity's log-odds, because raw text names only some of the "
        "entities it mentions.",
    )
    term_score: float = Field(
        DICTIONARY_SCORE,
        gt=0,
        description="Log-odds with which the dictionary's own mentions begin the fit.",
    )
    term_penalty: float = Field(
        0.5, ge=0, description="`penalty` for weights of matches, where a dictionary is the start."
    )
    firm_penalty: float = Field(
        4.0, ge=0, description="`penalty` for all other weights, where a dictionary is the start."
    )
    firm_transition_penalty: float = Field(
        0.5, ge=0, description="`transition_penalty` where a dictionary is the start."
    )
    raw_weight: float = Field(
        0.2,
        ge=0,
        description="Weight of a raw sentence with the dictionary's tags, beside the labelled ones.",
    )
    use_terms: bool = Field(
        True, description="Start labels that a terminology knows from its dictionary."
    )
    use_source_labels: bool = Field(
        True, description="Start a label's decoder from a matching source label, if there is one."
    )
    source_penalty_factor: float = Field(
        4.0, gt=0, description="Factor of all penalties if every label matches a source label."
    )
    empty_sentence_weight: float = Field(
        0.3, ge=0, le=1, description="Weight of a labelled sentence without an entity in the loss."
    )
    unlabelled_weight: float = Field(
        0.3, ge=0, le=1, description="Weight of a pseudo-labelled sentence in the loss."
    )
    max_unlabelled: int = Field(
        300, ge=1, description="Maximum number of unlabelled sentences for self-training."
    )


class NamedConfig(SourceConfig):
    encoder: EncoderConfig = EncoderConfig(lexical_features=True)
    adaptation: LinearFitConfig = Field(LinearFitConfig())
    decoder_scale: float = Field(
        10.0,
        gt=0,
        description="Learning rate of the source decoders, relative to the optimiser's, when the "
        "encoder of another base is kept.",
    )
