"""Packing: the slot of every token, for ragged batches."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from adaptner.nn.rnn.packing import Packing


@st.composite
def ragged(draw: st.DrawFn) -> tuple[Tensor, int]:
    """Lengths (G, B) in decreasing order and a grid at least as wide as the longest."""
    tasks, batch = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    lengths = [
        sorted(draw(st.lists(st.integers(1, 6), min_size=batch, max_size=batch)), reverse=True)
        for _ in range(tasks)
    ]
    width = max(map(max, lengths)) + draw(st.integers(0, 2))
    return torch.tensor(lengths), width


def valid_slots(packing: Packing, lengths: Tensor) -> Tensor:
    """(G, N): whether a slot holds a token of the task."""
    width = packing.shape[2]
    rows, steps = packing.places[:, 0] // width, packing.places[:, 0] % width
    return steps < lengths.gather(1, rows)


@settings(max_examples=60)
@given(ragged())
def test_slots_cover_each_token_once_in_both_directions(case):
    lengths, width = case
    packing = Packing.of(lengths, width)
    longest = lengths.max(0).values.tolist()
    assert sum(packing.sizes) == sum(longest)
    assert list(packing.sizes) == sorted(packing.sizes, reverse=True)
    assert packing.sizes == tuple(sum(n > t for n in longest) for t in range(max(longest)))
    own = valid_slots(packing, lengths)
    for task, row_lengths in enumerate(lengths.tolist()):
        cells = [b * width + t for b, n in enumerate(row_lengths) for t in range(n)]
        for direction in (0, 1):
            places = packing.places[task, direction]
            assert sorted(places[own[task]].tolist()) == sorted(cells)
            assert len(set(places.tolist())) == len(places)  # no place is used twice


@settings(max_examples=60)
@given(ragged())
def test_previous_and_last_slots(case):
    lengths, width = case
    packing = Packing.of(lengths, width)
    forward = packing.places[:, 0]
    first = packing.sizes[0]
    # the next step in the same row; for tokens of a task, one place to the left in the backward direction
    assert torch.equal(forward[:, packing.previous] + 1, forward[:, first:])
    own = valid_slots(packing, lengths)[:, first:]
    backward = packing.places[:, 1]
    stepped = backward[:, packing.previous] - 1 == backward[:, first:]
    assert stepped[own].all()
    rows = torch.arange(lengths.shape[1]) * width
    assert torch.equal(forward.gather(1, packing.last), rows + lengths - 1)
    assert torch.equal(backward.gather(1, packing.last), rows.expand_as(lengths))


@settings(max_examples=60)
@given(ragged())
def test_joint_slots_are_the_slots_with_a_token_in_the_order_of_steps(case):
    lengths, width = case
    packing = Packing.of(lengths, width)
    joint, own = packing.joint, valid_slots(packing, lengths)
    assert joint.sizes == tuple(int((lengths > t).sum()) for t in range(int(lengths.max())))
    both = own[:, None].expand(-1, 2, -1).flatten()
    assert sorted(joint.slots.flatten().tolist()) == torch.nonzero(both)[:, 0].tolist()
    grid = torch.arange(len(lengths))[:, None, None] * 1000 + packing.places
    first, earlier = joint.sizes[0], joint.previous
    forward = grid.flatten()[joint.slots[0]]
    backward = grid.flatten()[joint.slots[1]]
    assert torch.equal(forward[earlier] + 1, forward[first:])
    assert torch.equal(backward[earlier] - 1, backward[first:])
    for task, slots in enumerate(joint.by_task):
        assert torch.equal(slots, torch.nonzero(forward[first:] // 1000 == task)[:, 0])


@settings(max_examples=40)
@given(ragged())
def test_unpack_restores_the_grid(case):
    lengths, width = case
    packing = Packing.of(lengths, width)
    tasks, batch = lengths.shape
    grid = torch.arange(1.0, tasks * batch * width * 3 + 1).view(tasks, batch * width, 3)
    packed = torch.stack(
        [
            torch.stack([grid[g][packing.places[g, d]] * (1, -1)[d] for d in (0, 1)])
            for g in range(tasks)
        ]
    )
    unpacked = packing.unpack(packed).view(tasks, batch, width, 2, 3)
    mask = torch.arange(width) < lengths[..., None]
    grid = grid.view(tasks, batch, width, 3)
    assert torch.equal(unpacked[mask][:, 0], grid[mask])
    assert torch.equal(unpacked[mask][:, 1], -grid[mask])
