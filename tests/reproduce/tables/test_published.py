from __future__ import annotations

import itertools
from dataclasses import FrozenInstanceError
from decimal import ROUND_FLOOR, ROUND_HALF_UP, Decimal

import pytest

from adaptner.errors import UnknownName
from adaptner.reproduce.tables.published import paper, papers

UNITS = ("fraction", "percent", "count", "thousand")
NAMES = ["hgda", "jia2019", "metabioner", "metaner", "pdaln"]
SLIP_KINDS = {
    "rounding", "arithmetic", "f1", "impossible", "disagreement",
    "misprint", "layout", "data", "text",
}  # fmt: skip


def all_rows():
    return [(p, t, r) for p in papers() for t in p.tables for r in t.rows]


def harmonic(precision, recall):
    return 2 * precision * recall / (precision + recall)


def mean(row):
    return sum(Decimal(str(v)) for v in row.values) / len(row.values)


def possible_prints(value, decimals):
    """Returns the value rounded and, if it lies halfway, cut off."""
    unit = Decimal(1).scaleb(-decimals)
    rounded = value.quantize(unit, ROUND_HALF_UP)
    halfway = (value - value.quantize(unit, ROUND_FLOOR)) == unit / 2
    return {rounded, rounded - unit} if halfway else {rounded}


def kinds(p, table, row, column):
    return {s.kind for s in p.slips_at(table, row, column)}


def test_papers_and_tables_are_complete():
    assert [p.name for p in papers()] == NAMES
    assert {t.id for t in paper("hgda").tables} == {"1", "2", "3", "4", "5"}
    assert {t.id for t in paper("metabioner").tables} == {"2", "3", "4", "5"}


def test_every_table_has_caption_protocol_unit_and_distinct_rows():
    for p in papers():
        assert len({t.id for t in p.tables}) == len(p.tables)
        for t in p.tables:
            where = (p.name, t.id)
            assert t.caption, where
            assert t.protocol, where
            assert t.unit in UNITS
            assert len(set(t.columns)) == len(t.columns), where
            names = {(r.method, r.corpus, r.setting, r.size) for r in t.rows}
            assert len(names) == len(t.rows), where


def test_every_row_has_a_name_and_values_as_they_may_be_printed():
    top = {"fraction": 1, "percent": 100, "count": 10**6, "thousand": 1000}
    for p, table, row in all_rows():
        where = (p.name, table.id, row)
        assert len(row.values) == len(table.columns), where
        assert row.method or row.corpus, where
        low = -5 if (p.name, table.id) == ("pdaln", "2") else 0
        for value in row.values:
            assert value is None or low <= value <= top[table.unit], where
            assert value is None or round(value, table.decimals) == value, where


def test_every_overall_is_the_mean_of_its_row_or_has_a_slip():
    checked = 0
    for p, table, row in all_rows():
        if row.overall is None:
            continue
        checked += 1
        where = (p.name, table.id, row.method, row.size)
        decimals = table.overall_decimals or table.decimals
        printed, slips = Decimal(str(row.overall)), kinds(p, table, row, "overall")
        one_unit = Decimal(1).scaleb(-decimals)
        assert abs(printed - mean(row)) <= one_unit or "arithmetic" in slips, where
        # Stricter, and in both directions: exactly those that are not the rounded mean have a slip.
        assert (printed not in possible_prints(mean(row), decimals)) == bool(slips), where
    assert checked == 24 + 20 + 2 + 9 + 7 + 2


def test_slips_name_existing_cells_and_quote_them():
    for p in papers():
        for slip in p.slips:
            assert slip.kind in SLIP_KINDS
            assert slip.note
            if slip.table is None:
                continue
            table = p.table(slip.table)
            facts = {"method": slip.method, "corpus": slip.corpus}
            facts |= {"setting": slip.setting, "size": slip.size}
            named = {k: v for k, v in facts.items() if v is not None}
            rows = table.select(**named)
            assert rows, slip
            if slip.column is None or not named:
                continue
            assert len(rows) == 1, slip
            value = table.value(rows[0], slip.column)
            if slip.kind in {"rounding", "arithmetic", "f1", "impossible"}:
                assert value == float(slip.printed), slip


def test_computed_figures_of_slips_on_overalls_are_right():
    slips = [(p, slip) for p in papers() for slip in p.slips if slip.column == "overall"]
    assert slips
    for p, slip in slips:
        (row,) = p.table(slip.table).select(method=slip.method, size=slip.size)
        assert slip.computed == pytest.approx(float(mean(row)), abs=1e-6), slip


