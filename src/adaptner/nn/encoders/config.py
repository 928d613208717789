"""Settings of the encoders, apart from the networks, so that manifests can be read without them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    PositiveInt,
    SerializerFunctionWrapHandler,
    Tag,
    model_serializer,
)

KIND = "kind="  # marks the tags that pydantic puts into the locations of its errors
OLD_STATE_LENGTH = 4.0  # of models whose manifest has no state_length
SubwordPooling = Literal["first", "mean"]


class EncoderConfig(BaseModel):
    """Sizes of the recurrent encoder, as in HGDA's appendix.

    What the appendix leaves open is NCRF++'s default: character embeddings of 30, one filter width of
    3, and 25 units per direction in the character LSTM."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["recurrent"] = "recurrent"
    word_width: int = Field(
        200, ge=1, description="Numbers in a random word vector; ignored if vectors are given."
    )
    tune_words: bool = Field(
        False, description="Train the word vectors too. Random vectors are always trained."
    )
    char_embedding: int = Field(30, ge=1, description="Numbers in the vector of a character.")
    char_cnn_widths: tuple[PositiveInt, ...] = Field(
        (3,), min_length=1, description="Characters that a filter of the character CNN reads."
    )
    char_cnn_filters: int = Field(
        50, ge=0, description="Filters of each width in the character CNN; 0 leaves it out."
    )
    char_lstm: int = Field(
        50,
        ge=0,
        multiple_of=2,
        description="Units of both directions of the character LSTM together; 0 leaves it out.",
    )
    recurrent: str = Field(
        "lstm",
        pattern=r"^(lstm|gru|cells-[1-9]\d*)$",
        description="The layer over the words: lstm, gru, or cells-N (compositional LSTM of N cells).",
    )
    hidden: int = Field(128, ge=1, description="Units per direction of the layer over the words.")
    dropout: float = Field(
        0.2,
        ge=0,
        lt=1,
        description="Share of the layer's inputs and states that are set to zero in training.",
    )
    lexical_features: bool = Field(
        False, description="Let the decoder also read the word, its neighbours and its shape."
    )
    state_length: float = Field(
        OLD_STATE_LENGTH,
        gt=0,
        description="Euclidean length to which states are scaled if there are lexical features.",
    )
    language_model_width: int = Field(
        0,
        ge=0,
        description="Units per direction of the language model whose states the layer also reads; 0 "
        "leaves it out.",
    )

    @model_serializer(mode="wrap")
    def _without_rare_fields(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leaves out fields that most encoders do not use, so that the keys of stored jobs stay
        valid."""
        fields: dict[str, Any] = dump(self)
        if not self.language_model_width:
            fields.pop("language_model_width", None)
        if self.state_length == OLD_STATE_LENGTH:
            fields.pop("state_length", None)
        return fields


class TransformerConfig(BaseModel):
    """Length and dropout are those of HGDA* in HGDA's appendix."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["transformer"] = "transformer"
    name: str = Field(
        "minilm", min_length=1, description="The network: minilm, a folder or a Hugging Face name."
    )
    subwords: SubwordPooling = Field(
        "first",
        description="Whether the state of a word is that of its first sub-word or the mean of all.",
    )
    max_length: int = Field(
        256, ge=16, description="Sub-words in a window; longer sentences have several windows."
    )
    overlap: int = Field(
        64, ge=0, description="Maximum number of sub-words that two neighbouring windows share."
    )
    dropout: float = Field(
        0.2, ge=0, lt=1, description="Share of the states that are set to zero in training."
    )
    network_dropout: bool = Field(
        True, description="Also use the network's own dropout in training, at its own rates."
    )
    checkpointing: bool = Field(
        False, description="Save memory in training by computing each forward pass twice."
    )
    frozen_layers: int = Field(
        0,
        ge=0,
        description="Number of lowest layers that are not trained; the embeddings are frozen too.",
    )
    layer_decay: float = Field(
        1.0,
        gt=0,
        le=1,
        description="Learning rate of a layer relative to that of the next higher layer.",
    )
    lora: int = Field(
        0, ge=0, description="Rank of low-rank updates (LoRA); 0 trains all weights instead."
    )
    lora_alpha: int = Field(16, ge=1, description="LoRA's updates are scaled by alpha / rank.")
    lora_targets: tuple[str, ...] = Field(
        (), description="Names of the layers that LoRA updates; empty for peft's default."
    )


def _kind(settings: Any) -> str:
    kind = settings.get("kind") if isinstance(settings, dict) else getattr(settings, "kind", None)
    return f"{KIND}{kind or 'recurrent'}"  # older settings and manifests have no kind


AnyEncoderConfig = Annotated[
    Annotated[EncoderConfig, Tag(f"{KIND}recurrent")]
    | Annotated[TransformerConfig, Tag(f"{KIND}transformer")],
    Discriminator(_kind),
]
