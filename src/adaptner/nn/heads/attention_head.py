"""The domain discriminator of MetaNER: attention over token states, then a hidden layer."""

from __future__ import annotations

import torch
from torch import Generator, Tensor, nn

from adaptner.nn.heads.domain_head import domain_classification_loss
from adaptner.nn.losses.gradient_reversal import reverse_gradient
from adaptner.nn.rnn.parameters import fan_in_parameter


class AttentionDomainClassifier(nn.Module):
    """The paper says only "MLP"; this is one hidden layer, as wide as the states, with tanh."""

    def __init__(self, width: int, classes: int, generator: Generator, reversal: bool) -> None:
        super().__init__()
        self.attention_weight = fan_in_parameter((1, width), width, generator)
        self.attention_bias = fan_in_parameter((1, 1), width, generator)
        self.hidden_weight = fan_in_parameter((1, width, width), width, generator)
        self.hidden_bias = fan_in_parameter((1, width), width, generator)
        self.weight = fan_in_parameter((1, classes, width), width, generator)
        self.bias = fan_in_parameter((1, classes), width, generator)
        self.reversal = reversal

    def forward(self, states: Tensor, mask: Tensor, classes: Tensor) -> Tensor:
        """Eq. 13, averaged over the sentences of each task: (G,). ``classes`` (G,), one per task."""
        return domain_classification_loss(self.scores(states, mask), classes)

    def scores(self, states: Tensor, mask: Tensor) -> Tensor:
        """Scores of the classes for each sentence, (G, B, classes)."""
        if self.reversal:
            states = reverse_gradient(states)
        pooled = self.pooled(states, mask)
        hidden = torch.baddbmm(self.hidden_bias[:, None], pooled, self.hidden_weight.mT).tanh()
        return torch.baddbmm(self.bias[:, None], hidden, self.weight.mT)

    def pooled(self, states: Tensor, mask: Tensor) -> Tensor:
        """Eqs 9 and 10: c = Σ a h with a = softmax(tanh(h P + p)) over the tokens of a sentence."""
        energy = torch.einsum("gblh,gh->gbl", states, self.attention_weight)
        energy = (energy + self.attention_bias[:, :, None]).tanh()
        share = energy.masked_fill(~mask, -torch.inf).softmax(-1)
        return torch.einsum("gbl,gblh->gbh", share, states)
