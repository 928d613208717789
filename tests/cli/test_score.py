"""``adaptner score``."""

from __future__ import annotations

import json

import pytest
from cli_kit import refused

GOLD = "BRCA1\tB-Gene\nand\tO\naspirin\tB-Drug\n\nno\tO\nentity\tO\n\n"


@pytest.fixture
def gold(tmp_path):
    file = tmp_path / "gold.conll"
    file.write_text(GOLD, encoding="utf-8")
    return file


@pytest.fixture
def predicted(tmp_path):
    """The same texts in another format: the gene found, the drug called a gene."""
    documents = [
        {
            "text": "BRCA1 and aspirin",
            "entities": [
                {"start": 0, "end": 5, "label": "Gene"},
                {"start": 10, "end": 17, "label": "Gene"},
            ],
        },
        {"text": "no entity", "entities": []},
    ]
    return write_jsonl(tmp_path / "predicted.jsonl", documents)


def write_jsonl(file, documents):
    file.write_text("".join(json.dumps(d) + "\n" for d in documents), encoding="utf-8")
    return file


def test_formats_may_differ(call, gold, predicted):
    result = call("score", gold, predicted, "--json")
    scores = json.loads(result.out)
    assert scores["documents"] == 2
    assert scores["overall"] == {
        "precision": 0.5,
        "recall": 0.5,
        "f1": 0.5,
        "true_positives": 1,
        "predicted": 2,
        "support": 2,
    }
    assert scores["by_label"]["Gene"]["f1"] == pytest.approx(2 / 3)
    assert scores["by_label"]["Drug"] == {
        "precision": 0,
        "recall": 0,
        "f1": 0,
        "true_positives": 0,
        "predicted": 0,
        "support": 1,
    }


def test_the_table_has_a_row_per_type_and_one_overall(call, gold, predicted):
    result = call("score", gold, predicted)
    assert result.code == 0
    lines = {line.split("│")[1].strip(): line for line in result.out.splitlines() if "│" in line}
    assert list(lines) == ["Drug", "Gene", "overall"]
    assert [c.strip() for c in lines["Gene"].split("│")[2:6]] == ["0.5000", "1.0000", "0.6667", "1"]
    assert [c.strip() for c in lines["overall"].split("│")[2:6]] == ["0.5000"] * 3 + ["2"]


def test_format_can_be_given(call, tmp_path):
    file = tmp_path / "gold.data"
    file.write_text(GOLD, encoding="utf-8")
    assert json.loads(call("score", file, file, "--from", "conll", "--json").out)["documents"] == 2


def test_different_texts_are_refused_with_their_position(call, gold, tmp_path):
    documents = [{"text": "BRCA1 and aspirin"}, {"text": "no such entity"}]
    result = call("score", gold, write_jsonl(tmp_path / "other.jsonl", documents))
    refused(result, 1, "document 2", "'no such entity' in predicted (character 3)")


@pytest.mark.parametrize("longer", ["gold", "predicted"])
def test_missing_document_is_refused(call, tmp_path, longer):
    one = write_jsonl(tmp_path / "one.jsonl", [{"text": "a b"}])
    two = write_jsonl(tmp_path / "two.jsonl", [{"text": "a b"}, {"text": "c"}])
    files = (two, one) if longer == "gold" else (one, two)
    result = call("score", *files)
    shorter = "predicted" if longer == "gold" else "gold"
    refused(result, 1, f"document 2: the {shorter} file has only 1")


def test_labels_with_brackets_are_printed_unchanged(call, tmp_path):
    entity = {"start": 0, "end": 1, "label": "[red]"}
    file = write_jsonl(tmp_path / "a.jsonl", [{"text": "a b", "entities": [entity]}])
    assert "[red]" in call("score", file, file).out


def test_ill_formed_tags_are_read_as_by_conlleval_with_a_warning(call, gold, tmp_path):
    loose = tmp_path / "loose.conll"
    loose.write_text("BRCA1\tB-Gene\nand\tO\naspirin\tI-Drug\n\nno\tO\nentity\tO\n\n")
    result = call("score", gold, loose, "--json")
    assert json.loads(result.out)["overall"]["f1"] == 1
    assert "loose.conll: 1 ill-formed tag(s)" in result.err
    assert "gold.conll" not in result.err


def test_a_real_corpus_against_itself(call, shared_data):
    file = shared_data / "bio8" / "ncbi-disease" / "test.conll"
    scores = json.loads(call("score", file, file, "--json").out)
    assert scores["documents"] == 940
    assert (scores["overall"]["f1"], scores["overall"]["support"]) == (1, 960)
