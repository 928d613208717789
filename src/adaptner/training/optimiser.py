"""Optimisers, clipping and the linear schedule, by configuration."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Literal

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import nn


class OptimiserConfig(BaseModel):
    """HGDA's appendix: SGD, momentum 0.9, weight decay 1e-6, clip 5, linear schedule."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Literal["sgd", "adamw"] = "sgd"
    rate: float = Field(1e-2, gt=0)
    momentum: float = Field(0.9, ge=0, lt=1, description="SGD only")
    weight_decay: float = Field(1e-6, ge=0)
    clip: float = Field(5.0, gt=0, description="largest norm of the whole gradient")
    schedule: Literal["linear", "constant"] = "linear"


class Optimiser:
    """Takes the step ``.grad`` asks for; parameters without a gradient are left entirely alone."""

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        config: OptimiserConfig,
        scale: Mapping[nn.Parameter, float] | None = None,
    ) -> None:
        """``scale``: parameters that learn at so many times the rate."""
        self.config = config
        self.parameters = list(parameters)
        groups: dict[float, list[nn.Parameter]] = {}
        for p in self.parameters:
            groups.setdefault((scale or {}).get(p, 1.0), []).append(p)
        grouped = [{"params": members, "scale": factor} for factor, members in groups.items()]
        decay = config.weight_decay
        self._torch: torch.optim.Optimizer
        if config.name == "sgd":
            self._torch = torch.optim.SGD(
                grouped, config.rate, momentum=config.momentum, weight_decay=decay
            )
        else:
            self._torch = torch.optim.AdamW(grouped, config.rate, weight_decay=decay)

    def step(self, share_spent: float) -> float:
        """The norm of the gradient; where that is no number, no step is taken.

        ``share_spent`` of the budget: the linear schedule falls from the full rate to zero."""
        left = 1.0 - share_spent if self.config.schedule == "linear" else 1.0
        for group in self._torch.param_groups:
            group["lr"] = self.config.rate * left * group["scale"]
        norm = float(nn.utils.clip_grad_norm_(self.parameters, self.config.clip))
        if math.isfinite(norm):
            self._torch.step()
        self._torch.zero_grad(set_to_none=True)
        return norm

    def state(self) -> dict[str, torch.Tensor]:
        """Momenta and moments as flat tensors, for a checkpoint."""
        return {
            f"{number}.{key}": torch.as_tensor(value)
            for number, p in enumerate(self.parameters)
            for key, value in self._torch.state.get(p, {}).items()
            if value is not None
        }

    def restore(self, state: dict[str, torch.Tensor]) -> None:
        for name, value in state.items():
            number, key = name.split(".", 1)
            self._torch.state[self.parameters[int(number)]][key] = value.clone()
