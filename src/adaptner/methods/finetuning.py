"""FineTuning: learn from all sources, then retrain on the target (paper 002, 5.1.1; Lee et al. 2018).

The base it makes is the one that AGG, MultiTask and DANN start from too."""

from __future__ import annotations

from adaptner.methods.base import Capabilities
from adaptner.methods.families.supervised import SupervisedMethod


class FineTuning(SupervisedMethod):
    name = "finetuning"
    title = "FineTuning"
    paper = "MetaNER"
    capabilities = Capabilities(early_stopping=True)
