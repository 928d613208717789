"""Windows of any lengths through one network at once, one behind the other and without padding.

All but the attention of a transformer takes every sub-word by itself: the sub-words of many windows are
one matrix to it, which is multiplied faster than many small ones, and whose gradient comes in one piece.
Here is the attention for that: each window attends to itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from adaptner.nn.encoders.transformer.fast_dropout import dropout_factors

NAME = "adaptner-windows"  # in the library's registry of attentions
# Families of networks that leave attention to that registry, and can be told positions
# (tests/nn/test_window_attention.py has them all).
FAMILIES = ("bert", "camembert", "electra", "roberta", "xlm-roberta")
# Sub-words at most (or one window). Products of matrices gain nothing from more rows, and with
# checkpointing this bounds what is in memory.
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
    """As the library's own, of ``query``, ``key`` and ``value`` (1, heads, T, d): (1, T, heads, d).

    In plain operations, since the fused kernels cannot be differentiated twice. ``window_lengths`` has
    no default: a library that does not hand it on must fail, not let all windows see each other."""
    lengths = list(window_lengths)
    scaled = query[0] * (query.shape[-1] ** -0.5 if scaling is None else scaling)
    queries, keys, values = (part.split(lengths, 1) for part in (scaled, key[0], value[0]))
    weights = [torch.softmax(q @ k.mT, -1) for q, k in zip(queries, keys, strict=True)]
    if dropout and module.training:
        sizes = [w.numel() for w in weights]
        factors = dropout_factors((sum(sizes),), dropout, scaled).split(sizes)
        weights = [w * f.view_as(w) for w, f in zip(weights, factors, strict=True)]
    found = [(w @ v).transpose(0, 1) for w, v in zip(weights, values, strict=True)]
    return torch.cat(found)[None], None


def pack_windows(
    lengths: Sequence[int], most: int = MAX_PACKED_SUBWORDS
) -> Iterator[tuple[int, int]]:
    """From where to where windows are run together: as many as have ``most`` sub-words."""
    first, held = 0, 0
    for place, length in enumerate(lengths):
        if place > first and held + length > most:
            yield first, place
            first, held = place, 0
        held += length
    if lengths:
        yield first, len(lengths)
