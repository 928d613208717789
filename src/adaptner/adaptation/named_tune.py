"""φ first, over θ as it is; then, where there are sentences enough, θ and φ together.

A few mentions tell θ nothing that is worth forgetting for; some dozens do (docs/results/few-shot.md).
With hundreds of sentences φ need not come first: its prior is start enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adaptner.adaptation.fine_tune import fine_tune
from adaptner.adaptation.linear_fit import LinearFitConfig, linear_fit, prior
from adaptner.adaptation.tagger import Tagger
from adaptner.adaptation.target import Target
from adaptner.nn.crf import CRF
from adaptner.training.base import Base
from adaptner.training.budget import Budget
from adaptner.training.progress import Watch, silent
from adaptner.types import LabelSet, Sentence

FEW = 300  # sentences whose features are held in memory all at once


def named_tune(
    base: Base,
    sentences: Sequence[Sentence],
    config: LinearFitConfig,
    *,
    labels: LabelSet | None = None,
    budget: Budget | None = None,
    seed: int = 0,
    watch: Watch = silent,
) -> Tagger:
    """``budget`` is that of the last stage: of φ alone with few sentences, else of θ and φ."""
    target = Target.of(base, sentences, labels)
    options: dict[str, Any] = {"labels": labels, "seed": seed, "watch": watch}
    if sum(len(s.entities) for s in target.sentences) < config.tune_from:
        return linear_fit(base, sentences, config, budget=budget, **options)
    if len(target.sentences) > FEW:
        start = prior(base, target.labels, config)
    else:
        found = linear_fit(base, sentences, config, **options).decoder
        assert isinstance(found, CRF)
        start = found
    return fine_tune(base, sentences, config, start=start, budget=budget, **options)
