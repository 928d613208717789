"""Word vectors moved a little on their way into an encoder: adversarial and virtual adversarial
training (Miyato et al. 2017, 2018)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Generator, Tensor, nn

from adaptner.nn.distillation import divergence

Read = Callable[[], Tensor]  # runs the encoder on a batch of its own


@contextmanager
def moved(layer: nn.Module, by: Tensor | Callable[[Tensor], Tensor]) -> Iterator[None]:
    """Within, ``by`` (or what it makes of the layer's output) is added to what ``layer`` gives."""

    def add(module: nn.Module, given: Any, found: Tensor) -> Tensor:
        return found + (by(found) if callable(by) else by)

    handle = layer.register_forward_hook(add)
    try:
        yield
    finally:
        handle.remove()


def word_layer(encoder: nn.Module) -> nn.Module:
    """Where word vectors enter: ``words`` of a recurrent encoder; another says so by
    ``word_layer``."""
    layer = getattr(encoder, "word_layer", None) or getattr(encoder, "words", None)
    assert isinstance(layer, nn.Module)
    return layer


def virtual_adversary(
    layer: nn.Module,
    log_marginals: Read,
    mask: Tensor,
    radius: float,
    generator: Generator,
    probe: float = 1e-2,
) -> Tensor:
    """KL(p(x) || p(x + r)) for the r that changes p most: one step of power iteration from noise.

    Each word vector moves by ``radius`` times the mean length of the batch's word vectors; ``probe``
    is the same of the noise."""
    plain = log_marginals().detach()

    def noise(found: Tensor) -> Tensor:
        drawn = torch.randn(found.shape, generator=generator, dtype=found.dtype)
        shift.append((probe * _length(found) * _unit(drawn)).requires_grad_())
        lengths.append(_length(found))
        return shift[0]

    shift: list[Tensor] = []
    lengths: list[Tensor] = []
    with torch.enable_grad(), moved(layer, noise):
        change = divergence(plain, log_marginals(), mask)
    (slope,) = torch.autograd.grad(change, shift)
    with moved(layer, radius * lengths[0] * _unit(slope)):
        return divergence(plain, log_marginals(), mask)


def adversary(layer: nn.Module, loss: Read, radius: float) -> tuple[Tensor, Tensor]:
    """``loss`` as it is, and where every word vector has moved by ``radius`` (times their mean length)
    up its gradient (Goodfellow et al. 2015; DATNet)."""

    def still(found: Tensor) -> Tensor:
        shift.append(torch.zeros_like(found).requires_grad_())
        lengths.append(_length(found))
        return shift[0]

    shift: list[Tensor] = []
    lengths: list[Tensor] = []
    with moved(layer, still):
        value = loss()
    (slope,) = torch.autograd.grad(value, shift, retain_graph=True)
    with moved(layer, radius * lengths[0] * _unit(slope)):
        return value, loss()


def _unit(values: Tensor) -> Tensor:
    """Each last dimension at length 1; zeros stay."""
    return values / values.norm(dim=-1, keepdim=True).clamp(min=1e-12)


def _length(values: Tensor) -> Tensor:
    return values.detach().norm(dim=-1).mean()
