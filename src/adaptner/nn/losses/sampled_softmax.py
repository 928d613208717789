"""ω of a forward and a backward language model: softmax over a word and sampled others (Jia2019, 3.3).

The forward state of a word guesses the next one, the backward state the one before (eq. 5). Z is a sum
over the word itself and a set of negative samples (eq. 6), so a step costs the same whatever the size
of the vocabulary. One set of negatives serves a whole batch, as in Jean et al. 2014, whom the paper
cites: the scores are then one matrix product.

A step reads few rows of the table. They are taken out by ``rows`` beforehand and differentiated
alone, so no gradient has the size of the vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Generator, Tensor, nn

from adaptner.nn.rnn.parameters import uniform_parameter

UNKNOWN, EDGE = (
    0,
    1,
)  # in every vocabulary: a rare word, and what stands before and after a sentence


class OutputWordTable(nn.Module):
    """w_x and, as the last number of a row, b_x of every word x (eq. 5): one table, both directions."""

    def __init__(self, words: int, width: int, generator: Generator) -> None:
        super().__init__()
        self.table = uniform_parameter((words, width + 1), 1 / math.sqrt(width), generator)
        with torch.no_grad():
            self.table[:, -1] = 0


class NegativeSampler:
    """Draws words by their frequency, with replacement, many at a time."""

    def __init__(self, counts: Tensor) -> None:
        # on the CPU: MPS has no double precision, and the words drawn are few
        self._up_to = counts.cpu().double().cumsum(0)

    def draw(self, count: int, generator: Generator) -> Tensor:
        """The *set* of the words drawn, in order: eq. 6 sums over a set."""
        total = self._up_to[-1]
        places = torch.rand(count, generator=generator, dtype=torch.double) * total
        # right: a word that never occurs has an empty stretch, which no place falls into
        drawn = torch.searchsorted(self._up_to, places, right=True)
        return drawn.clamp_(max=len(self._up_to) - 1).unique()


def neighbour_words(words: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """(B, L) words -> what stands after and before each one; beyond the ends stands the edge."""
    edge = torch.full_like(words[:, :1], EDGE)
    after = torch.cat([words[:, 1:], edge], 1)
    ends = mask & ~torch.cat([mask[:, 1:], torch.zeros_like(mask[:, :1])], 1)
    return after.masked_fill(ends, EDGE), torch.cat([edge, words[:, :-1]], 1)


def sampled_softmax_losses(
    states: Tensor, rows: Tensor, wanted: Tensor, negatives: Tensor
) -> Tensor:
    """-log p of eqs 5 and 6 for each of N states (N, H).

    ``rows`` (R, H + 1) of the word table; ``wanted`` (N,) and ``negatives`` (K,), distinct, say which
    of them."""
    weight, bias = rows[:, :-1], rows[:, -1]
    own = (states * weight[wanted]).sum(-1) + bias[wanted]
    others = torch.addmm(bias[negatives], states, weight[negatives].T)
    # The word itself is in the set once, even where it was drawn as well.
    others = others.masked_fill(wanted[:, None] == negatives, -torch.inf)
    return torch.logsumexp(torch.cat([own[:, None], others], 1), 1) - own


def language_model_loss(
    states: Tensor, words: Tensor, mask: Tensor, rows: Tensor, known: Tensor, negatives: Tensor
) -> Tensor:
    """Eq. 8 of one batch: both directions, summed over tokens, halved, averaged over sentences.

    ``states`` (B, L, 2H), forwards first; ``words`` (B, L) and ``negatives`` in the vocabulary;
    ``rows`` are those of the words ``known``, which is sorted and holds all that are read here."""
    half = states.shape[-1] // 2
    sampled = torch.searchsorted(known, negatives)
    losses = states.new_zeros(())
    for wanted, direction in zip(neighbour_words(words, mask), (0, 1), strict=True):
        own = states[..., direction * half : (direction + 1) * half][mask]
        losses = (
            losses
            + sampled_softmax_losses(
                own, rows, torch.searchsorted(known, wanted[mask]), sampled
            ).sum()
        )
    return losses / (2 * len(words))


@dataclass(frozen=True)
class LanguageModelInput:
    """What a language model's turn reads: the batch's words in the vocabulary, and its negatives."""

    words: Tensor  # (B, L)
    negatives: Tensor  # (K,) distinct


@dataclass(frozen=True)
class EmbeddingRows:
    """Rows taken out of a table for one step, so that the gradient has their size only."""

    parameter: nn.Parameter
    rows: Tensor
    values: Tensor

    @classmethod
    def of(cls, parameter: nn.Parameter, rows: Tensor) -> EmbeddingRows:
        table = parameter.detach().flatten(0, -2)  # a word table has a task dimension of one
        return cls(parameter, rows, table[rows].requires_grad_())


def embedded_words(readings: Sequence[LanguageModelInput | None]) -> Tensor:
    """In order, with the edge of sentences, which every text has."""
    parts = [torch.tensor([EDGE])]
    for reading in readings:
        if reading is not None:
            parts += [reading.words.flatten(), reading.negatives]
    return torch.cat(parts).unique()
