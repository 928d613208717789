"""Fits the decoder alone over an encoder that does not change.

The problem is convex, so the result depends on no seed. The penalty pulls the decoder towards its
prior instead of zero: with five sentences the prior decides, with fifty the sentences do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from adaptner.adaptation.loop import adaptation_facts
from adaptner.methods.named.config import LinearFitConfig
from adaptner.methods.named.decoder_prior import decoder_prior
from adaptner.methods.named.encoded import EncodedSentences
from adaptner.methods.named.encoder_choice import EncodedTarget
from adaptner.methods.named.label_matching import LabelMatch
from adaptner.methods.named.lbfgs import minimise, parameters_to_rows, rows_to_parameters
from adaptner.models.tagger import Tagger
from adaptner.nn.decoders.crf import CRF
from adaptner.progress import ProgressCallback, no_progress
from adaptner.training.budget import Budget
from adaptner.types import LabelSet


def fit_linear_decoder(
    encoded: EncodedTarget,
    config: LinearFitConfig,
    *,
    pseudo_labelled: Sequence[EncodedSentences] = (),
    budget: Budget | None = None,
    seed: int = 0,
    progress: ProgressCallback = no_progress,
) -> Tagger:
    """A tagger with the decoder that minimises the sum of the sentences' negative log-likelihoods
    and the penalty. ``seed`` is recorded only."""
    base, target = encoded.base, encoded.target
    decoder = decoder_prior(base, target.labels, config, encoded.matches)
    penalties = stronger_penalties(config, target.labels, encoded.matches)
    steps = fit_decoder(
        decoder,
        [encoded.encoded, *pseudo_labelled],
        penalties,
        (budget or Budget(config.linear_steps)).steps,
        progress=progress,
    )
    facts = {**adaptation_facts(base, target, steps, seed), **encoded.match_facts()}
    return Tagger(base.model.encoder, decoder, base.batcher, base.method, facts, base.folder)


def fit_decoder(
    decoder: CRF,
    batches: Sequence[EncodedSentences],
    config: LinearFitConfig,
    max_steps: int,
    *,
    tolerance: float = 1e-4,
    progress: ProgressCallback = no_progress,
) -> int:
    """Fit ``decoder``, which holds the prior, in place, and return the number of steps. Several
    decoders can be stacked in one and are fitted side by side."""
    prior = {name: p.detach().clone() for name, p in decoder.named_parameters()}
    parameters = list(decoder.parameters())
    calls = 0

    def objective(points: Tensor) -> tuple[Tensor, Tensor]:
        nonlocal calls
        calls += 1
        rows_to_parameters(points, parameters)
        values = _prior_penalty(decoder, prior, config)
        for batch in batches:
            losses = decoder(batch.states, batch.tags.expand(len(points), -1, -1), batch.mask)
            values = values + (batch.weights * losses).sum(1)
        gradients = torch.autograd.grad(values.sum(), parameters)
        loss = float(values.detach().mean())
        progress(min(calls, max_steps), max_steps, f"loss {loss:.2f}")
        return values.detach(), parameters_to_rows(gradients)

    start = parameters_to_rows([p.detach() for p in parameters])
    found, steps = minimise(objective, start, max_steps, tolerance)
    rows_to_parameters(found, parameters)
    return steps


def stronger_penalties(
    config: LinearFitConfig, labels: LabelSet, matches: Mapping[str, LabelMatch]
) -> LinearFitConfig:
    """The settings with larger penalties if all labels match: a decoder that was trained on
    thousands of sentences deserves more trust than a name."""
    if not matches.keys() >= set(labels.labels):
        return config
    penalties = ("penalty", "bias_penalty", "transition_penalty")
    factor = config.source_penalty_factor
    return config.model_copy(update={name: factor * getattr(config, name) for name in penalties})


def _prior_penalty(decoder: CRF, prior: dict[str, Tensor], config: LinearFitConfig) -> Tensor:
    """One value for each stacked decoder."""
    strength = {"weight": config.penalty, "bias": config.bias_penalty}
    return torch.stack(
        [
            strength.get(name, config.transition_penalty)
            * ((p - prior[name]) ** 2).flatten(1).sum(1)
            for name, p in decoder.named_parameters()
        ]
    ).sum(0)
