"""The domain classifier of HGDA 3.3: one linear layer over the masked mean of the token states."""

from __future__ import annotations

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional as F

from adaptner.nn.heads.pooling import sentence_means
from adaptner.nn.losses.gradient_reversal import reverse_gradient
from adaptner.nn.rnn.parameters import fan_in_parameter


class DomainClassifier(nn.Module):
    def __init__(
        self, width: int, classes: int, generator: Generator, reversal: bool = False
    ) -> None:
        super().__init__()
        self.weight = fan_in_parameter((1, classes, width), width, generator)
        self.bias = fan_in_parameter((1, classes), width, generator)
        self.reversal = reversal  # the ruling's measured option; HGDA itself adds the loss

    def forward(self, states: Tensor, mask: Tensor, classes: Tensor) -> Tensor:
        """Mean cross-entropy over each task's sentences, (G,). ``classes`` (G,): a task's sentences
        all come from one domain."""
        if self.reversal:
            states = reverse_gradient(states)
        mean = sentence_means(states, mask)  # (G, B, width)
        return domain_classification_loss(
            torch.baddbmm(self.bias[:, None], mean, self.weight.mT), classes
        )


def domain_classification_loss(scores: Tensor, classes: Tensor) -> Tensor:
    """Mean cross-entropy of (G, B, classes) scores where all sentences of a task are of one class."""
    chosen = F.log_softmax(scores, -1)[
        torch.arange(len(classes), device=classes.device), :, classes
    ]
    return -chosen.mean(1)
