"""For methods that learn from target and sources together, inside ``adapt``: AGG, MultiTask, DANN."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from adaptner.adaptation.joint_training import JointConfig, train_jointly
from adaptner.corpora.sources import SourceDomain
from adaptner.errors import SourcesNeeded
from adaptner.methods.base import AdaptRequest, Capabilities, MethodConfig
from adaptner.methods.families.source_pretrained import SourceConfig
from adaptner.methods.families.supervised import SupervisedMethod
from adaptner.models.base import Base
from adaptner.models.tagger import Tagger
from adaptner.types import LabelSet, Sentence


class JointMethodConfig(SourceConfig):
    adaptation: JointConfig = JointConfig()


class SourceAndTargetMethod(SupervisedMethod):
    """Whatever is done with them: the sources are given to ``adapt`` again."""

    needs: ClassVar[str] = "source corpora, at adaptation too"
    capabilities = Capabilities(sources="required")

    def labelled(self, base: Base, sources: Sequence[SourceDomain]) -> dict[str, list[Sentence]]:
        """By domain; refused where they hold nothing, or what the base does not know."""
        domains = base.model.domains
        known = {name: set(base.model.labels_of(n).labels) for n, name in enumerate(domains)}
        found = {d.name: [s for s in d.sentences if len(s)] for d in sources}
        faults = [] if found else ["none"]
        for name, sentences in found.items():
            labels = set(LabelSet.of(sentences).labels)
            if name not in known or not sentences:
                faults.append(name if sentences else f"{name}, with no train or dev sentence")
            elif labels - known[name]:
                strange = ", ".join(sorted(labels - known[name]))
                faults.append(f"{name}, with labels that the base does not know: {strange}")
        if faults:
            told = "; ".join(faults)
            raise SourcesNeeded(
                method=self.name,
                given=told,
                domains=domain_names(domains, self.capabilities.sources == "optional"),
            )
        return found


def domain_names(domains: Sequence[str], any_will_do: bool = False) -> str:
    """Those of a base, for its user."""
    few = "any: it has learnt from raw text" if any_will_do else "none: it has learnt from raw text"
    return ", ".join(domains) or few


class JointMethod(SourceAndTargetMethod):
    Config: ClassVar[type[MethodConfig]] = JointMethodConfig
    config: JointMethodConfig
    one_decoder: ClassVar[bool] = False  # True: over the labels of all domains

    def tagger(self, base: Base, given: AdaptRequest) -> Tagger:
        known = self.labelled(base, given.sources)
        return train_jointly(
            base,
            given.support,
            known,
            self.config.adaptation,
            shared=self.one_decoder,
            unlabelled=given.unlabelled,
            **given.options(),
        )
