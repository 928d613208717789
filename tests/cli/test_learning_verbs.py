"""pretrain, hardness, evaluate, adapt, tag, score: the way of a newcomer, with tiny settings."""

from __future__ import annotations

import json
import random
import shutil
import signal
from pathlib import Path

import pytest
from cli_kit import OWN, Answer, Call, contents, jsonl, listing

DISEASE, DRUG, GENE, CELLS = (OWN / name for name in ("disease", "drug", "gene", "cellline"))
RUN = ["card.md", "config.json", "hardness.jsonl", "manifest.json", "metrics.jsonl"]
ROW = {"corpus", "size", "seed", "precision", "recall", "f1", "steps", "seconds"}


def sound(answer: Answer) -> Answer:
    assert answer.code == 0, answer.err
    return answer


# --- pretrain ---------------------------------------------------------------------------------------


def test_a_run_leaves_base_records_and_card(base: Path) -> None:
    assert listing(base) == sorted([*RUN, "weights.safetensors", "words.txt"])
    manifest = json.loads((base / "manifest.json").read_text())
    assert [d["name"] for d in manifest["domains"]] == ["Disease", "Medicine"]  # DOMAIN=DIR
    assert manifest["config"]["encoder"]["hidden"] == 12  # --config
    assert manifest["facts"]["iterations"] == 5
    metrics = [json.loads(line) for line in (base / "metrics.jsonl").read_text().splitlines()]
    assert [m["iteration"] for m in metrics] == [1, 2, 3, 4, 5]
    assert "HGDA" in (base / "card.md").read_text()


def test_sources_may_follow_one_option_or_many_and_the_bytes_are_the_same(
    call: Call, tmp_path: Path, config: Path
) -> None:
    first = ("--sources", DISEASE, DRUG, GENE)
    second = ("--sources", DISEASE, "--sources", DRUG, "--sources", GENE)
    for name, sources in (("one", first), ("many", second)):
        answer = sound(
            call(
                *("pretrain", "--method", "maml", *sources, "--config", config, "--k", 3),
                *("--iterations", 3, "--seed", 7, "--json", "-o", tmp_path / name),
            )
        )
        result = json.loads(answer.out)
        assert (result["method"], result["iterations"], result["seed"]) == ("maml", 3, 7)
        assert [s["domain"] for s in result["sources"]] == ["Disease", "Drug", "Gene"]
        assert "Gene: 160 sentences" in answer.err
    one, many = contents(tmp_path / "one"), contents(tmp_path / "many")
    assert one == many
    assert json.loads(one["config.json"])["config"]["k"] == 3  # the command line over the file


def test_another_seed_gives_another_base(
    call: Call, tmp_path: Path, config: Path, base: Path
) -> None:
    sources = ("--sources", DISEASE, f"Medicine={DRUG}")
    common = ("--config", config, "--iterations", 5, "-q")
    for seed in (0, 1):
        sound(call("pretrain", *sources, *common, "--seed", seed, "-o", tmp_path / str(seed)))
    assert contents(tmp_path / "0") == contents(base)
    assert contents(tmp_path / "1")["weights.safetensors"] != contents(base)["weights.safetensors"]


KILLED = """
import os, signal, sys
from adaptner.training import loop, pretraining

pretraining.pretrain.__kwdefaults__["checkpoint_seconds"] = 0.0  # after every iteration
save, saved = loop.save_checkpoint, []

def save_and_die(*arguments):
    save(*arguments)
    saved.append(1)
    if len(saved) == 3:
        os.kill(os.getpid(), signal.SIGKILL)

loop.save_checkpoint = save_and_die
from adaptner.cli.main import main
sys.argv = {arguments!r}
main()
"""


