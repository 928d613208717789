"""Golden values: a few iterations and a few steps of adaptation of every method on the package's own
corpora, pinned.

A change here is a change of what a method computes: say why in the commit. To see the new numbers,
run this file as a script.
"""

from __future__ import annotations

import pytest
import torch

from adaptner.corpora.corpus import group_by_domain
from adaptner.corpora.own import own_corpus
from adaptner.corpora.sources import source_domains
from adaptner.methods import method, methods
from adaptner.methods.families.unadapted import UnadaptedMethod
from adaptner.training.budget import Budget
from adaptner.training.loop import TrainingRun

SMALL = {"word_width": 16, "char_embedding": 8, "char_cnn_filters": 8, "char_lstm": 8, "hidden": 12}

# method -> losses at iterations 1 and 4 (none where nothing is learnt), then sums of absolute
# values: of θ after iteration 4, and of the tagger after three steps of adaptation
Golden = tuple[float | None, float | None, float, float]
GOLDEN: dict[str, Golden] = {
    "agg": (25.02, 25.89, 2113.063186943531, 2178.3603408932686),
    "crossdomain-lm": (None, None, 2112.794401407242, 2369.2342365682125),
    "d-shift": (25.02, 25.89, 2113.063186943531, 2133.1800528764725),
    "dann": (17.42, 17.68, 2113.5415716171265, 2138.5684811770916),
    "datnet": (17.42, 17.68, 2113.541573524475, 2138.2826547026634),
    "finetuning": (17.42, 17.68, 2113.5415716171265, 2130.6517298817635),
    "hgda": (17.27, 18.2, 2113.6077575683594, 2130.3395313322544),
    "hgda-nes": (18.37, 20.41, 2113.258501648903, 2130.0973200649023),
    "in-domain": (None, None, 2112.794401407242, 842.1394610106945),
    "la-dtl": (17.42, 17.68, 2113.541573524475, 2138.575125604868),
    "maml": (16.14, 17.08, 2113.730788528919, 2130.721542879939),
    "metaner": (14.05, 15.8, 2281.9368057250977, 2308.6152169704437),
    "metaner-zero": (23.33, 27.03, 2282.183214008808, 2324.3890266418457),
    "multi-cell": (16.62, 17.95, 3245.635145664215, 3270.868180245161),
    "multitask": (17.42, 17.68, 2113.5415716171265, 2139.5040476620197),
    "named": (20.38, 16.43, 2113.321685254574, 2130.7600363120437),
    "pdaln": (25.02, 25.89, 2113.0631850361824, 2184.1918982863426),
    "self-train": (25.02, 25.89, 2113.063186943531, 2163.3733545541763),
    "stm-elmo": (None, None, 22645.534673690796, 22711.579938538373),
    "wpz": (12.27, 19.56, 2116.407047867775, 2147.1214974075556),
}


def run(name: str) -> Golden:
    torch.set_num_threads(1)
    sources = source_domains(group_by_domain(own_corpus(n) for n in ("disease", "gene", "drug")))
    losses: list[float] = []

    def progress(done: int, total: int, remark: str = "") -> None:
        losses.append(float(remark.split()[1].rstrip(",")))

    chosen = method(name)(k=4, tasks=3, encoder=SMALL)
    base = chosen.fit(sources, Budget(4), seed=3, run=TrainingRun(progress=progress))
    first, fourth = (losses[0], losses[3]) if losses else (None, None)
    # D-Shift, MetaNER-Zero and SELF-TRAIN take a target of the sources' own labels only.
    target = own_corpus("gene" if chosen.supports == UnadaptedMethod.supports else "cellline")
    tagger = chosen.adapt(
        base, target.split("train")[:12], sources=sources, budget=Budget(3), seed=5
    )
    return first, fourth, size(base.model.encoder), size(tagger)


def size(module: torch.nn.Module) -> float:
    """Of all that is saved: WPZ's class means are no parameters."""
    return sum(float(values.float().abs().sum()) for values in module.state_dict().values())


@pytest.mark.parametrize("name", sorted(GOLDEN))
def test_golden(name: str) -> None:
    *losses, theta, tagger = run(name)
    *known, known_theta, known_tagger = GOLDEN[name]
    assert losses == pytest.approx(known, abs=0.011)
    assert theta == pytest.approx(known_theta, rel=1e-5)
    assert tagger == pytest.approx(known_tagger, rel=1e-5)


def test_every_method_has_golden_values() -> None:
    assert set(GOLDEN) == set(methods())


if __name__ == "__main__":
    for each in methods():
        print(f'    "{each}": {run(each)},')
