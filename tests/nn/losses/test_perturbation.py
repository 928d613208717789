"""Adversarial offsets of word vectors: direction, length, and removal."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from adaptner.nn.losses.distillation import kl_divergence
from adaptner.nn.losses.perturbation import virtual_adversary, with_offset, word_layer, worst_offset

MASK = torch.ones(4, dtype=torch.bool)


class Small(nn.Module):
    """Four word vectors of width 3 and a softmax over two tags."""

    def __init__(self) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.table = torch.randn(4, 3, generator=generator, dtype=torch.float64)
        self.words = _Lookup(self.table)
        weight = torch.randn(3, 2, generator=generator, dtype=torch.float64)
        self.weight = nn.Parameter(weight)

    def logs(self) -> Tensor:
        return (self.words() @ self.weight).log_softmax(-1)

    def loss(self) -> Tensor:
        return -self.logs()[:, 0].sum()


class _Lookup(nn.Module):
    def __init__(self, table: Tensor) -> None:
        super().__init__()
        self.found = table

    def forward(self) -> Tensor:
        return self.found


def test_offset_is_removed_afterwards():
    small = Small()
    plain = small.logs()
    with with_offset(small.words, torch.ones_like):
        torch.testing.assert_close(small.logs(), ((small.table + 1) @ small.weight).log_softmax(-1))
    with pytest.raises(RuntimeError), with_offset(small.words, torch.ones_like):
        raise RuntimeError
    assert torch.equal(small.logs(), plain)


def test_worst_offset_follows_the_gradient():
    small = Small()
    vectors = small.table.clone().requires_grad_()
    loss = -(vectors @ small.weight).log_softmax(-1)[:, 0].sum()
    (slope,) = torch.autograd.grad(loss, vectors)
    length = small.table.norm(dim=-1).mean()
    there = small.table + 0.1 * length * slope / slope.norm(dim=-1, keepdim=True)
    plain, found = worst_offset(small.words, small.loss, 0.1)
    assert torch.equal(plain, small.loss())
    want = -(there @ small.weight).log_softmax(-1)[:, 0].sum()
    assert float(found.detach()) == pytest.approx(float(want.detach()))
    assert found > plain
    ours, theirs = (torch.autograd.grad(x, small.weight)[0] for x in (found, want))
    torch.testing.assert_close(ours, theirs)


def test_virtual_adversary_is_worse_than_random_noise():
    small = Small()
    generator = torch.Generator().manual_seed(1)
    found = virtual_adversary(small.words, small.logs, MASK, 0.2, generator)
    plain = small.logs().detach()
    length = small.table.norm(dim=-1).mean()
    for _ in range(20):
        drawn = torch.randn(4, 3, generator=generator, dtype=torch.float64)
        by = 0.2 * length * drawn / drawn.norm(dim=-1, keepdim=True)
        with with_offset(small.words, lambda found, by=by: by):
            by_chance = kl_divergence(plain, small.logs(), MASK)
        assert 0 < float(by_chance.detach()) < float(found.detach())
    assert float(torch.autograd.grad(found, small.weight)[0].abs().sum()) > 0


def test_layer_called_twice_has_two_offsets():
    """The embeddings of a transformer are called for each window; each call has its own offset."""
    small = Small()

    def twice() -> Tensor:
        return small.loss() + 3 * (small.words() @ small.weight)[:2, 1].sum()

    plain, found = worst_offset(small.words, twice, 0.1)
    first, _ = worst_offset(small.words, small.loss, 0.1)
    alone = worst_offset(small.words, small.loss, 0.1)[1]
    second = worst_offset(small.words, lambda: 3 * (small.words() @ small.weight)[:2, 1].sum(), 0.1)
    assert float(found.detach()) == pytest.approx(float((alone + second[1]).detach()))
    assert float(plain.detach()) == pytest.approx(float((first + second[0]).detach()))


def test_word_layer_of_each_encoder():
    small, transformer = Small(), nn.Module()
    transformer.network = nn.Module()
    transformer.network.embeddings = small.words
    assert word_layer(small) is word_layer(transformer) is small.words
