"""Annotated files that cannot be used, and unusual ones that can: message, place and exit code."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from cli_kit import GOOD, OWN, contents, jsonl, listing, refused

GOOD_CONLL = b"TP53\tB-Gene\nfell\tO\n\n"


@dataclass(frozen=True)
class Fault:
    """A file that cannot be used, the line at fault (None: the whole file) and a word for it."""

    name: str
    ending: str
    content: bytes
    line: int | None
    says: str


FAULTS = [
    Fault("empty", ".jsonl", b"", None, "contains no sentences"),
    Fault("blank", ".jsonl", b" \n\n", None, "contains no sentences"),
    Fault("empty", ".conll", b"", None, "contains no sentences"),
    Fault("blank", ".conll", b"\n \n\n", None, "contains no sentences"),
    Fault("unknown prefix", ".conll", GOOD_CONLL + b"p53\tQ-Gene\n", 4, "'Q-Gene'"),
    Fault("no prefix", ".conll", GOOD_CONLL + b"p53\tGene\n", 4, "'Gene'"),
    Fault("ragged columns", ".conll", GOOD_CONLL + b"p53\tNN\tO\n", 4, "3 column(s)"),
    Fault("one column", ".conll", b"p53\nfell\n", 1, "only one column"),
    Fault("mixed schemes", ".conll", b"a\tB-X\nb\tE-X\n\na\tI-X\nb\tI-X\n", None, "one scheme"),
    Fault("Latin-1", ".conll", GOOD_CONLL + "Ménière\tO\n".encode("latin-1"), 4, "UTF-8"),
    Fault("Latin-1", ".jsonl", GOOD + '{"text": "Ménière"}\n'.encode("latin-1"), 2, "UTF-8"),
    Fault("UTF-16", ".jsonl", GOOD.decode().encode("utf-16"), 1, "UTF-16"),
    Fault("NUL", ".conll", GOOD_CONLL + b"p\x0053\tO\n", 4, "NUL"),
    Fault("NUL", ".jsonl", GOOD + b'{"text": "p\x0053"}\n', 2, "NUL"),
    Fault("not JSON", ".jsonl", GOOD + b"TP53 fell.\n", 2, "not a JSON object"),
    Fault("cut off", ".jsonl", GOOD + GOOD[:30], 2, "not a JSON object"),
    Fault("no text", ".jsonl", GOOD + b'{"entities": []}\n', 2, '"text" is missing'),
    Fault("past the end", ".jsonl", GOOD + jsonl(("p53", [(0, 4, "Gene")])), 2, "0-4"),
    Fault("before the start", ".jsonl", GOOD + jsonl(("p53", [(-1, 2, "Gene")])), 2, "-1-2"),
    Fault("inside out", ".jsonl", GOOD + jsonl(("p53", [(2, 1, "Gene")])), 2, "2-1"),
    Fault("empty label", ".jsonl", GOOD + jsonl(("p53", [(0, 3, "")])), 2, "label"),
    Fault(
        "off the tokens", ".jsonl", GOOD + jsonl(("the p53", [(4, 6, "Gene")])), 2, "'p53' (4-7)"
    ),
    Fault(
        "overlapping",
        ".jsonl",
        GOOD + jsonl(("p53 gene", [(0, 3, "Gene"), (0, 8, "Gene")])),
        2,
        "overlap",
    ),
]


@pytest.mark.parametrize("fault", FAULTS, ids=[f"{f.name}{f.ending}" for f in FAULTS])
def test_check_and_convert_report_a_bad_file(call, tmp_path, fault):
    file, output = tmp_path / f"mine{fault.ending}", tmp_path / "out.conll"
    file.write_bytes(fault.content)
    output.write_text("earlier")
    place = f"{file}: " if fault.line is None else f"{file}:{fault.line}: "
    answer = call("check", file)
    assert answer.code == 1
    for fragment in (place, fault.says, "What to do: "):
        assert fragment in answer.err
    (error, *_) = json.loads(call("check", file, "--json").out)["errors"]
    assert error["line"] == fault.line
    refused(call("convert", file, output), 1, file, fault.says)
    refused(call("convert", file, "-", "--to", "conll"), 1, file)
    assert listing(tmp_path) == sorted([file.name, output.name])
    assert output.read_text() == "earlier"


@pytest.mark.parametrize(
    "arguments",
    [
        ("adapt", "CORPUS/FILE", "--base", "BASE", "-o", "OUT"),
        ("pretrain", "--sources", OWN / "drug", "CORPUS", "-o", "OUT"),
        ("evaluate", "--base", "BASE", "--target", "CORPUS", "-o", "OUT"),
        ("corpora", "stats", "CORPUS"),
    ],
    ids=lambda arguments: arguments[0],
)
@pytest.mark.parametrize("name", ["blank", "Latin-1", "off the tokens"])
def test_verbs_that_read_corpora_refuse_a_bad_file(call, base, tmp_path, name, arguments):
    fault = next(f for f in FAULTS if f.name == name)
    corpus = tmp_path / "corpus"
    file = corpus / f"train{fault.ending}"
    corpus.mkdir()
    file.write_bytes(fault.content)
    (corpus / "test.jsonl").write_bytes(GOOD)
    places = {"CORPUS": corpus, "CORPUS/FILE": file, "OUT": tmp_path / "out", "BASE": base}
    answer = call(*(places.get(a, a) for a in arguments))
    refused(answer, 1, file if fault.line is None else f"{file}:{fault.line}: ", fault.says)
    assert [p.name for p in tmp_path.iterdir()] == ["corpus"]


@pytest.mark.parametrize("content", [jsonl(("Nothing here.", [])), b"Nothing\tO\n"])
def test_adapt_refuses_sentences_without_entities(call, base, tmp_path, content):
    file = tmp_path / ("mine.jsonl" if content.startswith(b"{") else "mine.conll")
    file.write_bytes(content)
    answer = call("adapt", file, "--base", base, "-o", tmp_path / "model")
    refused(answer, 1, f"{file}: ", "none of the 1 sentence(s)")
    assert listing(tmp_path) == [file.name]


def test_evaluate_refuses_a_target_without_entities(call, base, tmp_path):
    for split in ("train", "test"):
        (tmp_path / f"{split}.jsonl").write_bytes(jsonl(("Nothing here.", [])))
    refused(call("evaluate", "--base", base, "--target", tmp_path, "--sizes", 1), 1, "entity")


def test_one_sentence_is_adapted_to_with_a_warning(call, base, tmp_path):
    (tmp_path / "one.jsonl").write_bytes(GOOD)
    answer = call.ok("adapt", tmp_path / "one.jsonl", "--base", base, "-o", tmp_path / "model")
    assert "warning: one sentence only" in answer.err
    call.ok("tag", tmp_path / "model", stdin="TP53 fell.")


def test_label_with_one_mention_is_adapted_to_with_a_warning(call, base, tmp_path):
    sentences = [
        ("TP53 fell.", [(0, 4, "Gene")]),
        ("p53 and HeLa", [(0, 3, "Gene"), (8, 12, "Cell")]),
    ]
    (tmp_path / "two.jsonl").write_bytes(jsonl(*sentences))
    answer = call.ok("adapt", tmp_path / "two.jsonl", "--base", base, "-o", tmp_path / "model")
    assert "warning: sentence 2: label Cell occurs only here" in answer.err
    assert "label Gene" not in answer.err


@pytest.mark.parametrize("ending", [".jsonl", ".conll"])
@pytest.mark.parametrize("mark", [b"\xef\xbb\xbf", b""], ids=["BOM", "no BOM"])
@pytest.mark.parametrize("newline", [b"\r\n", b"\n"], ids=["CRLF", "LF"])
def test_byte_order_marks_and_line_ends_change_nothing(call, tmp_path, ending, mark, newline):
    file = tmp_path / f"mine{ending}"
    content = GOOD if ending == ".jsonl" else GOOD_CONLL
    file.write_bytes(mark + content.replace(b"\n", newline))
    answer = call.ok("convert", file, "-", "--to", "jsonl", "-q")
    (document,) = answer.records()
    assert document["text"].split()[:2] == ["TP53", "fell"]
    assert [e["text"] for e in document["entities"]] == ["TP53"]


def test_byte_order_mark_and_crlf_give_the_same_model(call, base, tmp_path):
    plain, odd = tmp_path / "plain.jsonl", tmp_path / "odd.jsonl"
    plain.write_bytes(GOOD * 2)
    odd.write_bytes(b"\xef\xbb\xbf" + (GOOD * 2).replace(b"\n", b"\r\n"))
    for file in (plain, odd):
        assert call("adapt", file, "--base", base, "-o", tmp_path / file.stem).code == 0
    assert contents(tmp_path / "plain") == contents(tmp_path / "odd")


@pytest.mark.slow
@pytest.mark.parametrize("way", ["text", "conll"])
def test_a_line_of_100_000_tokens_is_tagged_whole(call, eager_model, tmp_path, way):
    words = ["The", "HeLa", "line", "is", "old"] * 20_000
    text = " ".join(words)
    file = tmp_path / "long"
    file.write_text(text if way == "text" else "".join(f"{word}\tO\n" for word in words))
    answer = call.ok("tag", eager_model, file, "--from", way)
    (document,) = answer.records()
    assert document["text"] == text
    entities = document["entities"]
    assert all(text[e["start"] : e["end"]] == e["text"] for e in entities)
    assert len([e for e in entities if "HeLa" in e["text"]]) > 15_000  # to the very end
    assert entities[-1]["end"] > len(text) - 100


def test_unknown_ending_asks_for_the_format(call, tmp_path):
    (tmp_path / "mine.docx").write_bytes(b"PK")
    refused(call("adapt", tmp_path / "mine.docx", "-o", tmp_path / "out"), 2, "mine.docx", "jsonl")
    refused(call("check", tmp_path / "mine.docx", "--from", "docx"), 2, "'docx'", "jsonl")
