"""Adapting: the decoder alone or, from some hundred mentions on, encoder and decoder.

A few mentions contain nothing that is worth changing the encoder for, some hundreds do
(docs/results/few-shot.md).
"""

from __future__ import annotations

from collections.abc import Iterable

from adaptner.adaptation.fine_tune import fine_tune
from adaptner.errors import UsageError
from adaptner.methods.named.config import LinearFitConfig
from adaptner.methods.named.decoder_fit import fit_linear_decoder, unfitted
from adaptner.methods.named.decoder_prior import decoder_prior
from adaptner.methods.named.encoder_choice import MAX_FEW_SHOT, MAX_WITH_TERMS, EncodedTarget
from adaptner.methods.named.held_out import validate
from adaptner.methods.named.self_training import fit_with_unlabelled
from adaptner.models.tagger import Tagger
from adaptner.progress import ProgressCallback, no_progress
from adaptner.training.budget import Budget
from adaptner.types import Sentence


def adapt_named(
    encoded: EncodedTarget,
    config: LinearFitConfig,
    *,
    unlabelled: Iterable[Sentence] = (),
    budget: Budget | None = None,
    seed: int = 0,
    progress: ProgressCallback = no_progress,
) -> Tagger:
    """Fit the decoder, with self-training on ``unlabelled`` text if there is any, or fine-tune both
    from the prior. A dictionary stays as it is if cross-validation shows that the fit loses.

    Raises UsageError for text that fine-tuning would not read."""
    sentences = encoded.target.sentences
    mentions = sum(len(s.entities) for s in sentences)
    most = MAX_FEW_SHOT if encoded.features is None else MAX_WITH_TERMS
    is_few = encoded.features is not None or mentions < config.fine_tune_from
    if is_few and len(sentences) <= most:
        if any(len(sentence) for sentence in unlabelled):
            return fit_with_unlabelled(
                encoded, unlabelled, config, budget=budget, seed=seed, progress=progress
            )
        if encoded.starts_as_dictionary:
            found = validate(encoded, config, seed=seed, progress=progress)
            if len(sentences) <= MAX_FEW_SHOT and (found is None or found.fit_loses):
                return unfitted(encoded, config, seed)
        return fit_linear_decoder(encoded, config, budget=budget, seed=seed, progress=progress)
    if any(len(sentence) for sentence in unlabelled):
        raise UsageError(
            problem=f"--unlabelled has no use with {len(sentences)} sentences and {mentions} "
            f"mentions: with more than {most} sentences or at least "
            f"{config.fine_tune_from} mentions, the encoder is fine-tuned on the labels alone",
            remedy="leave it out",
        )
    tagger = fine_tune(
        encoded.base,
        sentences,
        config,
        start=decoder_prior(encoded.base, encoded.target.labels, config, encoded.matches),
        labels=encoded.target.labels,
        budget=budget,
        seed=seed,
        progress=progress,
    )
    tagger.facts |= encoded.match_facts()
    return tagger
