"""The interface of all encoders."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import torch
from torch import Generator, Tensor, nn

from adaptner.nn.batching.batch import Batch
from adaptner.nn.encoders.word_cache import WordCache


class Encoder(nn.Module, ABC):
    """Maps a batch to states (G, B, L, width), zero in the padding, independently of any labels.

    The states are a pure function of parameters with a leading task dimension."""

    # Whether all tasks of a batch are run at once. Otherwise training runs one task after another and
    # accumulates the gradients, so that the adapted parameters of one task are in memory at a time.
    side_by_side: ClassVar[bool] = True
    kind: ClassVar[Literal["recurrent", "transformer"]]
    config: Any  # of the encoder's own type
    width: int

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    @property
    @abstractmethod
    def table(self) -> str | None:
        """The name of the embedding table (1, rows, width), of which a batch uses few rows; None if it is
        not trained (see ``nn/encoders/active_vocabulary.py``)."""

    @abstractmethod
    def forward(self, batch: Batch, noise: Generator | None = None) -> Tensor:
        """The states; with dropout if ``noise`` is given."""

    def linear_scores(
        self, batch: Batch, weight: Tensor, memory: WordCache | None = None
    ) -> Tensor:
        """``states @ weight``, (G, B, L, T), for a ``weight`` (G, T, width), without gradients.

        Subclasses may have a faster way than through the states, and may cache words in ``memory``."""
        return self(batch) @ weight[:, None].mT

    @torch.no_grad()
    def distance(self, parameters: Mapping[str, Tensor]) -> float | None:
        """The Euclidean distance of the encoder's parameters from ``parameters``; None if these have
        other names or shapes."""
        own = dict(self.named_parameters())
        if {n: p.shape for n, p in own.items()} != {n: p.shape for n, p in parameters.items()}:
            return None
        squares = (float((p - parameters[n]).square().sum()) for n, p in own.items())
        return math.sqrt(math.fsum(squares))

    def rates(self) -> dict[nn.Parameter, float]:
        """Factors on the learning rate, for parameters where it is not 1."""
        return {}
