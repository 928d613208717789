"""Attention for several windows of different lengths in one sequence, without padding.

All layers of a transformer except attention treat each sub-word independently, so many windows can form
one matrix, which is multiplied faster than many small ones. Here each window attends only to itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from adaptner.nn.encoders.transformer.fast_dropout import dropout_factors

NAME = "adaptner-windows"  # in the attention registry of `transformers`
# Architectures that use this registry and accept position ids (all are tested).
FAMILIES = ("bert", "camembert", "electra", "roberta", "xlm-roberta")
# Maximum of sub-words in a sequence, unless a single window has more. Matrix products gain nothing from
# more rows, and with checkpointing this bounds the memory.
MAX_PACKED_SUBWORDS = 1024


def window_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    *,
    window_lengths: Sequence[int],
    **others: Any,
) -> tuple[Tensor, None]:
    """The attention function of ``transformers``: (1, T, heads, d) from ``query``, ``key`` and ``value``
    (1, heads, T, d).

    It uses plain operations, since fused kernels cannot be differentiated twice. ``window_lengths`` has
    no default: without it, all windows would attend to each other."""
    lengths = list(window_lengths)
    scaled = query[0] * (query.shape[-1] ** -0.5 if scaling is None else scaling)
    queries, keys, values = (part.split(lengths, 1) for part in (scaled, key[0], value[0]))
    weights = [torch.softmax(q @ k.mT, -1) for q, k in zip(queries, keys, strict=True)]
    if dropout and module.training:
        sizes = [w.numel() for w in weights]
        factors = dropout_factors((sum(sizes),), dropout, scaled).split(sizes)
        weights = [w * f.view_as(w) for w, f in zip(weights, factors, strict=True)]
    outputs = [(w @ v).transpose(0, 1) for w, v in zip(weights, values, strict=True)]
    return torch.cat(outputs)[None], None


def pack_windows(
    lengths: Sequence[int], limit: int = MAX_PACKED_SUBWORDS
) -> Iterator[tuple[int, int]]:
    """(first, end) of the windows that form one sequence of at most ``limit`` sub-words."""
    first, total = 0, 0
    for place, length in enumerate(lengths):
        if place > first and total + length > limit:
            yield first, place
            first, total = place, 0
        total += length
    if lengths:
        yield first, len(lengths)
