"""Makes encoders from their configuration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import Discriminator, Tag
from torch import Generator

from adaptner.nn.batching.batch import Batcher
from adaptner.nn.batching.word_batch import WordBatcher, alphabet_of
from adaptner.nn.encoders.base import Encoder
from adaptner.nn.encoders.recurrent import EncoderConfig, RecurrentEncoder
from adaptner.nn.encoders.transformer.encoder import TransformerConfig, TransformerEncoder
from adaptner.nn.encoders.transformer.subwords import SubwordBatcher
from adaptner.types import Sentence
from adaptner.vectors.word_vectors import WordVectors

KIND = "kind="  # marks the tags that pydantic puts into the locations of its errors


def _kind(settings: Any) -> str:
    kind = settings.get("kind") if isinstance(settings, dict) else getattr(settings, "kind", None)
    return f"{KIND}{kind or 'recurrent'}"  # older settings and manifests have no kind


AnyEncoderConfig = Annotated[
    Annotated[EncoderConfig, Tag(f"{KIND}recurrent")]
    | Annotated[TransformerConfig, Tag(f"{KIND}transformer")],
    Discriminator(_kind),
]


def restored_encoder(
    config: EncoderConfig | TransformerConfig, batcher: Batcher, generator: Generator
) -> Encoder:
    """An encoder into which the parameters of a saved model can be loaded."""
    if isinstance(config, TransformerConfig):
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
    if isinstance(config, TransformerConfig):
        subwords = config.batcher()
        return TransformerEncoder(config, subwords, generator), subwords
    if vectors is None:
        words = (s.tokens for s in sentences)
        vectors = WordVectors.random(words, config.word_width, np.random.default_rng(seed))
        config = config.model_copy(update={"tune_words": True})
    batcher = WordBatcher(vectors, alphabet_of(sentences))
    return RecurrentEncoder(config, batcher, generator), batcher
