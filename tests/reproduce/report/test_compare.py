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
from adaptner.reproduce.report.exports import summarise_results
from adaptner.reproduce.report.levels import WHOLE_SPLIT, Level
from adaptner.reproduce.report.matching import report_column
from adaptner.reproduce.report.pairs import compare_pairs
from adaptner.reproduce.tables.published import paper, row_label


def row_of(comparison, label, level=None):
    (found,) = [
        n for n in comparison.rows if n.label == label and level in (None, n.level, n.level.size)
    ]
    return found


VALUES = {(0, 0): 0.30, (1, 0): 0.34, (2, 0): 0.38}  # draws 0 to 2 on base 0


def cell_with(published):
    return ComparisonCell("NCBI", VALUES, published)


def test_interval_is_students():
    # t(0.975) with 2 degrees of freedom is 4.3027 in printed tables
    cell = cell_with(0.3)
    half = 4.3027 * 0.04 / math.sqrt(3)
    assert cell.mean == pytest.approx(0.34)
    assert cell.sd == pytest.approx(0.04)
    assert cell.interval.low == pytest.approx(0.34 - half, abs=1e-5)
    assert cell.interval.high == pytest.approx(0.34 + half, abs=1e-5)


def test_verdict_is_within_up_to_the_borders_of_the_interval():
    borders = t_interval(list(VALUES.values()))
    assert cell_with(borders.low).verdict == "within"
    assert cell_with(borders.high).verdict == "within"
    assert cell_with(0.34).verdict == "within"
    # A difference of one unit of the last printed digit suffices.
    assert cell_with(borders.low - 1e-6).verdict == "above"
    assert cell_with(borders.high + 1e-6).verdict == "below"


def test_equal_draws_have_an_interval_of_length_zero():
    alike = {(draw, 0): 0.1 for draw in range(3)}
    assert ComparisonCell("NCBI", alike, 0.1).verdict == "within"
    assert ComparisonCell("NCBI", alike, 0.0999).verdict == "above"
    assert ComparisonCell("NCBI", alike, 0.1001).verdict == "below"


def test_single_draw_has_a_mean_but_no_verdict():
    cell = ComparisonCell("NCBI", {(0, 0): 0.3}, 0.3)
    assert (cell.mean, cell.sd, cell.interval) == (0.3, None, None)
    assert cell.verdict == "not comparable"
    assert cell.reason == "a single draw has no interval"


def test_absence_precedes_objection_as_the_reason():
    assert ComparisonCell("NCBI", VALUES, 0.34, objection="other data").reason == "other data"
    assert ComparisonCell("NCBI", VALUES, 0.34, objection="other data").verdict == "not comparable"
    missing = ComparisonCell("NCBI", {}, 0.34, objection="other data", absence="not requested")
    assert (missing.verdict, missing.reason) == ("missing", "not requested")


def test_published_row_has_our_draws_of_its_method_and_size():
    results = [*draws([0.3, 0.5]), *draws([0.6, 0.8], size=20), *draws([0.1, 0.1], "maml")]
    comparison = compare(results, request())
    five = row_of(comparison, "HGDA", 5).cells["NCBI"]
    assert list(five.values.values()) == [0.3, 0.5]
    assert five.published == 0.3001
    assert row_of(comparison, "HGDA", 20).cells["NCBI"].mean == pytest.approx(0.7)
    assert row_of(comparison, "HGDA", 10).cells["NCBI"].verdict == "missing"
    assert row_of(comparison, "HGDA", 5).cells["S800"].verdict == "missing"


def test_every_published_row_is_kept():
    for results in ([], many()):
        comparison = compare(results, request())
        rows = [n.published for n in comparison.main_rows if n.published is not None]
        assert sorted(map(id, rows)) == sorted(map(id, paper("hgda").table("3").rows))


def test_method_without_a_published_row_gets_its_own_row():
    comparison = compare(draws([0.1, 0.2], "maml"), request())
    row = row_of(comparison, "maml")
    assert row.published is None
    assert row.cells["NCBI"].verdict == "not comparable"
    assert row.cells["NCBI"].reason == "the paper has no figure here"
    assert row in comparison.main_rows


