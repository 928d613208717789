"""The positions of tokens in a batch without padding, in time-major order.

The sequences of a task are sorted by length, longest first, so step t computes only the first
``sizes[t]`` rows. A slot is a (step, row) pair that is computed because the row of at least one task is
that long; in a task whose row is shorter, its value is ignored.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor


@dataclass(frozen=True)
class Packing:
    sizes: tuple[int, ...]  # rows computed at each step; their sum is N, the number of slots
    places: Tensor  # (G, 2, N) position of a slot in the flattened (B, L) grid, in both directions
    previous: Tensor  # (N - B,) the slot before each slot of a later step
    last: Tensor  # (G, B) slot of each sequence's last step
    lengths: Tensor  # (G, B)
    shape: tuple[int, int, int]  # G, B, L

    @classmethod
    def of(cls, lengths: Tensor, width: int) -> Packing:
        """``lengths`` (G, B), descending in each task; ``width`` is L of the padded grid."""
        device = lengths.device
        longest = lengths.max(0).values
        steps, rows = torch.nonzero(
            torch.arange(int(longest[0]), device=device)[:, None] < longest[None, :], as_tuple=True
        )
        sizes = torch.bincount(steps)
        offsets = torch.cumsum(sizes, 0) - sizes
        later = steps > 0
        length = lengths[:, rows]  # (G, N)
        backwards = torch.where(steps < length, length - 1 - steps, steps)
        tasks, batch = lengths.shape
        return cls(
            sizes=tuple(sizes.tolist()),
            places=rows * width + torch.stack([steps.expand(tasks, -1), backwards], 1),
            previous=offsets[steps[later] - 1] + rows[later],
            last=offsets[lengths - 1] + torch.arange(batch, device=device),
            lengths=lengths,
            shape=(tasks, batch, width),
        )

    @cached_property
    def joint(self) -> JointPacking:
        tasks, batch, width = self.shape
        lengths, order = self.lengths.flatten().sort(descending=True, stable=True)
        packing = Packing.of(lengths[None], width)
        rows, steps = order[packing.places[0, 0] // width], packing.places[0, 0] % width
        task, count = rows // batch, sum(self.sizes)
        sizes = torch.tensor(self.sizes, device=rows.device)
        slots = 2 * count * task + (sizes.cumsum(0) - sizes)[steps] + rows % batch
        later = task[packing.sizes[0] :]
        return JointPacking(
            packing.sizes,
            packing.previous,
            torch.stack([slots, slots + count]),
            tuple(torch.nonzero(later == number)[:, 0] for number in range(tasks)),
        )

    def unpack(self, packed: Tensor) -> Tensor:
        """States (G, B, L, 2H), zero in the padding, from packed states (G, 2, N, H)."""
        tasks, batch, width = self.shape
        hidden = packed.shape[-1]
        device = self.places.device
        task = torch.arange(tasks, device=device)[:, None, None] * (batch * width)
        rows = 2 * (task + self.places) + torch.arange(2, device=device)[:, None]
        blank = packed.new_zeros(tasks * batch * width * 2, hidden)
        filled = blank.index_copy(0, rows.flatten(), packed.reshape(-1, hidden))
        return filled.view(tasks, batch, width, 2 * hidden)


@dataclass(frozen=True)
class JointPacking:
    """The sequences of all tasks packed as if they were of one task, which leaves no slot ignored."""

    sizes: tuple[int, ...]
    previous: Tensor
    slots: Tensor  # (2, N') where each slot is in the flattened (G, 2, N), in both directions
    by_task: tuple[Tensor, ...]  # the slots of each task, counted from the second step
