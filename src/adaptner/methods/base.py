"""What a method is: its capabilities, its settings, `fit` and `adapt`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from adaptner.adaptation.fine_tune import FineTuneConfig, FineTuningObjective
from adaptner.adaptation.loop import run
from adaptner.adaptation.request import AdaptRequest
from adaptner.corpora.sources import SourceDomain
from adaptner.errors import BadConfiguration, IncompatibleMethod
from adaptner.models.base import Base
from adaptner.models.mentions import HeldOutPredictions
from adaptner.models.tagger import Tagger
from adaptner.nn.encoders.config import KIND
from adaptner.progress import ProgressCallback, no_progress
from adaptner.training.budget import Budget
from adaptner.training.loop import TrainingRun
from adaptner.types import LabelSet, Sentence
from adaptner.vectors.word_vectors import WordVectors


class MethodConfig(BaseModel):
    """The settings that all methods have. Each method adds its own, with the paper's values."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    adaptation: FineTuneConfig = FineTuneConfig()


Use = Literal["required", "optional", "unused"]


@dataclass(frozen=True)
class Capabilities:
    """What a method reads when it adapts a base, and which bases and targets it can be used for."""

    # Labelled sentences of the target. Optional: the method can adapt without any (zero-shot).
    # Unused: labelled sentences only tell it which labels are wanted.
    target_labels: Use = "required"
    # Source corpora during adaptation. Optional: not needed if the base has no source domains.
    sources: Use = "unused"
    # Unlabelled text of the target. Streamed: of any size, read from files several times.
    text: Literal["unused", "in memory", "streamed"] = "unused"
    text_in_protocol: bool = True  # False: it gets no text in an evaluation, as in the papers
    adapts: bool = True  # False: the base is used unchanged
    new_labels: bool = True  # False: the target's labels must be among those of the sources
    augments: bool = False  # it makes copies of labelled sentences itself
    calibrated: bool = False  # calibration constants for its scores are known
    early_stopping: bool = False  # with many sentences, some are held out to stop training
    decoders: tuple[str, ...] = ("crf", "softmax")  # of the bases that it can adapt
    encoders: tuple[str, ...] = ("recurrent", "transformer")

    @property
    def zero_shot(self) -> bool:
        return self.target_labels != "required"

    @property
    def reads_labels(self) -> bool:
        return self.target_labels != "unused"

    @property
    def reads_sources(self) -> bool:
        return self.sources != "unused"

    @property
    def reads_text(self) -> bool:
        return self.text != "unused"


class Method(ABC):
    """A published method: `fit` learns a base from sources, `adapt` makes a tagger from a base."""

    name: ClassVar[str]
    title: ClassVar[str]
    paper: ClassVar[str]
    version: ClassVar[int] = 1  # raised when results change: stored results are identified by it
    base_method: ClassVar[str | None] = None  # another method whose `fit` makes the same base
    trains_base: ClassVar[bool] = True  # False: ``fit`` leaves the parameters as they are drawn
    needs: ClassVar[str] = "source corpora"
    capabilities: ClassVar[Capabilities] = Capabilities()
    Config: ClassVar[type[MethodConfig]]

    def __init__(self, config: MethodConfig | None = None, **overrides: Any) -> None:
        """``overrides`` are settings that replace those of ``config``. A nested table such as
        ``encoder`` may be given in part. Raises BadConfiguration for an invalid setting."""
        try:
            known = (config or self.Config()).model_dump()
            self.config = self.Config.model_validate(_merged(known, overrides))
        except ValidationError as error:
            first = error.errors()[0]
            parts = [str(part) for part in first["loc"] if not str(part).startswith(KIND)]
            where = ".".join(parts) or self.name
            unknown = first["type"] == "extra_forbidden"
            reason = f"{self.name} has no such setting" if unknown else first["msg"]
            raise BadConfiguration(field=where, reason=reason) from error

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
        """Learn a base. With ``start``, the encoder and its vectors are copied from that base, the
        encoder settings are ignored, and ``vectors`` must be None."""

    def check(self, base: Base) -> None:
        """Raise IncompatibleMethod if this method cannot adapt the base."""
        for part, found, supported in (
            ("decoder", base.model.shape.decoder, self.capabilities.decoders),
            ("encoder", base.model.encoder.kind, self.capabilities.encoders),
        ):
            if found not in supported:
                raise IncompatibleMethod(
                    method=self.name,
                    base=base.method,
                    reason=f"its {part} is {found}, not {' or '.join(supported)}",
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
        encoded: Any = None,
    ) -> Tagger:
        """Make a tagger from the labelled ``support`` sentences. ``sources`` and ``unlabelled`` are
        for methods with the capability; ``unlabelled`` is iterated as often as needed.
        ``encoded`` is what `encode_once` returned for the same sentences and labels."""
        self.check(base)
        request = AdaptRequest(
            support, labels, sources, unlabelled, budget, seed, progress, encoded
        )
        tagger = self.tagger(base, request)
        tagger.method = self.name
        return tagger

    def tagger(self, base: Base, request: AdaptRequest) -> Tagger:
        """The adaptation itself: fine-tuning unless a method overrides it."""
        return run(FineTuningObjective(base, request, self.config.adaptation))

    def protocol_text(self, train: Iterable[Sentence]) -> list[Sentence]:
        """The sentences of a target's train split that it may read in an evaluation, unlabelled."""
        if not (self.capabilities.reads_text and self.capabilities.text_in_protocol):
            return []
        return [s.without_entities() for s in train if len(s)]

    def encode_once(
        self, base: Base, support: Sequence[Sentence], labels: LabelSet | None = None
    ) -> Any:
        """What `adapt` and `held_out` both compute from the sentences, or None. Passing it to both
        saves time and changes no result."""
        return None

    def can_estimate(self, support: Sequence[Sentence]) -> bool:
        """Whether scores can be calibrated, and F1 estimated, for a tagger of these sentences."""
        return self.capabilities.calibrated

    def held_out(
        self,
        base: Base,
        support: Sequence[Sentence],
        *,
        labels: LabelSet | None = None,
        seed: int = 0,
        progress: ProgressCallback = no_progress,
        encoded: Any = None,
    ) -> list[HeldOutPredictions] | None:
        """Predictions for each sentence of ``support`` by a decoder that was not trained on it, or
        None if the method has no cheap way: most would have to adapt once per fold."""
        return None


def _merged(known: dict[str, Any], overrides: dict[str, Any]) -> dict[str, Any]:
    """``known`` updated with ``overrides``, recursively for nested tables."""
    merged = dict(known)
    for name, value in overrides.items():
        inside = known.get(name)
        if isinstance(inside, dict) and isinstance(value, dict) and _same_kind(inside, value):
            value = _merged(inside, value)
        merged[name] = value
    return merged


def _same_kind(known: dict[str, Any], override: dict[str, Any]) -> bool:
    """False if the override is an encoder of another kind, which has other settings."""
    return "kind" not in override or override["kind"] == known.get("kind")
