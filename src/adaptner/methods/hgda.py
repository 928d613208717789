"""HGDA: hardness-guided domain adaptation (Algorithms 1 and 2).

Tasks from all sentences, a domain classifier, and task gradients weighted by hardness (eq. 2).
"""

from __future__ import annotations

from typing import Literal

from adaptner.methods.families.meta_learner import MetaConfig, MetaLearner


class HGDAConfig(MetaConfig):
    weighting: Literal["uniform", "hardness"] = "hardness"
    classifier: bool = True


class HGDA(MetaLearner):
    name = "hgda"
    title = "HGDA"
    paper = "HGDA"
    needs = "two or more source domains"
    Config = HGDAConfig
