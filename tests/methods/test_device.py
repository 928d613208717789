"""Every method trains and adapts on the device of its base, with the results of the CPU."""

from __future__ import annotations

import sys
from typing import Any

import pytest
import torch
from pretend_device import PRETEND, pretend_device
from torch import Tensor

from adaptner.compute import CPU
from adaptner.corpora.bundled import bundled_corpus
from adaptner.corpora.sources import SourceDomain
from adaptner.methods import method, methods
from adaptner.methods.crossdomain_lm import algorithm as crossdomain_lm
from adaptner.methods.stm_elmo import language_modelling
from adaptner.training.budget import Budget
from adaptner.training.loop import TrainingRun

SMALL = {"word_width": 8, "char_embedding": 4, "char_cnn_filters": 4, "char_lstm": 4, "hidden": 6}


@pytest.mark.slow
@pytest.mark.parametrize("name", methods())
def test_method_computes_the_same_on_another_device(name, sources, monkeypatch):
    # the pretend device computes PyTorch's fused kernels on the CPU
    optimizer = sys.modules["torch.optim.optimizer"]
    kinds = ["cpu", PRETEND.type]
    monkeypatch.setattr(optimizer, "_get_fused_kernels_supported_devices", lambda: kinds)
    # sparse gradients cannot be on the pretend device
    monkeypatch.setattr(torch.optim, "SparseAdam", torch.optim.Adam)
    for user in (crossdomain_lm, language_modelling):
        monkeypatch.setattr(user, "sparse_rows", dense_rows)
    expected = fit_and_adapt(name, sources, CPU)
    with pretend_device() as device:
        found = fit_and_adapt(name, sources, device)
    for name_, values in expected.items():
        torch.testing.assert_close(found[name_], values, rtol=1e-4, atol=1e-5, msg=name_)


def dense_rows(parameter: Tensor, rows: Tensor, values: Tensor) -> Tensor:
    return torch.zeros_like(parameter).index_copy(
        -2, rows, values.view(*parameter.shape[:-2], *values.shape[-2:])
    )


def fit_and_adapt(
    name: str, sources: list[SourceDomain], device: torch.device
) -> dict[str, torch.Tensor]:
    learner = method(name)(k=2, tasks=2, encoder=SMALL)
    base = learner.fit(sources, Budget(2), seed=3, run=TrainingRun(device=device))
    target = bundled_corpus("cellline" if learner.capabilities.new_labels else "gene")
    sentences = target.split("train")[:8]
    options: dict[str, Any] = {"sources": sources, "budget": Budget(2), "seed": 5}
    tagger = learner.adapt(base, sentences, **options)
    tagger.predict([s.text for s in sentences[:3]])
    modules = {"base": base.model, "tagger": tagger}
    assert all(p.device == device for m in modules.values() for p in m.parameters())
    return {
        f"{kind}.{key}": values.detach().cpu()
        for kind, module in modules.items()
        for key, values in module.state_dict().items()
    }
