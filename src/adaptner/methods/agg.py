"""AGG: one tagger over the labels and sentences of all sources and the target (MetaNER, section
5.1.1)."""

from __future__ import annotations

from typing import Literal

from adaptner.adaptation.joint_training import SharedJointTraining
from adaptner.methods.families.joint import JointMethod, JointMethodConfig


class AGGConfig(JointMethodConfig):
    decoders: Literal["own", "shared"] = "shared"


class AGG(JointMethod):
    name = "agg"
    title = "AGG"
    paper = "MetaNER"
    base_method = "finetuning"
    Objective = SharedJointTraining
    Config = AGGConfig
