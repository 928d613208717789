from __future__ import annotations

import io

import pytest
from rich.console import Console

from adaptner.errors import BadUsage
from adaptner.evaluation.tables import markdown_table, rich_table, summarise


def row(corpus="ncbi", size=5, seed=0, f1=0.5, **more):
    facts = {"corpus": corpus, "size": size, "seed": seed, "precision": f1, "recall": 0.25}
    return {**facts, "f1": f1, "steps": 10, "seconds": 1.5, **more}


def test_mean_sd_and_n_per_corpus_and_size():
    summary = summarise([row(seed=0, f1=0.25), row(seed=1, f1=0.75, seconds=2.5)])
    assert len(summary) == 1
    assert summary[0]["n"] == 2
    assert summary[0]["f1_mean"] == 0.5
    assert summary[0]["f1_sd"] == pytest.approx(0.125**0.5)
    assert summary[0]["recall_sd"] == 0
    assert (summary[0]["steps"], summary[0]["seconds"]) == (10, 2.0)


def test_order_is_that_of_corpora_then_sizes():
    rows = [row("s800", 50), row("ncbi", 5), row("s800", 5), row("ncbi", 50)]
    order = [(s["corpus"], s["size"]) for s in summarise(rows)]
    assert order == [("s800", 5), ("s800", 50), ("ncbi", 5), ("ncbi", 50)]


def test_methods_are_kept_apart_where_named():
    summary = summarise([row(method="hgda", f1=0.5), row(method="maml", f1=0.25)])
    assert [(s["method"], s["f1_mean"]) for s in summary] == [("hgda", 0.5), ("maml", 0.25)]


def test_a_single_draw_has_no_deviation():
    summary = summarise([row()])
    assert summary[0]["f1_sd"] is None
    assert "±" not in markdown_table(summary)


def test_a_draw_given_twice_is_refused():
    with pytest.raises(BadUsage, match=r"row 2 repeats ncbi, size 5, seed 0"):
        summarise([row(), row()])


def test_an_incomplete_row_is_refused():
    incomplete = row()
    del incomplete["recall"], incomplete["steps"]
    with pytest.raises(BadUsage, match="row 1 has no recall, steps"):
        summarise([incomplete])


def test_markdown():
    summary = summarise([row(seed=0, f1=0.25), row(seed=1, f1=0.75)])
    assert markdown_table(summary).splitlines() == [
        "| corpus | size | n | precision | recall | F1 | steps | seconds |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| ncbi | 5 | 2 | 0.5000 ± 0.3536 | 0.2500 ± 0.0000 | 0.5000 ± 0.3536 | 10 | 1.5 |",
    ]
    assert markdown_table(summarise([row("a|b")])).splitlines()[-1].startswith("| a\\|b |")


def test_markdown_with_methods():
    lines = markdown_table(summarise([row(method="hgda")])).splitlines()
    assert lines[0].startswith("| method | corpus | size |")
    assert lines[1].startswith("| --- | --- | ---: |")
    assert lines[2].startswith("| hgda | ncbi | 5 |")


def test_rich_table_prints_mean_and_sd_and_no_markup():
    summary = summarise([row("[b]x[/b]", seed=0, f1=0.25), row("[b]x[/b]", seed=1, f1=0.75)])
    console = Console(file=io.StringIO(), width=120)
    console.print(rich_table(summary))
    printed = console.file.getvalue()
    assert "0.5000 ± 0.3536" in printed
    assert "[b]x[/b]" in printed


def test_shares_are_kept_apart_from_sizes_and_follow_them():
    rows = [
        row(size=130, share=100.0),
        row(size=6, share=5.0),
        row(size=6, share=None),
        row(size=6, share=5.0, seed=1),
        row(size=5),  # written before there were shares
    ]
    summary = summarise(rows)
    assert [(s.get("share"), s["size"], s["n"]) for s in summary] == [
        (None, 5, 1),
        (None, 6, 1),
        (5.0, 6, 2),
        (100.0, 130, 1),
    ]
    assert ["share" in s for s in summary] == [False, False, True, True]


def test_a_share_drawn_twice_is_refused():
    with pytest.raises(BadUsage, match=r"row 2 repeats ncbi, share 2\.5, seed 0"):
        summarise([row(share=2.5), row(share=2.5)])


def test_markdown_with_shares():
    lines = markdown_table(summarise([row(size=6, share=2.5), row(size=5)])).splitlines()
    assert lines[0].startswith("| corpus | share | size | n | precision |")
    assert lines[1].startswith("| --- | ---: | ---: |")
    assert lines[2].startswith("| ncbi |  | 5 |")
    assert lines[3].startswith("| ncbi | 2.5 % | 6 |")


def test_no_column_where_nothing_is_to_say():
    header = markdown_table(summarise([row(share=None, unlabelled=0)])).splitlines()[0]
    assert "share" not in header
    assert "unlabelled" not in header


def test_unlabelled_text_is_told_where_it_was_used():
    rows = [row(method="agg", unlabelled=0), row(method="dann", unlabelled=130)]
    summary = summarise(rows)
    assert ["unlabelled" in s for s in summary] == [False, True]
    lines = markdown_table(summary).splitlines()
    assert lines[0].startswith("| method | corpus | size | n | unlabelled | precision |")
    assert lines[2].startswith("| agg | ncbi | 5 | 1 |  | ")
    assert lines[3].startswith("| dann | ncbi | 5 | 1 | 130 | ")


@pytest.mark.parametrize("width", [40, 80, 120])
def test_no_number_is_cut_in_a_narrow_terminal(width):
    rows = [
        row("a-corpus-with-a-name", 5432, seed, f1=0.25, method="metaner-zero", **more)
        for seed in (0, 1)
        for more in ({}, {"share": 100.0, "unlabelled": 5432})
    ]
    summary = summarise(rows)
    console = Console(file=io.StringIO(), width=width, soft_wrap=True)
    console.print(rich_table(summary))
    printed = console.file.getvalue()
    for cell in ("a-corpus-with-a-name", "metaner-zero", "0.2500 ± 0.0000", "100 %", "unlabelled"):
        assert cell in printed


def test_nothing_gives_an_empty_table():
    assert summarise([]) == []
    assert len(markdown_table([]).splitlines()) == 2
    assert rich_table([]).row_count == 0
