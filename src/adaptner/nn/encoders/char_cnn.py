"""Character CNN: filters over the characters of a word, and the maximum over positions."""

from __future__ import annotations

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional as F

from adaptner.nn.rnn.packing import Packing
from adaptner.nn.rnn.parameters import fan_in_parameter


class CharCNN(nn.Module):
    """Computes the convolution as a sum of table look-ups, one table per position in the filter.

    The filter is applied once to the alphabet instead of to every character of every word."""

    def __init__(
        self, embedded: int, widths: tuple[int, ...], filters: int, generator: Generator
    ) -> None:
        super().__init__()
        self.weights = nn.ParameterList(
            fan_in_parameter((1, w, embedded, filters), w * embedded, generator) for w in widths
        )
        self.biases = nn.ParameterList(
            fan_in_parameter((1, filters), w * embedded, generator) for w in widths
        )
        self.width = filters * len(widths)

    def forward(self, alphabet: Tensor, chars: Tensor, packing: Packing) -> Tensor:
        """States (G, W, width) of words. ``alphabet`` (G, A, E) is embedded, ``chars`` (G, W, C) are
        character ids (0 is padding), longest word first."""
        tasks, letters = alphabet.shape[:2]
        # The row of the padding is zero, whatever the parameters are.
        alphabet = torch.cat([torch.zeros_like(alphabet[:, :1]), alphabet[:, 1:]], 1)
        slots = packing.places[:, 0]
        maxima = []
        for weight, bias in zip(self.weights, self.biases, strict=True):
            width, filters = weight.shape[1], weight.shape[3]
            tables = (alphabet[:, None] @ weight).reshape(-1, filters)  # (G x width x A, filters)
            left = (width - 1) // 2
            offsets = torch.arange(tasks, device=chars.device)[:, None, None] * (width * letters)
            padded = F.pad(chars, (left, width - 1 - left)) + offsets
            values: Tensor | None = None
            for k in range(width):
                window = padded[..., k : k + chars.shape[2]].flatten(1).gather(1, slots)
                here = F.embedding(window + k * letters, tables)
                values = here if values is None else values + here
            assert values is not None
            best = values.gather(1, _largest(values.detach(), packing))
            maxima.append(best + bias[:, None])
        return torch.cat(maxima, -1)


def _largest(values: Tensor, packing: Packing) -> Tensor:
    """(G, W, filters): the slot at which each filter is largest in a word.

    Padding is skipped: most words are much shorter than the longest one."""
    lengths = packing.lengths
    first = packing.sizes[0]
    best = values[:, :first].clone()
    where = torch.arange(first, device=values.device)[None, :, None].expand_as(best).clone()
    start = first
    for step, size in enumerate(packing.sizes[1:], 1):
        here = values[:, start : start + size]
        better = (here > best[:, :size]) & (lengths[:, :size, None] > step)
        best[:, :size] = torch.where(better, here, best[:, :size])
        slot = torch.arange(start, start + size, device=values.device)[None, :, None]
        where[:, :size] = torch.where(better, slot, where[:, :size])
        start += size
    return where
