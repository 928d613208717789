"""φ learns once more, from what it makes itself of sentences without labels (self-training).

What it is worth, and that sentences in which it finds nothing must not count, is in
docs/results/few-shot.md.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import torch

from adaptner.errors import TooFewSentences
from adaptner.methods.named.decoder_fit import EncodedSentences, LinearFitConfig, fit_linear_decoder
from adaptner.models.base import Base
from adaptner.models.tagger import Tagger
from adaptner.nn.decoders.crf import CRF
from adaptner.types import LabelSet, Sentence

LOOKED_AT = 20_000  # sentences of a text that some are chosen from
LONGEST = 80  # words: a table in the text is no sentence
_TOGETHER = 50


def fit_with_unlabelled(
    base: Base,
    sentences: Sequence[Sentence],
    text: Iterable[Sentence],
    config: LinearFitConfig,
    *,
    seed: int = 0,
    **options: Any,
) -> Tagger:
    """``linear_fit``, and once more from the start with what it makes of ``text``."""
    tagger = fit_linear_decoder(base, sentences, config, seed=seed, **options)
    some = sample_sentences(text, config.max_unlabelled, random.Random(seed))
    if not some:
        what = f"the target's raw text (of 2 to {LONGEST} words)"
        raise TooFewSentences(found=0, what=what, needed=1, option="--unlabelled TEXT")
    decoder = tagger.decoder
    assert isinstance(decoder, CRF)
    beside = [
        pseudo_label(decoder, part, config)
        for part in encode_in_batches(base, some, decoder.labels, config)
    ]
    tagger = fit_linear_decoder(base, sentences, config, beside=beside, seed=seed, **options)
    tagger.facts["unlabelled"] = len(some)
    return tagger


def sample_sentences(text: Iterable[Sentence], most: int, rng: random.Random) -> list[Sentence]:
    """At most so many sentences of those that a long text begins with, without their labels."""
    usable = (s for s in text if 1 < len(s) <= LONGEST)
    found = [s.without_entities() for s in islice(usable, LOOKED_AT)]
    return rng.sample(found, min(most, len(found)))


def encode_in_batches(
    base: Base, text: Sequence[Sentence], labels: LabelSet, config: LinearFitConfig
) -> list[EncodedSentences]:
    ordered = sorted(text, key=len)
    groups = [ordered[at : at + _TOGETHER] for at in range(0, len(ordered), _TOGETHER)]
    return [EncodedSentences.of(base, group, labels, config) for group in groups]


@torch.no_grad()
def pseudo_label(decoder: CRF, part: EncodedSentences, config: LinearFitConfig) -> EncodedSentences:
    """The sentences with the tags that φ gives them. A sentence counts ``config.unlabelled_weight`` times as one
    that a curator has marked, and times the probability of its least sure tag; one in which nothing
    is found counts nothing, since φ misses most of what is rare."""
    tags = decoder.decode(part.states, part.mask).where(part.mask, 0)
    sure = decoder.marginals(part.states, part.mask).gather(3, tags[..., None])[..., 0]
    least = sure.where(part.mask, 1.0).amin(-1)
    return replace(part, tags=tags, shares=config.unlabelled_weight * least * (tags > 0).any(-1))
