"""Fine-tuning a transformer the quick way is fine-tuning it the plain way."""

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


def tuned(folder: Path, network_dropout: bool) -> Tagger:
    kind = method("in-domain")
    given: dict[str, Any] = transformer_settings(kind, str(folder))
    # a clear decay, so that rows which are left alone would show
    rates = {"name": "adamw", "rate": 0.01, "weight_decay": 0.1}
    given["encoder"] |= {"network_dropout": network_dropout, "max_length": 40, "overlap": 8}
    given["adaptation"] = {"steps": 6, "epochs": 0, "batch": 4, "optimiser": rates}
    chosen = kind(**given)
    return chosen.adapt(chosen.fit([], Budget(0)), bundled_corpus("cellline").split("train")[:8])


def unfused(*given: Any, fused: bool) -> Optimiser:
    assert fused
    return Optimiser(*given)


def test_quick_and_plain_steps_come_to_the_same(
    tiny_transformer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Packed windows and the fused kernel against padded ones and PyTorch's own AdamW."""
    quick = tuned(tiny_transformer, network_dropout=False)
    monkeypatch.setattr(module, "Optimiser", unfused)
    monkeypatch.setattr(window_attention, "FAMILIES", ())
    plain = tuned(tiny_transformer, network_dropout=False)
    found, wanted = quick.state_dict(), plain.state_dict()
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        # what a key is shifted by changes no attention: its gradient is rounding, which Adam enlarges
        close = 1e-3 if name.endswith("key.bias") else 1e-6
        torch.testing.assert_close(found[name], value, atol=close, rtol=1e-5, msg=name)
    sentences = bundled_corpus("cellline").split("test")[:20]
    assert quick.predict_sentences(sentences) == plain.predict_sentences(sentences)


def test_the_networks_own_dropout_is_heard(tiny_transformer: Path) -> None:
    """With noise of its own the quick way must not come to the same."""
    with_noise, without = (tuned(tiny_transformer, network_dropout=on) for on in (True, False))
    states = (with_noise.state_dict(), without.state_dict())
    assert not all(torch.equal(a, b) for a, b in zip(*(s.values() for s in states), strict=True))
    repeated = tuned(tiny_transformer, network_dropout=True).state_dict()
    assert all(torch.equal(states[0][n], t) for n, t in repeated.items())


@pytest.mark.parametrize("name", ["adamw", "sgd"])
def test_gradients_may_lie_in_memory_as_they_like(name: str) -> None:
    """The fused kernels would read a transposed one row by row."""
    start, slope = torch.randn(1, 3, 4), torch.randn(1, 4, 3).mT
    assert not slope.is_contiguous()
    found = []
    for fused in (True, False):
        p = nn.Parameter(start.clone())
        optimiser = Optimiser([p], OptimiserConfig(name=name, rate=0.1), fused=fused)
        for _ in range(3):
            p.grad = slope
            optimiser.step(0.0)
        found.append(p.detach())
    torch.testing.assert_close(*found)