def test_hgda_and_metabioner_differ_in_one_cell():
    hgda, earlier = paper("hgda").table("3"), paper("metabioner").table("3")
    assert hgda.columns == earlier.columns
    names = {"MetaNER": "MetaNER", "HGDA": "MetaBioNER", "HGDA-NEs": "MetaBioNER-NEs"}
    differing = []
    for name, earlier_name in names.items():
        for size in (5, 10, 20, 50):
            (a,) = hgda.select(method=name, size=size)
            (b,) = earlier.select(method=earlier_name, size=size)
            assert a.method_id == b.method_id
            for column in (*hgda.columns, "overall"):
                pair = (hgda.value(a, column), earlier.value(b, column))
                if pair[0] != pair[1]:
                    differing.append((name, size, column, *pair))
    assert differing == [
        ("HGDA", 10, "LINNAEUS", 0.3201, 0.2939),
        ("HGDA", 10, "overall", 0.4417, 0.4385),
    ]
    assert hgda.rows
    assert paper("hgda").table("2").rows == paper("metabioner").table("2").rows


def test_hgda_mean_f1_is_within_the_bound_of_mean_precision_and_recall():
    """The harmonic mean is concave, so averaging F1 gives no more than F1 of the averages."""
    p = paper("hgda")
    f1, precision, recall = p.table("3"), p.table("4"), p.table("5")
    half = 0.00005
    impossible = 0
    for row in f1.rows:
        (pr,) = precision.select(method=row.method, size=row.size)
        (re,) = recall.select(method=row.method, size=row.size)
        for i, column in enumerate(f1.columns):
            bound = harmonic(pr.values[i] + half, re.values[i] + half) + half
            exceeds = row.values[i] > bound
            assert exceeds == ("impossible" in kinds(p, f1, row, column)), (row, column)
            impossible += exceeds
    assert impossible == 7


def test_f1_of_a_single_run_follows_from_precision_and_recall():
    checked = 0
    for name, ids in {"pdaln": ("1", "3"), "jia2019": ("4",)}.items():
        p = paper(name)
        for table in map(p.table, ids):
            subjects = dict.fromkeys(c.rsplit(" ", 1)[0] for c in table.columns)
            for row in table.rows:
                for subject in subjects:
                    f1, precision, recall = (
                        table.value(row, f"{subject} {m}") for m in ("f1", "precision", "recall")
                    )
                    differs = abs(f1 - harmonic(precision, recall)) > 0.0101
                    slips = kinds(p, table, row, f"{subject} f1")
                    assert differs == ("f1" in slips), (name, table.id, row, subject)
                    checked += 1
    assert checked == 14 * 4 + 4 * 4 + 7


def test_pdaln_ablations_are_differences_from_the_full_model():
    p = paper("pdaln")
    table = p.table("2")
    full, *ablations = table.rows
    (published,) = p.table("1").select(method="PDALN", setting="semi-supervised")
    assert full.values == published.values
    for row in ablations:
        for i in range(0, 12, 3):
            f1, precision, recall = (full.values[i + k] + row.values[i + k] for k in range(3))
            assert f1 == pytest.approx(harmonic(precision, recall), abs=0.0151), row.method


def test_pdaln_means_exceed_the_best_only_in_cells_with_a_slip():
    p = paper("pdaln")
    best, means = p.table("1"), p.table("1-mean")
    for row in means.rows:
        (top,) = best.select(method="PDALN", setting=row.setting)
        for corpus in ("SciTech", "WNUT 2016", "Webpage", "Wikigold"):
            exceeds = best.value(top, f"{corpus} f1") < means.value(row, f"{corpus} mean")
            slips = kinds(p, best, top, f"{corpus} f1")
            assert exceeds == ("impossible" in slips), (row.setting, corpus)


def test_pdaln_size_study_contains_the_figures_of_the_main_table():
    study = paper("pdaln").table("4")
    main = paper("pdaln").table("1")
    for method, setting in (
        ("PDALN, L_MMD^d only", "unsupervised"),
        ("PDALN, augmentation 1:5", "semi-supervised"),
    ):
        (a,) = study.select(method=method)
        (b,) = main.select(method="PDALN", setting=setting)
        assert list(a.values) == [main.value(b, f"{c} f1") for c in study.columns]


def test_pdaln_datnet_row_equals_jia2019s_dann_row():
    pdaln, jia = paper("pdaln").table("1"), paper("jia2019").table("4")
    (datnet,) = pdaln.select(method="DATNet")
    (dann,) = jia.select(method="DANN")
    for measure in ("precision", "recall", "f1"):
        column = f"SciTech {measure}"
        assert pdaln.value(datnet, column) == jia.value(dann, column)


def test_pdaln_augmentation_adds_up():
    for row in paper("pdaln").table("augmentation").rows:
        target, source, total = row.values
        assert total == 4 * target + 2 * source


@pytest.mark.parametrize("table", ["2", "3"])
def test_metaner_improvements_follow_from_the_averages(table):
    p = paper("metaner")
    results, gains = p.table(table), p.table(f"{table}-improvement")
    (best,) = results.select(method="MetaNER")
    for row in gains.rows:
        (rival,) = results.select(method=row.method)
        gain = 100 * (best.overall / rival.overall - 1)
        rounding = kinds(p, gains, row, "printed in the table")
        assert (abs(row.values[1] - gain) > 0.0051) == ("rounding" in rounding), row


def test_metaner_improvement_row_of_table_2_is_shifted_by_one():
    gains = paper("metaner").table("2-improvement").rows
    assert gains[0].values[0] is None
    for left, right in itertools.pairwise(gains):
        assert right.values[0] == left.values[1]


