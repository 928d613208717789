"""Lexical features for the decoder: the vectors of the word and its neighbours, and the word's shape.

An encoder trained on other labels retains less about a new label than the word vectors themselves
(docs/results/few-shot.md). Each part is scaled to a fixed length, so that one penalty on the decoder's
weights suits all parts.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from adaptner.nn.batching.word_batch import WordBatch
from adaptner.nn.batching.word_shapes import SHAPE_FEATURES

_MIN_NORM = 1e-12  # as in F.normalize
STATE_LENGTH, WORD_LENGTH, NEIGHBOUR_LENGTH, SHAPE_LENGTH = 8.0, 8.0, 4.0, 2.4


def lexical_width(states: int, words: int) -> int:
    return states + 3 * words + SHAPE_FEATURES


def word_part(states: int, words: int) -> slice:
    """The columns of the features that hold the word's own vector."""
    return slice(states, states + words)


def add_lexical_features(
    states: Tensor, words: Tensor, batch: WordBatch, length: float = STATE_LENGTH
) -> Tensor:
    """Features (G, B, L, lexical_width), zero in the padding, from ``states`` (G, B, L, D), which are scaled
    to ``length``, and the vectors (G, W, V) of the distinct words."""
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
    """Tag scores (G, W, 3T) of the distinct words: for their own tag, for that of the next token and for
    that of the previous token, by the columns of ``weight`` (G, T, width) that read words."""
    size = words.shape[-1]
    rest = weight[..., weight.shape[-1] - 3 * size - SHAPE_FEATURES :]
    here, before, after, shape = rest.split([size, size, size, SHAPE_FEATURES], -1)
    columns = torch.cat(
        [WORD_LENGTH * here, NEIGHBOUR_LENGTH * before, NEIGHBOUR_LENGTH * after], 1
    )
    scores = F.normalize(words, dim=-1) @ columns.mT
    return scores + F.pad(SHAPE_LENGTH * shapes @ shape.mT, (0, 2 * weight.shape[1]))


def lexical_scores(
    states: Tensor, by_word: Tensor, batch: WordBatch, weight: Tensor, length: float = STATE_LENGTH
) -> Tensor:
    """``add_lexical_features(...) @ weight.T``, (G, B, L, T), without computing the features.

    ``states`` (G, 2, N, H) are packed, so that only scores are unpacked; ``by_word`` is the result of
    ``word_scores``."""
    hidden, inside = states.shape[-1], batch.mask[..., None]
    by_direction = weight[..., : 2 * hidden].unflatten(-1, (2, hidden))
    state_weight = by_direction.transpose(1, 2)  # (G, 2, T, H)
    squares = states.square().sum(-1, keepdim=True)
    both = batch.packing.unpack(torch.cat([states @ state_weight.mT, squares], -1))
    scores, square = both.unflatten(-1, (2, -1)).sum(-2).split([weight.shape[1], 1], -1)
    scores = length * scores / square.sqrt().clamp(min=_MIN_NORM)
    task = torch.arange(len(batch.index), device=batch.index.device)[:, None, None]
    for_word, for_next, for_previous = (by_word[task, batch.index] * inside).chunk(3, -1)
    scores = scores + for_word
    scores[:, :, 1:] += for_next[:, :, :-1]
    scores[:, :, :-1] += for_previous[:, :, 1:]
    return scores * inside
