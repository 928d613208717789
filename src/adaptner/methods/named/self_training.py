"""Self-training: the decoder is fitted again with unlabelled sentences that it tagged itself.

docs/results/few-shot.md has the gain, and shows that sentences in which nothing is found must not
count.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import torch

from adaptner.errors import TooFewSentences
from adaptner.methods.named.config import LinearFitConfig
from adaptner.methods.named.decoder_fit import fit_linear_decoder
from adaptner.methods.named.encoded import EncodedSentences
from adaptner.methods.named.encoder_choice import EncodedTarget
from adaptner.models.base import Base
from adaptner.models.tagger import Tagger
from adaptner.nn.decoders.crf import CRF
from adaptner.terms.features import TermFeatures
from adaptner.types import LabelSet, Sentence

MAX_READ = 20_000  # sentences at the beginning of a text from which the sample is drawn
MAX_WORDS = 80  # anything longer is a table rather than a sentence
_BATCH = 50


def fit_with_unlabelled(
    encoded: EncodedTarget,
    text: Iterable[Sentence],
    config: LinearFitConfig,
    *,
    seed: int = 0,
    **options: Any,
) -> Tagger:
    """Like `fit_linear_decoder`, then once more from the prior with pseudo-labelled sentences of
    ``text``. Raises TooFewSentences if the text has no usable sentence."""
    tagger = fit_linear_decoder(encoded, config, seed=seed, **options)
    sample = sample_sentences(text, config.max_unlabelled, random.Random(seed))
    if not sample:
        what = f"the target's raw text (of 2 to {MAX_WORDS} words)"
        raise TooFewSentences(found=0, what=what, needed=1, option="--unlabelled TEXT")
    decoder = tagger.decoder
    assert isinstance(decoder, CRF)
    pseudo_labelled = [
        pseudo_label(decoder, batch, config)
        for batch in encode_in_batches(encoded.base, sample, decoder.labels, encoded.features)
    ]
    tagger = fit_linear_decoder(
        encoded, config, pseudo_labelled=pseudo_labelled, seed=seed, **options
    )
    tagger.facts["unlabelled"] = len(sample)
    return tagger


def sample_sentences(text: Iterable[Sentence], most: int, rng: random.Random) -> list[Sentence]:
    """At most ``most`` sentences from the beginning of a long text, without labels."""
    usable = (s for s in text if 1 < len(s) <= MAX_WORDS)
    found = [s.without_entities() for s in islice(usable, MAX_READ)]
    return rng.sample(found, min(most, len(found)))


def encode_in_batches(
    base: Base,
    text: Sequence[Sentence],
    labels: LabelSet,
    features: TermFeatures | None = None,
) -> list[EncodedSentences]:
    """Batches of sentences of similar length."""
    ordered = sorted(text, key=len)
    groups = [ordered[at : at + _BATCH] for at in range(0, len(ordered), _BATCH)]
    return [EncodedSentences.of(base, group, labels, 1.0, features) for group in groups]


@torch.no_grad()
def pseudo_label(
    decoder: CRF, batch: EncodedSentences, config: LinearFitConfig
) -> EncodedSentences:
    """The sentences with the tags that the decoder predicts. A sentence's weight is
    ``config.unlabelled_weight`` times the probability of its least certain tag, and zero if nothing
    was found, since the decoder misses most mentions of rare entities."""
    tags = decoder.decode(batch.states, batch.mask).where(batch.mask, 0)
    marginals = decoder.marginals(batch.states, batch.mask)
    probabilities = marginals.gather(3, tags[..., None])[..., 0]
    least = probabilities.where(batch.mask, 1.0).amin(-1)
    weights = config.unlabelled_weight * least * (tags > 0).any(-1)
    return replace(batch, tags=tags, weights=weights)
