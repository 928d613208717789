"""Makes encoders from their configuration. Transformers are imported only for models that have one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch import Generator

from adaptner.nn.batching.batch import Batcher
from adaptner.nn.batching.word_batch import WordBatcher, alphabet_of
from adaptner.nn.encoders.base import Encoder
from adaptner.nn.encoders.config import EncoderConfig, TransformerConfig
from adaptner.nn.encoders.recurrent import RecurrentEncoder
from adaptner.types import Sentence
from adaptner.vectors.word_vectors import WordVectors


def restored_encoder(
    config: EncoderConfig | TransformerConfig, batcher: Batcher, generator: Generator
) -> Encoder:
    """An encoder into which the parameters of a saved model can be loaded."""
    if isinstance(config, TransformerConfig):
        from adaptner.nn.encoders.transformer.encoder import TransformerEncoder
        from adaptner.nn.encoders.transformer.subwords import SubwordBatcher

        assert isinstance(batcher, SubwordBatcher)
        return TransformerEncoder(config, batcher, generator)
    assert isinstance(batcher, WordBatcher)
    return RecurrentEncoder(config, batcher, generator)


def new_encoder(
    config: EncoderConfig | TransformerConfig,
    sentences: Sequence[Sentence],
    vectors: WordVectors | None,
    seed: int,
    generator: Generator,
) -> tuple[Encoder, Batcher]:
    """An untrained encoder and its batcher.

    A recurrent encoder reads ``vectors`` or, without them, trains random vectors for the words of the
    sentences. A transformer has its own vocabulary."""
    batcher: Batcher
    if isinstance(config, TransformerConfig):
        from adaptner.nn.encoders.transformer.subwords import subword_batcher

        batcher = subword_batcher(config)
    else:
        if vectors is None:
            words = (s.tokens for s in sentences)
            vectors = WordVectors.random(words, config.word_width, np.random.default_rng(seed))
            config = config.model_copy(update={"tune_words": True})
        batcher = WordBatcher(vectors, alphabet_of(sentences))
    return restored_encoder(config, batcher, generator), batcher
