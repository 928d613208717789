"""Loss of a bidirectional language model with a sampled softmax (Jia2019, 3.3).

The forward state of a word predicts the next word, the backward state the previous one (eq. 5). The
normaliser sums over the word itself and a set of negative samples (eq. 6), so the cost of a step does not
depend on the size of the vocabulary. One set of negatives serves the whole batch, as in Jean et al. 2014
(cited by the paper), so that the scores are one matrix product.

A step uses few rows of the word table. ``EmbeddingRows`` copies them and is differentiated instead, so no
gradient has the size of the vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Generator, Tensor, nn

from adaptner.nn.rnn.parameters import uniform_parameter

UNKNOWN, EDGE = 0, 1  # in every vocabulary: rare words, and the positions around a sentence


class OutputWordTable(nn.Module):
    """A row w_x and, as its last number, b_x for every word x (eq. 5), shared by both directions."""

    def __init__(self, words: int, width: int, generator: Generator) -> None:
        super().__init__()
        self.table = uniform_parameter((words, width + 1), 1 / math.sqrt(width), generator)
        with torch.no_grad():
            self.table[:, -1] = 0


class NegativeSampler:
    """Draws words by their frequency, with replacement."""

    def __init__(self, counts: Tensor) -> None:
        # on the CPU: MPS has no double precision, and few words are drawn
        self._cumulative = counts.cpu().double().cumsum(0)

    def draw(self, count: int, generator: Generator) -> Tensor:
        """The distinct words among ``count`` draws by a CPU generator, in ascending order (eq. 6 sums over
        a set)."""
        total = self._cumulative[-1]
        places = torch.rand(count, generator=generator, dtype=torch.double) * total
        # right: a word that never occurs has an empty interval, which is never drawn
        drawn = torch.searchsorted(self._cumulative, places, right=True)
        return drawn.clamp_(max=len(self._cumulative) - 1).unique()


def neighbour_words(words: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """The words after and before each of ``words`` (B, L); ``EDGE`` beyond the ends of a sentence."""
    edge = torch.full_like(words[:, :1], EDGE)
    after = torch.cat([words[:, 1:], edge], 1)
    ends = mask & ~torch.cat([mask[:, 1:], torch.zeros_like(mask[:, :1])], 1)
    return after.masked_fill(ends, EDGE), torch.cat([edge, words[:, :-1]], 1)


def sampled_softmax_losses(
    states: Tensor, rows: Tensor, targets: Tensor, negatives: Tensor
) -> Tensor:
    """-log p of eqs 5 and 6 for each of N states (N, H).

    ``rows`` (R, H + 1) are rows of the word table; ``targets`` (N,) and the distinct ``negatives`` (K,)
    are indices into them."""
    weight, bias = rows[:, :-1], rows[:, -1]
    target_scores = (states * weight[targets]).sum(-1) + bias[targets]
    others = torch.addmm(bias[negatives], states, weight[negatives].T)
    # A target that was also drawn counts once.
    others = others.masked_fill(targets[:, None] == negatives, -torch.inf)
    scores = torch.cat([target_scores[:, None], others], 1)
    return torch.logsumexp(scores, 1) - target_scores


def language_model_loss(
    states: Tensor, words: Tensor, mask: Tensor, rows: Tensor, known: Tensor, negatives: Tensor
) -> Tensor:
    """Eq. 8 for one batch: mean over the directions, summed over tokens, averaged over sentences.

    ``states`` (B, L, 2H), forward states first; ``words`` (B, L) and ``negatives`` are word ids; ``rows``
    are the table rows of the sorted word ids ``known``, which include all words and negatives."""
    half = states.shape[-1] // 2
    sampled = torch.searchsorted(known, negatives)
    losses = states.new_zeros(())
    for direction, neighbours in enumerate(neighbour_words(words, mask)):
        directed = states[..., direction * half : (direction + 1) * half][mask]
        targets = torch.searchsorted(known, neighbours[mask])
        losses = losses + sampled_softmax_losses(directed, rows, targets, sampled).sum()
    return losses / (2 * len(words))


@dataclass(frozen=True)
class LanguageModelInput:
    """Input of a language-model step: the word ids of a batch, and negative samples."""

    words: Tensor  # (B, L)
    negatives: Tensor  # (K,) distinct


@dataclass(frozen=True)
class EmbeddingRows:
    """A copy of some rows of a table, whose gradient has the size of these rows only."""

    parameter: nn.Parameter
    rows: Tensor
    values: Tensor

    @classmethod
    def of(cls, parameter: nn.Parameter, rows: Tensor) -> EmbeddingRows:
        table = parameter.detach().flatten(0, -2)  # drops a task dimension of 1
        return cls(parameter, rows, table[rows].requires_grad_())


def embedded_words(inputs: Sequence[LanguageModelInput | None]) -> Tensor:
    """The word ids in ``inputs`` and ``EDGE``, distinct and in ascending order."""
    parts = [part for i in inputs if i is not None for part in (i.words.flatten(), i.negatives)]
    edge = torch.tensor([EDGE], device=parts[0].device if parts else None)
    return torch.cat([edge, *parts]).unique()
