"""HGDA-NEs: tasks from sentences with an entity only (HGDA, section 3.2).

It has a domain classifier and uniform weights (MetaBioNER: "without task hardness").
"""

from __future__ import annotations

from adaptner.episodes import Sampling
from adaptner.methods.families.meta_learner import MetaConfig, MetaLearner


class HGDANEsConfig(MetaConfig):
    sampling: Sampling = "entities"
    classifier: bool = True


class HGDANEs(MetaLearner):
    name = "hgda-nes"
    title = "HGDA-NEs"
    paper = "HGDA"
    needs = "two or more source domains"
    Config = HGDANEsConfig
