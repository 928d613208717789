"""ω of a language model: guess a word from the states on either side of it.

The state left of a word has read what comes before, the state right of it what comes after, and
neither has read the word (Baevski et al. 2019, "cloze-driven pretraining"). The guess is a vector;
it is compared with those of the words that occur in the batch, so a step costs the same whatever
the size of the vocabulary, and a word without a row of its own can be guessed too.
"""

from __future__ import annotations

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional as F

from adaptner.nn.batching.word_batch import WordBatch
from adaptner.nn.rnn.parameters import fan_in_parameter

# Cosines lie within -1 and 1: without this factor even a perfect guess would be hardly more
# probable than the others.
SHARPNESS = 12.0


class ClozeHead(nn.Module):
    """From the states of a BiLSTM or BiGRU, ``width`` numbers, to word vectors of ``vectors``."""

    def __init__(self, width: int, vectors: int, generator: Generator) -> None:
        super().__init__()
        self.weight = fan_in_parameter((vectors, width), width, generator)
        self.bias = fan_in_parameter((vectors,), width, generator)

    def guesses(self, states: Tensor) -> Tensor:
        """(B, L, width) -> (B, L, vectors), from each token's two sides."""
        half = states.shape[-1] // 2
        before, after = states[..., :half], states[..., half:]
        edge = torch.zeros_like(before[:, :1])
        sides = [torch.cat([edge, before[:, :-1]], 1), torch.cat([after[:, 1:], edge], 1)]
        return F.linear(torch.cat(sides, -1), self.weight, self.bias)

    def forward(
        self, states: Tensor, batch: WordBatch, words: Tensor, most: int, noise: Generator
    ) -> Tensor:
        """Mean cross-entropy over ``most`` tokens (or all, if there are fewer) of one task.

        ``states`` (1, B, L, width) must be zero beyond a sentence's end, as the encoder leaves
        them; ``words`` (1, W, vectors) are the vectors of the batch's distinct words. A word
        without a vector (all zero) is neither guessed nor in the choice."""
        known = words[0].any(-1)
        mask = batch.mask[0] & known[batch.index[0]]
        drawn = torch.randperm(int(mask.sum()), generator=noise, device=noise.device)
        chosen = drawn[:most].to(states.device)
        if not len(chosen):  # not a word with a vector: nothing is learnt here
            return 0.0 * states.sum()
        guessed = F.normalize(self.guesses(states[0])[mask][chosen], dim=-1)
        scores = SHARPNESS * guessed @ F.normalize(words[0], dim=-1).T
        return F.cross_entropy(scores.masked_fill(~known, -torch.inf), batch.index[0][mask][chosen])
