"""φ over θ as it is; or, where there are mentions enough, θ and φ together from what the name says.

A few mentions tell θ nothing that is worth forgetting for; some hundreds do (docs/results/few-shot.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from adaptner.adaptation.fine_tune import fine_tune
from adaptner.adaptation.target import TargetData
from adaptner.errors import UsageError
from adaptner.methods.families.raw_text import has_sentences
from adaptner.methods.named.decoder_fit import (
    EncodedSentences,
    LinearFitConfig,
    decoder_prior,
    fit_linear_decoder,
    known_from_sources,
    match_facts,
)
from adaptner.methods.named.encoder_choice import choose_encoder
from adaptner.methods.named.self_training import fit_with_unlabelled
from adaptner.models.base import Base
from adaptner.models.tagger import Tagger
from adaptner.progress import ProgressCallback, no_progress
from adaptner.training.budget import Budget
from adaptner.types import LabelSet, Sentence

MAX_FEW_SHOT = 300  # sentences whose features are held in memory all at once


def adapt_named(
    base: Base,
    sentences: Sequence[Sentence],
    config: LinearFitConfig,
    *,
    unlabelled: Iterable[Sentence] = (),
    labels: LabelSet | None = None,
    budget: Budget | None = None,
    seed: int = 0,
    progress: ProgressCallback = no_progress,
) -> Tagger:
    """``unlabelled``: text of the target that φ learns from too, where it learns alone."""
    target = TargetData.of(base, sentences, labels)
    base = choose_encoder(base, target.sentences[:MAX_FEW_SHOT], target.labels, config)
    options: dict[str, Any] = {
        "labels": labels,
        "budget": budget,
        "seed": seed,
        "progress": progress,
    }
    mentions = sum(len(s.entities) for s in target.sentences)
    if mentions < config.fine_tune_from and len(target.sentences) <= MAX_FEW_SHOT:
        if has_sentences(unlabelled):
            return fit_with_unlabelled(base, sentences, unlabelled, config, **options)
        return fit_linear_decoder(base, sentences, config, **options)
    if has_sentences(unlabelled):
        raise UsageError(
            problem=f"--unlabelled has no use with {len(target.sentences)} sentences and {mentions} "
            f"mentions: from {MAX_FEW_SHOT} or {config.fine_tune_from} on, labels teach more",
            remedy="leave it out",
        )
    some = EncodedSentences.of(base, target.sentences[:MAX_FEW_SHOT], target.labels, config)
    known = known_from_sources(base, target.labels, config, [some])
    begun = decoder_prior(base, target.labels, config, known)
    tagger = fine_tune(base, sentences, config, start=begun, **options)
    tagger.facts |= match_facts(known)
    return tagger
