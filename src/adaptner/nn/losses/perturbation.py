"""Word vectors moved a little on their way into an encoder: adversarial and virtual adversarial
training (Miyato et al. 2017, 2018)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Generator, Tensor, nn

from adaptner.nn.losses.distillation import kl_divergence
from adaptner.nn.rnn.parameters import standard_normal

ForwardPass = Callable[[], Tensor]  # runs the encoder on a batch of its own


Move = Callable[[Tensor], Tensor]  # what is added to an output, made from it


@contextmanager
def with_offset(layer: nn.Module, move: Move) -> Iterator[None]:
    """Within, ``move`` of what ``layer`` gives is added to it, whenever it is called."""

    def add(module: nn.Module, given: Any, found: Tensor) -> Tensor:
        return found + move(found)

    handle = layer.register_forward_hook(add)
    try:
        yield
    finally:
        handle.remove()


def word_layer(encoder: nn.Module) -> nn.Module:
    """Where words enter as vectors: ``words`` of a recurrent encoder, the embeddings of a
    transformer's network."""
    layer = getattr(encoder, "words", None)
    if layer is None:
        layer = getattr(getattr(encoder, "network", None), "embeddings", None)
    assert isinstance(layer, nn.Module)
    return layer


def virtual_adversary(
    layer: nn.Module,
    log_marginals: ForwardPass,
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
        drawn = standard_normal(found, generator)
        return probe * _length(found) * _unit(drawn)

    worst = _Worst(noise)
    with torch.enable_grad(), with_offset(layer, worst.progress):
        change = kl_divergence(plain, log_marginals(), mask)
    with with_offset(layer, worst.climb(change, radius)):
        return kl_divergence(plain, log_marginals(), mask)


def worst_offset(layer: nn.Module, loss: ForwardPass, radius: float) -> tuple[Tensor, Tensor]:
    """``loss`` as it is, and where every word vector has moved by ``radius`` (times their mean length)
    up its gradient (Goodfellow et al. 2015; DATNet)."""
    worst = _Worst(torch.zeros_like)
    with with_offset(layer, worst.progress):
        value = loss()
    with with_offset(layer, worst.climb(value, radius)):
        return value, loss()


class _Worst:
    """Where a loss grows fastest. A layer may be called several times for a batch: each call has a
    move of its own, in the order of the calls."""

    def __init__(self, start: Move) -> None:
        self._start = start
        self._moves: list[Tensor] = []
        self._lengths: list[Tensor] = []

    def progress(self, found: Tensor) -> Tensor:
        self._moves.append(self._start(found).requires_grad_())
        self._lengths.append(_length(found))
        return self._moves[-1]

    def climb(self, loss: Tensor, radius: float) -> Move:
        slopes = torch.autograd.grad(loss, self._moves, retain_graph=True)
        moves = iter(
            [radius * n * _unit(slope) for n, slope in zip(self._lengths, slopes, strict=True)]
        )
        return lambda found: next(moves)


def _unit(values: Tensor) -> Tensor:
    """Each last dimension at length 1; zeros stay."""
    return values / values.norm(dim=-1, keepdim=True).clamp(min=1e-12)


def _length(values: Tensor) -> Tensor:
    return values.detach().norm(dim=-1).mean()
