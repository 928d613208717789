"""Fine-tuning a transformer: the fast computation equals the plain one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from adaptner.adaptation import fine_tune as module
from adaptner.corpora.bundled import bundled_corpus
from adaptner.methods import method
from adaptner.methods.transformer_settings import transformer_settings
from adaptner.models.tagger import Tagger
from adaptner.nn.encoders.transformer import window_attention
from adaptner.training.budget import Budget
from adaptner.training.optimiser import Optimiser, OptimiserConfig


def tune(folder: Path, network_dropout: bool) -> Tagger:
    kind = method("in-domain")
    settings: dict[str, Any] = transformer_settings(kind, str(folder))
    # A large weight decay, so that parameters without a step would show.
    rates = {"name": "adamw", "rate": 0.01, "weight_decay": 0.1}
    settings["encoder"] |= {"network_dropout": network_dropout, "max_length": 40, "overlap": 8}
    settings["adaptation"] = {"steps": 6, "epochs": 0, "batch": 4, "optimiser": rates}
    instance = kind(**settings)
    return instance.adapt(
        instance.fit([], Budget(0)), bundled_corpus("cellline").split("train")[:8]
    )


def unfused(*given: Any, fused: bool) -> Optimiser:
    assert fused
    return Optimiser(*given)


def test_fast_and_plain_steps_give_the_same_tagger(tiny_transformer, monkeypatch):
    """Packed windows and the fused kernel against padded windows and PyTorch's AdamW."""
    fast = tune(tiny_transformer, network_dropout=False)
    monkeypatch.setattr(module, "Optimiser", unfused)
    monkeypatch.setattr(window_attention, "FAMILIES", ())
    plain = tune(tiny_transformer, network_dropout=False)
    found, expected = fast.state_dict(), plain.state_dict()
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        # A shift of all keys changes no attention, so the gradient of the bias is rounding error, which
        # Adam enlarges.
        close = 1e-3 if name.endswith("key.bias") else 1e-6
        torch.testing.assert_close(found[name], value, atol=close, rtol=1e-5, msg=name)
    sentences = bundled_corpus("cellline").split("test")[:20]
    assert fast.predict_sentences(sentences) == plain.predict_sentences(sentences)


def test_network_dropout_changes_the_tagger_reproducibly(tiny_transformer):
    with_noise, without = (tune(tiny_transformer, network_dropout=on) for on in (True, False))
    states = (with_noise.state_dict(), without.state_dict())
    assert not all(torch.equal(a, b) for a, b in zip(*(s.values() for s in states), strict=True))
    repeated = tune(tiny_transformer, network_dropout=True).state_dict()
    assert all(torch.equal(states[0][n], t) for n, t in repeated.items())


@pytest.mark.parametrize("name", ["adamw", "sgd"])
def test_fused_kernels_accept_transposed_gradients(name):
    """PyTorch's fused kernels would read a transposed gradient row by row."""
    start, gradient = torch.randn(1, 3, 4), torch.randn(1, 4, 3).mT
    assert not gradient.is_contiguous()
    found = []
    for fused in (True, False):
        p = nn.Parameter(start.clone())
        optimiser = Optimiser([p], OptimiserConfig(name=name, rate=0.1), fused=fused)
        for _ in range(3):
            p.grad = gradient
            optimiser.step(0.0)
        found.append(p.detach())
    torch.testing.assert_close(*found)
