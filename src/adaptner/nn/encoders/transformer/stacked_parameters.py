"""Somebody else's network as a pure function of parameters with a leading task dimension."""

from __future__ import annotations

from collections.abc import Collection

from torch import nn


def stack_parameters(network: nn.Module, learned: Collection[str]) -> None:
    """In place: ``learned`` parameters have shape (1, ...) from now on, for ``functional_call`` with
    one task's slices of them; all others are buffers, which no optimiser or inner loop sees."""
    for prefix, module in network.named_modules():
        for name, p in list(module._parameters.items()):
            if p is None:
                continue
            if f"{prefix}.{name}".lstrip(".") in learned:
                module._parameters[name] = nn.Parameter(p.detach()[None])
            else:
                del module._parameters[name]
                module.register_buffer(name, p.detach())
