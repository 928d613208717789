from __future__ import annotations

import itertools
import math
import subprocess
import sys

import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from adaptner.errors import ExtraMissing, UsageError
from adaptner.metrics.significance import (
    holm,
    mean_sd,
    paired_t_test,
    t_interval,
    wilcoxon_signed_rank,
)

# Whole hundredths give many ties and zeros, as F1 scores do.
HUNDREDTHS = st.integers(0, 100).map(lambda n: n / 100)
QUICK = settings(max_examples=80, deadline=None)


def pairs(smallest, largest, values=HUNDREDTHS):
    return st.lists(st.tuples(values, values), min_size=smallest, max_size=largest).map(
        lambda drawn: tuple(map(list, zip(*drawn, strict=True)))
    )


def rounded_differences(a, b):
    return np.round(np.subtract(a, b), 10)


@QUICK
@given(pairs(2, 30))
def test_paired_t_follows_its_formula(pair):
    differences = rounded_differences(*pair)
    assume(len(set(differences)) > 1)
    t = differences.mean() / (differences.std(ddof=1) / math.sqrt(len(differences)))
    found = paired_t_test(*pair)
    assert found.statistic == pytest.approx(t, rel=1e-8, abs=1e-10)
    assert found.p_value == pytest.approx(2 * scipy.stats.t.sf(abs(t), len(differences) - 1))


def test_paired_t_of_a_printed_example():
    # Student (1908), Table I: additional hours of sleep of ten patients with two drugs.
    first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
    second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
    found = paired_t_test(first, second)
    assert found.statistic == pytest.approx(-4.0621, abs=1e-4)
    assert found.p_value == pytest.approx(0.002833, abs=1e-6)


def test_paired_t_of_constant_differences_is_certain():
    assert paired_t_test([0.3, 0.4], [0.3, 0.4]).p_value == 1
    found = paired_t_test([0.3, 0.4, 0.9], [0.2, 0.3, 0.8])
    assert (found.statistic, found.p_value) == (math.inf, 0)


@settings(max_examples=40, deadline=None)
@given(pairs(1, 9, st.integers(0, 4).map(lambda n: n / 10)))
def test_wilcoxon_with_ties_equals_the_enumeration_of_all_signs(pair):
    differences = [d for d in rounded_differences(*pair) if d != 0]
    assume(differences)
    check_wilcoxon(pair, differences)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=9, unique=True), st.data())
def test_wilcoxon_without_ties_equals_the_enumeration_of_all_signs(sizes, data):
    signs = data.draw(st.lists(st.sampled_from([-1, 1]), min_size=len(sizes), max_size=len(sizes)))
    differences = [float(s * d) for s, d in zip(signs, sizes, strict=True)]
    check_wilcoxon((differences, [0.0] * len(differences)), differences)


def check_wilcoxon(pair, differences):
    ranks = scipy.stats.rankdata(np.abs(differences))
    positive = sum(r for r, d in zip(ranks, differences, strict=True) if d > 0)
    centre = ranks.sum() / 2
    at_least_as_far = [
        abs(sum(r for r, up in zip(ranks, signs, strict=True) if up) - centre)
        >= abs(positive - centre) - 1e-9
        for signs in itertools.product((0, 1), repeat=len(ranks))
    ]
    found = wilcoxon_signed_rank(*pair)
    assert found.n == len(differences)
    assert found.statistic == min(positive, ranks.sum() - positive)
    assert found.p_value == pytest.approx(sum(at_least_as_far) / len(at_least_as_far), rel=1e-12)


@QUICK
@given(pairs(60, 80, st.integers(0, 20).map(lambda n: n / 20)))
def test_wilcoxon_of_many_pairs_is_the_normal_approximation_with_tie_correction(pair):
    differences = rounded_differences(*pair)
    differences = differences[differences != 0]
    n = len(differences)
    assume(n > 50)
    ranks = scipy.stats.rankdata(np.abs(differences))
    positive = ranks[differences > 0].sum()
    _, tied = np.unique(ranks, return_counts=True)
    variance = n * (n + 1) * (2 * n + 1) / 24 - (tied**3 - tied).sum() / 48
    z = abs(positive - n * (n + 1) / 4) / math.sqrt(variance)
    found = wilcoxon_signed_rank(*pair)
    assert found.p_value == pytest.approx(math.erfc(z / math.sqrt(2)), rel=1e-9)


