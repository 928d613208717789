"""The seam between θ and all that reads its states: what an encoder is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal

import torch
from torch import Generator, Tensor, nn

from adaptner.nn.batching.batch import Batch
from adaptner.nn.encoders.word_cache import WordCache


class Encoder(nn.Module, ABC):
    """θ. Knows nothing of labels: a batch in, (G, B, L, width) out, as a pure function of parameters
    with a leading task dimension. Zero beyond a sentence's end."""

    # Whether a batch of tasks is best run at once. Otherwise learning takes task after task and
    # adds the gradients up, so that one task's adapted parameters are in memory at a time.
    side_by_side: ClassVar[bool] = True
    kind: ClassVar[Literal["recurrent", "transformer"]]
    config: Any  # each one's own
    width: int

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    @property
    @abstractmethod
    def table(self) -> str | None:
        """The name of the one parameter (1, rows, width) of which a batch reads few rows, if it is
        trained (see ``nn/encoders/active_vocabulary.py``)."""

    @abstractmethod
    def forward(self, batch: Batch, noise: Generator | None = None) -> Tensor:
        """``noise`` switches dropout on."""

    def linear_scores(
        self, batch: Batch, weight: Tensor, memory: WordCache | None = None
    ) -> Tensor:
        """What a linear layer (G, T, width) makes of the states, (G, B, L, T): for tagging, where an
        encoder may know a shorter way than over its states, and what it has made of words before."""
        return self(batch) @ weight[:, None].mT

    def rates(self) -> dict[nn.Parameter, float]:
        """Parameters that learn at so many times the rate of the others."""
        return {}
