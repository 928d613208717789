"""D-Shift: learn from all sources and tag the target without adaptation (MetaNER, section 5.1.1)."""

from __future__ import annotations

from typing import Literal

from adaptner.methods.families.source_pretrained import SourceConfig
from adaptner.methods.families.supervised import SupervisedMethod
from adaptner.methods.families.unadapted import UnadaptedMethod


class DShiftConfig(SourceConfig):
    decoders: Literal["own", "shared"] = "shared"


class DShift(UnadaptedMethod, SupervisedMethod):
    name = "d-shift"
    title = "D-Shift"
    paper = "MetaNER"
    base_method = "finetuning"
    Config = DShiftConfig
