"""Methods that read nothing of the target but its labels: D-Shift and MetaNER-Zero."""

from __future__ import annotations

from adaptner.adaptation.unchanged_base import use_base_unchanged
from adaptner.methods.base import AdaptRequest, Capabilities, Method
from adaptner.models.base import Base
from adaptner.models.tagger import Tagger


class UnadaptedMethod(Method):
    capabilities = Capabilities(target_labels="unused", adapts=False, new_labels=False)

    def tagger(self, base: Base, request: AdaptRequest) -> Tagger:
        return use_base_unchanged(base, request.support, self.name, labels=request.labels)
