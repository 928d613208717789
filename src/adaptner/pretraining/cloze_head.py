"""A cloze head, which predicts a word from the states on both sides of it (Baevski et al. 2019).

The forward state before the word and the backward state after it have not read the word. The head
predicts a vector and compares it with the vectors of the words in the batch, so that the cost does
not depend on the size of the vocabulary and words without a row can be predicted, too.
"""

from __future__ import annotations

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional as F

from adaptner.nn.batching.word_batch import WordBatch
from adaptner.nn.rnn.parameters import fan_in_parameter

# Scales cosines, which are between -1 and 1; otherwise a perfect prediction would be hardly more
# probable than others.
SHARPNESS = 12.0


class ClozeHead(nn.Module):
    """Maps states of a bidirectional RNN (``width``) to word vectors (``vectors`` dimensions)."""

    def __init__(self, width: int, vectors: int, generator: Generator) -> None:
        super().__init__()
        self.weight = fan_in_parameter((vectors, width), width, generator)
        self.bias = fan_in_parameter((vectors,), width, generator)

    def predict(self, states: Tensor) -> Tensor:
        """Predicts word vectors (B, L, vectors) from states (B, L, width)."""
        half = states.shape[-1] // 2
        before, after = states[..., :half], states[..., half:]
        edge = torch.zeros_like(before[:, :1])
        sides = [torch.cat([edge, before[:, :-1]], 1), torch.cat([after[:, 1:], edge], 1)]
        return F.linear(torch.cat(sides, -1), self.weight, self.bias)

    def forward(
        self, states: Tensor, batch: WordBatch, words: Tensor, most: int, noise: Generator
    ) -> Tensor:
        """Returns the mean cross-entropy of ``most`` random tokens of one task.

        ``states`` (1, B, L, width) must be zero after the end of a sentence, as the encoder returns
        them; ``words`` (1, W, vectors) are the vectors of the distinct words of the batch. Words
        with zero vectors are neither targets nor candidates.
        """
        known = words[0].any(-1)
        mask = batch.mask[0] & known[batch.index[0]]
        permutation = torch.randperm(int(mask.sum()), generator=noise, device=noise.device)
        sample = permutation[:most].to(states.device)
        if not len(sample):  # no word has a vector
            return 0.0 * states.sum()
        predicted = F.normalize(self.predict(states[0])[mask][sample], dim=-1)
        scores = SHARPNESS * predicted @ F.normalize(words[0], dim=-1).T
        return F.cross_entropy(scores.masked_fill(~known, -torch.inf), batch.index[0][mask][sample])
