"""Word vectors from a language model like ELMo (Peters et al. 2018): a forward and a backward LSTM of
two layers over character-based word vectors, and the mixture of their layers that a tagger reads."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional as F

from adaptner.nn.batching.word_batch import WordBatch
from adaptner.nn.encoders.char_cnn import CharCNN
from adaptner.nn.rnn.bidirectional import BiLSTM
from adaptner.nn.rnn.parameters import dropout, fan_in_parameter, uniform_parameter

LAYERS = 3  # the character-based word vectors and the states of two LSTM layers
# Smaller than ELMo, which has 2,048 filters of widths 1 to 7 over character embeddings of 16 numbers
# and was trained on a billion words.
_EMBEDDED, _WIDTHS, _FILTERS = 30, (2, 3, 4), 50
_DROPOUT = 0.1  # ELMo's


class BidirectionalLM(nn.Module):
    """Reads words by their characters only. The two directions share nothing but the character layer,
    so neither sees the words that it predicts."""

    def __init__(self, letters: int, hidden: int, generator: Generator) -> None:
        super().__init__()
        self.chars = uniform_parameter((1, letters, _EMBEDDED), 0.3, generator)
        self.char_cnn = CharCNN(_EMBEDDED, _WIDTHS, _FILTERS, generator)
        filters = self.char_cnn.width
        self.projection = fan_in_parameter((1, hidden, filters), filters, generator)
        self.lower = BiLSTM(hidden, hidden, generator)
        self.upper = BiLSTM(hidden, hidden, generator)
        self.width = 2 * hidden

    def forward(self, batch: WordBatch, noise: Generator | None = None) -> list[Tensor]:
        """The layers, (tasks, sentences, tokens, 2 x hidden), lowest first, forward states before
        backward ones. The last layer predicts words. Padding is zero."""
        spelled = F.relu(self.char_cnn(self.chars, batch.chars, batch.char_packing))
        words = dropout(spelled @ self.projection.transpose(1, 2), _DROPOUT, noise)
        lower = self.lower(words, batch.index, batch.packing)
        between = dropout(lower, _DROPOUT, noise)
        upper = lower + self.upper.next_layer(between, batch.packing)  # ELMo's residual connection
        places = batch.index.flatten(1)[..., None].expand(-1, -1, words.shape[-1])
        token = words.gather(1, places).view(*batch.index.shape, -1) * batch.mask[..., None]
        return [
            torch.cat([token, token], -1),
            batch.packing.unpack(lower),
            batch.packing.unpack(dropout(upper, _DROPOUT, noise)),
        ]


class LayerMix(nn.Module):
    """γ times the sum of the layers, weighted by a softmax (Peters et al. 2018, eq. 1)."""

    def __init__(self) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(1, LAYERS))
        self.gamma = nn.Parameter(torch.ones(1))

    def forward(self, layers: Sequence[Tensor]) -> Tensor:
        """The mixture has the shape of each layer, (tasks, sentences, tokens, width)."""
        shares = self.gamma[:, None] * self.weights.softmax(-1)  # (G, LAYERS)
        return torch.einsum("gj,jgblw->gblw", shares, torch.stack(list(layers)))
