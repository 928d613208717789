"""The encoders there are, by configuration: θ is one of them."""

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

KIND = "kind="  # pydantic puts the tags among the fields of its complaints: whoever shows them skips it


def _kind(given: Any) -> str:
    found = given.get("kind") if isinstance(given, dict) else getattr(given, "kind", None)
    return f"{KIND}{found or 'recurrent'}"  # what settings and manifests without one mean


AnyEncoderConfig = Annotated[
    Annotated[EncoderConfig, Tag(f"{KIND}recurrent")]
    | Annotated[TransformerConfig, Tag(f"{KIND}transformer")],
    Discriminator(_kind),
]


def restored_encoder(
    config: EncoderConfig | TransformerConfig, batcher: Batcher, generator: Generator
) -> Encoder:
    """As it was made, for the parameters of a saved model to be put into."""
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
    """A recurrent one reads ``vectors`` or, without, tuned random ones over the sentences' words; a
    pretrained one has its own."""
    if isinstance(config, TransformerConfig):
        subwords = config.batcher()
        return TransformerEncoder(config, subwords, generator), subwords
    if vectors is None:
        words = (s.tokens for s in sentences)
        vectors = WordVectors.random(words, config.word_width, np.random.default_rng(seed))
        config = config.model_copy(update={"tune_words": True})
    batcher = WordBatcher(vectors, alphabet_of(sentences))
    return RecurrentEncoder(config, batcher, generator), batcher
