"""Tests of significance tests between methods, crossings of the bound, and hardness."""

from __future__ import annotations

import statistics
from dataclasses import replace

import pytest
from report_cases import draws, request, result

from adaptner.metrics.crossed import paired_t
from adaptner.metrics.significance import paired_t_test, wilcoxon_signed_rank
from adaptner.reproduce.report.compare import compare
from adaptner.reproduce.report.crossings import BEFORE, NEVER, crossing
from adaptner.reproduce.report.pairs import compare_pairs


def on_own_bases(results):
    """Each draw on a base of its own, so that there are p-values."""
    return [replace(r, base_seed=r.seed) for r in results]


def row(comparison, label):
    (found,) = [r for r in comparison.rows if r.label == label]
    return found


def test_p_values_are_holm_corrected_over_the_pairs_of_a_size_and_column():
    hgda = [0.30, 0.34, 0.31, 0.36, 0.33]
    nes = [0.28, 0.33, 0.30, 0.33, 0.31]
    metaner = [0.21, 0.25, 0.29, 0.22, 0.27]
    results = [*draws(hgda), *draws(nes, "hgda-nes"), *draws(metaner, "metaner")]
    results += draws([0.5, 0.9], "metaner", size=20)  # a single method of that size: no pair
    comparison = compare(on_own_bases(results), request())
    found = {(p.first, p.second): p for p in compare_pairs(comparison)}
    assert set(found) == {("MetaNER", "HGDA"), ("MetaNER", "HGDA-NEs"), ("HGDA", "HGDA-NEs")}
    raw = {
        ("MetaNER", "HGDA"): paired_t_test(metaner, hgda).p_value,
        ("MetaNER", "HGDA-NEs"): paired_t_test(metaner, nes).p_value,
        ("HGDA", "HGDA-NEs"): paired_t_test(hgda, nes).p_value,
    }
    # Smallest times 3, next times 2, last times 1; none below the previous one, none above 1.
    smallest, middle, largest = sorted(raw, key=raw.get)
    adjusted = {smallest: min(1, 3 * raw[smallest])}
    adjusted[middle] = min(1, max(adjusted[smallest], 2 * raw[middle]))
    adjusted[largest] = min(1, max(adjusted[middle], raw[largest]))
    for pair, p in adjusted.items():
        assert found[pair].t_test_p == pytest.approx(p), pair
    best = found["MetaNER", "HGDA"]
    assert best.difference == pytest.approx(statistics.fmean(metaner) - statistics.fmean(hgda))
    assert best.n == 5
    # 0.0625 is the smallest exact p of five draws; Holm multiplies it by the number of pairs.
    assert wilcoxon_signed_rank(metaner, hgda).p_value == 0.0625
    assert best.wilcoxon_p == pytest.approx(0.1875)


def test_pairs_use_common_draws_of_one_column():
    one = draws([0.30, 0.34, 0.31, 0.36])
    other = [r for r in draws([0.2, 0.25, 0.21, 0.29], "metaner") if r.seed != 2]
    elsewhere = [*draws([0.1, 0.3], target="s800"), *draws([0.2, 0.5], "metaner", "s800")]
    results = on_own_bases([*one, *other, *elsewhere])
    found = {p.column: p for p in compare_pairs(compare(results, request()))}
    assert found["NCBI"].n == 3
    assert found["NCBI"].t_test_p == pytest.approx(
        paired_t_test([0.30, 0.34, 0.36], [0.2, 0.25, 0.29]).p_value
    )
    assert found["S800"].t_test_p == pytest.approx(paired_t_test([0.1, 0.3], [0.2, 0.5]).p_value)


def test_single_draw_gives_no_pair():
    assert compare_pairs(compare([*draws([0.3]), *draws([0.2], "metaner")], request())) == []


def test_stars_depend_on_the_corrected_p_of_the_t_test():
    same = [0.30, 0.31, 0.33, 0.35, 0.32]
    results = [*draws(same), *draws([v - 0.1 for v in same], "metaner")]
    (pair,) = compare_pairs(compare(on_own_bases(results), request()))
    assert pair.stars == "***"
    results = on_own_bases([*draws(same), *draws(same, "metaner")])
    (pair,) = compare_pairs(compare(results, request()))
    assert (pair.stars, pair.t_test_p, pair.difference) == ("", 1.0, 0.0)