def test_metaner_is_best_in_all_columns():
    for id in ("2", "3"):
        table = paper("metaner").table(id)
        (best,) = table.select(method_id="metaner")
        for row in table.rows:
            assert all(b >= v for b, v in zip(best.values, row.values, strict=True))


def test_jia2019_counts_add_up():
    p = paper("jia2019")
    counts, by_type = p.table("1"), p.table("2")
    for row in by_type.rows:
        (whole,) = counts.select(corpus=row.corpus)
        printed = counts.value(whole, f"{row.setting} entities")
        assert round(sum(row.values) / 1000, 1) == printed
    correct = p.table("5")
    for row in correct.rows:
        assert sum(row.values[:4]) == row.values[4]
    (entities,) = by_type.select(corpus="CBS News")
    totals = [*entities.values, sum(entities.values)]
    first, last = (r.values for r in correct.rows)
    growth = [100 * (a - b) / n for a, b, n in zip(last, first, totals, strict=True)]
    assert p.table("5-growth").rows[0].values == pytest.approx(growth, abs=0.005)


def test_maml_is_metaner_without_critic_in_metabioner():
    table = paper("metabioner").table("3")
    maml = table.select(method_id="maml")
    assert [r.size for r in maml] == [5, 10, 20, 50, 100]
    assert {r.method for r in maml} == {"MetaNER w/o critic"}
    better = [
        r.size for r in maml if r.overall > table.select(method="MetaNER", size=r.size)[0].overall
    ]
    assert better == [5, 10, 20, 100]


def test_starred_variants_of_hgda_have_another_encoder():
    rows = paper("hgda").table("3").select(method_id="hgda", size=5)
    assert {(r.method, r.encoder) for r in rows} == {("HGDA", "bilstm"), ("HGDA*", "bert")}


# All printed tables of results, and figures that only the text of a paper gives.
REQUIRED = {
    "hgda": {"1", "2", "3", "4", "5"},
    "metabioner": {"2", "3", "4", "5"},
    "metaner": {"1", "2", "3", "4", "crossing-homogeneous", "crossing-heterogeneous", "ablation",
                "lambda"},
    "pdaln": {"1", "2", "3", "4", "data"},
    "jia2019": {"1", "2", "3", "4", "5", "target-data"},
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_required_tables_exist(name):
    assert {t.id for t in paper(name).tables} >= REQUIRED[name]


def test_methods_of_metaners_tables_have_our_names():
    names = {
        "In-Domain": "in-domain", "D-Shift": "d-shift", "AGG": "agg", "FineTuning": "finetuning",
        "MultiTask": "multitask", "DANN": "dann", "WPZ": "wpz", "MetaNER-Zero": "metaner-zero",
        "MetaNER": "metaner",
    }  # fmt: skip
    homogeneous, heterogeneous = paper("metaner").table("2"), paper("metaner").table("3")
    assert {r.method: r.method_id for r in homogeneous.rows} == names
    zero_shot = {"D-Shift", "MetaNER-Zero"}  # they need the labels of the sources
    assert {r.method: r.method_id for r in heterogeneous.rows} == {
        k: v for k, v in names.items() if k not in zero_shot
    }
    (multitask,) = paper("metabioner").table("5").select(method="Multi-task")
    assert multitask.method_id == "multitask"


def test_crossings_of_metaner_are_those_of_the_text():
    p = paper("metaner")
    for id, shares in {
        "crossing-homogeneous": (31, 23, 19, 16, 2, 6),
        "crossing-heterogeneous": (52, 41, 45, 31, 5),
    }.items():
        (row,) = p.table(id).select(method_id="metaner")
        assert row.values == shares
    assert p.table("crossing-homogeneous").columns == p.table("2").columns
    assert p.table("crossing-heterogeneous").columns == p.table("3").columns


def test_metaner_figure_8_has_only_the_values_of_the_text():
    p = paper("metaner")
    assert p.table("lambda").rows[0].values == (0.8,)
    ablation = p.table("ablation")
    assert len(ablation.rows) == 6
    assert {v for row in ablation.rows for v in row.values} == {None}
    assert "above MAML's" in ablation.protocol


def test_jia2019_gain_is_larger_with_fewer_target_sentences():
    few, many = paper("jia2019").table("target-data").rows[0].values
    assert (few, many) == (20.5, 3.3)


def test_names_ignore_case_and_unknown_ones_suggest_the_nearest():
    assert paper("HGDA") is paper("hgda")
    with pytest.raises(UnknownName, match="did you mean 'metaner'"):
        paper("metanet")
    with pytest.raises(UnknownName, match="2-improvement"):
        paper("metaner").table("2-improvemnt")
    table = paper("hgda").table("3")
    with pytest.raises(UnknownName, match="did you mean 'LINNAEUS'"):
        table.value(table.rows[0], "LINAEUS")


def test_papers_are_immutable():
    with pytest.raises(FrozenInstanceError):
        paper("hgda").year = 2000
