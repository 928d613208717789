"""The recurrent sentence encoder: word vectors, character CNN and LSTM, BiLSTM or BiGRU.

HGDA's own is the default: 200 + 50 + 50 numbers a word in, 128 x 2 out.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
import torch
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PositiveInt,
    SerializerFunctionWrapHandler,
    model_serializer,
)
from torch import Generator, Tensor

from adaptner.nn.batching.batch import Batch
from adaptner.nn.batching.word_batch import WordBatch, WordBatcher
from adaptner.nn.encoders.base import Encoder
from adaptner.nn.encoders.char_cnn import CharCNN
from adaptner.nn.encoders.char_lstm import CharLSTM
from adaptner.nn.encoders.embeddings import FrozenEmbeddings, TrainableEmbeddings
from adaptner.nn.encoders.lexical_features import (
    OLD_STATE_LENGTH,
    add_lexical_features,
    lexical_scores,
    lexical_width,
    word_scores,
)
from adaptner.nn.encoders.word_cache import WordCache
from adaptner.nn.rnn.layers import make_recurrent_layer
from adaptner.nn.rnn.parameters import dropout, uniform_parameter
from adaptner.registry import load

# STM+ELMo's own, named and not imported: only encoders that read a language model load it
_LANGUAGE_MODEL = "adaptner.methods.stm_elmo.bidirectional_lm"


class EncoderConfig(BaseModel):
    """θ's shape. Sizes are HGDA's appendix; what it leaves open (character embeddings of 30, one
    filter width of 3, 25 units a direction in the character LSTM) is NCRF++'s public default."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["recurrent"] = "recurrent"
    word_width: int = Field(
        200, ge=1, description="width of random word vectors, if none are given"
    )
    tune_words: bool = Field(
        False, description="train the word vectors (always so for random ones)"
    )
    char_embedding: int = Field(30, ge=1)
    char_cnn_widths: tuple[PositiveInt, ...] = Field((3,), min_length=1)
    char_cnn_filters: int = Field(50, ge=0, description="per width; 0 leaves the CNN out")
    char_lstm: int = Field(
        50, ge=0, multiple_of=2, description="both directions together; 0 leaves it out"
    )
    recurrent: str = Field(
        "lstm", pattern=r"^(lstm|gru|cells-[1-9]\d*)$", description="lstm, gru, or typed cells-N"
    )
    hidden: int = Field(128, ge=1, description="per direction")
    dropout: float = Field(0.2, ge=0, lt=1)
    lexical_features: bool = Field(
        False, description="φ reads the word, its neighbours and its shape beside the states"
    )
    state_length: float = Field(
        OLD_STATE_LENGTH, gt=0, description="of the states that a wide φ reads"
    )
    language_model_width: int = Field(
        0, ge=0, description="per direction, of a language model whose states are read as well"
    )

    @model_serializer(mode="wrap")
    def _as_before(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without what most encoders do not have: an earlier version reads them as before, and jobs
        keep their keys."""
        told: dict[str, Any] = dump(self)
        if not self.language_model_width:
            told.pop("language_model_width", None)
        if self.state_length == OLD_STATE_LENGTH:
            told.pop("state_length", None)
        return told


class RecurrentEncoder(Encoder):
    """Its width is 2 x hidden, or more if it is wide."""

    kind: ClassVar[Literal["recurrent"]] = "recurrent"

    def __init__(self, config: EncoderConfig, batcher: WordBatcher, generator: Generator) -> None:
        super().__init__()
        self.config = config
        layer = TrainableEmbeddings if config.tune_words else FrozenEmbeddings
        self.words = layer(batcher.vectors)
        inputs = self.words.width
        self.chars = self.char_cnn = self.char_lstm = None
        if config.char_cnn_filters or config.char_lstm:  # a parameter nobody reads has no gradient
            self.chars = uniform_parameter(
                (1, len(batcher.alphabet) + 2, config.char_embedding), 0.3, generator
            )
        if config.char_cnn_filters:
            self.char_cnn = CharCNN(
                config.char_embedding, config.char_cnn_widths, config.char_cnn_filters, generator
            )
            inputs += self.char_cnn.width
        if config.char_lstm:
            self.char_lstm = CharLSTM(config.char_embedding, config.char_lstm, generator)
            inputs += self.char_lstm.width
        self.language_model = self.mix = None
        if config.language_model_width:
            letters = len(batcher.alphabet) + 2
            self.language_model = load(f"{_LANGUAGE_MODEL}:BidirectionalLM")(
                letters, config.language_model_width, generator
            )
            self.mix = load(f"{_LANGUAGE_MODEL}:LayerMix")()
            inputs += self.language_model.width
        self.recurrent = make_recurrent_layer(config.recurrent, inputs, config.hidden, generator)
        self.width = self.recurrent.width
        if config.lexical_features:
            self.width = lexical_width(self.width, self.words.width)

    @property
    def table(self) -> str | None:
        return "words.table" if isinstance(self.words, TrainableEmbeddings) else None

    def forward(self, batch: Batch, noise: Generator | None = None) -> Tensor:
        """Dropout on the input is drawn per distinct word: the word is hidden in the same places
        throughout the batch, and is still encoded only once."""
        assert isinstance(batch, WordBatch)
        words, states = self._packed(batch, noise)
        unpacked = dropout(batch.packing.unpack(states), self.config.dropout, noise)
        if not self.config.lexical_features:
            return unpacked
        return add_lexical_features(unpacked, words, batch, self.config.state_length)

    def linear_scores(
        self, batch: Batch, weight: Tensor, memory: WordCache | None = None
    ) -> Tensor:
        assert isinstance(batch, WordBatch)
        if not self.config.lexical_features:
            return super().linear_scores(batch, weight)
        length = self.config.state_length
        usable = batch.known is not None and len(batch.rows) == 1 and self.language_model is None
        if memory is None or not usable:
            words, states = self._packed(batch, None)
            said = word_scores(words, batch.shapes, weight)
            return lexical_scores(states, said, batch, weight, length)

        def fresh(places: np.ndarray) -> tuple[Tensor, ...]:
            own = batch.select_words(places)
            words, symbols = self._symbols(own, None)
            return self.recurrent.project_symbols(symbols)[0], word_scores(
                words, own.shapes, weight
            )[0]

        assert batch.numbers is not None
        # a step of an optimiser, and all else that writes into a parameter, raises its version
        state = tuple((p.data_ptr(), p._version) for p in (weight, *self.parameters()))
        gates, said = memory.rows((batch.known, state), batch.numbers[0], fresh)
        inputs = self.recurrent.place_symbols(gates[None], batch.index, batch.packing)
        states = self.recurrent.scan(inputs, batch.packing)
        return lexical_scores(states, said[None], batch, weight, length)

    def _packed(self, batch: WordBatch, noise: Generator | None) -> tuple[Tensor, Tensor]:
        """The vectors of the distinct words, and the recurrent states (G, 2, N, H)."""
        words, symbols = self._symbols(batch, noise)
        index = batch.index
        if self.language_model is not None:
            symbols, index = self._in_context(symbols, batch, noise)
        return words, self.recurrent(symbols, index, batch.packing)

    def _symbols(self, batch: WordBatch, noise: Generator | None) -> tuple[Tensor, Tensor]:
        """The vectors of the distinct words, and all that the recurrent layer reads of them."""
        words = self.words(batch.rows, batch.pieces).to(self.recurrent.input_weight.dtype)
        parts = [words]
        if self.char_cnn is not None:
            parts.append(self.char_cnn(self.chars, batch.chars, batch.char_packing))
        if self.char_lstm is not None:
            parts.append(self.char_lstm(self.chars, batch.chars, batch.char_packing))
        return words, dropout(torch.cat(parts, -1), self.config.dropout, noise)

    def _in_context(
        self, symbols: Tensor, batch: WordBatch, noise: Generator | None
    ) -> tuple[Tensor, Tensor]:
        """Every token is a symbol of its own: what the language model says of a word differs from
        place to place. The model has learnt before and stays as it is."""
        assert self.language_model is not None
        assert self.mix is not None
        with torch.no_grad():
            layers = self.language_model(batch)
        context = dropout(self.mix(layers), self.config.dropout, noise).flatten(1, 2)
        places = batch.index.flatten(1)[..., None].expand(-1, -1, symbols.shape[-1])
        tokens = torch.cat([symbols.gather(1, places), context], -1)
        own = torch.arange(tokens.shape[1], device=tokens.device).view(1, *batch.index.shape[1:])
        return tokens, own.expand_as(batch.index)
