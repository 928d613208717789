"""Golden values: a few iterations of every method on the package's own corpora, pinned.

A change here is a change of what a method computes: say why in the commit. To see the new numbers,
run this file as a script.
"""

from __future__ import annotations

import pytest
import torch

from adaptner.corpora.corpus import group_by_domain
from adaptner.corpora.own import own_corpus
from adaptner.methods import method, methods
from adaptner.methods.method import source_domains
from adaptner.training.budget import Budget
from adaptner.training.loop import Run

SMALL = {"word_width": 16, "char_embedding": 8, "char_cnn_filters": 8, "char_lstm": 8, "hidden": 12}

# method -> loss at iterations 1 and 4, sum of the absolute values of θ after iteration 4
GOLDEN: dict[str, tuple[float, float, float]] = {
    "hgda": (17.27, 18.2, 2113.6077575683594),
    "hgda-nes": (18.37, 20.41, 2113.258501648903),
    "maml": (16.14, 17.08, 2113.730788528919),
}


def run(name: str) -> tuple[float, float, float]:
    torch.set_num_threads(1)
    sources = source_domains(group_by_domain(own_corpus(n) for n in ("disease", "gene", "drug")))
    losses: list[float] = []

    def watch(done: int, total: int, remark: str = "") -> None:
        losses.append(float(remark.split()[1].rstrip(",")))

    chosen = method(name)(k=4, tasks=3, encoder=SMALL)
    base = chosen.fit(sources, Budget(4), seed=3, run=Run(watch=watch))
    size = sum(float(p.detach().abs().sum()) for p in base.model.encoder.parameters())
    return losses[0], losses[3], size


@pytest.mark.parametrize("name", sorted(GOLDEN))
def test_golden(name: str) -> None:
    first, fourth, size = run(name)
    assert (first, fourth) == pytest.approx(GOLDEN[name][:2], abs=0.011)
    assert size == pytest.approx(GOLDEN[name][2], rel=1e-5)


def test_every_method_has_golden_values() -> None:
    assert set(GOLDEN) == set(methods())


if __name__ == "__main__":
    for each in methods():
        print(f'    "{each}": {run(each)},')
