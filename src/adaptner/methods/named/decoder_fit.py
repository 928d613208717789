"""φ alone, over a frozen θ: convex, so nothing depends on a seed, and the sentences are read once.

The penalty pulls φ not towards zero but towards what a source has taught of the same kind
(``kindred.py``) or, for a new kind, what the label's *name* says (``vectors/label_directions.py``): with five sentences
these know more than they do, with fifty they are outvoted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from pydantic import Field
from torch import Tensor

from adaptner.adaptation.fine_tune import FineTuneConfig
from adaptner.adaptation.loop import adaptation_facts
from adaptner.adaptation.target import TargetData
from adaptner.methods.named.label_matching import EncodedTags, LabelMatch, match_labels
from adaptner.methods.named.lbfgs import flat, minimise, put
from adaptner.models.base import Base
from adaptner.models.tagger import Tagger
from adaptner.nn.batching.word_batch import WordBatcher
from adaptner.nn.decoders.crf import CRF
from adaptner.nn.encoders.lexical_features import WORD, word_part
from adaptner.nn.encoders.recurrent import RecurrentEncoder
from adaptner.nn.heads.label_name_head import BEGINS, GOES_ON, OUTSIDE_IT
from adaptner.progress import ProgressCallback, no_progress
from adaptner.training.budget import Budget
from adaptner.training.optimiser import OptimiserConfig
from adaptner.types import OUTSIDE, LabelSet, Sentence

_ODDS = 0.5  # a name's log odds against its word's score, where both are to count alike


class LinearFitConfig(FineTuneConfig):
    """Chosen on dev sentences, one setting for all targets (docs/results/few-shot.md). What is told of steps, batches and rates
    is told to the tuning of θ that follows (``named_tune``)."""

    optimiser: OptimiserConfig = OptimiserConfig(name="adamw", rate=0.02, weight_decay=1e-6)
    encoder_scale: float = Field(0.3, gt=0, description="θ's rate over φ's")
    linear_steps: int = Field(60, ge=1, description="at most so many, of L-BFGS")
    fine_tune_from: int = Field(150, ge=1, description="with so many mentions, θ is tuned as well")
    penalty: float = Field(0.25, ge=0, description="times the squared distance of φ from its prior")
    bias_penalty: float = Field(2.0, ge=0, description="the same for the tags' own scores")
    transition_penalty: float = Field(0.05, ge=0, description="the same for the scores of moves")
    name_weight: float = Field(
        2.0, ge=0, description="how much the word counts for the label's name; 0: not at all"
    )
    state_share: float = Field(
        0.3, ge=0, le=1, description="how much of that is left to the word where it stands"
    )
    border_weight: float = Field(0.15, ge=0, description="how much what is known of borders counts")
    entity_bias: float = Field(
        4.0, description="added to the log odds of names: text names few things"
    )
    use_source_labels: bool = Field(
        True, description="start from what a source has taught of the same kind"
    )
    source_penalty_factor: float = Field(
        4.0, gt=0, description="times all penalties, where sources have taught every label"
    )
    empty_sentence_weight: float = Field(
        0.3, ge=0, le=1, description="what a sentence without an entity counts"
    )
    unlabelled_weight: float = Field(
        0.3, ge=0, le=1, description="what a sentence without labels counts"
    )
    max_unlabelled: int = Field(300, ge=1, description="sentences without labels, at most")


def fit_linear_decoder(
    base: Base,
    sentences: Sequence[Sentence],
    config: LinearFitConfig,
    *,
    beside: Sequence[EncodedSentences] = (),
    labels: LabelSet | None = None,
    budget: Budget | None = None,
    seed: int = 0,
    progress: ProgressCallback = no_progress,
) -> Tagger:
    """The φ that makes the sum of the sentences' negative log-likelihoods and the penalty least.
    ``beside`` are sentences that nobody has marked, with the tags that they are to have."""
    target = TargetData.of(base, sentences, labels)
    encoder = base.model.encoder
    part = EncodedSentences.of(base, target.sentences, target.labels, config)
    known = known_from_sources(base, target.labels, config, [part])
    decoder = decoder_prior(base, target.labels, config, known)
    steps = (budget or Budget(config.linear_steps)).steps
    firm = stronger_penalties(config, target.labels, known)
    taken = fit_decoder(decoder, [part, *beside], firm, steps, progress=progress)
    facts = {**adaptation_facts(base, target, taken, seed), **match_facts(known)}
    return Tagger(encoder, decoder, base.batcher, base.method, facts, base.folder)


@dataclass(frozen=True)
class EncodedSentences(EncodedTags):
    """``shares`` (G, B): what each sentence counts for each of several φ."""

    order: tuple[int, ...]  # the place of each row in what was given
    shares: Tensor

    @classmethod
    def of(
        cls, base: Base, sentences: Sequence[Sentence], labels: LabelSet, config: LinearFitConfig
    ) -> EncodedSentences:
        batch = base.batcher([sentences], [labels])
        assert batch.tags is not None
        with torch.no_grad():
            states = base.model.encoder(batch)
        # A few sentences of a rare type are nearly all O, and would unlearn what the name says.
        shares = torch.where((batch.tags > 0).any(-1), 1.0, config.empty_sentence_weight)
        return cls(states, batch.tags, batch.mask, batch.order[0], shares)


def fit_decoder(
    decoder: CRF,
    parts: Sequence[EncodedSentences],
    config: LinearFitConfig,
    steps: int,
    *,
    tolerance: float = 1e-4,
    progress: ProgressCallback = no_progress,
) -> int:
    """Bring φ from its prior, where it stands, to the least of its objective; the steps that took.
    ``decoder`` may hold several φ side by side."""
    centre = {name: p.detach().clone() for name, p in decoder.named_parameters()}
    parameters = list(decoder.parameters())
    calls = 0

    def objective(points: Tensor) -> tuple[Tensor, Tensor]:
        nonlocal calls
        calls += 1
        put(points, parameters)
        values = _prior_penalty(decoder, centre, config)
        for part in parts:
            losses = decoder(part.states, part.tags.expand(len(points), -1, -1), part.mask)
            values = values + (part.shares * losses).sum(1)
        slopes = torch.autograd.grad(values.sum(), parameters)
        progress(min(calls, steps), steps, f"loss {float(values.detach().mean()):.2f}")
        return values.detach(), flat(slopes)

    begun = flat([p.detach() for p in parameters])
    found, taken = minimise(objective, begun, steps, tolerance)
    put(found, parameters)
    return taken


def known_from_sources(
    base: Base, labels: LabelSet, config: LinearFitConfig, marked: Sequence[EncodedTags]
) -> dict[str, LabelMatch]:
    """Where φ of a label can start from; ``marked`` sentences tell of the kind."""
    if not config.use_source_labels:
        return {}
    return match_labels(base, labels, marked, by_name=config.name_weight > 0)


def match_facts(known: Mapping[str, LabelMatch]) -> dict[str, dict[str, str]]:
    """For the facts of a tagger: which label started as which of a source's."""
    return {"known": {label: kin.label for label, kin in known.items()}} if known else {}


