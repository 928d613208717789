"""The domain classifier of HGDA 3.3: one linear layer over the masked mean of the token states."""

from __future__ import annotations

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional as F

from adaptner.nn.gradient_reversal import reverse_gradient
from adaptner.nn.parameters import fan_in


class DomainHead(nn.Module):
    def __init__(
        self, width: int, domains: int, generator: Generator, reversal: bool = False
    ) -> None:
        super().__init__()
        self.weight = fan_in((1, domains, width), width, generator)
        self.bias = fan_in((1, domains), width, generator)
        self.reversal = reversal  # the ruling's measured option; HGDA itself adds the loss

    def forward(self, states: Tensor, mask: Tensor, domains: Tensor) -> Tensor:
        """Mean cross-entropy over each task's sentences, (G,). ``domains`` (G,): a task's sentences
        all come from one domain."""
        if self.reversal:
            states = reverse_gradient(states)
        mean = (states * mask[..., None]).sum(2) / mask.sum(2)[..., None]  # (G, B, width)
        scores = torch.baddbmm(self.bias[:, None], mean, self.weight.transpose(1, 2))
        chosen = F.log_softmax(scores, -1)[torch.arange(len(domains)), :, domains]
        return -chosen.mean(1)
