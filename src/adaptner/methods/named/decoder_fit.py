"""Fits the decoder alone over an encoder that does not change.

The problem is convex, so the result depends on no seed. The penalty pulls the decoder towards its
prior instead of zero: with five sentences the prior decides, with fifty the sentences do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from adaptner.adaptation.loop import adaptation_facts
from adaptner.methods.named.config import LinearFitConfig
from adaptner.methods.named.encoded import EncodedSentences
from adaptner.methods.named.encoder_choice import EncodedTarget
from adaptner.methods.named.label_matching import LabelMatch
from adaptner.methods.named.lbfgs import minimise, parameters_to_rows, rows_to_parameters
from adaptner.models.tagger import Tagger
from adaptner.nn.decoders.chain_gradient import PackedTags, chain_gradient, pack_order
from adaptner.nn.decoders.crf import CRF
from adaptner.progress import ProgressCallback, no_progress
from adaptner.training.budget import Budget
from adaptner.types import LabelSet

Penalties = Mapping[str, np.ndarray]  # by parameter, as factors of the squared distance


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
    decoder = encoded.prior(config)
    steps = fit_decoder(
        decoder,
        [encoded.encoded, *encoded.raw(config), *pseudo_labelled],
        penalties_of(encoded, config),
        (budget or Budget(config.linear_steps)).steps,
        progress=progress,
    )
    facts = {**adaptation_facts(base, target, steps, seed), **encoded.match_facts()}
    return encoded.tagger(decoder, facts)


def unfitted(encoded: EncodedTarget, config: LinearFitConfig, seed: int) -> Tagger:
    """A tagger with the decoder of the start."""
    facts = {**adaptation_facts(encoded.base, encoded.target, 0, seed), **encoded.match_facts()}
    return encoded.tagger(encoded.prior(config), facts)


def fit_decoder(
    decoder: CRF,
    batches: Sequence[EncodedSentences],
    penalties: Penalties,
    max_steps: int,
    *,
    tolerance: float = 1e-4,
    progress: ProgressCallback = no_progress,
) -> int:
    """Fit ``decoder``, which holds the prior, in place, and return the number of steps. Several
    decoders can be stacked in one and are fitted side by side."""
    parameters = dict(decoder.named_parameters())
    prior = {name: p.detach().cpu().numpy().copy() for name, p in parameters.items()}
    states, packed = _packed(batches, len(decoder.weight))
    forbidden = [
        t.cpu().double().numpy()
        for t in (decoder.constraints.moves, decoder.constraints.starts, decoder.constraints.ends)
    ]
    calls = 0

    def objective(points: Tensor) -> tuple[Tensor, Tensor]:
        nonlocal calls
        calls += 1
        rows_to_parameters(points, list(parameters.values()))
        now = {name: p.detach().cpu().numpy() for name, p in parameters.items()}
        weight = now["weight"]
        count, tags, width = weight.shape
        emissions = states @ weight.reshape(-1, width).T
        emissions = emissions.reshape(-1, count, tags).transpose(1, 0, 2).astype(np.float64)
        emissions += now["bias"][:, None]
        chain = chain_gradient(
            np.ascontiguousarray(emissions),
            now["transition"] + forbidden[0],
            now["start"] + forbidden[1],
            now["end"] + forbidden[2],
            packed,
        )
        flat = np.ascontiguousarray(chain.emissions.transpose(1, 0, 2), dtype=np.float32)
        of_data = {
            "weight": (flat.reshape(len(flat), -1).T @ states).reshape(weight.shape),
            "bias": chain.emissions.sum(1),
            "transition": chain.moves,
            "start": chain.start,
            "end": chain.end,
        }
        values = chain.value.copy()
        gradients = []
        for name in parameters:
            distance = now[name] - prior[name]
            pulled = penalties[name] * distance
            values += (pulled * distance).reshape(count, -1).sum(1)
            gradients.append(torch.from_numpy(of_data[name] + 2 * pulled).to(points))
        progress(min(calls, max_steps), max_steps, f"loss {values.mean():.2f}")
        return torch.from_numpy(values).to(points), parameters_to_rows(gradients)

    start = parameters_to_rows([p.detach() for p in parameters.values()])
    found, steps = minimise(objective, start, max_steps, tolerance)
    rows_to_parameters(found, list(parameters.values()))
    return steps


def _packed(batches: Sequence[EncodedSentences], decoders: int) -> tuple[np.ndarray, PackedTags]:
    """The states (N, width) and tags of all sentences, without padding."""
    states = np.concatenate([b.states[0][b.mask[0]].cpu().numpy() for b in batches])
    tags = np.concatenate([b.tags[0][b.mask[0]].cpu().numpy() for b in batches])
    lengths = np.concatenate([b.mask[0].sum(-1).cpu().numpy() for b in batches])
    weights = np.concatenate(
        [np.broadcast_to(b.weights.cpu().numpy(), (decoders, b.weights.shape[1])) for b in batches],
        1,
    ).astype(np.float64)
    order, places, counts = pack_order(lengths)
    return states[places], PackedTags(tags[places], counts, weights[:, order])


def penalties_of(encoded: EncodedTarget, config: LinearFitConfig) -> Penalties:
    """A dictionary is a better start than a name and is held more firmly; so is a decoder that was
    trained on thousands of sentences, if all labels have one."""
    labels, features = encoded.target.labels, encoded.features
    known = stronger_penalties(config, labels, encoded.matches)
    from_terms = set(features.kinds) if features is not None else set()
    firm = np.array([tag[2:] in from_terms or not tag[2:] for tag in labels.tags])
    firm[0] = from_terms >= set(labels.labels)
    weight = np.where(firm, config.firm_penalty, known.penalty)[:, None]
    weight = np.repeat(weight, encoded.base.model.encoder.width, 1)
    if features is not None:
        of_terms = np.full((len(firm), features.width), config.term_penalty)
        weight = np.concatenate([weight, of_terms], 1)
    moves = np.where(firm, config.firm_transition_penalty, known.transition_penalty)
    return {
        "weight": weight.astype(np.float32),
        "bias": np.where(firm, config.bias_penalty, known.bias_penalty),
        "transition": np.broadcast_to(moves, (len(firm), len(firm))),
        "start": moves,
        "end": moves,
    }


def stronger_penalties(
    config: LinearFitConfig, labels: LabelSet, matches: Mapping[str, LabelMatch]
) -> LinearFitConfig:
    """The settings with larger penalties if all labels match a source label."""
    if not matches.keys() >= set(labels.labels):
        return config
    penalties = ("penalty", "bias_penalty", "transition_penalty")
    factor = config.source_penalty_factor
    return config.model_copy(update={name: factor * getattr(config, name) for name in penalties})
