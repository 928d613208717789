from __future__ import annotations

import math
import statistics
from dataclasses import replace

import pytest
from report_cases import BIO8, TARGETS5, draws, many, request, result

from adaptner.errors import UnknownName
from adaptner.metrics.significance import t_interval
from adaptner.reproduce.report.cells import ComparisonCell
from adaptner.reproduce.report.compare import ADDITIONAL, COMPARABLE, OVERALL, compare
from adaptner.reproduce.report.levels import WHOLE, Level
from adaptner.reproduce.report.matching import report_column
from adaptner.reproduce.tables.published import paper, row_label


def line(comparison, label, level=None):
    (found,) = [
        n for n in comparison.rows if n.label == label and level in (None, n.level, n.level.size)
    ]
    return found


VALUES = {0: 0.30, 1: 0.34, 2: 0.38}


def around(published):
    return ComparisonCell("NCBI", VALUES, published)


def test_the_interval_is_students():
    # t(0.975, 2 degrees) = 4.3027, a value of any printed table
    cell = around(0.3)
    half = 4.3027 * 0.04 / math.sqrt(3)
    assert cell.mean == pytest.approx(0.34)
    assert cell.sd == pytest.approx(0.04)
    assert cell.interval.low == pytest.approx(0.34 - half, abs=1e-5)
    assert cell.interval.high == pytest.approx(0.34 + half, abs=1e-5)


def test_verdicts_at_the_borders():
    borders = t_interval(list(VALUES.values()))
    assert around(borders.low).verdict == "within"
    assert around(borders.high).verdict == "within"
    assert around(0.34).verdict == "within"
    # One unit of the last digit that any paper prints is enough.
    assert around(borders.low - 1e-6).verdict == "above"
    assert around(borders.high + 1e-6).verdict == "below"


def test_draws_that_are_all_alike_have_an_interval_of_one_point():
    alike = {0: 0.1, 1: 0.1, 2: 0.1}
    assert ComparisonCell("NCBI", alike, 0.1).verdict == "within"
    assert ComparisonCell("NCBI", alike, 0.0999).verdict == "above"
    assert ComparisonCell("NCBI", alike, 0.1001).verdict == "below"


def test_one_draw_has_a_mean_and_no_verdict():
    cell = ComparisonCell("NCBI", {0: 0.3}, 0.3)
    assert (cell.mean, cell.sd, cell.interval) == (0.3, None, None)
    assert cell.verdict == "not comparable"
    assert cell.reason == "a single draw has no interval"


def test_an_objection_goes_before_everything_but_absence():
    assert ComparisonCell("NCBI", VALUES, 0.34, objection="other data").reason == "other data"
    assert ComparisonCell("NCBI", VALUES, 0.34, objection="other data").verdict == "not comparable"
    missing = ComparisonCell("NCBI", {}, 0.34, objection="other data", absence="not asked for")
    assert (missing.verdict, missing.reason) == ("missing", "not asked for")


def test_a_published_row_gets_our_draws_of_its_method_and_size():
    results = [*draws([0.3, 0.5]), *draws([0.6, 0.8], size=20), *draws([0.1, 0.1], "maml")]
    comparison = compare(results, request())
    five = line(comparison, "HGDA", 5).cells["NCBI"]
    assert list(five.values.values()) == [0.3, 0.5]
    assert five.published == 0.3001
    assert line(comparison, "HGDA", 20).cells["NCBI"].mean == pytest.approx(0.7)
    assert line(comparison, "HGDA", 10).cells["NCBI"].verdict == "missing"
    assert line(comparison, "HGDA", 5).cells["S800"].verdict == "missing"


def test_no_row_of_the_paper_is_dropped_whatever_there_is():
    for results in ([], many()):
        comparison = compare(results, request())
        rows = [n.published for n in comparison.main_rows if n.published is not None]
        assert sorted(map(id, rows)) == sorted(map(id, paper("hgda").table("3").rows))


