from __future__ import annotations

import pytest

from adaptner.corpora.catalogue import find
from adaptner.errors import FileMissing, UnknownName
from adaptner.reproduce.report.datasets import CORPORA, REMARKS, dataset_report
from adaptner.reproduce.tables.published import paper, papers

TABLES = [("hgda", "2"), ("metabioner", "2"), ("metaner", "1"), ("metaner", "4"),
          ("pdaln", "data"), ("jia2019", "1"), ("jia2019", "2")]  # fmt: skip


def corpus(folder, **splits):
    """A split is a list of sentences, a sentence a list of (token, tag)."""
    folder.mkdir(parents=True)
    for name, sentences in splits.items():
        text = "".join("".join(f"{t}\t{g}\n" for t, g in s) + "\n" for s in sentences)
        (folder / f"{name}.conll").write_text(text, encoding="utf-8")


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    sick = [("flu", "B-Disease"), ("is", "O"), ("bad", "O")]
    well = [("all", "O"), ("is", "O"), ("well", "O")]
    corpus(folder / "bio8" / "ncbi-disease", train=[sick, well], dev=[well], test=[sick])
    return folder


def row(markdown, name):
    (found,) = [n for n in markdown.split("\n") if n.startswith(f"| {name} |")]
    return [cell.strip() for cell in found.split("|")[2:-1]]


def test_our_counts_stand_beside_the_published_ones(data):
    markdown, html = dataset_report("hgda", "2", data)
    # flu, is, bad, all, well; two sentences of four
    assert row(markdown, "NCBI") == [
        "bio8/ncbi-disease",
        "5 · 12,128, −100.0 %",
        "50.0 · 55, −9.1 %",
    ]
    assert "12,128" in html


def test_a_corpus_that_is_not_at_hand_says_what_to_do(data):
    markdown, _ = dataset_report("hgda", "2", data)
    place, *cells = row(markdown, "S800")
    assert place == "not at hand"
    assert cells == ["– · 20,526†", "– · 30"]
    licensed, _ = dataset_report("metaner", "1", data)
    assert "**BC, BN, CTS, NW, UN, WL**: not at hand: licensed" in licensed


def test_the_whole_corpus_goes_before_a_part_of_it(data):
    one = [[("aspirin", "B-Drug"), ("helps", "O")]]
    corpus(data / "bio8" / "bc4chemd-sub", train=one, test=one)
    part, _ = dataset_report("hgda", "2", data)
    assert row(part, "BC4CHEMD")[0] == "bio8/bc4chemd-sub"
    assert "a tenth of BC4CHEMD" in part
    corpus(data / "bio8" / "bc4chemd", train=one * 2, test=one)
    whole, _ = dataset_report("hgda", "2", data)
    assert row(whole, "BC4CHEMD")[0] == "bio8/bc4chemd"
    assert "a tenth of BC4CHEMD" not in whole


def test_equal_means_equal_as_printed(tmp_path):
    place = tmp_path / "news" / "conll03"
    per = [("Ann", "B-PER"), ("ran", "O")]
    two = [("Ann", "B-PER"), ("in", "O"), ("Rome", "B-LOC")]
    corpus(place, train=[per] * 14_950 + [two] * 20, dev=[per] * 10, test=[two])
    markdown, _ = dataset_report("jia2019", "1", tmp_path)
    cells = row(markdown, "CoNLL")
    assert cells[1] == "14,970 · 15.0K ="  # 14.97 thousand is printed 15.0
    assert cells[2].startswith("10 · 3.5K, −99.7 %")
    by_type, _ = dataset_report("jia2019", "2", tmp_path)
    assert row(by_type, "CoNLL (train)")[1].startswith("14,970 · 6,600")
    assert row(by_type, "CoNLL (train)")[2].startswith("20 · 7,140")
    assert row(by_type, "CoNLL (test)")[3].startswith("–")  # a type that the corpus lacks


def test_a_split_stands_for_a_row_of_its_own(tmp_path):
    per = [("Ann", "B-PER"), ("ran", "O")]
    corpus(tmp_path / "news" / "conll03", train=[per] * 3, dev=[per] * 2, test=[per])
    heard = []
    markdown, _ = dataset_report("pdaln", "data", tmp_path, heard.append)
    sentences = [
        row(markdown, f"CoNLL-2003 {s} (source)")[1].split(" ")[0] for s in ("train", "dev", "test")
    ]
    assert sentences == ["3", "2", "1"]
    assert heard == ["news/conll03"]  # read once, and told before it is


@pytest.mark.parametrize(("name", "table"), TABLES)
def test_every_table_of_corpora_has_all_its_rows(data, name, table):
    markdown, html = dataset_report(paper(name), paper(name).table(table), data)
    for published in paper(name).table(table).rows:
        assert published.corpus in CORPORA
        assert published.corpus in markdown
        assert published.corpus in html


def test_every_corpus_named_is_in_the_catalogue():
    for places in CORPORA.values():
        for place in places:
            assert find(place.partition(":")[0])
    assert set(REMARKS) <= {place for places in CORPORA.values() for place in places}


def test_every_table_of_counts_can_be_shown(data):
    for p in papers():
        for table in p.tables:
            if table.unit in ("count", "thousand"):
                markdown, html = dataset_report(p, table, data)
                assert p.short in markdown
                assert p.short in html


def test_wrong_calls(data):
    with pytest.raises(FileMissing):
        dataset_report("hgda", "2", data / "nowhere")
    with pytest.raises(UnknownName):
        dataset_report("hgda", "22", data)
