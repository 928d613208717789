"""The generator of a recurrent layer's parameters: θ = W ⊗ I_domain ⊗ I_task (Jia2019, eq. 2).

W holds a complete set of parameters for every pair of an entry of the domain embedding and an entry of
the task embedding. θ of a domain and task is the sum of these sets, each weighted by the product of
its two entries. W is large (13 M numbers for a small BiLSTM) and θ is not, so one product with W
generates all θ of a step, and one product gives the gradient of W.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Generator, Tensor, nn

from adaptner.nn.rnn.bidirectional import BidirectionalLayer
from adaptner.nn.rnn.parameters import fan_in_parameter, uniform_parameter

DomainAndTask = tuple[int, int]


class ParameterGenerator(nn.Module):
    """Generates the parameters of ``layer``.

    A ``domain_size`` or ``task_size`` of 0 leaves that embedding out: CO-LM has W ⊗ I_task and CO-NER
    W ⊗ I_domain. Without both, all domains and tasks share one θ."""

    def __init__(
        self,
        layer: BidirectionalLayer,
        domains: int,
        tasks: int,
        generator: Generator,
        domain_size: int = 8,
        task_size: int = 8,
    ) -> None:
        super().__init__()
        self._shapes = {n: p.shape[1:] for n, p in layer.named_parameters()}
        self.domains = _embedding(domains, domain_size, generator)
        self.tasks = _embedding(tasks, task_size, generator)
        pairs = max(domain_size, 1) * max(task_size, 1)
        size = sum(p.numel() for p in layer.parameters())
        # (U x V, parameters): the dimension that is summed over comes first, so that memory is read in
        # order. Drawn like the layer itself: embeddings of about unit length keep θ as large as W.
        self.weight = fan_in_parameter((pairs, size), layer.width // 2, generator)

    def mixtures(self, pairs: Sequence[DomainAndTask]) -> Tensor:
        """The weight of each set of parameters in W for each pair, (pairs, U x V)."""
        domain, task = (torch.tensor(numbers) for numbers in zip(*pairs, strict=True))
        rows = len(pairs)
        left = self.weight.new_ones(rows, 1) if self.domains is None else self.domains[domain]
        right = self.weight.new_ones(rows, 1) if self.tasks is None else self.tasks[task]
        return (left[:, :, None] * right[:, None]).flatten(1)

    def forward(self, pairs: Sequence[DomainAndTask]) -> dict[str, Tensor]:
        """The layer's parameters by name, each with the pairs as its task dimension."""
        flat = self.mixtures(pairs) @ self.weight
        sizes = [math.prod(shape) for shape in self._shapes.values()]
        return {
            name: part.view(len(pairs), *shape)
            for (name, shape), part in zip(self._shapes.items(), flat.split(sizes, 1), strict=True)
        }

    @torch.no_grad()
    def place_near(self, domain: int, others: Sequence[int]) -> None:
        """Set I_domain of ``domain`` to the mean of ``others``, so that its θ is the mean of theirs.

        A random I_domain may be opposite to theirs. A task without data in this domain would then be
        generated as the opposite of what the others learn."""
        if self.domains is not None:
            self.domains[domain] = self.domains[list(others)].mean(0)

    @torch.no_grad()
    def start_from(self, layer: BidirectionalLayer) -> None:
        """Change W as little as possible so that every pair starts with the parameters of ``layer``."""
        domains = 1 if self.domains is None else len(self.domains)
        tasks = 1 if self.tasks is None else len(self.tasks)
        mixtures = self.mixtures([(d, t) for d in range(domains) for t in range(tasks)])
        wanted = torch.cat([dict(layer.named_parameters())[n].flatten() for n in self._shapes])
        self.weight.add_(torch.linalg.pinv(mixtures) @ (wanted - mixtures @ self.weight))


def _embedding(count: int, size: int, generator: Generator) -> nn.Parameter | None:
    """Rows of about unit length, with the bound of the authors' published program."""
    return uniform_parameter((count, size), math.sqrt(3 / size), generator) if size else None
