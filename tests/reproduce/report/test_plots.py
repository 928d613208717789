from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field

import pytest
from report_cases import TARGETS5, draws, many, request, result

from adaptner.errors import ExtraMissing
from adaptner.reproduce.report import plots
from adaptner.reproduce.report.chart import Axis, Chart, Point, Series, series_style
from adaptner.reproduce.report.compare import OVERALL, compare
from adaptner.reproduce.report.plots import (
    bound_plot,
    hardness_plot,
    method_styles,
    share_plot,
    size_plot,
)

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def charts(monkeypatch):
    """Charts as they are given to matplotlib, in the order of the calls."""
    found = []

    @dataclass(frozen=True)
    class Recorded(Chart):
        recorded: list = field(default_factory=lambda: found)

        def svg(self):
            self.recorded.append(self)
            return super().svg()

    monkeypatch.setattr(plots, "Chart", Recorded)
    return found


def texts(svg):
    return [t.text for t in ET.fromstring(svg).iter(f"{SVG}text")]


@pytest.fixture(scope="module")
def comparison():
    return compare(many(), request())


def test_size_plot_has_labels_and_published_figures(comparison, charts):
    svg = size_plot(comparison, "NCBI")
    shown = set(texts(svg))
    assert {"labelled target sentences", "F1 (0 to 1)", "NCBI (ncbi-disease)"} <= shown
    assert {"5", "10", "20", "50", "HGDA", "HGDA-NEs", "MetaNER", "maml", "published"} <= shown
    (chart,) = charts
    published = {s.label: len(s.published) for s in chart.series}
    assert published == {"MetaNER": 4, "HGDA": 4, "HGDA-NEs": 4, "maml": 0}
    hgda = next(s for s in chart.series if s.label == "HGDA")
    assert hgda.published[0] == (5, 0.3001)


def test_size_plot_shows_means_with_the_intervals_of_the_verdicts(charts):
    results = [*draws([0.30, 0.34, 0.38]), *draws([0.4, 0.6], size=20)]
    compared = compare(results, request())
    size_plot(compared, "NCBI")
    (series,) = charts[0].series
    interval = next(r for r in compared.rows if r.measured).cells["NCBI"].interval
    assert series.points[0] == Point(5, interval.mean, interval.low, interval.high)
    assert [p.x for p in series.points] == [5, 20]


@pytest.mark.parametrize(("sizes", "logarithmic"), [((5, 10, 20), False), ((5, 50, 500), True)])
def test_sizes_far_apart_use_a_logarithmic_axis(sizes, logarithmic, charts):
    results = [r for size in sizes for r in draws([0.1, 0.2], size=size)]
    size_plot(compare(results, request()), "NCBI")
    assert charts[0].x.logarithmic is logarithmic


def test_empty_columns_have_no_plot(comparison):
    assert size_plot(comparison, OVERALL) is not None
    few = compare(draws([0.3, 0.4]), request())
    assert size_plot(few, "S800") is None
    assert size_plot(few, OVERALL) is None
    assert size_plot(compare([], request()), "NCBI") is None


@pytest.mark.parametrize("values", [[0.3], [0.0, 0.0], [1.0, 0.9, 0.2]])
def test_axis_includes_all_means_and_published_figures(values, charts):
    size_plot(compare(draws(values), request()), "NCBI")
    (chart,) = charts
    heights = [p.y for s in chart.series for p in s.points]
    heights += [y for s in chart.series for _, y in s.published]
    assert chart.y.low <= min(heights)
    assert max(heights) <= chart.y.high <= 1


def test_hostile_and_long_names_are_escaped_and_shortened():
    name = '</svg><script>"&$x^2$' + "x" * 200 + "\x00\n"
    results = [r for size in (5, 20) for r in draws([0.3, 0.4], name, name, size)]
    svg = size_plot(compare(results, request(columns={"NCBI": name})), "NCBI")
    assert not list(ET.fromstring(svg).iter(f"{SVG}script"))
    assert max(len(t) for t in texts(svg)) < 64
    assert any("$x^2$" in t for t in texts(svg))  # no formula


def test_same_chart_gives_the_same_bytes(comparison):
    first = size_plot(comparison, "NCBI")
    assert first == size_plot(comparison, "NCBI")
    assert "dc:date" not in first


