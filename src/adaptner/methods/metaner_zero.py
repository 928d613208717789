"""MetaNER-Zero: MetaNER without adaptation; no label of the target is read (MetaNER, section 5.1.1)."""

from __future__ import annotations

from typing import Literal

from adaptner.methods.families.unadapted import UnadaptedMethod
from adaptner.methods.metaner import MetaNER, MetaNERConfig


class MetaNERZeroConfig(MetaNERConfig):
    decoders: Literal["own", "shared"] = "shared"


class MetaNERZero(UnadaptedMethod, MetaNER):
    name = "metaner-zero"
    title = "MetaNER-Zero"
    base_method = "metaner"
    Config = MetaNERZeroConfig