def test_starred_rows_have_results_with_a_transformer():
    plain = compare(draws([0.3, 0.5]), request())
    assert row_of(plain, "HGDA*", 5).cells["NCBI"].verdict == "missing"
    starred = compare(draws([0.3, 0.5], variant="encoder=bert"), request())
    assert row_of(starred, "HGDA*", 5).cells["NCBI"].n == 2
    assert row_of(starred, "HGDA", 5).cells["NCBI"].n == 0
    other = compare(draws([0.3, 0.5], variant="without twin"), request())
    assert not row_of(other, "HGDA", 5).measured
    assert row_of(other, "hgda [without twin]").published is None


def test_tables_of_precision_and_recall_show_that_measure():
    results = [
        result(seed=s, f1=0.9, precision=p, recall=r)
        for s, (p, r) in enumerate([(0.5, 0.1), (0.7, 0.3)])
    ]
    precision = compare(results, request("hgda/4"))
    recall = compare(results, request("hgda/5"))
    assert row_of(precision, "HGDA", 5).cells["NCBI"].mean == pytest.approx(0.6)
    assert row_of(precision, "HGDA", 5).cells["NCBI"].published == 0.3937
    assert row_of(recall, "HGDA", 5).cells["NCBI"].mean == pytest.approx(0.2)


def test_measure_in_a_column_name_is_used_and_percentages_become_fractions():
    results = [
        result("pdaln", "scitech", size=0, seed=s, f1=0.76, precision=0.7 + s / 100, recall=0.8)
        for s in range(2)
    ]
    comparison = compare(results, request("pdaln/1", {"SciTech": "scitech"}))
    row = row_of(comparison, "PDALN (unsupervised)")
    assert row.cells["SciTech f1"].mean == pytest.approx(0.76)
    assert row.cells["SciTech f1"].published == pytest.approx(0.7580)
    assert row.cells["SciTech precision"].mean == pytest.approx(0.705)
    assert not row_of(comparison, "PDALN (semi-supervised)").measured


def test_rows_without_a_size_have_results_with_all_data():
    results = [
        *draws([0.8, 0.9], "metaner", "sec", 1047, share=100.0),
        *draws([0.5, 0.6], "metaner", "sec", 52, share=5.0),
    ]
    comparison = compare(results, request("metaner/3", TARGETS5))
    assert row_of(comparison, "MetaNER", WHOLE_SPLIT).cells["SEC"].mean == pytest.approx(0.85)
    (fewer,) = [n for n in comparison.other_rows if n.level == Level(share=5.0)]
    assert fewer.label == "MetaNER"
    assert fewer.cells["SEC"].verdict == "not comparable"


def test_zero_shot_results_fill_rows_without_a_size():
    results = draws([0.6], "d-shift", "x", 0)
    comparison = compare(results, request("metaner/2", {"BC": "x"}))
    assert row_of(comparison, "D-Shift").cells["BC"].n == 1


def test_overall_is_the_mean_over_all_corpora_draw_by_draw():
    results = [
        r
        for j, target in enumerate(BIO8.values())
        for r in draws([0.1 * j, 0.1 * j + 0.2, 0.1 * j + 0.1], target=target)
    ]
    overall = row_of(compare(results, request()), "HGDA", 5).cells[OVERALL]
    assert list(overall.values.values()) == pytest.approx([0.35, 0.55, 0.45])
    assert overall.sd == pytest.approx(0.1)
    assert overall.published == 0.3234
    assert overall.verdict == "within"


def test_overall_without_all_corpora_names_the_missing_ones():
    results = [r for t in list(BIO8.values())[:-1] for r in draws([0.3, 0.4], target=t)]
    overall = row_of(compare(results, request()), "HGDA", 5).cells[OVERALL]
    assert overall.verdict == "missing"
    assert "missing: S800" in overall.reason


