"""Generated parameters θ = W ⊗ I_domain ⊗ I_task against explicit loops and a plain layer."""

from __future__ import annotations

import math

import pytest
import torch
from torch.func import functional_call

from adaptner.methods.crossdomain_lm.parameter_generator import ParameterGenerator
from adaptner.nn.rnn.bidirectional import BiLSTM
from adaptner.nn.rnn.gru import BiGRU
from adaptner.nn.rnn.packing import Packing

PAIRS = [(0, 0), (0, 1), (1, 0), (1, 1)]


def make_generator(
    kind: type[BiLSTM] | type[BiGRU] = BiLSTM, domain_size: int = 3, task_size: int = 2
) -> tuple[BiLSTM | BiGRU, ParameterGenerator]:
    generator = torch.Generator().manual_seed(5)
    layer = kind(4, 3, generator)
    return layer, ParameterGenerator(layer, 2, 2, generator, domain_size, task_size)


@pytest.mark.parametrize("kind", [BiLSTM, BiGRU])
def test_parameters_are_the_sum_of_equation_2(kind):
    layer, generator = make_generator(kind)
    found = generator(PAIRS)
    assert found.keys() == dict(layer.named_parameters()).keys()
    size = sum(p.numel() for p in layer.parameters())
    weight = generator.weight.detach().view(3, 2, size)
    domains, tasks = generator.domains.detach(), generator.tasks.detach()
    for row, (domain, task) in enumerate(PAIRS):
        flat = torch.cat([p[row].detach().flatten() for p in found.values()])
        for place in range(size):
            total = 0.0
            for u in range(3):
                for v in range(2):
                    total += float(weight[u, v, place] * domains[domain, u] * tasks[task, v])
            assert float(flat[place]) == pytest.approx(total, abs=1e-6)


@pytest.mark.parametrize("kind", [BiLSTM, BiGRU])
def test_one_domain_and_one_task_equal_a_plain_layer(kind):
    """W ⊗ 1 ⊗ 1 with W set to a layer's parameters computes that layer's states."""
    random = torch.Generator().manual_seed(1)
    layer = kind(4, 3, random)
    generator = ParameterGenerator(layer, 1, 1, random, 1, 1)
    with torch.no_grad():
        generator.domains.fill_(1)
        generator.tasks.fill_(1)
        generator.weight[0] = torch.cat([p.flatten() for p in layer.parameters()])
    symbols = torch.randn(1, 5, 4, generator=random)
    index = torch.tensor([[[0, 1, 2], [3, 4, 0]]])
    packing = Packing.of(torch.tensor([[3, 2]]), 3)
    plain = layer(symbols, index, packing)
    assert torch.equal(
        functional_call(layer, generator([(0, 0)]), (symbols, index, packing)), plain
    )


@pytest.mark.parametrize("sizes", [(3, 0), (0, 2), (0, 0)])
def test_size_zero_leaves_an_embedding_out(sizes):
    """CO-LM has W ⊗ I_task, CO-NER W ⊗ I_domain; without both, all share one θ."""
    _, generator = make_generator(BiLSTM, *sizes)
    found = generator(PAIRS)["recurrent_weight"].detach()
    assert generator.weight.shape[0] == max(sizes[0], 1) * max(sizes[1], 1)
    assert torch.equal(found[0], found[2]) == (sizes[0] == 0)  # same task, another domain
    assert torch.equal(found[0], found[1]) == (sizes[1] == 0)  # same domain, another task


def test_gradient_equals_that_of_explicit_loops():
    _, generator = make_generator()
    weights = torch.randn(4, generator.weight.shape[1], generator=torch.Generator().manual_seed(2))
    parts = generator(PAIRS).values()
    (torch.cat([p.flatten(1) for p in parts], 1) * weights).sum().backward()
    found = [p.grad for p in generator.parameters()]
    generator.zero_grad()
    total = torch.zeros(())
    for row, (domain, task) in enumerate(PAIRS):
        for u in range(3):
            for v in range(2):
                share = generator.domains[domain, u] * generator.tasks[task, v]
                total = total + (share * generator.weight[2 * u + v] * weights[row]).sum()
    total.backward()
    for gradient, p in zip(found, generator.parameters(), strict=True):
        torch.testing.assert_close(gradient, p.grad)


@pytest.mark.parametrize("sizes", [(3, 2), (3, 0), (0, 2), (0, 0)])
def test_every_pair_starts_from_a_given_layer(sizes):
    layer, generator = make_generator(BiLSTM, *sizes)
    generator.start_from(layer)
    for name, found in generator(PAIRS).items():
        expected = dict(layer.named_parameters())[name].expand_as(found)
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)


def test_domain_placed_near_others_has_the_mean_of_their_parameters():
    random = torch.Generator().manual_seed(4)
    generator = ParameterGenerator(BiLSTM(4, 3, random), 3, 2, random, 3, 2)
    generator.place_near(2, [0, 1])
    for task in range(2):
        for found in generator([(0, task), (1, task), (2, task)]).values():
            torch.testing.assert_close(found[2], (found[0] + found[1]) / 2)
    assert generator.domains is not None
    assert generator.domains.requires_grad  # it stays trainable


def test_placing_a_domain_without_embedding_changes_nothing():
    _, generator = make_generator(BiLSTM, 0, 2)
    before = generator.weight.detach().clone()
    generator.place_near(1, [0])
    assert torch.equal(generator.weight, before)


def test_sizes_of_the_paper_give_13_million_parameters():
    """NCRF++'s BiLSTM: 100 + 50 inputs, 100 states in each direction; embeddings of 8 and 8."""
    random = torch.Generator().manual_seed(0)
    generator = ParameterGenerator(BiLSTM(150, 100, random), 2, 2, random)
    assert generator.weight.numel() == 12_851_200
    assert float(generator.weight.detach().abs().max()) <= 1 / math.sqrt(100)