def test_methods_with_one_base_get_a_difference_but_no_p_value():
    same = [0.30, 0.31, 0.33, 0.35, 0.32]
    one = [*draws(same), *draws([v - 0.1 for v in same], "metaner")]
    (pair,) = compare_pairs(compare(one, request()))
    assert pair.difference == pytest.approx(-0.1)
    assert (pair.n, pair.bases, pair.t_test_p, pair.wilcoxon_p, pair.stars) == (
        5,
        1,
        None,
        None,
        "",
    )
    # one method with several bases does not help: they have one in common
    more = [replace(r, base_seed=1) for r in draws(same)]
    assert compare_pairs(compare([*one, *more], request())) == [pair]


def test_methods_are_paired_on_draw_and_base_and_only_tested_pairs_are_corrected():
    values = {
        name: {
            (d, b): 0.3 + 0.01 * ((7 * d + 5 * b + shift * d * b) % 9)
            for d in range(5)
            for b in range(3)
        }
        for name, shift in (("hgda", 1), ("metaner", 2))
    }
    results = [
        result(name, seed=d, base_seed=b, f1=f1)
        for name, runs in values.items()
        for (d, b), f1 in runs.items()
    ]
    results += draws([0.3, 0.4, 0.5], "maml")
    found = {p.bases: p for p in compare_pairs(compare(results, request()))}
    tested = found.pop(3)
    assert {tested.first, tested.second} == {"MetaNER", "HGDA"}
    assert tested.n == 5
    expected = paired_t(values["metaner"], values["hgda"]).p_value
    assert tested.t_test_p == pytest.approx(expected)  # times one: pairs with maml have no p-value
    assert {pair.t_test_p for pair in found.values()} == {None}


def test_crossing_is_interpolated_between_shares():
    curve = [(5, 0.4), (10, 0.6), (100, 0.8)]
    assert crossing(curve, 0.5) == pytest.approx(7.5)
    assert crossing(curve, 0.6) == pytest.approx(10)
    assert crossing(curve, 0.7) == pytest.approx(55)
    assert crossing(curve, 0.4) == BEFORE
    assert crossing(curve, 0.9) == NEVER
    assert crossing([], 0.5) == NEVER


def share_results(bound=0.7):
    curve = {5.0: 0.5, 10.0: 0.6, 50.0: 0.8, 100.0: 0.9}
    return [
        *draws([bound, bound], "in-domain", "sec", 1000, share=100.0),
        *(
            result("metaner", "sec", int(share), seed, f1 + 0.01 * seed, share=share)
            for share, f1 in curve.items()
            for seed in range(2)
        ),
    ]


def test_crossings_are_computed_draw_by_draw():
    report_request = request("metaner/crossing-heterogeneous", {"SEC": "sec"})
    cell = row(compare(share_results(), report_request), "MetaNER").cells["SEC"]
    assert list(cell.values.values()) == pytest.approx([0.30, 0.28])
    assert cell.published == pytest.approx(0.05)
    assert cell.verdict == "above"
    late = row(compare(share_results(0.905), report_request), "MetaNER").cells["SEC"]
    assert late.objection == "1 of 2 draws never pass it"
    assert late.verdict == "not comparable"
    no_bound = [r for r in share_results() if r.method != "in-domain"]
    assert (
        "no In-Domain result"
        in row(compare(no_bound, report_request), "MetaNER").cells["SEC"].reason
    )


def tasks(domain, gamma, iterations, run="a"):
    return [
        {"iteration": i, "domain": domain, "gamma": {"encoder": gamma}, "run": run}
        for i in iterations
    ]


def test_hardness_fills_its_tables_and_is_never_comparable():
    near = range(410, 500, 10)
    records = [
        *tasks("Gene", 0.4, near),
        *tasks("Gene", 0.9, range(1, 100)),
        *tasks("Drug", 0.2, near),
        *tasks("Species", 0.1, near),
        *tasks("Gene", 0.99, near, run="other domains"),
        *tasks("Disease", 0.01, near, run="other domains"),
    ]
    comparison = compare([], request("hgda/1", {}, hardness=records))
    gene = row(comparison, "Gene").cells["hardness"]
    assert gene.mean == pytest.approx(0.4)
    assert gene.verdict == "not comparable"
    assert "one hand-picked batch" in gene.reason
    later = compare([], request("metabioner/4", {}, hardness=records))
    assert row(later, "Gene (iteration 450)").cells["hardness"].mean == pytest.approx(0.4)
    assert row(later, "task 1 (iteration 1)").cells["hardness"].verdict == "missing"
