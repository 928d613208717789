"""What φ can read beside the recurrent states: the word itself, its neighbours and its shape.

An encoder that has learnt from other types keeps less of what word vectors know about a new one than
the vectors themselves (docs/results/few-shot.md). Every part is brought to a length of its own, so
that one penalty on φ suits all.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from adaptner.nn.shapes import KINDS
from adaptner.nn.word_batch import WordBatch

STATES, WORD, BESIDE, SHAPE = 4.0, 8.0, 4.0, 2.4  # lengths of the parts


def wide_width(states: int, words: int) -> int:
    return states + 3 * words + KINDS


def word_part(states: int, words: int) -> slice:
    """Where in the features the word's own vector stands."""
    return slice(states, states + words)


def widened(states: Tensor, words: Tensor, batch: WordBatch) -> Tensor:
    """(G, B, L, states) and the vectors (G, W, words) of the distinct words ->
    (G, B, L, wide_width). Zero beyond a sentence's end, as the states are."""
    task = torch.arange(len(batch.index))[:, None, None]
    inside = batch.mask[..., None]
    here = F.normalize(words, dim=-1)[task, batch.index] * inside
    shapes = batch.shapes[task, batch.index] * inside
    edge = torch.zeros_like(here[:, :, :1])
    parts = [
        STATES * F.normalize(states, dim=-1),
        WORD * here,
        BESIDE * torch.cat([edge, here[:, :, :-1]], 2) * inside,
        BESIDE * torch.cat([here[:, :, 1:], edge], 2),
        SHAPE * shapes,
    ]
    return torch.cat(parts, -1)
