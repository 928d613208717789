"""φ over θ as it is; or, where there are mentions enough, θ and φ together from what the name says.

A few mentions tell θ nothing that is worth forgetting for; some hundreds do (docs/results/few-shot.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from adaptner.adaptation.fine_tune import fine_tune
from adaptner.adaptation.target import Target
from adaptner.errors import BadUsage
from adaptner.methods.families.raw_text import holds_something
from adaptner.methods.named.decoder_fit import (
    Encoded,
    LinearFitConfig,
    known_from_sources,
    linear_fit,
    prior,
    told,
)
from adaptner.methods.named.encoder_choice import suited
from adaptner.methods.named.self_training import fit_with_text
from adaptner.models.base import Base
from adaptner.models.tagger import Tagger
from adaptner.progress import Watch, silent
from adaptner.training.budget import Budget
from adaptner.types import LabelSet, Sentence

FEW = 300  # sentences whose features are held in memory all at once


def named_tune(
    base: Base,
    sentences: Sequence[Sentence],
    config: LinearFitConfig,
    *,
    unlabelled: Iterable[Sentence] = (),
    labels: LabelSet | None = None,
    budget: Budget | None = None,
    seed: int = 0,
    watch: Watch = silent,
) -> Tagger:
    """``unlabelled``: text of the target that φ learns from too, where it learns alone."""
    target = Target.of(base, sentences, labels)
    base = suited(base, target.sentences[:FEW], target.labels, config)
    options: dict[str, Any] = {"labels": labels, "budget": budget, "seed": seed, "watch": watch}
    mentions = sum(len(s.entities) for s in target.sentences)
    if mentions < config.tune_from and len(target.sentences) <= FEW:
        if holds_something(unlabelled):
            return fit_with_text(base, sentences, unlabelled, config, **options)
        return linear_fit(base, sentences, config, **options)
    if holds_something(unlabelled):
        raise BadUsage(
            problem=f"--unlabelled has no use with {len(target.sentences)} sentences and {mentions} "
            f"mentions: from {FEW} or {config.tune_from} on, labels teach more",
            remedy="leave it out",
        )
    some = Encoded.of(base, target.sentences[:FEW], target.labels, config)
    known = known_from_sources(base, target.labels, config, [some])
    begun = prior(base, target.labels, config, known)
    tagger = fine_tune(base, sentences, config, start=begun, **options)
    tagger.facts |= told(known)
    return tagger