def test_a_method_that_the_paper_does_not_have_gets_a_row_of_its_own():
    comparison = compare(draws([0.1, 0.2], "maml"), request())
    own = line(comparison, "maml")
    assert own.published is None
    assert own.cells["NCBI"].verdict == "not comparable"
    assert own.cells["NCBI"].reason == "the paper has no figure here"
    assert own in comparison.main_rows


def test_the_encoder_tells_the_starred_rows_apart():
    plain = compare(draws([0.3, 0.5]), request())
    assert line(plain, "HGDA*", 5).cells["NCBI"].verdict == "missing"
    starred = compare(draws([0.3, 0.5], variant="encoder=bert"), request())
    assert line(starred, "HGDA*", 5).cells["NCBI"].n == 2
    assert line(starred, "HGDA", 5).cells["NCBI"].n == 0
    other = compare(draws([0.3, 0.5], variant="without twin"), request())
    assert not line(other, "HGDA", 5).measured
    assert line(other, "hgda [without twin]").published is None


def test_precision_and_recall_tables_take_their_measure():
    results = [
        result(seed=s, f1=0.9, precision=p, recall=r)
        for s, (p, r) in enumerate([(0.5, 0.1), (0.7, 0.3)])
    ]
    precision = compare(results, request("hgda/4"))
    recall = compare(results, request("hgda/5"))
    assert line(precision, "HGDA", 5).cells["NCBI"].mean == pytest.approx(0.6)
    assert line(precision, "HGDA", 5).cells["NCBI"].published == 0.3937
    assert line(recall, "HGDA", 5).cells["NCBI"].mean == pytest.approx(0.2)


def test_a_column_may_name_its_measure_and_percents_are_fractions_inside():
    results = [
        result("pdaln", "scitech", size=0, seed=s, f1=0.76, precision=0.7 + s / 100, recall=0.8)
        for s in range(2)
    ]
    comparison = compare(results, request("pdaln/1", {"SciTech": "scitech"}))
    row = line(comparison, "PDALN (unsupervised)")
    assert row.cells["SciTech f1"].mean == pytest.approx(0.76)
    assert row.cells["SciTech f1"].published == pytest.approx(0.7580)
    assert row.cells["SciTech precision"].mean == pytest.approx(0.705)
    assert not line(comparison, "PDALN (semi-supervised)").measured


def test_rows_without_a_size_are_about_all_of_the_data():
    results = [
        *draws([0.8, 0.9], "metaner", "sec", 1047, share=100.0),
        *draws([0.5, 0.6], "metaner", "sec", 52, share=5.0),
    ]
    comparison = compare(results, request("metaner/3", TARGETS5))
    assert line(comparison, "MetaNER", WHOLE).cells["SEC"].mean == pytest.approx(0.85)
    (fewer,) = [n for n in comparison.other_rows if n.level == Level(share=5.0)]
    assert fewer.label == "MetaNER"
    assert fewer.cells["SEC"].verdict == "not comparable"


def test_a_zero_shot_method_stands_where_the_paper_prints_it():
    results = draws([0.6], "d-shift", "x", 0)
    comparison = compare(results, request("metaner/2", {"BC": "x"}))
    assert line(comparison, "D-Shift").cells["BC"].n == 1


def test_overall_is_the_mean_over_all_corpora_draw_by_draw():
    results = [
        r
        for j, target in enumerate(BIO8.values())
        for r in draws([0.1 * j, 0.1 * j + 0.2, 0.1 * j + 0.1], target=target)
    ]
    overall = line(compare(results, request()), "HGDA", 5).cells[OVERALL]
    assert list(overall.values.values()) == pytest.approx([0.35, 0.55, 0.45])
    assert overall.sd == pytest.approx(0.1)
    assert overall.published == 0.3234
    assert overall.verdict == "within"


def test_overall_needs_every_corpus_and_says_which_is_missing():
    results = [r for t in list(BIO8.values())[:-1] for r in draws([0.3, 0.4], target=t)]
    overall = line(compare(results, request()), "HGDA", 5).cells[OVERALL]
    assert overall.verdict == "missing"
    assert "missing: S800" in overall.reason


