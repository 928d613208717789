"""Turns any network into a pure function of parameters with a leading task dimension."""

from __future__ import annotations

from collections.abc import Collection

from torch import nn


def stack_parameters(network: nn.Module, learned: Collection[str]) -> None:
    """Give the parameters named in ``learned`` a leading dimension of 1, in place, and turn all others
    into buffers, which optimisers and inner loops ignore. The network is then run by
    ``functional_call`` with the parameters of one task."""
    for prefix, module in network.named_modules():
        for name, p in list(module._parameters.items()):
            if p is None:
                continue
            if f"{prefix}.{name}".lstrip(".") in learned:
                module._parameters[name] = nn.Parameter(p.detach()[None])
            else:
                del module._parameters[name]
                module.register_buffer(name, p.detach())