def test_a_killed_run_resumes_to_the_same_bytes(
    call: Call, child, tmp_path: Path, config: Path, base: Path
) -> None:
    run = ["pretrain", "--sources", DISEASE, f"Medicine={DRUG}", "--config", config, "-q"]
    run += ["--iterations", 5, "-o", tmp_path / "base"]
    killed = child(KILLED.format(arguments=["adaptner", *map(str, run)]))
    assert killed.returncode == -signal.SIGKILL
    assert "checkpoint.safetensors" in listing(tmp_path / "base")
    assert not (tmp_path / "base" / "manifest.json").exists()

    refused = call("adapt", CELLS / "dev.jsonl", "--base", tmp_path / "base", "-o", tmp_path / "m")
    assert refused.code == 1
    assert "--resume" in refused.err

    refused = call(*run)  # an unfinished run is not thrown away by accident
    assert refused.code == 2
    assert "--resume" in refused.err

    refused = call(*run, "--resume", "--seed", 1)
    assert refused.code == 1
    assert "cannot resume" in refused.err

    sound(call(*run, "--resume"))
    assert contents(tmp_path / "base") == contents(base)


def test_vectors_are_read_and_go_into_base_and_model(
    call: Call, tmp_path: Path, config: Path
) -> None:
    vectors = tmp_path / "tiny.vec"
    rng = random.Random(3)
    words = ["the", "of", "cells", "mutation", "patients", "β-catenin"]
    rows = [f"{w} {' '.join(f'{rng.gauss(0, 1):.3f}' for _ in range(6))}" for w in words]
    vectors.write_text("\n".join([f"{len(words)} 6", *rows, ""]), encoding="utf-8")
    made = tmp_path / "base"
    sound(
        call(
            *("pretrain", "--sources", DISEASE, DRUG, "--config", config, "--iterations", 2),
            *("--vectors", vectors, "-q", "-o", made),
        )
    )
    vectors.unlink()  # the base stands alone
    assert (made / "vectors.vocab.txt").read_text(encoding="utf-8").split() == words
    sound(call("adapt", CELLS / "dev.jsonl", "--base", made, "-q", "-o", tmp_path / "model"))
    shutil.rmtree(made)  # and so does the model
    tagged = sound(call("tag", tmp_path / "model", stdin="The cells of patients."))
    assert tagged.records()[0]["text"] == "The cells of patients."


def test_held_out_test_sentences_are_not_learnt_from(
    call: Call, tmp_path: Path, config: Path
) -> None:
    copy = tmp_path / "copied"
    shutil.copytree(DISEASE, copy)
    shutil.copy(DISEASE / "dev.jsonl", copy / "test.jsonl")  # 30 sentences that are in a source
    answer = sound(
        call(
            *("pretrain", "--sources", DISEASE, DRUG, "--held-out", copy, "--config", config),
            *("--iterations", 1, "-o", tmp_path / "base", "--json"),
        )
    )
    assert [s["removed"] for s in json.loads(answer.out)["sources"]] == [30, 0]
    assert "30 left out" in answer.err


# --- hardness ---------------------------------------------------------------------------------------


def test_hardness_ranks_the_tasks_of_an_iteration(call: Call, base: Path) -> None:
    ranked = json.loads(sound(call("hardness", base, "--iteration", 2, "--json")).out)
    assert len(ranked) == 2
    assert all(task["iteration"] == 2 for task in ranked)
    gammas = [task["gamma"]["encoder"] for task in ranked]
    assert gammas == sorted(gammas, reverse=True)
    assert sum(gammas) == pytest.approx(1.0)
    assert all(len(task["sentences"]) == 4 for task in ranked)
    assert any("[" in s and "]" in s for task in ranked for s in task["sentences"])


def test_hardness_shows_the_last_recorded_iteration(call: Call, base: Path) -> None:
    shown = sound(call("hardness", base)).out
    assert shown.startswith("iteration 4, 2 tasks")
    last = [json.loads(line) for line in (base / "hardness.jsonl").read_text().splitlines()][-2:]
    for sentence in (s for task in last for s in task["sentences"]):
        assert sentence in shown  # brackets and all


# --- evaluate ---------------------------------------------------------------------------------------