def test_overall_takes_only_draws_that_all_corpora_have():
    results = [r for t in BIO8.values() for r in draws([0.3, 0.4, 0.5], target=t)]
    results = [r for r in results if (r.target, r.seed) != ("s800", 1)]
    overall = line(compare(results, request()), "HGDA", 5).cells[OVERALL]
    assert sorted(overall.values) == [0, 2]
    none = [r for r in results if r.target != "s800" or r.seed > 2]
    none += [result(target="s800", seed=9)]
    overall = line(compare(none, request()), "HGDA", 5).cells[OVERALL]
    assert "no draw has a result for each" in overall.reason


def test_a_column_that_does_not_compare_taints_the_overall_and_another_goes_without_it():
    why = "a tenth of it"
    results = [r for t in BIO8.values() for r in draws([0.30, 0.34, 0.38], target=t)]
    comparison = compare(results, request(incomparable={"BC4CHEMD": why}))
    hgda = line(comparison, "HGDA", 5)
    assert hgda.cells["BC4CHEMD"].verdict == "not comparable"
    assert hgda.cells["BC4CHEMD"].reason == why
    assert hgda.cells[OVERALL].verdict == "not comparable"
    assert why in hgda.cells[OVERALL].reason
    row = hgda.published
    without = [v for c, v in zip(BIO8, row.values, strict=True) if c != "BC4CHEMD"]
    assert hgda.cells[COMPARABLE].published == pytest.approx(statistics.fmean(without))
    assert hgda.cells[COMPARABLE].verdict == "within"


def test_a_reason_may_name_the_corpus_or_the_row():
    results = [*draws([0.3, 0.4]), *draws([0.3, 0.4], "metaner")]
    told = request(incomparable={"ncbi-disease": "other split", "MetaNER": "other encoder"})
    comparison = compare(results, told)
    assert line(comparison, "HGDA", 5).cells["NCBI"].reason == "other split"
    assert line(comparison, "MetaNER", 5).cells["NCBI"].reason == "other encoder"


def test_what_is_missing_says_why():
    told = request(
        methods=("hgda", "metaner"),
        targets=("ncbi-disease", "s800"),
        sizes=(5, 10),
        skipped={"HGDA*": "no transformer yet", "s800": "the folder is gone"},
    )
    comparison = compare(draws([0.3, 0.4]), told)
    reason = {
        (n.label, n.level.size, name): cell.reason
        for n in comparison.main_rows
        for name, cell in n.cells.items()
    }
    assert reason["HGDA*", 5, "NCBI"] == "no transformer yet"
    assert reason["BioBERT", 5, "NCBI"] == "not requested (--methods)"
    assert reason["HGDA-NEs", 5, "NCBI"] == "not requested (--methods)"
    assert reason["HGDA", 5, "JNLPBA"] == "not requested (--targets)"
    assert reason["HGDA", 20, "NCBI"] == "not requested (--sizes)"
    assert reason["HGDA", 5, "S800"] == "the folder is gone"
    assert reason["HGDA", 10, "NCBI"].startswith("no result: the job failed")


def test_corpora_that_stand_for_no_column_get_columns_of_their_own():
    names = ("conll03", "scitech")
    results = [r for t in names for r in draws([0.6, 0.7], "metaner", t, 100, share=100.0)]
    told = request("metaner/2", {}, targets=names, incomparable={"scitech": "not ACE"})
    comparison = compare(results, told)
    row = line(comparison, "MetaNER", WHOLE)
    assert comparison.additional_names == ("conll03", "scitech", ADDITIONAL)
    assert row.cells["scitech"].reason == "not ACE"
    assert row.cells["conll03"].verdict == "not comparable"
    assert row.cells[ADDITIONAL].mean == pytest.approx(0.65)
    assert row.cells["BC"].published == pytest.approx(0.7604)
    assert not comparison.has_values(comparison.names)


def test_slips_of_the_paper_are_on_their_cells():
    comparison = compare([], request())
    assert line(comparison, "HGDA", 10).cells["LINNAEUS"].slips
    assert not line(comparison, "HGDA", 5).cells["LINNAEUS"].slips
    assert line(comparison, "HGDA-NEs", 20).cells[OVERALL].slips


