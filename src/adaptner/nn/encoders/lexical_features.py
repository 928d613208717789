"""What φ can read beside the recurrent states: the word itself, its neighbours and its shape.

An encoder that has learnt from other types keeps less of what word vectors know about a new one than
the vectors themselves (docs/results/few-shot.md). Every part is brought to a length of its own, so
that one penalty on φ suits all.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from adaptner.nn.batching.word_batch import WordBatch
from adaptner.nn.batching.word_shapes import SHAPE_FEATURES

_LEAST = 1e-12  # what F.normalize divides by at least
STATE_LENGTH, WORD_LENGTH, NEIGHBOUR_LENGTH, SHAPE_LENGTH = (
    8.0,
    8.0,
    4.0,
    2.4,
)  # lengths of the parts
OLD_STATE_LENGTH = 4.0  # of models from before the states knew names


def lexical_width(states: int, words: int) -> int:
    return states + 3 * words + SHAPE_FEATURES


def word_part(states: int, words: int) -> slice:
    """Where in the features the word's own vector stands."""
    return slice(states, states + words)


def add_lexical_features(
    states: Tensor, words: Tensor, batch: WordBatch, length: float = STATE_LENGTH
) -> Tensor:
    """(G, B, L, states) and the vectors (G, W, words) of the distinct words ->
    (G, B, L, wide_width), the states brought to ``length``. Zero beyond a sentence's end, as the states are."""
    task = torch.arange(len(batch.index), device=batch.index.device)[:, None, None]
    inside = batch.mask[..., None]
    here = F.normalize(words, dim=-1)[task, batch.index] * inside
    shapes = batch.shapes[task, batch.index] * inside
    edge = torch.zeros_like(here[:, :, :1])
    parts = [
        length * F.normalize(states, dim=-1),
        WORD_LENGTH * here,
        NEIGHBOUR_LENGTH * torch.cat([edge, here[:, :, :-1]], 2) * inside,
        NEIGHBOUR_LENGTH * torch.cat([here[:, :, 1:], edge], 2),
        SHAPE_LENGTH * shapes,
    ]
    return torch.cat(parts, -1)


def word_scores(words: Tensor, shapes: Tensor, weight: Tensor) -> Tensor:
    """What the distinct words say of tags, (G, W, 3T): of their own, of the next word's and of that
    before, by the columns of ``weight`` (G, T, width) that read words."""
    size = words.shape[-1]
    rest = weight[..., weight.shape[-1] - 3 * size - SHAPE_FEATURES :]
    here, before, after, shape = rest.split([size, size, size, SHAPE_FEATURES], -1)
    columns = torch.cat(
        [WORD_LENGTH * here, NEIGHBOUR_LENGTH * before, NEIGHBOUR_LENGTH * after], 1
    )
    said = F.normalize(words, dim=-1) @ columns.mT
    return said + F.pad(SHAPE_LENGTH * shapes @ shape.mT, (0, 2 * weight.shape[1]))


def lexical_scores(
    states: Tensor, said: Tensor, batch: WordBatch, weight: Tensor, length: float = STATE_LENGTH
) -> Tensor:
    """``widened(...) @ weight.T``, (G, B, L, T), without making the features. ``states`` (G, 2, N, H)
    are packed, so that what is unpacked is a number a tag; ``said`` is what ``word_scores`` gives."""
    hidden, inside = states.shape[-1], batch.mask[..., None]
    own = weight[..., : 2 * hidden].unflatten(-1, (2, hidden)).transpose(1, 2)  # (G, 2, T, H)
    squares = states.square().sum(-1, keepdim=True)
    both = batch.packing.unpack(torch.cat([states @ own.mT, squares], -1)).unflatten(-1, (2, -1))
    scores, square = both.sum(-2).split([weight.shape[1], 1], -1)
    scores = length * scores / square.sqrt().clamp(min=_LEAST)
    task = torch.arange(len(batch.index), device=batch.index.device)[:, None, None]
    of_word, of_next, of_last = (said[task, batch.index] * inside).chunk(3, -1)
    scores = scores + of_word
    scores[:, :, 1:] += of_next[:, :, :-1]
    scores[:, :, :-1] += of_last[:, :, 1:]
    return scores * inside
