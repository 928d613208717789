from __future__ import annotations

import io

import pytest
from rich.console import Console

from adaptner.evaluation.tables import rich_table, summarise


def row(corpus="ncbi", size=5, seed=0, f1=0.5, **more):
    facts = {"corpus": corpus, "size": size, "seed": seed, "precision": f1, "recall": 0.25}
    return {**facts, "f1": f1, "steps": 10, "seconds": 1.5, **more}


def columns(summary):
    return [column.header for column in rich_table(summary).columns]


def printed(summary, width=120):
    console = Console(file=io.StringIO(), width=width, soft_wrap=True)
    console.print(rich_table(summary))
    return console.file.getvalue()


def test_summary_has_mean_sd_and_n_per_corpus_and_size():
    (summary,) = summarise([row(seed=0, f1=0.25), row(seed=1, f1=0.75, seconds=2.5)])
    assert summary["n"] == 2
    assert summary["f1_mean"] == 0.5
    assert summary["f1_sd"] == pytest.approx(0.125**0.5)
    assert summary["recall_sd"] == 0
    assert (summary["steps"], summary["seconds"]) == (10, 2.0)


def test_corpora_keep_their_order_and_sizes_increase():
    rows = [row("s800", 50), row("ncbi", 5), row("s800", 5), row("ncbi", 50)]
    order = [(s["corpus"], s["size"]) for s in summarise(rows)]
    assert order == [("s800", 5), ("s800", 50), ("ncbi", 5), ("ncbi", 50)]


def test_methods_have_separate_rows():
    summary = summarise([row(method="hgda", f1=0.5), row(method="maml", f1=0.25)])
    assert [(s["method"], s["f1_mean"]) for s in summary] == [("hgda", 0.5), ("maml", 0.25)]
    assert columns(summary)[:3] == ["method", "corpus", "size"]


def test_single_draw_has_no_deviation():
    summary = summarise([row()])
    assert summary[0]["f1_sd"] is None
    assert "±" not in printed(summary)


def test_table_shows_mean_and_sd_and_no_markup():
    summary = summarise([row("[b]x[/b]", seed=0, f1=0.25), row("[b]x[/b]", seed=1, f1=0.75)])
    assert "0.5000 ± 0.3536" in printed(summary)
    assert "[b]x[/b]" in printed(summary)


def test_shares_are_separate_from_sizes_and_follow_them():
    rows = [
        row(size=130, share=100.0),
        row(size=6, share=5.0),
        row(size=6, share=None),
        row(size=6, share=5.0, seed=1),
        row(size=5),  # rows of older files have no share
    ]
    summary = summarise(rows)
    assert [(s.get("share"), s["size"], s["n"]) for s in summary] == [
        (None, 5, 1),
        (None, 6, 1),
        (5.0, 6, 2),
        (100.0, 130, 1),
    ]
    assert ["share" in s for s in summary] == [False, False, True, True]
    assert columns(summary)[:4] == ["corpus", "share", "size", "n"]
    assert "5 %" in printed(summary)


def test_columns_without_values_are_left_out():
    header = columns(summarise([row(share=None, unlabelled=0)]))
    assert header == ["corpus", "size", "n", "precision", "recall", "F1", "steps", "seconds"]


def test_unlabelled_sentences_have_a_column_if_any_method_used_them():
    rows = [row(method="agg", unlabelled=0), row(method="dann", unlabelled=130)]
    summary = summarise(rows)
    assert ["unlabelled" in s for s in summary] == [False, True]
    table = rich_table(summary)
    (column,) = [c for c in table.columns if c.header == "unlabelled"]
    assert [str(cell) for cell in column.cells] == ["", "130"]


@pytest.mark.parametrize("width", [40, 80, 120])
def test_no_number_is_cut_in_a_narrow_terminal(width):
    rows = [
        row("a-corpus-with-a-name", 5432, seed, f1=0.25, method="metaner-zero", **more)
        for seed in (0, 1)
        for more in ({}, {"share": 100.0, "unlabelled": 5432})
    ]
    shown = printed(summarise(rows), width)
    for cell in ("a-corpus-with-a-name", "metaner-zero", "0.2500 ± 0.0000", "100 %", "unlabelled"):
        assert cell in shown


def test_no_rows_give_an_empty_table():
    assert summarise([]) == []
    assert rich_table([]).row_count == 0


def test_kinds_of_draws_are_never_averaged():
    rows = [row(seed=seed, f1=f1) for seed, f1 in enumerate([0.1, 0.3])]
    rows += [row(seed=seed, f1=0.9, draws_from="with-entities") for seed in range(2)]
    summary = summarise(rows)
    assert [(s["draws_from"], s["n"], s["f1_mean"]) for s in summary] == [
        ("all", 2, pytest.approx(0.2)),
        ("with-entities", 2, 0.9),
    ]
    assert "draws from" in columns(summary)
    assert "draws from" not in columns(summary[:1])


def test_rows_state_draws_without_entity_and_mean_number_of_mentions():
    rows = [row(seed=seed, entities=n) for seed, n in enumerate([0, 4, 0, 5])]
    (summary,) = summarise(rows)
    assert (summary["empty_draws"], summary["mentions"]) == (2, 2.25)
    (cells,) = zip(*(column.cells for column in rich_table([summary]).columns), strict=True)
    found = dict(zip(columns([summary]), map(str, cells), strict=True))
    assert (found["empty"], found["mentions"]) == ("2", "2.2")


def test_deviation_over_bases_is_added_and_draws_are_counted_once():
    f1 = {(0, 0): 0.1, (0, 1): 0.3, (1, 0): 0.2, (1, 1): 0.8}
    rows = [row(seed=d, base_seed=b, f1=v, entities=d) for (d, b), v in f1.items()]
    (summary,) = summarise(rows)
    assert (summary["n"], summary["bases"], summary["empty_draws"]) == (2, 2, 1)
    draws, bases = (0.5 - 0.2) ** 2 / 2, (0.55 - 0.15) ** 2 / 2  # variances of two means
    assert summary["f1_sd"] == pytest.approx((draws + bases) ** 0.5)
