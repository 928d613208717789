"""Adversarial and virtual adversarial training (Miyato et al. 2017, 2018): losses with small offsets added
to the word vectors that an encoder reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Generator, Tensor, nn

from adaptner.nn.losses.distillation import kl_divergence
from adaptner.nn.rnn.parameters import standard_normal

ForwardPass = Callable[[], Tensor]  # runs the encoder on a fixed batch
Offset = Callable[[Tensor], Tensor]  # the offset for a layer's output


@contextmanager
def with_offset(layer: nn.Module, offset: Offset) -> Iterator[None]:
    """Within this context, ``layer`` returns ``output + offset(output)``."""

    def add(module: nn.Module, inputs: Any, output: Tensor) -> Tensor:
        return output + offset(output)

    handle = layer.register_forward_hook(add)
    try:
        yield
    finally:
        handle.remove()


def word_layer(encoder: nn.Module) -> nn.Module:
    """The layer that turns words into vectors: ``words`` of a recurrent encoder, ``embeddings`` of a
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
    """KL(p(x) || p(x + r)) for the r that changes p most, by one step of power iteration from noise.

    The offset of each word vector has ``radius`` times the mean length of the word vectors of the batch;
    the initial noise has ``probe`` times that length."""
    plain = log_marginals().detach()

    def noise(output: Tensor) -> Tensor:
        return probe * _mean_length(output) * _unit(standard_normal(output, generator))

    worst = _WorstOffset(noise)
    with torch.enable_grad(), with_offset(layer, worst.record):
        change = kl_divergence(plain, log_marginals(), mask)
    with with_offset(layer, worst.ascend(change, radius)):
        return kl_divergence(plain, log_marginals(), mask)


def worst_offset(layer: nn.Module, loss: ForwardPass, radius: float) -> tuple[Tensor, Tensor]:
    """``loss``, and ``loss`` after moving every word vector up its gradient by ``radius`` times their
    mean length (Goodfellow et al. 2015; DATNet)."""
    worst = _WorstOffset(torch.zeros_like)
    with with_offset(layer, worst.record):
        value = loss()
    with with_offset(layer, worst.ascend(value, radius)):
        return value, loss()


class _WorstOffset:
    """Finds the offsets along which a loss grows fastest, one for each call of the layer in a batch."""

    def __init__(self, start: Offset) -> None:
        self._start = start
        self._offsets: list[Tensor] = []
        self._lengths: list[Tensor] = []

    def record(self, output: Tensor) -> Tensor:
        self._offsets.append(self._start(output).requires_grad_())
        self._lengths.append(_mean_length(output))
        return self._offsets[-1]

    def ascend(self, loss: Tensor, radius: float) -> Offset:
        gradients = torch.autograd.grad(loss, self._offsets, retain_graph=True)
        offsets = iter(
            [radius * n * _unit(g) for n, g in zip(self._lengths, gradients, strict=True)]
        )
        return lambda output: next(offsets)


def _unit(values: Tensor) -> Tensor:
    """Vectors of length 1 along the last dimension; zeros stay zero."""
    return values / values.norm(dim=-1, keepdim=True).clamp(min=1e-12)


def _mean_length(values: Tensor) -> Tensor:
    return values.detach().norm(dim=-1).mean()
