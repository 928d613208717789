"""A recurrent layer whose parameters are generated: θ = W ⊗ I_domain ⊗ I_task (Jia2019, eq. 2).

W holds one complete set of parameters for every pair of an entry of the domain embedding and one of
the task embedding; θ of a domain and task is their sum, each weighted by the product of the two
entries. W is large (13 M numbers for a small BiLSTM) and θ is not, so all the θ of a step are made by
one product with W, and the gradient of W is gathered by one product too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Generator, Tensor, nn

from adaptner.nn.rnn.bidirectional import BidirectionalLayer
from adaptner.nn.rnn.parameters import fan_in_bound, uniform_parameter

DomainAndTask = tuple[int, int]  # a domain and a task


class ParameterGenerator(nn.Module):
    """Generates what ``layer`` has. ``domain_size`` or ``task_size`` 0 leaves that embedding out:
    CO-LM has W ⊗ I_task, CO-NER W ⊗ I_domain, and with neither all share one θ."""

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
        # (U x V, P), what is summed over first, so that memory is read in order. Drawn as the layer
        # itself is: with embeddings of about unit length θ is as large as W.
        self.weight = fan_in_bound((pairs, size), layer.width // 2, generator)

    def mixtures(self, pairs: Sequence[DomainAndTask]) -> Tensor:
        """(pairs, U x V): by how much each set of parameters in W counts for each pair."""
        domain, task = (torch.tensor(own) for own in zip(*pairs, strict=True))
        rows = len(pairs)
        left = self.weight.new_ones(rows, 1) if self.domains is None else self.domains[domain]
        right = self.weight.new_ones(rows, 1) if self.tasks is None else self.tasks[task]
        return (left[:, :, None] * right[:, None]).flatten(1)

    def forward(self, pairs: Sequence[DomainAndTask]) -> dict[str, Tensor]:
        """The layer's parameters for each pair, stacked as those of so many tasks (see ``nn``)."""
        flat = self.mixtures(pairs) @ self.weight
        sizes = [math.prod(shape) for shape in self._shapes.values()]
        return {
            name: part.view(len(pairs), *shape)
            for (name, shape), part in zip(self._shapes.items(), flat.split(sizes, 1), strict=True)
        }

    @torch.no_grad()
    def place_near(self, domain: int, others: Sequence[int]) -> None:
        """I_domain of ``domain`` becomes the mean of ``others``: whatever its task, it is generated the
        mean of what they are. Drawn at random it may as well be their opposite, and a task that it
        has no data of is then generated the opposite of what they learn."""
        if self.domains is not None:
            self.domains[domain] = self.domains[list(others)].mean(0)

    @torch.no_grad()
    def start_from(self, layer: BidirectionalLayer) -> None:
        """Change W as little as it takes for every pair to begin with the parameters of ``layer``."""
        domains = 1 if self.domains is None else len(self.domains)
        tasks = 1 if self.tasks is None else len(self.tasks)
        mixtures = self.mixtures([(d, t) for d in range(domains) for t in range(tasks)])
        wanted = torch.cat([dict(layer.named_parameters())[n].flatten() for n in self._shapes])
        self.weight.add_(torch.linalg.pinv(mixtures) @ (wanted - mixtures @ self.weight))


def _embedding(count: int, size: int, generator: Generator) -> nn.Parameter | None:
    """Rows of about unit length: the bound is that of the authors' published program."""
    return uniform_parameter((count, size), math.sqrt(3 / size), generator) if size else None
