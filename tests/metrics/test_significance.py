from __future__ import annotations

import itertools
import math
import warnings

import numpy as np
import pytest
import scipy.special
import scipy.stats
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from adaptner.errors import BadUsage
from adaptner.metrics.significance import (
    bootstrap_interval,
    holm,
    mean_sd,
    paired_t_test,
    t_interval,
    wilcoxon_signed_rank,
)
from adaptner.metrics.student import critical_value, incomplete_beta, two_sided_p

# Whole hundredths: many ties and zeros, as F1 scores have.
HUNDREDTHS = st.integers(0, 100).map(lambda n: n / 100)
QUICK = settings(max_examples=80, deadline=None)


def pairs(smallest, largest, values=HUNDREDTHS):
    return st.lists(st.tuples(values, values), min_size=smallest, max_size=largest).map(
        lambda drawn: tuple(map(list, zip(*drawn, strict=True)))
    )


def rounded_differences(a, b):
    return np.round(np.subtract(a, b), 10)


@QUICK
@given(st.floats(0.5, 200), st.floats(0.5, 200), st.floats(0, 1))
def test_incomplete_beta_is_scipys(a, b, x):
    expected = scipy.special.betainc(a, b, x)
    assert incomplete_beta(a, b, x) == pytest.approx(expected, rel=1e-9, abs=1e-13)


@settings(max_examples=300, deadline=None)
@given(st.floats(-60, 60) | st.floats(-1e-3, 1e-3), st.integers(1, 500))
@example(2.5e-07, 147)
def test_t_tail_is_scipys(t, degrees):
    expected = 2 * scipy.stats.t.sf(abs(t), degrees)
    assert two_sided_p(t, degrees) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize("degrees", [1, 2, 4, 19, 300])
def test_critical_value_is_scipys(confidence, degrees):
    expected = scipy.stats.t.ppf((1 + confidence) / 2, degrees)
    assert critical_value(confidence, degrees) == pytest.approx(expected, rel=1e-9)


@QUICK
@given(pairs(2, 30))
def test_paired_t_is_scipys(pair):
    differences = rounded_differences(*pair)
    assume(len(set(differences)) > 1)
    ours = paired_t_test(*pair)
    theirs = scipy.stats.ttest_1samp(differences, 0)
    assert ours.statistic == pytest.approx(theirs.statistic, rel=1e-8, abs=1e-10)
    assert ours.p_value == pytest.approx(theirs.pvalue, rel=1e-7)


def test_paired_t_without_spread():
    assert paired_t_test([0.3, 0.4], [0.3, 0.4]).p_value == 1
    certain = paired_t_test([0.3, 0.4, 0.9], [0.2, 0.3, 0.8])
    assert (certain.statistic, certain.p_value) == (math.inf, 0)


@QUICK
@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=25, unique=True), st.data())
def test_exact_wilcoxon_is_scipys_where_nothing_is_tied(sizes, data):
    signs = data.draw(st.lists(st.sampled_from([-1, 1]), min_size=len(sizes), max_size=len(sizes)))
    differences = [float(s * d) for s, d in zip(signs, sizes, strict=True)]
    ours = wilcoxon_signed_rank(differences, [0.0] * len(differences))
    theirs = scipy.stats.wilcoxon(differences, method="exact")
    assert ours.statistic == theirs.statistic
    assert ours.p_value == pytest.approx(theirs.pvalue, rel=1e-12)


@settings(max_examples=40, deadline=None)
@given(pairs(1, 9, st.integers(0, 4).map(lambda n: n / 10)))
def test_exact_wilcoxon_with_ties_is_the_enumeration_of_all_signs(pair):
    differences = [d for d in rounded_differences(*pair) if d != 0]
    ours = wilcoxon_signed_rank(*pair)
    assert ours.n == len(differences)
    if not differences:
        assert ours.p_value == 1
        return
    ranks = scipy.stats.rankdata(np.abs(differences))
    above = sum(r for r, d in zip(ranks, differences, strict=True) if d > 0)
    centre = ranks.sum() / 2
    as_far = [
        abs(sum(r for r, up in zip(ranks, signs, strict=True) if up) - centre)
        >= abs(above - centre) - 1e-9
        for signs in itertools.product((0, 1), repeat=len(ranks))
    ]
    assert ours.statistic == min(above, ranks.sum() - above)
    assert ours.p_value == pytest.approx(sum(as_far) / len(as_far), rel=1e-12)


@QUICK
@given(pairs(40, 70))
def test_large_wilcoxon_is_scipys_approximation(pair):
    differences = rounded_differences(*pair)
    assume(np.count_nonzero(differences) > 25)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = scipy.stats.wilcoxon(differences, method="asymptotic", zero_method="wilcox")
    ours = wilcoxon_signed_rank(*pair)
    assert ours.statistic == theirs.statistic
    assert ours.p_value == pytest.approx(theirs.pvalue, rel=1e-9)


def test_differences_that_only_binary_fractions_tell_apart_are_tied():
    # 0.3 - 0.1 < 0.4 - 0.2 < 0.7 - 0.5 in floating point; all are 0.2.
    tied = wilcoxon_signed_rank([0.3, 0.4, 0.5], [0.1, 0.2, 0.7])
    assert tied.statistic == 2
    assert wilcoxon_signed_rank([0.1 + 0.2], [0.3]).n == 0


def test_exact_and_approximate_wilcoxon_meet():
    rng = np.random.default_rng(0)
    a, b = rng.normal(0.5, 1, 25), rng.normal(0, 1, 25)
    exact = wilcoxon_signed_rank(list(a), list(b)).p_value
    near = scipy.stats.wilcoxon(a - b, method="asymptotic").pvalue
    assert exact == pytest.approx(near, abs=0.02)


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([]) == []


@QUICK
@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_rejects_what_the_step_down_rejects(p_values):
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
def test_t_interval_is_scipys(values):
    mean, sd = mean_sd(values)
    assert (mean, sd) == pytest.approx((np.mean(values), np.std(values, ddof=1)), abs=1e-12)
    interval = t_interval(values)
    assert interval.mean == mean
    if sd == 0:
        assert interval.low == interval.high == mean
        return
    low, high = scipy.stats.t.interval(0.95, len(values) - 1, mean, scipy.stats.sem(values))
    assert (interval.low, interval.high) == pytest.approx((low, high), rel=1e-8, abs=1e-10)


def test_bootstrap_interval_is_repeatable_and_near_the_t_interval():
    values = list(np.random.default_rng(1).normal(0.5, 0.1, 40))
    first = bootstrap_interval(values, np.random.default_rng(7))
    assert first == bootstrap_interval(values, np.random.default_rng(7))
    near = t_interval(values)
    assert (first.low, first.high) == pytest.approx((near.low, near.high), abs=0.008)


def test_one_value_has_no_deviation():
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
        lambda: bootstrap_interval([0.5], np.random.default_rng(0)),
    ],
)
def test_what_cannot_be_tested_is_refused(call):
    with pytest.raises(BadUsage):
        call()
