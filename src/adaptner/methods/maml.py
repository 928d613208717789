"""MAML (Finn et al. 2017): MetaBioNER's "MetaNER w/o critic", the baseline to beat.

Tasks from all sentences, no domain classifier, uniform weights.
"""

from __future__ import annotations

from adaptner.methods.families.meta_learner import MetaConfig, MetaLearner


class MAML(MetaLearner):
    name = "maml"
    title = "MetaNER w/o critic (MAML)"
    paper = "MetaBioNER"
    Config = MetaConfig