def test_overall_uses_the_draws_that_all_corpora_have():
    results = [r for t in BIO8.values() for r in draws([0.3, 0.4, 0.5], target=t)]
    results = [r for r in results if (r.target, r.seed) != ("s800", 1)]
    overall = row_of(compare(results, request()), "HGDA", 5).cells[OVERALL]
    assert sorted(overall.values) == [(0, 0), (2, 0)]
    none = [r for r in results if r.target != "s800" or r.seed > 2]
    none += [result(target="s800", seed=9)]
    overall = row_of(compare(none, request()), "HGDA", 5).cells[OVERALL]
    assert "no draw has a result for each" in overall.reason


def test_incomparable_column_makes_overall_incomparable_and_adds_one_without_it():
    why = "a tenth of it"
    results = [r for t in BIO8.values() for r in draws([0.30, 0.34, 0.38], target=t)]
    comparison = compare(results, request(incomparable={"BC4CHEMD": why}))
    hgda = row_of(comparison, "HGDA", 5)
    assert hgda.cells["BC4CHEMD"].verdict == "not comparable"
    assert hgda.cells["BC4CHEMD"].reason == why
    assert hgda.cells[OVERALL].verdict == "not comparable"
    assert why in hgda.cells[OVERALL].reason
    row = hgda.published
    without = [v for c, v in zip(BIO8, row.values, strict=True) if c != "BC4CHEMD"]
    assert hgda.cells[COMPARABLE].published == pytest.approx(statistics.fmean(without))
    assert hgda.cells[COMPARABLE].verdict == "within"


def test_incomparable_reasons_apply_to_corpora_and_rows():
    results = [*draws([0.3, 0.4]), *draws([0.3, 0.4], "metaner")]
    report_request = request(
        incomparable={"ncbi-disease": "other split", "MetaNER": "other encoder"}
    )
    comparison = compare(results, report_request)
    assert row_of(comparison, "HGDA", 5).cells["NCBI"].reason == "other split"
    assert row_of(comparison, "MetaNER", 5).cells["NCBI"].reason == "other encoder"


def test_missing_cells_have_a_reason():
    report_request = request(
        methods=("hgda", "metaner"),
        targets=("ncbi-disease", "s800"),
        sizes=(5, 10),
        skipped={"HGDA*": "no transformer yet", "s800": "the folder is gone"},
    )
    comparison = compare(draws([0.3, 0.4]), report_request)
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
    assert reason["HGDA", 10, "NCBI"].startswith("the job failed")


def test_corpora_without_a_published_column_get_additional_columns():
    names = ("conll03", "scitech")
    results = [r for t in names for r in draws([0.6, 0.7], "metaner", t, 100, share=100.0)]
    report_request = request("metaner/2", {}, targets=names, incomparable={"scitech": "not ACE"})
    comparison = compare(results, report_request)
    row = row_of(comparison, "MetaNER", WHOLE_SPLIT)
    assert comparison.additional_names == ("conll03", "scitech", ADDITIONAL)
    assert row.cells["scitech"].reason == "not ACE"
    assert row.cells["conll03"].verdict == "not comparable"
    assert row.cells[ADDITIONAL].mean == pytest.approx(0.65)
    assert row.cells["BC"].published == pytest.approx(0.7604)
    assert not comparison.has_values(comparison.names)


def test_cells_have_the_slips_of_the_paper():
    comparison = compare([], request())
    assert row_of(comparison, "HGDA", 10).cells["LINNAEUS"].slips
    assert not row_of(comparison, "HGDA", 5).cells["LINNAEUS"].slips
    assert row_of(comparison, "HGDA-NEs", 20).cells[OVERALL].slips


def test_newest_result_of_a_draw_counts():
    old = result(f1=0.1, finished="2026-11-16", key="old")
    new = result(f1=0.5, finished="2026-11-17", key="new")
    for order in ([old, new], [new, old]):
        comparison = compare(order, request())
        assert row_of(comparison, "HGDA", 5).cells["NCBI"].values == {(0, 0): 0.5}
        assert comparison.repeated == 1
    same = compare([new, new], request())
    assert same.repeated == 0


