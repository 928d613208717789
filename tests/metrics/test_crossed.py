"""Statistics of runs over draws and bases, compared with plain computations."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.stats

from adaptner.metrics.crossed import complete_runs, interval, paired_t, paired_wilcoxon, spread
from adaptner.metrics.significance import paired_t_test, t_interval, wilcoxon_signed_rank


def grid(draws, bases, seed=0, draw_sd=1.0, base_sd=1.0, noise=0.2, mean=0.0):
    rng = np.random.default_rng(seed)
    effects = rng.normal(0, draw_sd, draws), rng.normal(0, base_sd, bases)
    return {
        (d, b): float(mean + effects[0][d] + effects[1][b] + rng.normal(0, noise))
        for d, b in itertools.product(range(draws), range(bases))
    }


def array(runs):
    draws, bases = (sorted({run[i] for run in runs}) for i in (0, 1))
    return np.array([[runs[d, b] for b in bases] for d in draws])


def test_crossed_runs_have_a_deviation_over_draws_and_one_over_bases():
    runs = grid(6, 3)
    found, table = spread(runs), array(runs)
    assert (found.draws, found.bases) == (6, 3)
    assert found.mean == pytest.approx(table.mean())
    assert found.sd_draws == pytest.approx(table.mean(1).std(ddof=1))
    assert found.sd_bases == pytest.approx(table.mean(0).std(ddof=1))
    assert found.sd**2 == pytest.approx(found.sd_draws**2 + found.sd_bases**2)


def test_runs_of_one_base_have_the_deviation_over_draws_alone():
    values = [0.2, 0.5, 0.3, 0.9]
    runs = {(d, 4): value for d, value in enumerate(values)}
    found = spread(runs)
    assert (found.draws, found.bases, found.sd_bases) == (4, 1, None)
    assert found.sd == found.sd_draws == pytest.approx(np.std(values, ddof=1))
    assert interval(runs) == t_interval(values)


def test_draws_with_a_base_each_are_plain_repetitions():
    values = [0.2, 0.5, 0.3, 0.9]
    runs = {(d, d): value for d, value in enumerate(values)}
    found = spread(runs)
    assert (found.draws, found.bases, found.sd_bases) == (4, 4, None)
    assert found.sd == pytest.approx(np.std(values, ddof=1))
    assert interval(runs) == t_interval(values)
    other = {run: value / 2 for run, value in runs.items()}
    assert paired_t(runs, other) == paired_t_test(values, [v / 2 for v in values])


def test_one_draw_on_several_bases_has_the_deviation_over_bases():
    runs = {(0, b): value for b, value in enumerate([0.2, 0.5, 0.9])}
    found = spread(runs)
    assert (found.draws, found.bases, found.sd_draws) == (1, 3, None)
    assert found.sd == found.sd_bases == pytest.approx(np.std([0.2, 0.5, 0.9], ddof=1))
    assert interval(runs) == t_interval([0.2, 0.5, 0.9])


def test_a_single_run_has_no_deviation_and_no_interval():
    assert spread({(0, 0): 0.3}).sd is None
    assert interval({(0, 0): 0.3}) is None


def test_draws_that_a_base_lacks_are_left_out():
    runs = grid(4, 2)
    missing = {run: value for run, value in runs.items() if run != (2, 1)}
    assert complete_runs(missing) == {run: v for run, v in runs.items() if run[0] != 2}
    assert spread(missing).draws == 3
    none_complete = {(0, 0): 1.0, (1, 0): 2.0, (2, 1): 9.0}
    assert complete_runs(none_complete) == {(0, 0): 1.0, (1, 0): 2.0}


def test_interval_is_that_of_drawing_draws_and_bases_anew():
    """Against the exact distribution: all equally likely selections of three draws and two bases."""
    table = array(grid(3, 2, seed=3))
    means = [
        table[np.ix_(draws, bases)].mean()
        for draws in itertools.product(range(3), repeat=3)
        for bases in itertools.product(range(2), repeat=2)
    ]
    found = interval(grid(3, 2, seed=3), 0.8)
    assert found.mean == pytest.approx(table.mean())
    inside = [found.low - 1e-9 <= mean <= found.high + 1e-9 for mean in means]
    assert np.mean(inside) >= 0.8
    assert found.low == pytest.approx(np.quantile(means, 0.1, method="inverted_cdf"), abs=0.15)
    assert found.high == pytest.approx(np.quantile(means, 0.9, method="inverted_cdf"), abs=0.15)
    assert interval(grid(3, 2, seed=3), 0.8) == found  # seeded


def test_interval_over_draws_and_bases_is_wider_than_over_draws():
    runs = grid(20, 3, base_sd=2.0)
    over_draws = t_interval([float(mean) for mean in array(runs).mean(1)])
    found = interval(runs)
    assert found.high - found.low > over_draws.high - over_draws.low


def test_crossed_t_test_adds_the_variances_of_draws_and_bases():
    first, second = grid(5, 3, seed=1, mean=0.5), grid(5, 3, seed=2)
    table = array(first) - array(second)
    parts = table.mean(1).var(ddof=1) / 5, table.mean(0).var(ddof=1) / 3
    freedom = sum(parts) ** 2 / (parts[0] ** 2 / 4 + parts[1] ** 2 / 2)
    found = paired_t(first, second)
    assert found.statistic == pytest.approx(table.mean() / math.sqrt(sum(parts)))
    assert found.p_value == pytest.approx(2 * scipy.stats.t.sf(abs(found.statistic), freedom))
    assert found.n == 15
    # it is Clark's min F': F1 F2 / (F1 + F2)
    f1, f2 = table.mean() ** 2 / parts[0], table.mean() ** 2 / parts[1]
    assert found.statistic**2 == pytest.approx(f1 * f2 / (f1 + f2))


def test_crossed_test_finds_no_difference_where_methods_differ_by_their_bases_alone():
    """Counting the 60 runs as independent finds one in most cases."""
    crossed, independent = [], []
    for seed in range(40):
        first, second = (
            grid(20, 3, seed=2 * seed + i, draw_sd=0, base_sd=1, noise=1) for i in (0, 1)
        )
        crossed.append(paired_t(first, second).p_value < 0.05)
        independent.append(
            paired_t_test(list(first.values()), list(second.values())).p_value < 0.05
        )
    assert np.mean(crossed) <= 0.1
    assert np.mean(independent) > 0.4


def test_equal_methods_have_p_1_and_constant_differences_p_0():
    runs = grid(4, 3)
    assert paired_t(runs, runs).p_value == 1
    assert paired_wilcoxon(runs, runs).p_value == 1
    whole = {run: float(sum(run)) for run in runs}
    assert paired_t(whole, {run: value - 2 for run, value in whole.items()}).p_value == 0


def test_crossed_wilcoxon_is_over_the_means_of_draws():
    first, second = grid(7, 3, seed=1, mean=0.5), grid(7, 3, seed=2)
    means = [[float(mean) for mean in array(runs).mean(1)] for runs in (first, second)]
    assert paired_wilcoxon(first, second) == wilcoxon_signed_rank(*means)


def test_methods_are_paired_on_draw_and_base():
    first, second = grid(5, 3, seed=1), grid(5, 2, seed=2)
    second[9, 9] = 0.5
    common = {run: value for run, value in first.items() if run[1] < 2}
    assert paired_t(first, second) == paired_t(common, grid(5, 2, seed=2))