def test_evaluate_a_base(call: Call, base: Path, tmp_path: Path) -> None:
    arguments = ("evaluate", "--base", base, "--target", CELLS, "--sizes", "3,6", "--draws", 2)
    quick = ("--limit", 10, "--steps", 4, "--json")
    written = tmp_path / "rows.json"
    answer = sound(call(*arguments, *quick, "--seed", 5, "-o", written))
    result = json.loads(answer.out)
    assert json.loads(written.read_text()) == result
    assert [(r["size"], r["seed"]) for r in result["rows"]] == [(3, 5), (3, 6), (6, 5), (6, 6)]
    for row in result["rows"]:
        assert row.keys() >= ROW
        assert row["corpus"] == "cellline"
        assert row["steps"] == 4
        assert row["sentences"] == 10  # --limit is on record
        assert 0 <= row["f1"] <= 1
    halves = (result["rows"][:2], result["rows"][2:])
    for summary, rows in zip(result["summary"], halves, strict=True):
        f1 = [row["f1"] for row in rows]
        assert summary["n"] == 2
        assert summary["f1_mean"] == pytest.approx(sum(f1) / 2)
        assert summary["f1_sd"] == pytest.approx(abs(f1[0] - f1[1]) / 2**0.5)

    again = json.loads(sound(call(*arguments, *quick, "--seed", 5)).out)
    timeless = [[{**r, "seconds": 0} for r in found["rows"]] for found in (result, again)]
    assert timeless[0] == timeless[1]


def test_evaluate_shows_a_table(call: Call, base: Path) -> None:
    arguments = ("evaluate", "--base", base, "--target", f"Cells={CELLS}", "--sizes", "3")
    answer = sound(call(*arguments, "--draws", 1, "--limit", 5, "--steps", 1))
    assert "cellline" in answer.out
    assert "F1" in answer.out
    assert "5 test sentences" in answer.err


def test_evaluate_a_method_from_its_sources(call: Call, config: Path) -> None:
    arguments = ("--method", "hgda-nes", "--sources", DISEASE, DRUG, "--config", config)
    answer = sound(
        call(
            *("evaluate", *arguments, "--iterations", 2, "--target", CELLS, "--sizes", "3"),
            *("--draws", 1, "--limit", 5, "--json"),
        )
    )
    (row,) = json.loads(answer.out)["rows"]
    assert (row["method"], row["seed"], row["steps"]) == ("hgda-nes", 0, 30)
    assert json.loads(answer.out)["summary"][0]["f1_sd"] is None  # of one draw


def test_sizes_may_not_repeat(call: Call, base: Path) -> None:
    answer = call("evaluate", "--base", base, "--target", CELLS, "--sizes", "3,3")
    assert answer.code == 2
    assert "3,3" in answer.err


@pytest.mark.parametrize("option", ["--sources", "--vectors"])
def test_a_base_is_not_pretrained_again(call: Call, base: Path, option: str) -> None:
    answer = call("evaluate", "--base", base, "--target", CELLS, option, DISEASE)
    assert answer.code == 2
    assert option in answer.err


# --- adapt ------------------------------------------------------------------------------------------


def test_adapt_takes_labels_that_no_source_has_several_at_once(
    call: Call, base: Path, tmp_path: Path
) -> None:
    file = tmp_path / "mine.jsonl"
    sentences = [("HeLa met Bob.", [(0, 4, "Cell"), (9, 12, "Person")])] * 3
    file.write_bytes(jsonl(*sentences, ("Nothing here.", [])))
    answer = sound(call("adapt", file, "--base", base, "--json", "-o", tmp_path / "model"))
    facts = json.loads(answer.out)
    assert facts["labels"] == {"Cell": 3, "Person": 3}
    assert (facts["sentences"], facts["steps"]) == (4, 30)
    manifest = json.loads((tmp_path / "model" / "manifest.json").read_text())
    assert manifest["domains"][0]["labels"] == ["Cell", "Person"]
    assert not [f for f in listing(tmp_path / "model") if f.endswith((".pt", ".pkl", ".bin"))]


def test_same_seed_same_model_bytes(call: Call, base: Path, model: Path, tmp_path: Path) -> None:
    arguments = ("adapt", CELLS / "train.jsonl", "--base", base, "-q")
    for seed in (0, 1):
        sound(call(*arguments, "--seed", seed, "-o", tmp_path / str(seed)))
    assert contents(tmp_path / "0") == contents(model)
    assert contents(tmp_path / "1") != contents(model)


