"""The recurrent encoder: word vectors, character CNN and LSTM, then a BiLSTM or BiGRU.

The default is HGDA's: an input of 200 + 50 + 50 numbers per word, and states of 2 x 128.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
import torch
from torch import Generator, Tensor

from adaptner.nn.batching.batch import Batch
from adaptner.nn.batching.word_batch import WordBatch, WordBatcher
from adaptner.nn.encoders.base import Encoder
from adaptner.nn.encoders.char_cnn import CharCNN
from adaptner.nn.encoders.config import EncoderConfig
from adaptner.nn.encoders.embeddings import FrozenEmbeddings, TrainableEmbeddings
from adaptner.nn.encoders.lexical_features import (
    add_lexical_features,
    lexical_scores,
    lexical_width,
    word_scores,
)
from adaptner.nn.encoders.word_cache import WordCache
from adaptner.nn.rnn.layers import make_recurrent_layer
from adaptner.nn.rnn.parameters import dropout, uniform_parameter
from adaptner.registry import load

# A part of STM+ELMo, loaded by name because `nn` does not import methods
_LANGUAGE_MODEL = "adaptner.methods.stm_elmo.bidirectional_lm"


class RecurrentEncoder(Encoder):
    """Its width is 2 x hidden, plus that of the lexical features if it has them."""

    kind: ClassVar[Literal["recurrent"]] = "recurrent"

    def __init__(self, config: EncoderConfig, batcher: WordBatcher, generator: Generator) -> None:
        super().__init__()
        self.config = config
        layer = TrainableEmbeddings if config.tune_words else FrozenEmbeddings
        self.words = layer(batcher.vectors)
        inputs = self.words.width
        self.chars = self.char_cnn = self.char_lstm = None
        letters = len(batcher.alphabet) + 2
        if config.char_cnn_filters or config.char_lstm:  # else there would be no gradient
            shape = (1, letters, config.char_embedding)
            self.chars = uniform_parameter(shape, 0.3, generator)
        if config.char_cnn_filters:
            self.char_cnn = CharCNN(
                config.char_embedding, config.char_cnn_widths, config.char_cnn_filters, generator
            )
            inputs += self.char_cnn.width
        if config.char_lstm:
            from adaptner.nn.encoders.char_lstm import CharLSTM

            self.char_lstm = CharLSTM(config.char_embedding, config.char_lstm, generator)
            inputs += self.char_lstm.width
        self.language_model = self.mix = None
        if config.language_model_width:
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
        """Dropout on the input is drawn once per distinct word, so that each word is still encoded only
        once; all its occurrences in the batch share it."""
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
        cacheable = batch.word_index is not None and len(batch.rows) == 1
        if memory is None or not cacheable or self.language_model is not None:
            words, states = self._packed(batch, None)
            by_word = word_scores(words, batch.shapes, weight)
            return lexical_scores(states, by_word, batch, weight, length)

        def compute(places: np.ndarray) -> tuple[Tensor, ...]:
            selected = batch.select_words(places)
            words, symbols = self._symbols(selected, None)
            gates = self.recurrent.project_symbols(symbols)[0]
            return gates, word_scores(words, selected.shapes, weight)[0]

        assert batch.word_ids is not None
        # a parameter's version increases with every write, for example by an optimiser
        versions = tuple((p.data_ptr(), p._version) for p in (weight, *self.parameters()))
        gates, by_word = memory.rows((batch.word_index, versions), batch.word_ids[0], compute)
        inputs = self.recurrent.place_symbols(gates[None], batch.index, batch.packing)
        states = self.recurrent.scan(inputs, batch.packing)
        return lexical_scores(states, by_word[None], batch, weight, length)

    def _packed(self, batch: WordBatch, noise: Generator | None) -> tuple[Tensor, Tensor]:
        """The vectors of the distinct words, and the recurrent states (G, 2, N, H)."""
        words, symbols = self._symbols(batch, noise)
        index = batch.index
        if self.language_model is not None:
            symbols, index = self._in_context(symbols, batch, noise)
        frozen = 0 if words.requires_grad else words.shape[-1]
        return words, self.recurrent(symbols, index, batch.packing, frozen)

    def _symbols(self, batch: WordBatch, noise: Generator | None) -> tuple[Tensor, Tensor]:
        """The vectors of the distinct words, and the input of the recurrent layer for each of them."""
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
        """Each token becomes a separate symbol, because the states of the language model depend on the
        context. The language model is not trained."""
        assert self.language_model is not None
        assert self.mix is not None
        with torch.no_grad():
            layers = self.language_model(batch)
        context = dropout(self.mix(layers), self.config.dropout, noise).flatten(1, 2)
        places = batch.index.flatten(1)[..., None].expand(-1, -1, symbols.shape[-1])
        tokens = torch.cat([symbols.gather(1, places), context], -1)
        token_ids = torch.arange(tokens.shape[1], device=tokens.device).view(
            1, *batch.index.shape[1:]
        )
        return tokens, token_ids.expand_as(batch.index)
