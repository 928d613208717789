"""FineTuning: learn from all sources, then retrain on the target (MetaNER, section 5.1.1; Lee et al.
2018).

AGG, MultiTask and DANN start from the same base."""

from __future__ import annotations

from adaptner.methods.base import Capabilities
from adaptner.methods.families.supervised import SupervisedMethod


class FineTuning(SupervisedMethod):
    name = "finetuning"
    title = "FineTuning"
    paper = "MetaNER"
    capabilities = Capabilities(early_stopping=True)
