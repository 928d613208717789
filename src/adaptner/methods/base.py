"""What every method answers to, and what it is told of its sources."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, ValidationError

from adaptner.adaptation.fine_tune import FineTuneConfig, fine_tune
from adaptner.corpora.sources import SourceDomain
from adaptner.errors import BadConfiguration, IncompatibleMethod
from adaptner.models.base import Base
from adaptner.models.mentions import HeldOutPredictions
from adaptner.models.tagger import Tagger
from adaptner.nn.encoders.registry import KIND
from adaptner.progress import ProgressCallback, no_progress
from adaptner.training.budget import Budget
from adaptner.training.loop import TrainingRun
from adaptner.types import LabelSet, Sentence
from adaptner.vectors.word_vectors import WordVectors


class MethodConfig(BaseModel):
    """What all methods can be told; each adds its own fields, with the paper's values."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    adaptation: FineTuneConfig = FineTuneConfig()


@dataclass(frozen=True)
class AdaptRequest:
    """What ``adapt`` was given besides the base."""

    support: Sequence[Sentence]
    labels: LabelSet | None
    sources: Sequence[SourceDomain]
    unlabelled: Iterable[Sentence]  # may be gone through several times
    budget: Budget | None
    seed: int
    progress: ProgressCallback

    def options(self) -> dict[str, Any]:
        """What every kind of tuning takes."""
        return {
            "labels": self.labels,
            "budget": self.budget,
            "seed": self.seed,
            "progress": self.progress,
        }


class Method(ABC):
    """One published method. ``fit`` learns a base from sources, ``adapt`` makes a tagger of it."""

    name: ClassVar[str]
    title: ClassVar[str]
    paper: ClassVar[str]
    version: ClassVar[int] = 1  # raised when results change: stored results are identified by it
    needs: ClassVar[str] = "source corpora"
    supports: ClassVar[str]  # which targets
    joint: ClassVar[bool] = False  # ``adapt`` learns from the sources too
    alone: ClassVar[bool] = False  # ... or does without, where the base has no source domains
    unlabelled: ClassVar[bool] = False  # ``adapt`` makes use of the target's unlabelled text
    text_is_extra: ClassVar[bool] = False  # ... of a user's; by a protocol it has none
    streams: ClassVar[bool] = False  # ... of any size: it is not held in memory
    zero_shot: ClassVar[bool] = False  # can do without a labelled sentence of the target
    learns_labels: ClassVar[bool] = True  # False: it never learns from the target's labels
    augments: ClassVar[bool] = False  # it makes copies of labelled sentences itself
    calibrated: ClassVar[bool] = False  # the constants of trust are known for what it makes
    # those of the bases it adapts
    decoders: ClassVar[tuple[str, ...]] = ("crf", "softmax")
    encoders: ClassVar[tuple[str, ...]] = ("recurrent", "transformer")
    Config: ClassVar[type[MethodConfig]]

    def __init__(self, config: MethodConfig | None = None, **overrides: Any) -> None:
        """``overrides`` are fields of the method's configuration; of a table (``encoder``, ...) they
        may give a part, and the rest stays as it is."""
        try:
            known = (config or self.Config()).model_dump()
            self.config = self.Config.model_validate(_merged(known, overrides))
        except ValidationError as error:
            first = error.errors()[0]
            parts = [str(part) for part in first["loc"] if not str(part).startswith(KIND)]
            where = ".".join(parts) or self.name
            raise BadConfiguration(field=where, reason=first["msg"]) from error

    @abstractmethod
    def fit(
        self,
        sources: Sequence[SourceDomain],
        budget: Budget,
        *,
        vectors: WordVectors | None = None,
        start: Base | None = None,
        seed: int = 0,
        run: TrainingRun | None = None,
    ) -> Base:
        """``start``: θ and its vectors begin as this base's, whatever the configuration says of the
        encoder; ``vectors`` are then not given."""

    def check(self, base: Base) -> None:
        """Refuse a base that this method cannot adapt."""
        for what, found, fit in (
            ("decoder", base.model.shape.decoder, self.decoders),
            ("encoder", base.model.encoder.kind, self.encoders),
        ):
            if found not in fit:
                raise IncompatibleMethod(
                    method=self.name,
                    base=base.method,
                    reason=f"its {what} is {found}, not {' or '.join(fit)}",
                )

    def adapt(
        self,
        base: Base,
        support: Sequence[Sentence],
        *,
        labels: LabelSet | None = None,
        sources: Sequence[SourceDomain] = (),
        unlabelled: Iterable[Sentence] = (),
        budget: Budget | None = None,
        seed: int = 0,
        progress: ProgressCallback = no_progress,
    ) -> Tagger:
        """A tagger from labelled ``support`` sentences. ``sources`` are for methods that are
        ``joint``, sentences without labels (to be gone through as often as it takes) for those that
        say ``unlabelled``."""
        self.check(base)
        given = AdaptRequest(support, labels, sources, unlabelled, budget, seed, progress)
        tagger = self.tagger(base, given)
        tagger.method = self.name
        return tagger

    def protocol_text(self, train: Iterable[Sentence]) -> list[Sentence]:
        """What it may read of a target's train split in an evaluation, labels aside."""
        if not self.unlabelled or self.text_is_extra:
            return []
        return [s.without_entities() for s in train if len(s)]

    def left_out(
        self,
        base: Base,
        support: Sequence[Sentence],
        *,
        labels: LabelSet | None = None,
        seed: int = 0,
        progress: ProgressCallback = no_progress,
    ) -> list[HeldOutPredictions] | None:
        """What is found in sentences of ``support`` by one who has not learnt from them, or None for
        a method that has no cheap way to tell: most would have to adapt once for every fold."""
        return None

    @property
    def tunes(self) -> bool:
        """With many sentences it is plain training: so where it fine-tunes a base."""
        return type(self).tagger is Method.tagger

    def tagger(self, base: Base, given: AdaptRequest) -> Tagger:
        """Fine-tuning, unless a method says otherwise."""
        return fine_tune(base, given.support, self.config.adaptation, **given.options())


def _merged(known: dict[str, Any], overrides: dict[str, Any]) -> dict[str, Any]:
    """``known`` with ``overrides``, table by table."""
    merged = dict(known)
    for name, value in overrides.items():
        inside = known.get(name)
        if isinstance(inside, dict) and isinstance(value, dict) and _alike(inside, value):
            value = _merged(inside, value)
        merged[name] = value
    return merged


def _alike(known: dict[str, Any], given: dict[str, Any]) -> bool:
    """Whether a part of a table is given; an encoder of another kind has other settings."""
    return "kind" not in given or given["kind"] == known.get("kind")
