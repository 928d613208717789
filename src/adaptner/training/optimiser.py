"""Optimisers with gradient clipping and a linear schedule."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import nn


class OptimiserConfig(BaseModel):
    """HGDA's appendix: SGD, momentum 0.9, weight decay 1e-6, clip 5, linear schedule."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Literal["sgd", "adamw"] = Field("sgd", description="The algorithm: sgd or adamw.")
    rate: float = Field(1e-2, gt=0, description="The learning rate at the first step.")
    momentum: float = Field(
        0.9,
        ge=0,
        lt=1,
        description="The share of the last update that SGD repeats; adamw ignores it.",
    )
    weight_decay: float = Field(
        1e-6,
        ge=0,
        description="How strongly weights are drawn to zero: this share of them per unit of rate.",
    )
    clip: float = Field(
        5.0,
        gt=0,
        description="Gradients with a larger Euclidean norm are scaled down to this norm.",
    )
    schedule: Literal["linear", "constant"] = Field(
        "linear",
        description="Whether the rate falls linearly to zero over the budget or stays constant.",
    )


# SparseAdam makes sparse tensors of valid rows; this stops PyTorch's warning that they are not checked.
_UNCHECKED = torch.sparse.check_sparse_tensor_invariants(False)


class Optimiser:
    """Updates parameters by their ``.grad``; parameters without a gradient do not change at all."""

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        config: OptimiserConfig,
        scale: Mapping[nn.Parameter, float] | None = None,
        *,
        sparse: Collection[nn.Parameter] = (),
        fused: bool = False,
    ) -> None:
        """``scale`` holds factors on the learning rate. ``sparse`` parameters have sparse gradients: only the
        rows in the gradient change, without momentum and decay. ``fused`` selects PyTorch's fused
        kernels, which are faster for large parameters."""
        self.config = config
        self.parameters = list(parameters)
        self._fused = fused
        sparse_set = set(sparse)
        self._torch = [
            _make_optimiser(
                _grouped([p for p in self.parameters if p not in sparse_set], scale or {}),
                config,
                fused,
            )
        ]
        if sparse_set:
            rows = _grouped([p for p in self.parameters if p in sparse_set], scale or {})
            self._torch.append(
                torch.optim.SGD(rows, config.rate)
                if config.name == "sgd"
                else torch.optim.SparseAdam(rows, config.rate)
            )

    def step(self, share_spent: float) -> float:
        """Take a step and return the norm of the gradient; if the norm is not finite, take no step.

        ``share_spent`` is that of the budget: the linear schedule falls from the full rate to zero."""
        left = 1.0 - share_spent if self.config.schedule == "linear" else 1.0
        for optimiser in self._torch:
            for group in optimiser.param_groups:
                group["lr"] = self.config.rate * left * group["scale"]
        if self._fused:
            _match_strides(self.parameters)
        norm = clip_gradients(self.parameters, self.config.clip)
        for optimiser in self._torch:
            if math.isfinite(norm):
                with _UNCHECKED:
                    optimiser.step()
            optimiser.zero_grad(set_to_none=True)
        return norm

    def state(self) -> dict[str, torch.Tensor]:
        """Momenta and moments, for a checkpoint."""
        return {
            f"{number}.{key}": torch.as_tensor(value)
            for number, p in enumerate(self.parameters)
            for key, value in self._owner(p).state.get(p, {}).items()
            if value is not None
        }

    def restore(self, state: dict[str, torch.Tensor]) -> None:
        for name, value in state.items():
            number, key = name.split(".", 1)
            p = self.parameters[int(number)]
            owner = self._owner(p)
            # SparseAdam counts steps as Python numbers; a tensor changes its results.
            plain = isinstance(owner, torch.optim.SparseAdam) and value.ndim == 0
            if not plain:  # step counts of kernels that are not fused stay on the CPU
                place = p.device if value.ndim or self._fused else value.device
                value = value.to(place, copy=True)
            owner.state[p][key] = int(value) if plain else value

    def _owner(self, parameter: nn.Parameter) -> torch.optim.Optimizer:
        return next(
            o
            for o in self._torch
            if any(parameter is p for group in o.param_groups for p in group["params"])
        )


def sparse_rows(parameter: nn.Parameter, rows: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """The sparse gradient of a table, which may have a leading task dimension of 1. ``rows`` are distinct and
    ascending."""
    places = torch.stack([torch.zeros_like(rows)] * (parameter.ndim - 2) + [rows])
    return torch.sparse_coo_tensor(
        places, values, parameter.shape, is_coalesced=True, check_invariants=False
    )


def clip_gradients(parameters: Iterable[nn.Parameter], max_norm: float) -> float:
    """Scale the gradients, dense and sparse, so that their joint norm is at most ``max_norm``; return the norm
    before scaling."""
    gradients = [p.grad for p in parameters if p.grad is not None]
    if not any(g.is_sparse for g in gradients):
        return float(nn.utils.clip_grad_norm_(parameters, max_norm))
    parts = [g.coalesce().values() if g.is_sparse else g for g in gradients]
    norm = torch.stack([torch.linalg.vector_norm(part) for part in parts]).norm()
    if norm > max_norm:
        for gradient in gradients:
            gradient.mul_(max_norm / (norm + 1e-6))
    return float(norm)


def _match_strides(parameters: Iterable[nn.Parameter]) -> None:
    """Give gradients the strides of their parameters.

    Fused kernels on the CPU (PyTorch 2.13) ignore strides, so a transposed gradient, as a decoder may
    have, would silently update the wrong numbers."""
    for p in parameters:
        if p.grad is not None and not p.grad.is_sparse and p.grad.stride() != p.stride():
            p.grad = torch.empty_like(p).copy_(p.grad)


def _grouped(
    parameters: Iterable[nn.Parameter], scale: Mapping[nn.Parameter, float]
) -> list[dict[str, Any]]:
    groups: dict[float, list[nn.Parameter]] = {}
    for p in parameters:
        groups.setdefault(scale.get(p, 1.0), []).append(p)
    return [{"params": members, "scale": factor} for factor, members in groups.items()]


def _make_optimiser(
    grouped: list[dict[str, Any]], config: OptimiserConfig, fused: bool
) -> torch.optim.Optimizer:
    decay, kernel = config.weight_decay, True if fused else None
    if config.name == "sgd":
        return torch.optim.SGD(
            grouped, config.rate, momentum=config.momentum, weight_decay=decay, fused=kernel
        )
    return torch.optim.AdamW(grouped, config.rate, weight_decay=decay, fused=kernel)