COUNTED = {
    "PER": {"correct": 6, "predicted": 8, "gold": 10, "tokens": 13},
    "MISC": {"correct": 0, "predicted": 2, "gold": 4, "tokens": 1},
}


def test_table_of_counts_by_type_uses_the_counts_of_results():
    report_request = request("jia2019/5", {}, targets=("scitech",))
    counted = draws([0.5, 0.6], "crossdomain-lm", "scitech", 0, by_type=COUNTED)
    final = row_of(compare(counted, report_request), "FINAL").cells
    found = {name: list(final[name].values.values()) for name in ("PER", "MISC", "LOC", "Total")}
    # these results have no LOC
    assert found == {"PER": [13, 13], "MISC": [1, 1], "LOC": [0, 0], "Total": [14, 14]}
    assert final["Total"].published == 3324
    uncounted = compare(draws([0.5], "crossdomain-lm", "scitech", 0), report_request)
    cell = row_of(uncounted, "FINAL").cells["PER"]
    assert (cell.verdict, cell.reason) == ("missing", "computed before counts by type were kept")


def test_scores_by_type_use_the_counts_of_results():
    report_request = request("pdaln/3", {}, targets=("scitech",))
    table = paper("pdaln").table("3")
    (kept,) = draws([0.5], "pdaln", "scitech", 100, by_type=COUNTED)
    found = {
        name: report_column(table, name, report_request).value_in(kept)
        for name in ("PER precision", "PER recall", "PER f1", "MISC f1")
    }
    assert found == {"PER precision": 6 / 8, "PER recall": 0.6, "PER f1": 12 / 18, "MISC f1": 0.0}
    lines = compare(
        [kept], request("pdaln/3", {"SciTech": "scitech"})
    ).main_rows  # a row names its corpus
    by_corpus = {n.published.corpus: n.cells["PER f1"].values for n in lines}
    assert by_corpus["SciTech"] == {(0, 0): 12 / 18}
    assert not by_corpus["Wikigold"]


def test_cells_of_other_counts_are_missing():
    comparison = compare(many(), request("jia2019/1", {}))
    assert {c.verdict for n in comparison.rows for c in n.cells.values()} == {"missing"}


def test_every_published_table_can_be_compared_without_results():
    for p in (paper(n) for n in ("hgda", "metabioner", "metaner", "pdaln", "jia2019")):
        for table in p.tables:
            comparison = compare([], request(f"{p.name}/{table.id}", {}))
            assert len(comparison.main_rows) == len(table.rows)
            assert all(c.reason for n in comparison.rows for c in n.cells.values())


def test_unknown_table_suggests_the_nearest():
    with pytest.raises(UnknownName, match="did you mean"):
        compare([], request("hgdaa/3"))


def test_labels_and_sizes_distinguish_rows():
    for name in ("hgda", "metabioner", "metaner", "pdaln", "jia2019"):
        for table in paper(name).tables:
            named = [(row_label(r), r.size) for r in table.rows]
            assert len(set(named)) == len(named), (name, table.id)


def test_ablation_fills_the_row_of_its_name():
    results = draws([0.5, 0.6], "crossdomain-lm", "bionlp13pc", 0, variant="CO-LM")
    results += draws([0.7, 0.8], "crossdomain-lm", "bionlp13pc", 0)
    whole = [replace(r, share=100.0) for r in results]
    comparison = compare(whole, request("jia2019/3", {"13PC": "bionlp13pc"}))
    found = {n.label: n.cells["13PC"].mean for n in comparison.rows if n.measured}
    assert found == {"CO-LM": pytest.approx(0.55), "FINAL": pytest.approx(0.75)}


KINDS = ("all", "with-entities")


