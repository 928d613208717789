"""The verbs check, convert and corpora stats, as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_kit import refused

from adaptner import formats
from adaptner.corpora.bundled import bundled_corpus

GOOD_LINE = '{"text": "TP53 fell", "entities": [{"start": 0, "end": 4, "label": "Gene"}]}'
OFF_LINE = GOOD_LINE.replace('"end": 4', '"end": 3')


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


# --- check ----------------------------------------------------------------------------------------


def test_check_of_a_sound_file(call):
    result = call("check", bundled_corpus("gene").folder / "train.jsonl")
    assert result.code == 0
    assert "130 sentence(s); entities: Gene 190" in result.out
    assert "0 error(s), 0 repaired tag(s), 0 remark(s)" in result.out


def test_check_lists_every_error(call, tmp_path):
    lines = ["oops", GOOD_LINE, OFF_LINE, '{"text": 3}', '{"text": "a", "entities": [{}, {}]}']
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    result = call("check", "a.jsonl")
    assert result.code == 1
    for line, times in ((1, 1), (2, 0), (3, 1), (4, 1), (5, 2)):
        assert result.err.count(f"error: a.jsonl:{line}:") == times
    assert "5 error(s)" in result.out
    found = json.loads(call("check", "a.jsonl", "--json").out)
    assert [(e["kind"], e["line"]) for e in found["errors"]] == [
        ("BadJson", 1),
        ("EntityOffTokens", 3),
        ("BadJson", 4),
        ("BadEntity", 5),
        ("BadEntity", 5),
    ]
    assert (found["documents"], found["sentences"], found["entities"]) == (2, 1, {"Gene": 1})


def test_check_of_conll(call, tmp_path):
    content = "p53 B-G\nfell O\n\np53 O\nrose O\n\np53 B-G\nfell O\n\nHeLa I-C\n\nbad X\n\nlone\n"
    (tmp_path / "a.conll").write_text(content)
    result = call("check", "a.conll", "--json")
    assert result.code == 1
    found = json.loads(result.out)
    assert [(e["kind"], e["line"]) for e in found["errors"]] == [
        ("UnknownTag", 12),
        ("RaggedColumns", 14),
    ]
    assert [(r["line"], r["was"], r["now"]) for r in found["repairs"]] == [(10, "I-C", "B-C")]
    assert [(r["kind"], r["line"]) for r in found["remarks"]] == [
        ("duplicate", 7),
        ("label seen once", 10),
        ("uneven annotation", 1),
    ]
    assert (
        found["remarks"][2]["message"]
        == "'p53' is labelled G twice and left unlabelled once (see line 4)"
    )
    printed = call("check", "a.conll")
    assert "warning: a.conll:10: I-C read as B-C" in printed.err
    assert "a.conll:1: uneven annotation: 'p53'" in printed.out


def test_check_states_how_many_remarks_it_leaves_out(call, tmp_path):
    (tmp_path / "a.conll").write_text("a B-X\n\n" * 31)
    result = call("check", "a.conll")
    assert result.code == 0
    assert result.out.count("duplicate:") == 20
    assert "and 10 more of kind 'duplicate'" in result.out


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a.conll", b"", "EmptyFile"),
        ("a.jsonl", b"\xff\xfe{", "WrongEncoding"),
        ("a.conll", b"a S-X\n\nb B-X\nc O\n", "MixedSchemes"),
        ("a.txt", b"a\0", "NulCharacter"),
        ("missing.txt", None, "FileMissing"),
    ],
)
def test_check_of_unreadable_files_lists_one_error(call, tmp_path, name, content, kind):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    result = call("check", name, "--json")
    assert result.code == 1
    assert [e["kind"] for e in json.loads(result.out)["errors"]] == [kind]


def test_check_remarks_on_a_file_without_entities(call):
    result = call("check", "-", "--from", "text", "--json", stdin="Nothing here. Nor here.")
    found = json.loads(result.out)
    assert (result.code, found["sentences"]) == (0, 2)
    assert [r["kind"] for r in found["remarks"]] == ["no entities"]


def test_check_of_an_unknown_format(call):
    refused(call("check", "a.docx"), 2, "a.docx: cannot determine the file format")


# --- convert --------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["BIO", "iob1", "BIOES"])
def test_convert_and_back(call, tmp_path, scheme):
    source = bundled_corpus("gene").folder / "dev.jsonl"
    result = call("convert", source, "a.conll", "--scheme", scheme)
    assert result.code == 0
    assert "30 document(s), 37 entities -> a.conll" in result.err
    assert ("\tS-Gene\n" in (tmp_path / "a.conll").read_text()) == (scheme == "BIOES")
    assert call("convert", "a.conll", "plain.conll", "-q").err == ""
    assert call("convert", source, "direct.conll").code == 0
    assert (tmp_path / "plain.conll").read_bytes() == (tmp_path / "direct.conll").read_bytes()
    assert call("convert", "plain.conll", "b.jsonl").code == 0
    mentions = [
        [e.text_in(d.text).replace(" ", "") for e in d.entities]
        for d in formats.read(tmp_path / "b.jsonl")
    ]
    assert mentions == [
        [e.text_in(d.text).replace(" ", "") for e in d.entities] for d in formats.read(source)
    ]


def test_convert_through_pipes(call):
    result = call("convert", "-", "-", "--from", "jsonl", "--to", "conll", stdin=GOOD_LINE)
    assert result.code == 0
    assert result.out == "TP53\tB-Gene\nfell\tO\n\n"


def test_convert_warns_of_repairs_and_losses(call, tmp_path):
    (tmp_path / "a.conll").write_text("a B-X\n\nb I-X\n")
    assert "a.conll:3: I-X read as B-X" in call("convert", "a.conll", "b.jsonl").err
    scored = GOOD_LINE.replace('"Gene"', '"Gene", "score": 0.5').replace("{", '{"id": "d1", ', 1)
    (tmp_path / "a.jsonl").write_text(scored + '\n{"text": " "}\n')
    warnings = call("convert", "a.jsonl", "b.conll").err
    for loss in ("1 id(s) not written", "1 score(s)", "1 document(s) without a word"):
        assert loss in warnings


def test_convert_refuses_wrong_calls(call, tmp_path):
    (tmp_path / "a.jsonl").write_text(GOOD_LINE)
    refused(call("convert", "a.jsonl", "b.jsonl", "--scheme", "BIO"), 2, "--scheme")
    refused(call("convert", "nowhere.jsonl", "b.conll"), 1, "nowhere.jsonl")
    refused(call("convert", "a.jsonl", "-"), 2, "file format of standard input or output")
    assert call("convert", "a.jsonl", "b.conll", "--scheme", "XYZ").code == 2


# --- corpora stats --------------------------------------------------------------------------------


def test_corpora_stats(call):
    folders = [bundled_corpus(name).folder for name in ("gene", "cellline")]
    result = call("corpora", "stats", *folders, "--json")
    assert result.code == 0
    gene, _ = json.loads(result.out)
    assert (gene["corpus"], gene["domain"]) == ("gene", "Gene")
    assert gene["sentences"] == {"train": 130, "dev": 30, "test": 70}
    assert gene["mentions_per_type"] == {"Gene": 330}
    assert gene["sha256"] == bundled_corpus("gene").sha256
    table = call("corpora", "stats", *folders).out
    assert table.splitlines()[1].split() == ["gene", "Gene", "train", "130", "190", "2,177"]
    assert "labels of cellline: CellLine 283" in table