def test_method_has_the_same_style_in_all_plots_of_a_report(comparison, charts):
    styles = method_styles(comparison)
    assert len(set(styles.values())) == len(styles) == 4
    for column in ("NCBI", "S800"):
        size_plot(comparison, column)
        assert [s.style for s in charts[-1].series] == list(styles.values())


def test_first_twenty_styles_differ():
    assert len({str(series_style(i)) for i in range(20)}) == 20


def test_published_figures_are_hollow_and_ours_are_filled():
    style = series_style(0)
    series = Series("method", style, [Point(0.5, 0.25)], [(0.5, 0.75)])
    svg = Chart("t", Axis("x", 0, 1), Axis("y", 0, 1), [series]).svg()
    markers = [use.get("style") for use in ET.fromstring(svg).iter(f"{SVG}use")]
    assert f"fill: {style.colour}; stroke: {style.colour}" in markers
    assert any(m and f"fill: #ffffff; stroke: {style.colour}" in m for m in markers)


def shares(methods=("in-domain", "metaner", "finetuning"), targets=("sec", "re3d")):
    return [
        result(m, t, int(share), seed, min(1, 0.3 + share / 250 + i / 20 + seed / 100), share=share)
        for i, m in enumerate(methods)
        for t in targets
        for share in (5.0, 10.0, 50.0, 100.0)
        for seed in range(2)
    ]


def test_share_plot_has_the_bound_and_both_crossings(charts):
    svg = share_plot(compare(shares(), request("metaner/3", TARGETS5)), "SEC")
    shown = texts(svg)
    assert "share of the target's training data (%)" in shown
    assert "F1 (%)" in shown
    (chart,) = charts
    assert chart.level == (pytest.approx(70.5), "In-Domain bound")
    ours, published = chart.crossings
    # MetaNER's mean is 0.555 at 50 % and 0.755 at 100 % of the data.
    assert ours.x == pytest.approx(50 + 50 * (0.705 - 0.555) / 0.2)
    assert (published.x, published.published) == (5, True)


def test_share_plot_without_a_bound_has_no_crossings(charts):
    results = [r for r in shares() if r.method != "in-domain"]
    share_plot(compare(results, request("metaner/3", TARGETS5)), "SEC")
    assert (charts[0].level, charts[0].crossings) == (None, [])


def test_single_share_has_no_plot():
    whole = [r for r in shares() if r.share == 100]
    assert share_plot(compare(whole, request("metaner/3", TARGETS5)), "SEC") is None
    assert share_plot(compare([], request("metaner/3", TARGETS5)), "SEC") is None


def test_bound_plot_has_a_line_per_target(charts):
    bound_plot(compare(shares(), request("metaner/3", TARGETS5)))
    (chart,) = charts
    assert sorted(s.label for s in chart.series) == ["Re3d", "SEC"]
    assert chart.series[0].points[-1].y == pytest.approx(5)
    assert bound_plot(compare([], request("metaner/3", TARGETS5))) is None


def tasks(iterations, domains=("Gene", "Drug", "Species", "Gene")):
    return [
        {"iteration": i, "domain": d, "gamma": {"encoder": 0.1 + 0.1 * n, "head": 0.9}}
        for i in iterations
        for n, d in enumerate(domains)
    ]


def test_hardness_plot_has_a_line_per_domain_and_the_equal_weight(charts):
    svg = hardness_plot(tasks(range(1, 601, 7)), "Sources")
    assert {"Gene", "Drug", "Species", "equal weight, 1/4", "iteration"} <= set(texts(svg))
    (chart,) = charts
    assert chart.level[0] == 0.25
    means = {s.label: s.points[0].y for s in chart.series}
    assert means == pytest.approx({"Drug": 0.2, "Gene": 0.25, "Species": 0.3})


def test_hardness_plot_accepts_one_iteration_and_plain_numbers():
    assert hardness_plot(tasks([1]), "Sources")
    assert hardness_plot([{"iteration": 3, "domain": "Gene", "gamma": 1.0}], "Sources")
    assert hardness_plot([], "Sources") is None


def test_missing_matplotlib_names_the_pip_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ExtraMissing, match=r"pip install 'adaptner\[reproduce\]'"):
        hardness_plot(tasks([1]), "Sources")