def stronger_penalties(
    config: LinearFitConfig, labels: LabelSet, known: Mapping[str, LabelMatch]
) -> LinearFitConfig:
    """Thousands of sentences weigh more than a name does."""
    if not known.keys() >= set(labels.labels):
        return config
    penalties = ("penalty", "bias_penalty", "transition_penalty")
    return config.model_copy(
        update={p: config.source_penalty_factor * getattr(config, p) for p in penalties}
    )


def decoder_prior(
    base: Base, labels: LabelSet, config: LinearFitConfig, known: Mapping[str, LabelMatch] = {}
) -> CRF:
    """φ before it learns from any sentence: what a source has taught of the same kind, or that O is
    likely, an entity goes on, and what the label's name means."""
    decoder = CRF(base.model.encoder.width, labels, torch.Generator())
    encoder, batcher = base.model.encoder, base.batcher
    assert isinstance(batcher, WordBatcher)
    assert isinstance(encoder, RecurrentEncoder)
    senses, names = batcher.vectors.senses, base.label_probes
    if not encoder.config.lexical_features:
        senses = names = None
    of_states = slice(0, encoder.recurrent.width)
    of_word = word_part(encoder.recurrent.width, batcher.vectors.width)
    share = config.state_share if names is not None else 0.0
    with torch.no_grad():
        for p in decoder.parameters():
            p.zero_()
        weight, bias = decoder.weight[0], decoder.bias[0]
        bias.fill_(-1)
        bias[labels.index[OUTSIDE]] = 1
        for label in labels.labels:
            if label in known:
                known[label].put(decoder, label)
                continue
            tags = {tag: i for tag, i in labels.index.items() if tag[2:] == label}
            every = list(tags.values())
            inside = [i for tag, i in tags.items() if tag[0] in "IE"]
            decoder.transition[0, torch.tensor(every)[:, None], torch.tensor(inside)] = 0.5
            if senses is not None and (direction := senses.direction(label)) is not None:
                towards = (1 - share) * config.name_weight * torch.from_numpy(direction)
                weight[every, of_word] += towards / WORD
                bias[every] -= towards @ torch.from_numpy(senses.middle)
            if names is None:
                continue
            if (row := names.row(label)) is not None:
                scale = _ODDS * share * config.name_weight
                weight[every, of_states] += scale * names.weight[row]
                bias[every] += scale * (names.bias[row] + config.entity_bias)
            for tag, i in tags.items():
                kind = GOES_ON if tag[0] in "IE" else BEGINS
                of_kind = names.border_weight[kind] - names.border_weight[OUTSIDE_IT]
                weight[i, of_states] += config.border_weight * of_kind
                shift = names.border_bias[kind] - names.border_bias[OUTSIDE_IT]
                bias[i] += config.border_weight * shift
    return decoder


def _prior_penalty(decoder: CRF, centre: dict[str, Tensor], config: LinearFitConfig) -> Tensor:
    """(G,)"""
    strength = {"weight": config.penalty, "bias": config.bias_penalty}
    return torch.stack(
        [
            strength.get(name, config.transition_penalty)
            * ((p - centre[name]) ** 2).flatten(1).sum(1)
            for name, p in decoder.named_parameters()
        ]
    ).sum(0)