def test_kinds_of_draws_are_never_averaged_or_paired():
    results = [*draws([0.1, 0.2]), *draws([0.7, 0.8], draws_from="with-entities")]
    results += draws([0.3, 0.4], "metaner", draws_from="with-entities")
    for kind, mean in (("all", 0.15), ("with-entities", 0.75)):
        comparison = compare(results, request(draws_from=kind))
        level = Level(size=5, draws_from=kind)
        published = row_of(comparison, "HGDA", level).cells["NCBI"]
        assert published.mean == pytest.approx(mean)
        assert published.published == 0.3001
        other = Level(size=5, draws_from=KINDS[1 - KINDS.index(kind)])
        (mine,) = [r for r in comparison.other_rows if r.label == "HGDA"]
        assert (mine.level, mine.published) == (other, None)
        assert mine.cells["NCBI"].mean == pytest.approx(0.9 - mean)
        # MetaNER has draws with entities only, so that nothing pairs it with the other kind
        pairs = {
            (pair.level.draws_from, pair.first, pair.second) for pair in compare_pairs(comparison)
        }
        assert {(first, *sorted(rest)) for first, *rest in pairs} == {
            ("with-entities", "HGDA", "MetaNER")
        }
    assert Level(size=5, draws_from="with-entities").label == "5 sentences with entities"


def test_overall_never_mixes_kinds_of_draws():
    results = [
        r
        for number, target in enumerate(BIO8.values())
        for r in draws([0.3, 0.4], target=target, draws_from=KINDS[number % 2])
    ]
    for kind in KINDS:
        comparison = compare(results, request(draws_from=kind))
        for row in comparison.rows:
            assert not row.cells[OVERALL].values


def test_cell_states_draws_without_entity_and_mean_number_of_mentions():
    numbers = [0, 3, 0, 6]
    results = [
        result(seed=seed, base_seed=base, entities=number)
        for seed, number in enumerate(numbers)
        for base in range(3)
    ]
    cell = row_of(compare(results, request()), "HGDA", 5).cells["NCBI"]
    assert (cell.empty_draws, cell.mentions, cell.mean_mentions) == (2, numbers, 2.25)


def crossed(method="hgda", target="ncbi-disease", shift=0.0):
    values = {(0, 0): 0.2, (1, 0): 0.5, (2, 0): 0.2, (0, 1): 0.4, (1, 1): 0.6, (2, 1): 0.2}
    return [
        result(method, target, seed=draw, base_seed=base, f1=value + shift * (draw + base + 1))
        for (draw, base), value in values.items()
    ]


def test_cell_of_crossed_bases_adds_the_variances_of_draws_and_bases():
    cell = row_of(compare(crossed(), request()), "HGDA", 5).cells["NCBI"]
    assert (cell.n, cell.bases, len(cell.values)) == (3, 2, 6)
    over_draws = statistics.stdev([0.3, 0.55, 0.2])
    over_bases = statistics.stdev([0.3, 0.4])
    assert cell.mean == pytest.approx(0.35)
    assert cell.spread.sd_draws == pytest.approx(over_draws)
    assert cell.spread.sd_bases == pytest.approx(over_bases)
    assert cell.sd == pytest.approx(math.hypot(over_draws, over_bases))
    assert cell.interval.low < 0.3001 < cell.interval.high


def test_overall_of_crossed_bases_is_the_mean_of_each_run():
    results = [
        r for i, target in enumerate(BIO8.values()) for r in crossed(target=target, shift=0.01 * i)
    ]
    overall = row_of(compare(results, request()), "HGDA", 5).cells[OVERALL]
    assert (overall.n, overall.bases) == (3, 2)
    assert overall.values[2, 1] == pytest.approx(0.2 + 4 * 0.035)


def test_listed_results_keep_kinds_of_draws_apart_and_count_draws_once():
    results = [*crossed(), *draws([0.8, 0.9], draws_from="with-entities")]
    rows = {row["draws_from"]: row for row in summarise_results(results)}
    assert (rows["all"]["n"], rows["all"]["bases"]) == (3, 2)
    assert rows["all"]["f1_mean"] == pytest.approx(0.35)
    assert rows["with-entities"]["n"] == 2
    assert rows["with-entities"]["f1_mean"] == pytest.approx(0.85)
