"""Dropout in a pretrained network: its rate, scale and generator."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from adaptner.nn.encoders.transformer.fast_dropout import (
    FastDropout,
    dropout_factors,
    replace_dropout,
)


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.85])
def test_rate_and_scale(rate):
    torch.manual_seed(0)
    factors = dropout_factors(
        (1001, 999), rate, torch.zeros((), dtype=torch.float64)
    )  # not a multiple of four
    assert factors.shape == (1001, 999)
    dropped = factors == 0
    torch.testing.assert_close(
        factors[~dropped], torch.full_like(factors[~dropped], 1 / (1 - rate))
    )
    sd = (rate * (1 - rate) / dropped.numel()) ** 0.5
    assert abs(float(dropped.double().mean()) - rate) < 4 * sd
    # neighbours come from the same 64 bits and must be independent
    both = (dropped.view(-1)[1:] & dropped.view(-1)[:-1]).double().mean()
    assert float(both) == pytest.approx(rate**2, abs=5 * sd)


def test_dropout_repeats_with_a_seed_and_is_off_in_evaluation():
    layer, values = FastDropout(0.5), torch.randn(40, 8)
    torch.manual_seed(1)
    one, other = layer(values), layer(values)
    torch.manual_seed(1)
    assert torch.equal(layer(values), one)
    assert not torch.equal(one, other)
    assert layer.eval()(values) is values


def test_every_dropout_of_a_network_is_replaced():
    inner = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.3))
    network = nn.Sequential(inner, nn.Dropout(0.2), nn.ReLU())
    replace_dropout(network)
    assert [m.p for m in network.modules() if isinstance(m, FastDropout)] == [0.3, 0.2]
    assert not any(isinstance(m, nn.Dropout) for m in network.modules())