def test_wilcoxon_of_equal_pairs_has_p_1():
    found = wilcoxon_signed_rank([0.5, 0.25], [0.5, 0.25])
    assert (found.n, found.p_value) == (0, 1.0)


def test_differences_that_only_binary_fractions_distinguish_are_tied():
    # 0.3 - 0.1 < 0.4 - 0.2 < 0.7 - 0.5 in floating point, but all are 0.2.
    assert wilcoxon_signed_rank([0.3, 0.4, 0.5], [0.1, 0.2, 0.7]).statistic == 2
    assert wilcoxon_signed_rank([0.1 + 0.2], [0.3]).n == 0


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([]) == []


@QUICK
@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_rejects_what_the_step_down_procedure_rejects(p_values):
    adjusted = holm(p_values)
    assert all(p <= q <= 1 for p, q in zip(p_values, adjusted, strict=True))
    level = 0.05
    rejected = set()
    for step, i in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        if p_values[i] * (len(p_values) - step) > level:
            break
        rejected.add(i)
    assert {i for i, q in enumerate(adjusted) if q <= level} == rejected


@QUICK
@given(st.lists(HUNDREDTHS, min_size=2, max_size=30))
def test_mean_and_sd_equal_numpys(values):
    assert mean_sd(values) == pytest.approx((np.mean(values), np.std(values, ddof=1)), abs=1e-12)


@pytest.mark.parametrize(
    ("confidence", "values", "critical"),  # critical values as in printed tables of t
    [(0.95, [1, 2, 3], 4.3027), (0.99, [1, 2, 3, 4, 9], 4.6041), (0.95, [0.5] * 10, 2.2622)],
)
def test_t_interval_has_the_printed_critical_value(confidence, values, critical):
    half = critical * np.std(values, ddof=1) / math.sqrt(len(values))
    found = t_interval(values, confidence)
    assert found.mean == pytest.approx(np.mean(values))
    assert found.high - found.mean == pytest.approx(half, rel=1e-4)
    assert found.mean - found.low == pytest.approx(half, rel=1e-4)


def test_sd_of_one_value_is_nan():
    mean, sd = mean_sd([0.25])
    assert mean == 0.25
    assert math.isnan(sd)


@pytest.mark.parametrize(
    "call",
    [
        lambda: paired_t_test([1.0], [2.0]),
        lambda: paired_t_test([1.0, 2.0], [2.0]),
        lambda: wilcoxon_signed_rank([], []),
        lambda: wilcoxon_signed_rank([math.nan], [1.0]),
        lambda: mean_sd([]),
        lambda: t_interval([0.5]),
        lambda: t_interval([0.5, 0.6], confidence=1),
    ],
)
def test_unusable_values_raise_bad_usage(call):
    with pytest.raises(UsageError):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: paired_t_test([1.0, 2.0], [2.0, 4.0]),
        lambda: wilcoxon_signed_rank([1.0, 2.0], [2.0, 4.0]),
        lambda: t_interval([0.5, 0.6]),
    ],
)
def test_missing_scipy_names_the_pip_command(call, monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    with pytest.raises(ExtraMissing, match=r"pip install 'adaptner\[reproduce\]'"):
        call()


def test_tables_of_mean_and_sd_need_no_package_of_the_extra():
    code = """
import sys
for name in ("scipy", "matplotlib", "jinja2"):
    sys.modules[name] = None  # importing it raises ImportError
from adaptner.cli import evaluate
from adaptner.evaluation.tables import rich_table, summarise
row = dict(corpus="c", size=5, precision=0.5, recall=0.5, f1=0.5, steps=1, seconds=1.0)
rich_table(summarise([{**row, "seed": seed} for seed in range(3)]))
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
