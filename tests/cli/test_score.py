from __future__ import annotations

import json

import pytest
import typer
from typer.testing import CliRunner

from adaptner.cli.score import score
from adaptner.errors import WordCountMismatch

GOLD = "BRCA1\tB-Gene\nand\tO\naspirin\tB-Drug\n\nno\tO\nentity\tO\n\n"


@pytest.fixture
def run():
    app = typer.Typer(rich_markup_mode="rich")
    app.command()(score)
    return lambda *arguments: CliRunner().invoke(
        app, [str(a) for a in arguments], env={"COLUMNS": "120"}
    )


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


def test_formats_may_differ(run, gold, predicted):
    result = run(gold, predicted, "--json")
    assert result.exception is None
    scores = json.loads(result.stdout)
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


def test_the_table_has_a_row_per_type_and_one_overall(run, gold, predicted):
    result = run(gold, predicted)
    assert result.exit_code == 0
    lines = {line.split("│")[1].strip(): line for line in result.stdout.splitlines() if "│" in line}
    assert list(lines) == ["Drug", "Gene", "overall"]
    assert [c.strip() for c in lines["Gene"].split("│")[2:6]] == ["0.5000", "1.0000", "0.6667", "1"]
    assert [c.strip() for c in lines["overall"].split("│")[2:6]] == ["0.5000"] * 3 + ["2"]


def test_file_against_itself_is_perfect(run, gold):
    assert json.loads(run(gold, gold, "--json").stdout)["overall"]["f1"] == 1


def test_format_can_be_given(run, tmp_path):
    file = tmp_path / "gold.data"
    file.write_text(GOLD, encoding="utf-8")
    assert json.loads(run(file, file, "--from", "conll", "--json").stdout)["documents"] == 2


def test_different_texts_are_refused_with_their_position(run, gold, tmp_path):
    documents = [{"text": "BRCA1 and aspirin"}, {"text": "no such entity"}]
    result = run(gold, write_jsonl(tmp_path / "other.jsonl", documents))
    assert isinstance(result.exception, WordCountMismatch)
    assert "document 2" in str(result.exception)
    assert "'no such entity' in predicted (character 3)" in str(result.exception)


@pytest.mark.parametrize("longer", ["gold", "predicted"])
def test_missing_document_is_refused(run, tmp_path, longer):
    one = write_jsonl(tmp_path / "one.jsonl", [{"text": "a b"}])
    two = write_jsonl(tmp_path / "two.jsonl", [{"text": "a b"}, {"text": "c"}])
    files = (two, one) if longer == "gold" else (one, two)
    result = run(*files)
    assert isinstance(result.exception, WordCountMismatch)
    shorter = "predicted" if longer == "gold" else "gold"
    assert f"document 2: the {shorter} file has only 1" in str(result.exception)


def test_labels_with_brackets_are_printed_unchanged(run, tmp_path):
    entity = {"start": 0, "end": 1, "label": "[red]"}
    file = write_jsonl(tmp_path / "a.jsonl", [{"text": "a b", "entities": [entity]}])
    assert "[red]" in run(file, file).stdout


def test_help_shows_an_example(run):
    assert "adaptner score gold.conll predicted.jsonl" in run("--help").stdout


def test_ill_formed_tags_are_read_as_by_conlleval_with_a_warning(run, gold, tmp_path):
    loose = tmp_path / "loose.conll"
    loose.write_text("BRCA1\tB-Gene\nand\tO\naspirin\tI-Drug\n\nno\tO\nentity\tO\n\n")
    result = run(gold, loose, "--json")
    assert json.loads(result.stdout)["overall"]["f1"] == 1
    assert "loose.conll: 1 ill-formed tag(s)" in result.stderr
    assert "gold.conll" not in result.stderr


def test_a_real_corpus_against_itself(run, shared_data):
    file = shared_data / "bio8" / "ncbi-disease" / "test.conll"
    scores = json.loads(run(file, file, "--json").stdout)
    assert scores["documents"] == 940
    assert (scores["overall"]["f1"], scores["overall"]["support"]) == (1, 960)
