"""MetaNER-Zero: MetaNER's encoder and decoder as they are, no target label used (paper 002)."""

from __future__ import annotations

from typing import ClassVar, Literal

from adaptner.methods.base import MethodConfig
from adaptner.methods.families.unadapted import UnadaptedMethod
from adaptner.methods.metaner import MetaNER, MetaNERConfig


class MetaNERZeroConfig(MetaNERConfig):
    decoders: Literal["own", "shared"] = "shared"


class MetaNERZero(UnadaptedMethod, MetaNER):
    name = "metaner-zero"
    title = "MetaNER-Zero"
    base_method = "metaner"
    Config: ClassVar[type[MethodConfig]] = MetaNERZeroConfig
