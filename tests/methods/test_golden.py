"""Golden values: what every method computes in four iterations and three steps of adaptation.

Results in stores are identified by a method's ``version``, not by its code. These tests notice when
a method computes something else under the same version. After raising ``version`` in the method's
class, run ``python -m pytest tests/methods/test_golden.py --update-golden`` and commit golden.json.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
import torch

from adaptner.corpora.bundled import bundled_corpus
from adaptner.corpora.corpus import group_by_domain
from adaptner.corpora.sources import source_domains
from adaptner.files import atomic_file
from adaptner.methods import method, methods
from adaptner.training.budget import Budget
from adaptner.training.loop import METRICS, TrainingRun

GOLDEN = Path(__file__).with_name("golden.json")
SMALL = {"word_width": 16, "char_embedding": 8, "char_cnn_filters": 8, "char_lstm": 8, "hidden": 12}

# Float32 rounding differs between machines by less than this; one optimiser step moves the
# statistics by more than a hundred times as much.
RELATIVE, ABSOLUTE = 1e-5, 1e-3


@pytest.mark.parametrize("name", methods())
def test_values_change_only_with_the_version_of_a_method(name, tmp_path, request):
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    version, values = method(name).version, measure(name, tmp_path)
    known = golden.get(name)
    is_known = known is not None and known["version"] == version
    if not is_known and request.config.getoption("--update-golden"):
        golden[name] = known = {"version": version, "values": values}
        with atomic_file(GOLDEN) as file:
            json.dump(golden, file, indent=1, sort_keys=True)
            file.write("\n")
    elif not is_known:
        pytest.fail(
            f"golden.json has no values of {name}, version {version}: run with --update-golden"
        )
    assert values == near(known["values"]), (
        f"{name} computes something else than before: raise `version` in its class, "
        "then run this test with --update-golden"
    )


def test_golden_values_belong_to_existing_methods():
    assert set(json.loads(GOLDEN.read_text(encoding="utf-8"))) == set(methods())


def test_projection_sees_signs_and_order():
    values = torch.tensor([1.0, -2.0, 3.0])
    known = projection({"weight": values})
    for other in (-values, values.flip(0), values + torch.tensor([0.01, 0.0, 0.0])):
        assert projection({"weight": other}) != near(known)


def near(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: near(inner) for key, inner in value.items()}
    return pytest.approx(value, rel=RELATIVE, abs=ABSOLUTE)


def measure(name: str, folder: Path) -> dict[str, Any]:
    """Losses of the iterations (none if the method trains no base), statistics of the base's encoder
    and of the tagger."""
    sources = source_domains(
        group_by_domain(bundled_corpus(n) for n in ("disease", "gene", "drug"))
    )
    learner = method(name)(k=4, tasks=3, encoder=SMALL)
    base = learner.fit(sources, Budget(4), seed=3, run=TrainingRun(folder=folder))
    metrics = folder / METRICS
    lines = metrics.read_text(encoding="utf-8").splitlines() if metrics.is_file() else []
    # Methods that use a base unchanged need a target with labels of the sources.
    target = bundled_corpus("cellline" if learner.capabilities.new_labels else "gene")
    tagger = learner.adapt(
        base, target.split("train")[:12], sources=sources, budget=Budget(3), seed=5
    )
    return {
        "losses": [round(json.loads(line)["loss"], 5) for line in lines],
        "encoder": statistics(base.model.encoder),
        "tagger": statistics(tagger),
    }


def statistics(module: torch.nn.Module) -> dict[str, float]:
    """All saved values count, also those that are not parameters (WPZ's class means)."""
    saved = module.state_dict()
    return {
        "projection": round(projection(saved), 6),
        "absolute_sum": round(sum(float(v.double().abs().sum()) for v in saved.values()), 6),
    }


def projection(tensors: dict[str, torch.Tensor]) -> float:
    """Dot product with pseudo-random weights, which depend on the name of a tensor and on the place
    of a value in it, but not on the order of the tensors."""
    total = 0.0
    for name, values in tensors.items():
        generator = torch.Generator().manual_seed(crc32(name.encode()))
        weights = torch.randn(values.shape, generator=generator, dtype=torch.float64)
        total += float((values.double() * weights).sum())
    return total
