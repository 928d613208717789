"""The domain classifier of HGDA 3.3: a linear layer over the mean token state of a sentence."""

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
        self.reversal = reversal  # HGDA itself adds the loss without reversal

    def forward(self, states: Tensor, mask: Tensor, classes: Tensor) -> Tensor:
        """Mean cross-entropy over the sentences of each task, (G,). ``classes`` (G,), one per task,
        since all sentences of a task come from one domain."""
        if self.reversal:
            states = reverse_gradient(states)
        mean = sentence_means(states, mask)  # (G, B, width)
        return domain_classification_loss(
            torch.baddbmm(self.bias[:, None], mean, self.weight.mT), classes
        )


def domain_classification_loss(scores: Tensor, classes: Tensor) -> Tensor:
    """Mean cross-entropy (G,) of scores (G, B, classes); the sentences of a task are of one class."""
    log_probabilities = F.log_softmax(scores, -1)[
        torch.arange(len(classes), device=classes.device), :, classes
    ]
    return -log_probabilities.mean(1)
