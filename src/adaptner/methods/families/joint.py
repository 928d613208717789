"""Methods whose ``adapt`` learns from the target and from source corpora together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from adaptner.adaptation.joint_training import JointConfig, JointTraining
from adaptner.adaptation.loop import AdaptationObjective, run
from adaptner.adaptation.request import AdaptRequest
from adaptner.corpora.sources import SourceDomain
from adaptner.errors import SourcesNeeded
from adaptner.methods.base import Capabilities, MethodConfig
from adaptner.methods.families.source_pretrained import SourceConfig
from adaptner.methods.families.supervised import SupervisedMethod
from adaptner.models.base import Base
from adaptner.models.tagger import Tagger
from adaptner.types import LabelSet, Sentence

SourceSentences = Mapping[str, Sequence[Sentence]]  # the sentences of each domain by its name


class JointMethodConfig(SourceConfig):
    adaptation: JointConfig = JointConfig()


class SourceAndTargetMethod(SupervisedMethod):
    """A method whose ``adapt`` is given the source corpora again."""

    needs: ClassVar[str] = "source corpora, at adaptation too"
    capabilities = Capabilities(sources="required")

    Objective: ClassVar[type[AdaptationObjective]]  # what ``adapt`` minimises

    def objective(
        self, base: Base, request: AdaptRequest, sources: SourceSentences
    ) -> AdaptationObjective:
        return self.Objective(base, request, self.config.adaptation, sources)

    def tagger(self, base: Base, request: AdaptRequest) -> Tagger:
        return run(self.objective(base, request, self.labelled(base, request.sources)))

    def labelled(self, base: Base, sources: Sequence[SourceDomain]) -> dict[str, list[Sentence]]:
        """The labelled sentences of ``sources`` by domain.

        Raises SourcesNeeded if a domain has no sentence or is not one of the base's, or if it has
        labels that the base does not know."""
        domains = base.model.domains
        known = {name: set(base.model.labels_of(n).labels) for n, name in enumerate(domains)}
        found = {d.name: [s for s in d.sentences if len(s)] for d in sources}
        faults = [] if found else ["none"]
        for name, sentences in found.items():
            labels = set(LabelSet.of(sentences).labels)
            if name not in known or not sentences:
                faults.append(name if sentences else f"{name}, with no train or dev sentence")
            elif labels - known[name]:
                unknown = ", ".join(sorted(labels - known[name]))
                faults.append(f"{name}, with labels that the base does not know: {unknown}")
        if faults:
            raise SourcesNeeded(
                method=self.name,
                given="; ".join(faults),
                domains=domain_names(domains, self.capabilities.sources == "optional"),
            )
        return found


def domain_names(domains: Sequence[str], any_will_do: bool = False) -> str:
    """The base's domains as an error message lists them."""
    few = "any: it has learnt from raw text" if any_will_do else "none: it has learnt from raw text"
    return ", ".join(domains) or few


class JointMethod(SourceAndTargetMethod):
    Config: ClassVar[type[MethodConfig]] = JointMethodConfig
    config: JointMethodConfig
    Objective = JointTraining
