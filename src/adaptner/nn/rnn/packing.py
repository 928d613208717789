"""Where each token of a batch stands once padding is squeezed out, in time-major order.

Sequences of a task are sorted by length, longest first, so at step t only the first ``sizes[t]``
rows (of any task) are still running. A slot is one (step, row) pair that runs in some task; where it
lies beyond the end of this task's own sequence it computes a value nobody reads.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Packing:
    sizes: tuple[int, ...]  # rows alive at each step; N = sum of sizes slots
    places: Tensor  # (G, 2, N) place of a slot in the flattened (B, L) grid, forwards and backwards
    previous: Tensor  # (N - B,) the slot one step before each later slot
    last: Tensor  # (G, B) slot of each sequence's final step
    lengths: Tensor  # (G, B)
    shape: tuple[int, int, int]  # G, B, L

    @classmethod
    def of(cls, lengths: Tensor, width: int) -> Packing:
        """``lengths`` (G, B), each task's in decreasing order; ``width`` L of the padded grid."""
        device = lengths.device
        longest = lengths.max(0).values
        steps, rows = torch.nonzero(
            torch.arange(int(longest[0]), device=device)[:, None] < longest[None, :], as_tuple=True
        )
        sizes = torch.bincount(steps)
        offsets = torch.cumsum(sizes, 0) - sizes
        later = steps > 0
        own = lengths[:, rows]  # (G, N)
        backwards = torch.where(steps < own, own - 1 - steps, steps)
        tasks, batch = lengths.shape
        return cls(
            sizes=tuple(sizes.tolist()),
            places=rows * width + torch.stack([steps.expand(tasks, -1), backwards], 1),
            previous=offsets[steps[later] - 1] + rows[later],
            last=offsets[lengths - 1] + torch.arange(batch, device=device),
            lengths=lengths,
            shape=(tasks, batch, width),
        )

    def unpack(self, packed: Tensor) -> Tensor:
        """(G, 2, N, H) states of both directions -> (G, B, L, 2H)."""
        tasks, batch, width = self.shape
        hidden = packed.shape[-1]
        device = self.places.device
        task = torch.arange(tasks, device=device)[:, None, None] * (batch * width)
        rows = 2 * (task + self.places) + torch.arange(2, device=device)[:, None]
        blank = packed.new_zeros(tasks * batch * width * 2, hidden)
        filled = blank.index_copy(0, rows.flatten(), packed.reshape(-1, hidden))
        return filled.view(tasks, batch, width, 2 * hidden)
