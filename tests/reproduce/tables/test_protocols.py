"""What fills the published tables."""

from __future__ import annotations

import pytest
from reproduce_kit import TABLE

from adaptner.errors import UnknownName
from adaptner.methods import methods
from adaptner.reproduce.report.plan_display import list_tables
from adaptner.reproduce.tables.protocol import fillings, find_table
from adaptner.reproduce.tables.protocols import PROTOCOLS, protocol_of
from adaptner.reproduce.tables.published import papers

TABLES = [f"{paper.name}/{table.id}" for paper in papers() for table in paper.tables]


@pytest.mark.parametrize("name", TABLES)
def test_every_published_table_has_targets_or_a_reason(name):
    protocol, table = protocol_of(name), find_table(name)[1]
    assert bool(protocol.groups) != bool(protocol.reason)
    # "SciTech" stands for the columns "SciTech precision", "SciTech recall" and "SciTech f1"
    printed = {*table.columns, *(c.rpartition(" ")[0] for c in table.columns)}
    printed |= {row.corpus for row in table.rows if row.corpus}  # where columns are types
    assert set(protocol.columns) <= printed or protocol.hardness
    for filling in fillings(protocol, table):
        assert (filling.method is None) == bool(filling.reason)
        assert filling.method is None or filling.method in methods()


@pytest.mark.slow
def test_hgda_and_metaner_fill_the_tables_of_their_papers():
    filled = {row["table"]: row["filled"] for row in list_tables()}
    for name in ("hgda/1", "hgda/3", "hgda/4", "hgda/5", "metabioner/3", "metabioner/4"):
        assert "hgda" in filled[name].values()
    for name in ("metabioner/5", "metaner/2", "metaner/3"):
        assert "metaner" in filled[name].values()
    hgda = protocol_of("hgda/3")
    assert list(hgda.columns) == list(TABLE.columns)
    filled_by = {f.label: f.method for f in fillings(hgda, TABLE)}
    assert None not in filled_by.values()
    starred = {f.label for f in fillings(hgda, TABLE) if f.is_run("minilm")}
    assert starred == {"BioBERT", "HGDA*", "HGDA-NEs*"}
    assert (filled_by["BioBERT"], filled_by["HGDA*"]) == ("in-domain", "hgda")


@pytest.mark.parametrize("spelled", ["hgda/3", "HGDA/3", "HGDA 3", "hgda table 3", " Hgda / 3 "])
def test_a_table_may_be_spelled_in_several_ways(spelled):
    assert protocol_of(spelled) is PROTOCOLS["hgda/3"]


@pytest.mark.parametrize(("wrong", "meant"), [("hgda/33", "hgda/3"), ("metanr/2", "metaner/2")])
def test_an_unknown_table_raises_an_error_with_a_suggestion(wrong, meant):
    with pytest.raises(UnknownName, match=f"did you mean '{meant}'"):
        find_table(wrong)


def test_no_target_is_among_its_sources():
    for protocol in PROTOCOLS.values():
        for group in protocol.groups:
            assert not {t.corpus for t in group.targets} & set(group.sources)
    disease = protocol_of("hgda/3").groups[0]
    assert len(disease.sources) == 6


@pytest.mark.slow
def test_the_rows_of_jia2019_are_filled_except_for_figures_of_others():
    rows = {row["table"]: row for row in list_tables()}
    third = rows["jia2019/3"]
    assert third["filled"] == {
        "STM-TARGET": "in-domain",
        "MULTITASK(NER+LM)": "crossdomain-lm",
        "MULTITASK(NER)": "multitask",
        "FINETUNE": "finetuning",
        "STM+ELMO": "stm-elmo",
        "CO-LM": "crossdomain-lm",
        "CO-NER": "crossdomain-lm",
        "MIX-DATA": "crossdomain-lm",
        "FINAL": "crossdomain-lm",
    }
    assert set(third["missing"]) == {"Crichton et al. (2017)", "ELMo (Original) (text only)"}
    assert rows["jia2019/4"]["filled"] == {
        "STM-SOURCE": "d-shift",
        "SELF-TRAIN": "self-train",
        "DANN": "dann",
        "STM+ELMO(SRC)": "stm-elmo",
        "STM+ELMO(TGT)": "stm-elmo",
        "STM+ELMO": "stm-elmo",
        "FINAL": "crossdomain-lm",
    }
    assert rows["jia2019/5"]["filled"] == {"STM-SOURCE": "d-shift", "FINAL": "crossdomain-lm"}
    assert len(rows["jia2019/raw-amount"]["filled"]) == 10


def test_tables_about_corpora_have_our_counts(tmp_path):
    from adaptner.reproduce.tables.counts import PLACES, as_facts, count_corpora, counts_table

    for name in PLACES:
        assert protocol_of(name).reason
        corpora = {row.corpus for row in find_table(name)[1].rows}
        assert corpora & set(PLACES[name]) or name == "metaner/1"  # ACE2005 is licensed
    for place in ("news/conll03", "news/scitech"):
        (tmp_path / place).mkdir(parents=True)
    for split, number in {"train": 3, "dev": 2, "test": 1}.items():
        lines = "Ann\tB-PER\nsaw\tO\nOslo\tB-LOC\n\n" * number
        (tmp_path / "news/conll03" / f"{split}.conll").write_text(lines)
    (tmp_path / "news/scitech/test.conll").write_text("IBM\tB-ORG\n")
    table = find_table("jia2019/2")[1]
    rows = count_corpora("jia2019/2", table, tmp_path)
    assert [row.ours for row in rows] == [(3, 3, 0, 0), (2, 2, 0, 0), (1, 1, 0, 0), (0, 0, 1, 0)]
    assert as_facts(table, rows)[0]["published"]["PER"] == 6600
    assert counts_table(table, rows).row_count == 8
    pdaln = count_corpora("pdaln/data", find_table("pdaln/data")[1], tmp_path)
    assert [row.ours[0] for row in pdaln][:4] == [3, 2, 1, 1]
    assert "does not exist" in pdaln[4].reason