def test_adapt_reads_conll_and_replaces_its_own_model(
    call: Call, base: Path, model: Path, tmp_path: Path
) -> None:
    file = tmp_path / "mine.data"
    file.write_text("HeLa\tB-Cell\ncells\tO\n\nBHK-21\tB-Cell\n\n")
    shutil.copytree(model, tmp_path / "model")
    arguments = ("--base", base, "-o", tmp_path / "model")
    answer = sound(call("adapt", file, "--from", "conll", *arguments))
    assert "2 sentences, mentions of Cell (2)" in answer.err
    manifest = json.loads((tmp_path / "model" / "manifest.json").read_text())
    assert manifest["domains"][0]["labels"] == ["Cell"]
    assert listing(tmp_path)[:1] == ["mine.data"]  # no hidden neighbour is left


# --- tag --------------------------------------------------------------------------------------------

TEXT = "The HeLa line is old.\nThe K562 and HL-60 lines were kept in RPMI; MCF-7 cells died. βHeLa?"


def sound_entities(document: dict) -> list[dict]:
    for entity in document["entities"]:
        assert list(entity) == ["start", "end", "text", "label", "score"]
        assert document["text"][entity["start"] : entity["end"]] == entity["text"]
        assert 0 <= entity["score"] <= 1
    return document["entities"]


@pytest.mark.parametrize("files", [(), ("-",)])
def test_tag_standard_input(call: Call, eager_model: Path, files: tuple[str, ...]) -> None:
    (document,) = sound(call("tag", eager_model, *files, stdin=TEXT)).records()
    assert document["text"] == TEXT
    assert "HeLa" in [e["text"] for e in sound_entities(document)]


def test_tag_files_and_folders(call: Call, eager_model: Path, tmp_path: Path) -> None:
    folder = tmp_path / "abstracts" / "deep"
    folder.mkdir(parents=True)
    (folder / "b.txt").write_text("The HeLa line is old.\n")
    (folder.parent / "a.jsonl").write_text('{"id": "PMID1", "text": "HeLa."}\n{"text": "Rats."}\n')
    (folder.parent / "figure.png").write_bytes(b"\x89PNG")
    single = tmp_path / "c.txt"
    single.write_text("No cell.")
    output = tmp_path / "tagged.jsonl"
    answer = sound(call("tag", eager_model, single, tmp_path / "abstracts", "-o", output))
    assert answer.out == ""
    assert f"4 document(s) tagged -> {output}" in answer.err
    documents = [json.loads(line) for line in output.read_text().splitlines()]
    second = f"{folder.parent / 'a.jsonl'}:2"
    assert [d["id"] for d in documents] == [str(single), "PMID1", second, str(folder / "b.txt")]
    for document in documents:
        sound_entities(document)


def test_tag_keeps_the_tokens_of_a_conll_file(
    call: Call, eager_model: Path, tmp_path: Path
) -> None:
    lines = ["The", "HeLa(S3)/x", "line.", "", "HeLa", "."]
    file = tmp_path / "tokens.conll"
    file.write_text("".join(f"{t}\tO\n" if t else "\n" for t in lines))
    output = tmp_path / "tagged.conll"
    sound(call("tag", eager_model, file, "-o", output))
    tagged = [line.split("\t") for line in output.read_text().rstrip("\n").split("\n")]
    assert [row[0] for row in tagged] == lines
    assert {row[1] for row in tagged if row[0]} <= {"O", "B-Cell", "I-Cell"}
    for document in sound(call("tag", eager_model, file)).records():
        sound_entities(document)
        assert [document["text"][a:b] for a, b in document["token_spans"]] in (lines[:3], lines[4:])


def test_tag_to_a_page(call: Call, eager_model: Path, tmp_path: Path) -> None:
    text = "The HeLa line is <old> & frail."
    output = tmp_path / "page.html"
    sound(call("tag", eager_model, "-o", output, stdin=text))
    page = output.read_text()
    assert page.startswith("<!doctype html>")
    assert ">HeLa<" in page
    assert "&lt;old&gt; &amp; frail." in page
    assert "<script" not in page
    assert "http" not in page
    assert sound(call("tag", eager_model, "--to", "html", stdin=text)).out == page


def test_tag_to_the_terminal(call: Call, eager_model: Path) -> None:
    shown = sound(call("tag", eager_model, "--to", "terminal", stdin="The HeLa [line] is old.")).out
    assert "HeLa|Cell" in shown
    assert "[line] is old." in shown