def test_a_draw_made_twice_counts_once_and_the_newest_stands():
    old = result(f1=0.1, finished="2026-11-16", key="old")
    new = result(f1=0.5, finished="2026-11-17", key="new")
    for order in ([old, new], [new, old]):
        comparison = compare(order, request())
        assert line(comparison, "HGDA", 5).cells["NCBI"].values == {0: 0.5}
        assert comparison.repeated == 1
    same = compare([new, new], request())
    assert same.repeated == 0


COUNTED = {
    "PER": {"correct": 6, "predicted": 8, "gold": 10, "tokens": 13},
    "MISC": {"correct": 0, "predicted": 2, "gold": 4, "tokens": 1},
}


def test_a_table_by_type_is_filled_from_the_counts_of_results():
    told = request("jia2019/5", {}, targets=("scitech",))
    some = draws([0.5, 0.6], "crossdomain-lm", "scitech", 0, by_type=COUNTED)
    final = line(compare(some, told), "FINAL").cells
    assert final["PER"].values == {0: 13.0, 1: 13.0}
    assert final["MISC"].values == {0: 1.0, 1: 1.0}
    assert final["LOC"].values == {0: 0.0, 1: 0.0}  # none in these results
    assert final["Total"].values == {0: 14.0, 1: 14.0}
    assert final["Total"].published == 3324
    before = compare(draws([0.5], "crossdomain-lm", "scitech", 0), told)
    cell = line(before, "FINAL").cells["PER"]
    assert (cell.verdict, cell.reason) == ("missing", "computed before counts by type were kept")


def test_scores_by_type_come_from_the_same_counts():
    told = request("pdaln/3", {}, targets=("scitech",))
    table = paper("pdaln").table("3")
    (kept,) = draws([0.5], "pdaln", "scitech", 100, by_type=COUNTED)
    found = {
        name: report_column(table, name, told).value_in(kept)
        for name in ("PER precision", "PER recall", "PER f1", "MISC f1")
    }
    assert found == {"PER precision": 6 / 8, "PER recall": 0.6, "PER f1": 12 / 18, "MISC f1": 0.0}
    lines = compare(
        [kept], request("pdaln/3", {"SciTech": "scitech"})
    ).main_rows  # a row names its corpus
    by_corpus = {n.published.corpus: n.cells["PER f1"].values for n in lines}
    assert by_corpus["SciTech"] == {0: 12 / 18}
    assert not by_corpus["Wikigold"]


def test_a_table_of_other_counts_compares_nothing():
    comparison = compare(many(), request("jia2019/1", {}))
    assert {c.verdict for n in comparison.rows for c in n.cells.values()} == {"missing"}


def test_every_published_table_can_be_reported_on_without_results():
    for p in (paper(n) for n in ("hgda", "metabioner", "metaner", "pdaln", "jia2019")):
        for table in p.tables:
            comparison = compare([], request(f"{p.name}/{table.id}", {}))
            assert len(comparison.main_rows) == len(table.rows)
            assert all(c.reason for n in comparison.rows for c in n.cells.values())


def test_an_unknown_table_names_the_nearest():
    with pytest.raises(UnknownName, match="did you mean"):
        compare([], request("hgdaa/3"))


def test_labels_tell_rows_apart_but_for_their_size():
    for name in ("hgda", "metabioner", "metaner", "pdaln", "jia2019"):
        for table in paper(name).tables:
            named = [(row_label(r), r.size) for r in table.rows]
            assert len(set(named)) == len(named), (name, table.id)


def test_an_ablation_fills_the_row_of_its_name():
    results = draws([0.5, 0.6], "crossdomain-lm", "bionlp13pc", 0, variant="CO-LM")
    results += draws([0.7, 0.8], "crossdomain-lm", "bionlp13pc", 0)
    whole = [replace(r, share=100.0) for r in results]
    comparison = compare(whole, request("jia2019/3", {"13PC": "bionlp13pc"}))
    found = {n.label: n.cells["13PC"].mean for n in comparison.rows if n.measured}
    assert found == {"CO-LM": pytest.approx(0.55), "FINAL": pytest.approx(0.75)}
