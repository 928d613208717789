"""Devices and noise generators."""

from __future__ import annotations

import pytest
import torch

from adaptner import compute
from adaptner.errors import DeviceMissing


def without(monkeypatch: pytest.MonkeyPatch, *missing: str) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: "cuda" not in missing)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 1)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: "mps" not in missing)


@pytest.mark.parametrize(
    ("missing", "expected"), [((), "cuda:1"), (("cuda",), "mps:0"), (("cuda", "mps"), "cpu")]
)
def test_auto_takes_cuda_then_mps_then_cpu(monkeypatch, missing, expected):
    without(monkeypatch, *missing)
    assert str(compute.find_device()) == expected


@pytest.mark.parametrize("name", ["cuda", "mps", "cuda:7", "cuda:abc", "tpu", ""])
def test_missing_device_raises_with_remedy(monkeypatch, name):
    without(monkeypatch, *(() if ":" in name else ("cuda", "mps")))
    with pytest.raises(DeviceMissing, match=f"no device '{name}'(.|\n)*--device auto"):
        compute.find_device(name)


def test_cpu_noise_continues_the_given_generator():
    generator = torch.Generator().manual_seed(5)
    assert compute.noise_generator(generator, compute.CPU) is generator