def test_tag_goes_on_after_what_it_cannot_read(
    call: Call, eager_model: Path, tmp_path: Path
) -> None:
    bad, good = tmp_path / "bad.jsonl", tmp_path / "good.txt"
    bad.write_text('{"text": "HeLa one."}\n{"text": 3}\n{"text": "HeLa three."}\n')
    good.write_text("HeLa four.")
    output = tmp_path / "out.jsonl"
    answer = call("tag", eager_model, bad, tmp_path / "missing.txt", good, "-o", output)
    assert answer.code == 1
    assert f"{bad}:2: " in answer.err
    assert "missing.txt" in answer.err
    documents = [json.loads(line) for line in output.read_text().splitlines()]
    assert [d["text"] for d in documents] == ["HeLa one.", "HeLa three.", "HeLa four."]
    assert [d["id"] for d in documents] == [f"{bad}:1", f"{bad}:3", str(good)]


def test_tag_that_finds_nothing_to_tag_leaves_an_earlier_output(
    call: Call, model: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out.jsonl"
    output.write_text("earlier")
    (tmp_path / "none").mkdir()
    answer = call("tag", model, tmp_path / "none", tmp_path / "missing.txt", "-o", output)
    assert answer.code == 1
    assert answer.err.count("What to do") == 2
    assert output.read_text() == "earlier"


@pytest.mark.parametrize("option", ["--from", "--to"])
def test_tag_refuses_an_unknown_format_at_once(call: Call, model: Path, option: str) -> None:
    answer = call("tag", model, option, "word", stdin="HeLa.")
    assert (answer.code, answer.out) == (2, "")
    assert "'word'" in answer.err


# --- and the score of it all ------------------------------------------------------------------------


def test_tagged_gold_is_scored(call: Call, model: Path, tmp_path: Path) -> None:
    gold, tagged = CELLS / "test.jsonl", tmp_path / "tagged.jsonl"
    sound(call("tag", model, gold, "-o", tagged, "-q"))
    scores = json.loads(sound(call("score", gold, tagged, "--json")).out)
    truth = sum(len(json.loads(line)["entities"]) for line in gold.read_text().splitlines())
    found = sum(len(json.loads(line)["entities"]) for line in tagged.read_text().splitlines())
    assert scores["documents"] == 70
    assert scores["overall"]["support"] == truth
    assert scores["overall"]["predicted"] == found
    perfect = json.loads(sound(call("score", gold, gold, "--json")).out)
    assert perfect["overall"]["f1"] == 1.0


# --- what all of them have --------------------------------------------------------------------------


def test_methods_are_listed(call: Call) -> None:
    rows = json.loads(sound(call("methods", "--json")).out)
    assert {"hgda", "hgda-nes", "maml"} <= {row["name"] for row in rows}
    assert all(row["title"] and row["paper"] and row["needs"] for row in rows)
    assert "hgda-nes" in sound(call("methods")).out


def test_quiet_says_nothing(call: Call, base: Path, config: Path, tmp_path: Path) -> None:
    one = tmp_path / "one.jsonl"
    one.write_bytes(jsonl(("HeLa met Bob.", [(0, 4, "Cell")])))  # would be warned of
    target = ("--target", CELLS, "--sizes", "3", "--draws", 1, "--limit", 2, "--steps", 1)
    learning = ("--config", config, "--iterations", 1)
    sources = ("--sources", DISEASE, DRUG)
    for arguments in (
        ("pretrain", *sources, *learning, "-o", tmp_path / "base"),
        ("adapt", one, "--base", base, "-o", tmp_path / "model"),
        ("tag", tmp_path / "model", one, "-o", tmp_path / "out.jsonl"),
        ("convert", one, tmp_path / "one.conll"),
    ):
        answer = sound(call(*arguments, "--quiet"))
        assert (answer.out, answer.err) == ("", ""), arguments[0]
    for arguments in (("--base", base), ("--method", "maml", *sources, *learning)):
        answer = sound(call("evaluate", *arguments, *target, "--json", "--quiet"))
        assert answer.err == ""
        json.loads(answer.out)
