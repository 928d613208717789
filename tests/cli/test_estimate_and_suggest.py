"""What `adapt` says of its own quality and of the sentences, and `suggest`, as a user calls them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from cli_kit import jsonl, manifest_of

from adaptner.corpora.bundled import bundled_corpus
from adaptner.models.tagger import Tagger
from adaptner.nn.decoders.crf import CRF

SENTENCES = bundled_corpus("cellline").split("train")


def written(path: Path, sentences) -> Path:
    rows = [(s.text, [(e.start, e.end, e.label) for e in s.entities]) for s in sentences]
    path.write_bytes(jsonl(*rows))
    return path


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    return written(tmp_path / "mine.jsonl", SENTENCES[:8])


@pytest.mark.slow
def test_adapt_prints_and_stores_the_estimate(call, mine, tmp_path):
    answer = call.ok("adapt", mine, "-o", tmp_path / "m")
    assert "Estimated F1 on similar text: 0." in answer.err
    manifest = manifest_of(tmp_path / "m")
    assert manifest["facts"]["estimate"]["overall"]["mentions"] > 0
    assert manifest["calibration"]["slope"] != 1
    answer = call("adapt", mine, "-o", tmp_path / "n", "--json", "-q")
    facts = json.loads(answer.out)
    assert facts["estimate"] == manifest["facts"]["estimate"]
    low, f1, high = (facts["estimate"]["overall"][k] for k in ("low", "f1", "high"))
    assert 0 <= low <= f1 <= high <= 1
    answer = call("adapt", mine, "-o", tmp_path / "o", "--no-estimate")
    assert "expect" not in answer.err
    plain = manifest_of(tmp_path / "o")
    assert "estimate" not in plain["facts"]
    assert plain["calibration"]["slope"] != 1  # scores are calibrated all the same


def test_adapt_warns_of_likely_slips(call, tmp_path):
    rows = [
        ("HeLa cells grew.", [(0, 4, "CellLine")]),
        ("HeLa cells grew.", [(0, 4, "CellLine")]),
        ("MCF-7 cells and HeLa cells died.", [(0, 5, "CellLine")]),
        ("The gene TP53 in A549 cells.", [(9, 13, "Gene"), (17, 21, "CellLine")]),
        ("Vero cells were kept.", [(0, 4, "CellLine")]),
    ]
    (tmp_path / "odd.jsonl").write_bytes(jsonl(*rows))
    answer = call.ok("adapt", tmp_path / "odd.jsonl", "-o", tmp_path / "m")
    assert "warning: sentence 2: the same as sentence 1" in answer.err
    assert "warning: sentence 4: label Gene occurs only here" in answer.err
    assert (
        "warning: sentence 1: 'HeLa' is labelled CellLine twice and left unlabelled once (see sentence 3)"
        in answer.err
    )
    assert "warning: every sentence contains an entity" in answer.err
    assert "  Gene " in answer.err  # an estimate for each label
    facts = json.loads(
        call("adapt", tmp_path / "odd.jsonl", "-o", tmp_path / "n", "--json", "-q").out
    )
    assert {r["kind"] for r in facts["remarks"]} == {
        "duplicate",
        "label seen once",
        "uneven annotation",
        "no empty sentence",
    }


def test_no_estimate_without_entities(call, base, mine, tmp_path):
    empty = [("Nothing grew.", []), ("All gave consent.", []), ("It was late.", [])]
    (tmp_path / "empty.jsonl").write_bytes(jsonl(*empty))
    answer = call.ok("adapt", tmp_path / "empty.jsonl", "--label", "CellLine", "-o", tmp_path / "m")
    assert "because no entity is annotated" in answer.err
    answer = call("adapt", mine, "--base", base, "-o", tmp_path / "n")  # of another method
    assert "no estimate of F1" in answer.err
    manifest = manifest_of(tmp_path / "n")
    assert manifest["calibration"] == {"slope": 1.0, "intercept": 0.0}


def eager(model: Path, tmp_path: Path) -> Path:
    """The same model, who takes more for a mention."""
    tagger = Tagger.load(model)
    assert isinstance(tagger.decoder, CRF)
    with torch.no_grad():
        tagger.decoder.bias[0, 0] -= 5
    tagger.save(tmp_path / "eager")
    return tmp_path / "eager"


def test_suggest_proposes_new_sentences_with_or_without_predictions(call, model, tmp_path):
    pool = tmp_path / "pool.txt"
    pool.write_text("\n".join(s.text for s in SENTENCES[20:50]))
    known = written(tmp_path / "known.jsonl", SENTENCES[20:25])
    answer = call.ok("suggest", model, pool, "-n", 4, "--labelled", known)
    records = answer.records()
    assert len(records) == 4
    assert all(r["entities"] == [] for r in records)
    texts = [r["text"] for r in records]
    assert not set(texts) & {s.text for s in SENTENCES[20:25]}
    assert len(set(texts)) == 4
    guessed = call("suggest", model, pool, "-n", 4, "--labelled", known, "--predictions").records()
    assert [r["text"] for r in guessed] == texts
    marked = call("suggest", eager(model, tmp_path), pool, "-n", 4, "--predictions").records()
    assert all(r["entities"] for r in marked)
    shown = call("suggest", model, pool, "-n", 2, "--to", "terminal")
    assert shown.out.lstrip().startswith("1. ")
    answer = call("suggest", model, pool, "-n", 3, "-o", tmp_path / "next.jsonl")
    assert "3 sentence(s) to annotate" in answer.err
    call.ok("check", tmp_path / "next.jsonl")


def test_suggest_without_new_sentences_fails(call, model, tmp_path):
    known = written(tmp_path / "known.jsonl", SENTENCES[:1])
    answer = call("suggest", model, "-", "--labelled", known, stdin=SENTENCES[0].text)
    assert answer.code == 1
    assert "no sentence to propose" in answer.err
    assert call("suggest", model, tmp_path / "none.txt").code == 1
    assert call("suggest", model, "-", "--to", "terminal", "-o", "x", stdin="A.").code == 2
