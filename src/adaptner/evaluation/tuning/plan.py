"""What a search for steps and rates compares: settings, validation domains, draws.

The papers give neither steps nor rates of fine-tuning (ruling "Budget of fine-tuning"). One procedure
serves every method: each source domain in turn is the validation domain (docs/tuning.md). Test splits
are dropped when the plan is made, so nothing here can read one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from itertools import product

from adaptner.corpora.corpus import Corpus, Domain, group_by_domain
from adaptner.corpora.overlap import remove_overlap
from adaptner.corpora.sources import SourceDomain, source_domains
from adaptner.episodes import DrawsFrom, check_draws
from adaptner.episodes.draws import drawable, drawable_name
from adaptner.errors import TooFewDomains, TooFewSentences, UnknownName, UsageError
from adaptner.methods.base import Method
from adaptner.methods.families.source_pretrained import SourcePretrainedMethod
from adaptner.methods.wpz import WPZ
from adaptner.types import LabelSet, Sentence
from adaptner.vectors.word_vectors import WordVectors
from adaptner.version import __version__

PROCEDURE = "source-plays-target/dev/strict-micro-f1"


@dataclass(frozen=True)
class Setting:
    """One way to fine-tune: the values that the grid varies."""

    rate: float
    encoder_scale: float
    epochs: int
    steps: int  # lower bound, whatever the epochs

    def of(self, method: Method) -> Method:
        """A copy of ``method`` with these values."""
        adaptation = {
            "steps": self.steps,
            "epochs": self.epochs,
            "encoder_scale": self.encoder_scale,
            "optimiser": {"rate": self.rate},
        }
        return type(method)(method.config, adaptation=adaptation)


@dataclass(frozen=True)
class SearchGrid:
    """Values of each setting; all combinations are tried."""

    rates: Sequence[float] = (0.03, 0.1)
    encoder_scales: Sequence[float] = (0.1,)
    epochs: Sequence[int] = (5, 10, 20)
    steps: Sequence[int] = (20,)

    def settings(self) -> list[Setting]:
        every = product(self.rates, self.encoder_scales, self.epochs, self.steps)
        return [Setting(*values) for values in every]


@dataclass(frozen=True)
class ValidationDomain:
    """A source domain that stands in for the target, by the first of its corpora."""

    domain: str
    corpus: Corpus

    @property
    def train(self) -> Sequence[Sentence]:
        return self.corpus.split("train")

    @property
    def dev(self) -> Sequence[Sentence]:
        return self.corpus.split("dev") if "dev" in self.corpus.splits else ()

    def scored(self, support: Sequence[Sentence], limit: int) -> list[Sentence]:
        """The dev split or, without one, the train split less ``support``; at most ``limit``."""
        drawn = set(support)
        return list(self.dev or (s for s in self.train if s not in drawn))[:limit]


@dataclass(frozen=True)
class Trial:
    """One adaptation."""

    target: ValidationDomain
    size: int
    seed: int
    setting: Setting


@dataclass(frozen=True)
class TuningPlan:
    """All trials of a search. Raises where they cannot be carried out."""

    method: Method
    corpora: Sequence[Corpus]
    grid: SearchGrid = field(default_factory=SearchGrid)
    validate_on: Sequence[str] = ()  # empty: every domain in turn
    sizes: Sequence[int] = (5, 20, 50)
    draws: int = 3
    limit: int = 400
    iterations: int = 1000
    seed: int = 0
    vectors: WordVectors | None = None
    # The true target's test sentences, which are neither learnt from nor scored
    held_out: Sequence[Sentence] = ()
    draws_from: DrawsFrom = "all"

    def __post_init__(self) -> None:
        check_draws(self.draws_from, self.sizes)
        _refuse_nothing_to_choose(self.method)
        found = [domain.name for domain in self.domains]
        least = self.method.min_domains() if isinstance(self.method, SourcePretrainedMethod) else 1
        if len(found) < least + 1:
            needed = f"at least {least + 1} here, as one of them is the validation domain"
            raise TooFewDomains(found=len(found), method=self.method.name, needed=needed)
        for name in self.validate_on:
            if name not in found:
                raise UnknownName.among(found, kind="source domain", name=name)
        for setting in self.grid.settings():
            setting.of(self.method)  # raises on a value out of range
        for target in self.validation_domains:
            self._check(target)

    def _check(self, target: ValidationDomain) -> None:
        folder, size = target.corpus.folder, max(self.sizes)
        what, needed = drawable_name(self.draws_from), size
        found = len(drawable(target.train, self.draws_from))
        if not target.dev:
            what, needed = f"{what}, where there is no dev split to score,", size + 1
        if found < needed:
            raise TooFewSentences(
                file=folder, found=found, what=what, needed=needed, option="--sizes"
            )
        scored = target.scored((), self.limit)
        if not any(s.entities for s in scored):
            raise UsageError(
                problem=f"{folder}: none of the {len(scored)} sentences to score has an entity",
                remedy="raise --limit, or validate on other domains (--validate-on)",
            )

    @property
    def procedure(self) -> str:
        """The name of the procedure, which includes the kind of draw."""
        return PROCEDURE if self.draws_from == "all" else f"{PROCEDURE}/draws-{self.draws_from}"

    @cached_property
    def domains(self) -> list[Domain]:
        return group_by_domain(without_test(corpus, self.held_out) for corpus in self.corpora)

    @cached_property
    def validation_domains(self) -> list[ValidationDomain]:
        wanted = set(self.validate_on) or {domain.name for domain in self.domains}
        return [ValidationDomain(d.name, d.corpora[0]) for d in self.domains if d.name in wanted]

    def sources(self, target: ValidationDomain) -> list[SourceDomain]:
        """The other domains, without copies of sentences that may be scored."""
        others = [d for d in self.domains if d.name != target.domain]
        return source_domains(others, target.dev or target.train)

    def trials(self) -> list[Trial]:
        """In the order in which they run."""
        seeds = range(self.seed, self.seed + self.draws)
        every = product(self.validation_domains, self.sizes, seeds, self.grid.settings())
        return [Trial(*parts) for parts in every]

    def fingerprint(self) -> str:
        """A checksum of everything that the results depend on. Settings that the grid varies are
        normalised first, so that a base that already holds a choice gives the same checksum."""
        normal = self.grid.settings()[0].of(self.method)
        facts = {
            "version": __version__,
            "procedure": self.procedure,
            "method": self.method.name,
            "config": normal.config.model_dump(mode="json"),
            "sources": [[c.domain, c.name, c.sha256] for c in self.corpora],
            "vectors": None if self.vectors is None else self.vectors.digest(),
            "held_out": sorted({s.text for s in self.held_out}),
            "limit": self.limit,
            "seed": self.seed,
            "iterations": self.iterations,
            "trials": [
                [trial.target.domain, trial.size, trial.seed, asdict(trial.setting)]
                for trial in self.trials()
            ],
        }
        return sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def without_test(corpus: Corpus, held_out: Sequence[Sentence] = ()) -> Corpus:
    """The corpus without its test split and without sentences of ``held_out``."""
    kept: dict[str, tuple[Sentence, ...]] = {
        name: tuple(remove_overlap(corpus.split(name), held_out)[0])
        for name in ("train", "dev")
        if name in corpus.splits
    }
    labels = LabelSet.of(s for split in kept.values() for s in split)
    return replace(corpus, sentences=kept, labels=labels)


def _refuse_nothing_to_choose(method: Method) -> None:
    means_only = isinstance(method, WPZ) and not method.config.retrain
    if not method.capabilities.adapts or means_only:
        raise UsageError(
            problem=f"{method.name} takes no steps on the target"
            + (" (retrain = false)" if means_only else "")
            + ": there is nothing to choose",
            remedy="tune a method that learns from the target's sentences (`adaptner methods`)",
        )
