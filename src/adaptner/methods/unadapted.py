"""For methods that use nothing of the target but its label space: D-Shift and MetaNER-Zero."""

from __future__ import annotations

from typing import ClassVar

from adaptner.adaptation.as_is import as_is
from adaptner.adaptation.tagger import Tagger
from adaptner.methods.method import Given, Method
from adaptner.training.base import Base


class Unadapted(Method):
    supports: ClassVar[str] = "targets with the sources' labels"
    zero_shot: ClassVar[bool] = True
    learns_labels: ClassVar[bool] = False

    def tagger(self, base: Base, given: Given) -> Tagger:
        return as_is(base, given.support, self.name, labels=given.labels)
