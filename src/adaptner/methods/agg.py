"""AGG: one tagger over the labels and sentences of all sources and the target (paper 002, 5.1.1)."""

from __future__ import annotations

from typing import ClassVar, Literal

from adaptner.methods.joint import Joint, JointMethodConfig
from adaptner.methods.method import MethodConfig


class AGGConfig(JointMethodConfig):
    decoders: Literal["own", "shared"] = "shared"


class AGG(Joint):
    name = "agg"
    title = "AGG"
    paper = "MetaNER"
    one_decoder = True
    Config: ClassVar[type[MethodConfig]] = AGGConfig
