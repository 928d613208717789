"""Tests of the converters of OntoNotes and ACE 2005 with small files in their layouts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from xml.sax.saxutils import escape

import pytest

from adaptner.corpora.converters.ace2005 import convert_ace2005
from adaptner.corpora.converters.ontonotes import convert_ontonotes
from adaptner.corpora.converters.sentences import Splits, to_conll_bytes
from adaptner.corpora.corpus import load_corpus
from adaptner.errors import RawFilesMissing, RawFileUnusable


def tagged(splits: Splits, split: str) -> list[str]:
    """Each sentence as a line of tokens and, except for O, tags."""
    return [
        " ".join(w if t == "O" else f"{w}|{t}" for w, t in zip(s.tokens, s.tags, strict=True))
        for s in splits[split]
    ]


# --- OntoNotes --------------------------------------------------------------------------------------


def onto_document(name: str, *sentences: str) -> str:
    """A CoNLL-2012 file; names are bracketed in ``sentences``: ``(ORG:New York Times)``."""
    lines = [f"#begin document ({name}); part 000"]
    for sentence in sentences:
        for number, word in enumerate(sentence.split()):
            opened = re.match(r"\((\w+):", word)
            closed = word.endswith(")") and word != ")"
            text = re.sub(r"^\(\w+:", "", word).removesuffix(")" if closed else "")
            cell = f"({opened[1]}" if opened else ""
            cell += ")" if opened and closed else "*)" if closed else "*"
            columns = (name, "0", number, text, "NN", "(TOP*", "-", "-", "-", "Speaker#1", cell, "(ARG0*", "-")  # fmt: skip
            lines.append("   ".join(map(str, columns)))
        lines.append("")
    return "\n".join([*lines, "#end document", ""])


@pytest.fixture
def onto(tmp_path: Path) -> Callable[..., Path]:
    def put(split: str, name: str, *sentences: str, language: str = "english", ending: str = "v4_gold_conll") -> None:  # fmt: skip
        folder = tmp_path / "conll-2012" / split / "data" / language / "annotations"
        path = folder / f"{name}.{ending}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(onto_document(name, *sentences), encoding="utf-8")

    put(
        "train",
        "bc/cctv/00/cctv_0001",
        "In (GPE:Iraq) , (PERSON:Saddam Hussein) fell /.",
        "Yes -LRB- no -RRB- /?",
    )
    put("train", "pt/nt/40/nt_4001", "Abraham begat Isaac .")
    put("train", "wb/sel/11/sel_1101", "(DATE:the 1990s) (DATE:Monday) -- and/or 1/2")
    put("development", "nw/wsj/00/wsj_0001", "(ORG:The New York Times) .")
    put("test", "bn/abc/00/abc_0001", "Nobody .")
    put("test", "bn/abc/00/abc_0002", "guess", ending="v4_auto_conll")
    put("test", "bn/abc/00/abc_0003", "wo", language="chinese")
    return put


def test_ontonotes_is_converted_by_split(onto, tmp_path):
    progress = []
    converted = convert_ontonotes(tmp_path / "conll-2012", lambda *counts: progress.append(counts))
    splits = converted.corpora["general/ontonotes5"]
    assert list(splits) == ["train", "dev", "test"]
    assert tagged(splits, "train") == [
        "In Iraq|B-GPE , Saddam|B-PERSON Hussein|I-PERSON fell .",
        "Yes ( no ) ?",
        "the|B-DATE 1990s|I-DATE Monday|B-DATE -- and/or 1/2",
    ]
    assert tagged(splits, "dev") == ["The|B-ORG New|I-ORG York|I-ORG Times|I-ORG ."]
    assert tagged(splits, "test") == ["Nobody ."]
    assert list(converted.left_out.values()) == [1]  # of the New Testament
    assert progress[-1] == (5, 5)


@pytest.mark.parametrize(
    ("sentence", "reason"),
    [
        ("(ORG:The (GPE:New) York) Times", r"line 3: unexpected bracket '\(GPE\)'"),
        ("York) Times", r"line 2: unexpected bracket '\*\)'"),
        ("(ORG:The Times", "is not closed"),
        ("[WORD]", "contains no words"),
    ],
)
def test_invalid_ontonotes_file_raises(onto, tmp_path, sentence, reason):
    onto("train", "bc/cctv/00/cctv_0002", sentence)
    with pytest.raises(RawFileUnusable, match=f"cctv_0002.*{reason}"):
        convert_ontonotes(tmp_path / "conll-2012")


def test_folder_without_ontonotes_raises(tmp_path):
    with pytest.raises(
        RawFilesMissing, match=r"(?s)contains no CoNLL-2012 file.*train, development"
    ):
        convert_ontonotes(tmp_path)
    path = tmp_path / "train" / "a.gold_conll"
    path.parent.mkdir()
    path.write_text("word tag\n")
    with pytest.raises(RawFileUnusable, match="2 columns"):
        convert_ontonotes(tmp_path)


# --- ACE --------------------------------------------------------------------------------------------


class Ace:
    """An ACE document, with mentions that are located by their words."""

    def __init__(self, sgm: str, escapes_count_as_one: bool = False) -> None:
        self.sgm = sgm
        self.counted = re.sub(r'<[/A-Za-z](?:[^<>"]|"[^"]*")*>', "", sgm)
        if escapes_count_as_one:
            self.counted = self.counted.replace("&amp;", "&")
        self.entities: list[str] = []

    def mark(
        self, label: str, words: str, kind: str = "NAM", after: str = "", shift: int = 0
    ) -> Ace:
        start = self.counted.index(words, self.counted.index(after)) + shift
        number = len(self.entities) + 1
        text = escape(words.replace("&amp;", "&"))
        self.entities.append(
            f'<entity ID="E{number}" TYPE="{label}" SUBTYPE="x" CLASS="SPC">'
            f'<entity_mention ID="E{number}-1" TYPE="{kind}" LDCTYPE="{kind}">'
            f'<extent><charseq START="{start}" END="{start + len(words) - 1}">{text}</charseq></extent>'
            f'<head><charseq START="{start}" END="{start}">x</charseq></head>'
            "</entity_mention></entity>"
        )
        return self

    def put(self, folder: Path, name: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.sgm").write_text(self.sgm, encoding="utf-8")
        (folder / f"{name}.apf.xml").write_text(
            '<?xml version="1.0"?>\n<!DOCTYPE source_file SYSTEM "apf.v5.1.1.dtd">\n'
            f'<source_file URI="{name}.sgm" SOURCE="newswire" TYPE="text"><document DOCID="{name}">'
            f'{"".join(self.entities)}<timex2 ID="T1"><timex2_mention ID="T1-1"><extent>'
            '<charseq START="0" END="1">xx</charseq></extent></timex2_mention></timex2>'
            "</document></source_file>",
            encoding="utf-8",
        )


NEWS = (
    "<DOC>\n<DOCID> AFP_1 </DOCID>\n<BODY>\n<HEADLINE>\nGulf build-up\n</HEADLINE>\n<TEXT>\n"
    "Orders went out today to deploy 17,000 U.S. Army soldiers in the\nPersian Gulf region. "
    "AT&amp;T said it would help.\n</TEXT>\n</BODY>\n</DOC>\n"
)


def news(**how: bool) -> Ace:
    document = Ace(NEWS, **how)
    company = "AT&T" if how else "AT&amp;T"
    return (
        document.mark("LOC", "Gulf")  # in the headline
        .mark("PER", "17,000 U.S. Army soldiers", "NOM")
        .mark("GPE", "U.S.")
        .mark("ORG", "U.S. Army")
        .mark("LOC", "the\nPersian Gulf region", "NOM")
        .mark("LOC", "Persian Gulf")
        .mark("ORG", company)
        .mark("ORG", "it", "PRO", after="said")
    )


@pytest.fixture
def english(tmp_path: Path) -> Path:
    return tmp_path / "ace_2005_td_v7" / "data" / "English"


def all_of(splits: Splits) -> list[str]:
    return [line for split in splits for line in tagged(splits, split)]


EXPECTED = [
    # the example in the paper (MetaNER): only innermost mentions
    "Orders went out today to deploy 17 , 000 U|B-GPE .|I-GPE S|I-GPE .|I-GPE Army soldiers in the "
    "Persian|B-LOC Gulf|I-LOC region .",
    "AT|B-ORG &|I-ORG T|I-ORG said it|B-ORG would help .",
]


@pytest.mark.parametrize("how", [{}, {"escapes_count_as_one": True}], ids=["as written", "as one"])
def test_innermost_mentions_of_the_example_in_the_paper(english, how):
    news(**how).put(english / "nw" / "timex2norm", "AFP_1")
    converted = convert_ace2005(english)
    assert sorted(all_of(converted.corpora["general/ace2005-nw"])) == sorted(EXPECTED)
    assert {reason: n for reason, n in converted.left_out.items() if n} == {
        "mentions around others": 3,
        "mentions outside sentences (speakers, headings)": 1,
    }


def test_final_version_of_each_document_is_used(english):
    for version in ("adj", "fp1", "fp2"):
        Ace(NEWS).mark("WEA", "Orders").put(english / "nw" / version, "AFP_1")
    news().put(english / "nw" / "timex2norm", "AFP_1")
    news().put(english.parent / "Chinese" / "nw" / "adj", "XIN_1")
    corpora = convert_ace2005(english.parent).corpora
    assert sorted(all_of(corpora["general/ace2005-nw"])) == sorted(EXPECTED)
    assert list(corpora) == ["general/ace2005-nw"]
    assert convert_ace2005(english / "nw").corpora == corpora


def test_speakers_posters_and_quotes_are_left_out(english):
    talk = Ace(
        "<DOC>\n<BODY>\n<TEXT>\n<TURN>\n<SPEAKER> JOHN KING </SPEAKER>\nHe left Rome\n</TURN>\n"
        "<TURN>\n<SPEAKER> ANN </SPEAKER>\nWhy?\n</TURN>\n</TEXT>\n</BODY>\n</DOC>\n"
    )
    talk.mark("PER", "JOHN KING").mark("PER", "He", "PRO").mark("GPE", "Rome").mark("PER", "ANN")
    talk.put(english / "bc" / "timex2norm", "CNN_1")
    post = Ace(
        "<DOC>\n<BODY>\n<TEXT>\n<POST>\n<POSTER> joe </POSTER>\n<POSTDATE> 2005-01-03 </POSTDATE>\n"
        '<QUOTE PREVIOUSPOST="Ann wrote: 1 > 0\nin Paris"/>\n\nParis is fine &lt;grin&gt; A&amp;B\n\n'
        "Bye\n</POST>\n</TEXT>\n</BODY>\n</DOC>\n"
    )
    post.mark("GPE", "Paris").put(english / "un" / "timex2norm", "alt_1")
    converted = convert_ace2005(english)
    assert sorted(all_of(converted.corpora["general/ace2005-bc"])) == [
        "He|B-PER left Rome|B-GPE",
        "Why ?",
    ]
    assert sorted(all_of(converted.corpora["general/ace2005-un"])) == [
        "Bye",
        "Paris|B-GPE is fine < grin > A & B",
    ]
    assert converted.left_out["mentions outside sentences (speakers, headings)"] == 2


def test_unusable_mentions_are_counted(english):
    text = "<DOC><TEXT>\nThe old man saw northern Iraq and Kuwaitis there.\n</TEXT></DOC>\n"
    document = Ace(text)
    document.mark("PER", "The old man").mark("PER", "old man saw").mark("GPE", "Iraq")
    document.mark("LOC", "Iraq").mark("GPE", "Kuwait").mark("LOC", "northern", shift=1)
    document.put(english / "bn" / "timex2norm", "ABC_1")
    converted = convert_ace2005(english)
    (sentence,) = all_of(converted.corpora["general/ace2005-bn"])
    assert sentence == (
        "The|B-PER old|I-PER man|I-PER saw northern Iraq|B-GPE and Kuwaitis there ."
    )
    assert {reason: n for reason, n in converted.left_out.items() if n} == {
        "mentions whose offsets do not match their text": 1,
        "mentions that overlap another": 1,
        "mentions with the extent of another": 1,
        "mentions that begin or end inside a word": 1,
    }


def test_invalid_ace_files_raise(english):
    with pytest.raises(RawFilesMissing, match=r"(?s)no \.apf\.xml.*LDC2006T06"):
        convert_ace2005(english)
    folder = english / "wl" / "timex2norm"
    news().put(folder, "AFP_1")
    (folder / "AFP_1.sgm").write_text(NEWS.replace("Orders", "Yesterday, orders"))
    with pytest.raises(RawFileUnusable, match="of 8 mentions match"):
        convert_ace2005(english)
    (folder / "AFP_1.sgm").write_text("<DOC>nothing</DOC>")
    with pytest.raises(RawFileUnusable, match="no TEXT"):
        convert_ace2005(english)
    (folder / "AFP_1.sgm").unlink()
    with pytest.raises(RawFileUnusable, match=r"AFP_1\.sgm is missing"):
        convert_ace2005(english)
    news().put(folder, "AFP_1")
    (folder / "AFP_1.apf.xml").write_text("<entity>")
    with pytest.raises(RawFileUnusable, match=r"AFP_1\.apf\.xml: cannot be converted"):
        convert_ace2005(english)


# --- corpora convert ---------------------------------------------------------------------------------------


def test_convert_command_installs_ontonotes(call, onto, tmp_path):
    data = tmp_path / "data"
    answer = call("corpora", "convert", "ontonotes", tmp_path / "conll-2012", "-o", data)
    assert answer.code == 0
    assert answer.out == "general/ontonotes5: converted (train, dev, test)\n"
    assert "left out: 1 sentences of the New Testament" in answer.err
    corpus = load_corpus(data / "general/ontonotes5")
    assert corpus.labels.labels == ("DATE", "GPE", "ORG", "PERSON")
    expected = convert_ontonotes(tmp_path / "conll-2012").corpora["general/ontonotes5"]["train"]
    assert (data / "general/ontonotes5/train.conll").read_bytes() == to_conll_bytes(expected)
    assert call("corpora", "convert", "ontonotes", tmp_path / "conll-2012", "-o", data).code == 1
    again = ("general/ontonotes5", tmp_path / "conll-2012", "-o", data, "--replace", "--json")
    answer = call("corpora", "convert", *again)
    assert answer.code == 0
    assert [row["name"] for row in json.loads(answer.out)["corpora"]] == ["general/ontonotes5"]


def test_convert_command_installs_ace2005(call, english, tmp_path):
    for domain in ("bc", "nw"):
        news().put(english / domain / "timex2norm", f"{domain}_1")
    answer = call("corpora", "convert", "ace2005", english, "-o", tmp_path / "data")
    assert answer.code == 0
    assert answer.out.split("\n")[:2] == [
        "general/ace2005-bc: converted (train, dev, test)",
        "general/ace2005-nw: converted (train, dev, test)",
    ]
    assert "left out: 6 mentions around others" in answer.err


@pytest.mark.parametrize("name", ["ontonote", "ace2004"])
def test_convert_command_suggests_a_name(call, tmp_path, name):
    answer = call("corpora", "convert", name, tmp_path, "-o", tmp_path / "data")
    assert answer.code == 2
    assert "did you mean" in answer.err


def test_convert_command_with_missing_folder_fails(call, tmp_path):
    answer = call("corpora", "convert", "ontonotes", tmp_path / "none", "-o", tmp_path / "data")
    assert answer.code == 1
    assert "no such file or folder" in answer.err
