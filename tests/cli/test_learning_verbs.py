"""pretrain, hardness, evaluate, adapt, tag, score: the way of a newcomer, with tiny settings."""

from __future__ import annotations

import json
import random
import shutil
import signal
from pathlib import Path

import pytest
from cli_kit import OWN, TINY, Answer, Call, contents, jsonl, listing

DISEASE, DRUG, GENE, CELLS = (OWN / name for name in ("disease", "drug", "gene", "cellline"))
SOURCES = (DISEASE, f"Medicine={DRUG}")  # the domains of the base
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
from adaptner.training import loop
from adaptner.pretraining import from_sources as pretraining

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


@pytest.mark.slow
@pytest.mark.processes
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


def test_evaluate_shares_of_the_train_split(call: Call, base: Path) -> None:
    """Percent of 130 sentences; --sizes have no default beside them."""
    arguments = ("evaluate", "--base", base, "--target", CELLS, "--draws", 2, "--limit", 3)
    quick = (*arguments, "--steps", 1)
    result = json.loads(sound(call(*quick, "--shares", "2.5,10", "--json")).out)
    assert [(r["share"], r["size"]) for r in result["rows"]] == [(2.5, 3)] * 2 + [(10, 13)] * 2
    assert [(s["share"], s["size"], s["n"]) for s in result["summary"]] == [
        (2.5, 3, 2),
        (10, 13, 2),
    ]
    both = json.loads(sound(call(*quick, "--shares", 100, "--sizes", 3, "--json")).out)
    assert [(r["share"], r["size"]) for r in both["rows"]] == [(None, 3)] * 2 + [(100, 130)] * 2
    same = [{**r, "seconds": 0, "share": None} for r in (both["rows"][0], result["rows"][0])]
    assert same[0] == same[1]  # 2.5 % are the draw of 3


def test_evaluate_shows_shares_where_there_are_any(call: Call, base: Path) -> None:
    arguments = ("evaluate", "--base", base, "--target", CELLS, "--draws", 1, "--limit", 2)
    quick = (*arguments, "--steps", 1, "-q")
    shown = sound(call(*quick, "--shares", "5")).out
    assert "share" in shown
    assert "5 %" in shown
    assert "share" not in sound(call(*quick, "--sizes", "3")).out


TARGET = ("--target", CELLS, "--sizes", "3", "--draws", 1, "--limit", 3)


def test_evaluate_sizes_without_shares_by_default(call: Call, base: Path) -> None:
    quick = ("--draws", 1, "--limit", 1, "--steps", 1, "--json")
    answer = sound(call("evaluate", "--base", base, "--target", CELLS, *quick))
    assert [r["size"] for r in json.loads(answer.out)["rows"]] == [5, 10, 20, 50]


def test_evaluate_another_method_on_a_base(call: Call, base: Path) -> None:
    """It adapts as the base's own would, steps and rates, unless --config says otherwise."""
    answer = sound(call("evaluate", "--base", base, "--method", "finetuning", *TARGET, "--json"))
    (row,) = json.loads(answer.out)["rows"]
    assert (row["method"], row["base"], row["steps"]) == ("finetuning", "hgda", 30)
    assert row["unlabelled"] == 0
    (own,) = json.loads(sound(call("evaluate", "--base", base, *TARGET, "--json")).out)["rows"]
    assert {**own, "method": "finetuning", "seconds": 0} == {**row, "seconds": 0}


@pytest.mark.parametrize("method", [(), ("--method", "finetuning")], ids=["own", "another"])
def test_a_configuration_goes_over_the_settings_of_a_base(
    call: Call, base: Path, tmp_path: Path, method: tuple[str, ...]
) -> None:
    (tmp_path / "c.toml").write_text("adaptation = {steps = 2}")
    more = (*method, "--config", tmp_path / "c.toml")
    answer = sound(call("evaluate", "--base", base, *more, *TARGET, "--json"))
    (row,) = json.loads(answer.out)["rows"]
    assert row["steps"] == 2  # and the base's epochs = 0
    answer = sound(
        call("adapt", CELLS / "dev.jsonl", "--base", base, *more, "--json", "-o", tmp_path / "m")
    )
    assert json.loads(answer.out)["steps"] == 2


def test_evaluate_dann_says_how_much_unlabelled_text_it_had(call: Call, base: Path) -> None:
    arguments = ("evaluate", "--base", base, "--method", "dann", "--sources", *SOURCES, *TARGET)
    result = json.loads(sound(call(*arguments, "--steps", 2, "--json")).out)
    (row,) = result["rows"]
    assert (row["method"], row["base"], row["steps"], row["unlabelled"]) == ("dann", "hgda", 2, 130)
    assert result["summary"][0]["unlabelled"] == 130
    shown = sound(call(*arguments, "--steps", 1)).out
    assert "unlabelled" in shown
    assert " 130 " in shown


@pytest.mark.parametrize("name", ["agg", "multitask"])
def test_evaluate_a_joint_method_from_its_sources(
    call: Call, tmp_path: Path, name: str, joint_config: Path
) -> None:
    """They serve to pretrain and to adapt."""
    arguments = ("--method", name, "--sources", DISEASE, DRUG, "--config", joint_config)
    answer = sound(call("evaluate", *arguments, "--iterations", 1, *TARGET, "--json"))
    (row,) = json.loads(answer.out)["rows"]
    assert (row["method"], row["base"], row["steps"], row["unlabelled"]) == (name, name, 3, 0)


def test_test_sentences_are_not_learnt_from_while_adapting(
    call: Call, base: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copied"
    shutil.copytree(CELLS, copy)
    shutil.copy(DISEASE / "dev.jsonl", copy / "test.jsonl")  # 30 sentences that are in a source
    target = ("--target", copy, "--sizes", 3, "--draws", 1, "--limit", 1, "--steps", 1)
    joint = ("--method", "agg", "--sources", *SOURCES)
    answer = sound(call("evaluate", "--base", base, *joint, *target))
    assert "30 source sentences removed" in answer.err


def test_evaluate_a_base_as_it_is(call: Call, tmp_path: Path, joint_config: Path) -> None:
    arguments = ("--method", "d-shift", "--sources", DISEASE, DRUG, "--config", joint_config)
    target = ("--target", DISEASE, "--shares", 5, "--draws", 2, "--limit", 5, "--json")
    answer = sound(call("evaluate", *arguments, "--iterations", 2, *target))
    first, second = ({**r, "seed": 0, "seconds": 0} for r in json.loads(answer.out)["rows"])
    assert first["steps"] == 0
    assert (first["f1"], first["size"]) == (second["f1"], 6)  # no draw is learnt from


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


@pytest.fixture(scope="session")
def joint_config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As TINY, for methods that have no hardness to record."""
    file = tmp_path_factory.mktemp("joint") / "config.toml"
    lines = [line for line in TINY.splitlines() if not line.startswith("record_every")]
    file.write_text("\n".join(lines).replace("steps = 30", "steps = 3"))
    return file


@pytest.mark.parametrize("name", ["agg", "multitask", "dann"])
def test_a_joint_method_adapts_a_base(call: Call, base: Path, tmp_path: Path, name: str) -> None:
    """From the command line to a saved model that tags, the same as from Python."""
    (tmp_path / "c.toml").write_text("adaptation = {steps = 4}")
    model = tmp_path / "model"
    more = ("--sources", *SOURCES, "--config", tmp_path / "c.toml")
    adapt = ("adapt", CELLS / "dev.jsonl", "--base", base, "--method", name, *more)
    facts = json.loads(sound(call(*adapt, "--json", "-o", model)).out)
    assert (facts["method"], facts["base"], facts["steps"]) == (name, "hgda", 4)
    assert (facts["sentences"], facts["source_sentences"]) == (30, 320)
    manifest = json.loads((model / "manifest.json").read_text())
    assert manifest["method"] == name
    labels = ["CellLine", *(["Disease", "Drug"] if name == "agg" else [])]  # AGG has one decoder
    assert manifest["domains"][0]["labels"] == labels
    tagged = sound(call("tag", model, stdin=TEXT)).records()
    assert tagged[0]["text"] == TEXT
    sound_entities(tagged[0])

    import adaptner as an
    from adaptner.methods.configuration import method_for_base
    from adaptner.models.base import Base

    start = Base.load(base)
    chosen = method_for_base(name, start, tmp_path / "c.toml")
    sources = [str(source) for source in SOURCES]
    an.adapt(CELLS / "dev.jsonl", start, method=chosen, sources=sources).save(tmp_path / "python")
    assert contents(tmp_path / "python") == contents(model)


def test_another_method_adapts_with_the_settings_of_the_base(
    call: Call, base: Path, model: Path, tmp_path: Path
) -> None:
    adapt = ("adapt", CELLS / "train.jsonl", "--base", base, "-q")
    sound(call(*adapt, "--method", "finetuning", "-o", tmp_path / "other"))
    sound(call(*adapt, "--method", "hgda", "-o", tmp_path / "own"))
    assert contents(tmp_path / "own") == contents(model)
    ours, theirs = contents(tmp_path / "other"), contents(model)
    assert ours["weights.safetensors"] == theirs["weights.safetensors"]
    manifest = json.loads(ours["manifest.json"])
    assert (manifest["method"], manifest["facts"]["base"]) == ("finetuning", "hgda")


def test_unlabelled_text_from_files_of_all_formats(call: Call, base: Path, tmp_path: Path) -> None:
    text, lines, columns = (tmp_path / f"more{e}" for e in (".txt", ".jsonl", ".conll"))
    text.write_text("HeLa cells died. The rats ate.\n")
    lines.write_bytes(jsonl(("K562 cells grew.", [(0, 3, "Cut")])))  # labels are ignored
    columns.write_text("BHK-21\tB-Cell\ncells\tO\n")
    (tmp_path / "c.toml").write_text("adaptation = {steps = 2}")
    more = ("--method", "dann", "--sources", *SOURCES, "--config", tmp_path / "c.toml")
    adapt = ("adapt", CELLS / "dev.jsonl", "--base", base, *more, "--json")
    facts = json.loads(
        sound(call(*adapt, "--unlabelled", text, lines, columns, "-o", tmp_path / "m")).out
    )
    assert facts["unlabelled"] == 4
    spelled = [part for file in (text, lines, columns) for part in ("--unlabelled", file)]
    sound(call(*adapt, *spelled, "-o", tmp_path / "again"))
    assert contents(tmp_path / "again") == contents(tmp_path / "m")
    facts = json.loads(sound(call(*adapt, "-o", tmp_path / "without")).out)
    assert facts["unlabelled"] == 30  # the labelled sentences serve
    assert contents(tmp_path / "without") != contents(tmp_path / "m")


def test_a_base_used_as_it_is_needs_no_more_than_the_labels_wanted(
    call: Call, tmp_path: Path, joint_config: Path
) -> None:
    run = ("pretrain", "--method", "d-shift", "--sources", *SOURCES, "--config", joint_config)
    sound(call(*run, "--iterations", 2, "-q", "-o", tmp_path / "base"))
    one = tmp_path / "one.jsonl"
    one.write_bytes(jsonl(("Gout hurts.", [(0, 4, "Disease")])))
    for method in ((), ("--method", "metaner-zero")):
        model = tmp_path / f"model{len(method)}"
        answer = sound(call("adapt", one, "--base", tmp_path / "base", *method, "-o", model))
        assert "warning" not in answer.err  # one sentence is enough to show a label
        assert "mentions of Disease (1); the base as it is; model in" in answer.err
        assert sound(call("tag", model, stdin=TEXT)).records()[0]["text"] == TEXT
    two = contents(tmp_path / "model0"), contents(tmp_path / "model2")
    assert two[0]["weights.safetensors"] == two[1]["weights.safetensors"]


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
    rows = {row["name"]: row for row in json.loads(sound(call("methods", "--json")).out)}
    assert {"hgda", "hgda-nes", "maml"} <= rows.keys()
    fields = ["name", "title", "paper", "needs", "supports", "joint", "unlabelled", "zero_shot"]
    assert all(list(row) == fields for row in rows.values())
    assert all(row[field] for row in rows.values() for field in fields[:5])
    assert {n for n, row in rows.items() if row["joint"]} >= {"agg", "dann", "multitask"}
    users = [n for n, row in rows.items() if row["unlabelled"]]
    assert users == [
        *("crossdomain-lm", "dann", "multi-cell", "named", "pdaln", "self-train", "stm-elmo")
    ]
    assert not rows["hgda"]["joint"]
    assert "sources' labels" in rows["d-shift"]["supports"]


@pytest.mark.parametrize("width", [80, 120])
def test_the_list_of_methods_fits_the_terminal(
    call: Call, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    from adaptner.cli.common import out
    from adaptner.methods import methods

    monkeypatch.setattr(out, "width", width)
    lines = sound(call("methods")).out.splitlines()
    assert max(map(len, lines)) <= width
    assert "…" not in "".join(lines)
    (header,) = (line for line in lines if "needs" in line.split())
    assert header.split() == ["name", "title", "paper", "needs", "supports"]
    firsts = [line.split()[0] for line in lines if line[1:2].strip() and line[1] != "─"]
    assert firsts == ["name", *methods()]  # a row begins where its name stands


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


# --- raw text and no labels -----------------------------------------------------------------------


def packed(folder: Path, ending: str) -> Path:
    """Three lines of text, one of them with two sentences, as a user may have them."""
    import gzip
    import lzma

    opened = {".txt": open, ".gz": gzip.open, ".xz": lzma.open}[ending]
    file = folder / f"text.txt{ending}".replace(".txt.txt", ".txt")
    with opened(file, "wb") as out:
        out.write(b"HeLa cells died. K562 cells grew.\n\nThe BHK-21 line was kept.\nOthers died.\n")
    return file


@pytest.mark.parametrize("ending", [".txt", ".gz", ".xz"])
def test_cross_domain_learning_from_raw_text(
    call: Call, base: Path, tmp_path: Path, ending: str
) -> None:
    (tmp_path / "c.toml").write_text("adaptation = {steps = 2}")
    more = ("--sources", *SOURCES, "--config", tmp_path / "c.toml", "--json")
    adapt = ("adapt", CELLS / "dev.jsonl", "--base", base, "--method", "crossdomain-lm", *more)
    text = packed(tmp_path, ending)
    facts = json.loads(sound(call(*adapt, "--unlabelled", text, "-o", tmp_path / "m")).out)
    assert (facts["method"], facts["steps"], facts["unlabelled"]) == ("crossdomain-lm", 2, 4)
    assert (facts["sentences"], facts["source_sentences"]) == (30, 320)
    tagged = sound(call("tag", tmp_path / "m", stdin=TEXT)).records()
    assert tagged[0]["text"] == TEXT


@pytest.mark.slow
def test_cross_domain_learning_over_the_base_of_the_package(call: Call, tmp_path: Path) -> None:
    """With sources of the user's, which that base knows nothing of, or with none."""
    (tmp_path / "c.toml").write_text("adaptation = {steps = 2, epochs = 0}")
    more = ("--config", tmp_path / "c.toml", "--unlabelled", packed(tmp_path, ".gz"))
    adapt = ("adapt", "--method", "crossdomain-lm", *more, "-o", tmp_path / "m")
    mine = CELLS / "dev.jsonl"
    alone = sound(call(*adapt, mine))
    assert "no --sources: crossdomain-lm learns from the sentences and the text" in alone.err
    assert sound(call("tag", tmp_path / "m", stdin=TEXT)).records()[0]["text"] == TEXT
    shutil.rmtree(tmp_path / "m")
    joint = sound(call(*adapt, mine, "--sources", GENE, "--json"))
    assert "no --sources" not in joint.err
    facts = json.loads(joint.out)
    assert (facts["source_sentences"], facts["unlabelled"], facts["steps"]) == (160, 4, 2)


@pytest.mark.parametrize("name", ["crossdomain-lm", "dann"])
def test_zero_shot_from_the_command_line(call: Call, base: Path, tmp_path: Path, name: str) -> None:
    """No labelled sentence: the tagger finds the sources' labels."""
    (tmp_path / "c.toml").write_text("adaptation = {steps = 2}")
    more = ("--sources", *SOURCES, "--config", tmp_path / "c.toml", "--method", name)
    adapt = ("adapt", "--zero-shot", "--base", base, *more)
    text = ("--unlabelled", packed(tmp_path, ".xz"))
    facts = json.loads(sound(call(*adapt, *text, "--json", "-o", tmp_path / "m")).out)
    assert (facts["sentences"], facts["unlabelled"], facts["labels"]) == (0, 4, {})
    manifest = json.loads((tmp_path / "m" / "manifest.json").read_text())
    assert manifest["domains"][0]["labels"] == ["Disease", "Drug"]
    answer = sound(call(*adapt, *text, "-o", tmp_path / "n"))
    assert "no labels of the target; it finds Disease, Drug" in answer.err
    assert contents(tmp_path / "n") == contents(tmp_path / "m")


# --- copies -----------------------------------------------------------------------------------------


def test_adapt_learns_from_copies_with_other_mentions(
    call: Call, base: Path, tmp_path: Path
) -> None:
    few = tmp_path / "few.jsonl"
    few.write_text("".join((CELLS / "train.jsonl").read_text().splitlines(True)[:5]))
    given = ("adapt", few, "--base", base, "--augment", 2)
    answer = sound(call(*given, "-o", tmp_path / "model"))
    assert "and 10 copies" in answer.err
    other = sound(call(*given, "--sources", CELLS, "--json", "-o", tmp_path / "other"))
    assert json.loads(other.out)["augmented"] == 10
    one = tmp_path / "one.jsonl"
    one.write_text('{"text": "HeLa grew", "entities": [{"start": 0, "end": 4, "label": "X"}]}\n')
    alone = sound(call("adapt", one, "--base", base, "--augment", 2, "-o", tmp_path / "alone"))
    assert "no other mention" in alone.err


def test_where_synonyms_are_from_is_said(call: Call, base: Path, tmp_path: Path) -> None:
    few = tmp_path / "few.jsonl"
    few.write_text("".join((DISEASE / "train.jsonl").read_text().splitlines(True)[:4]))
    steps = tmp_path / "steps.toml"
    steps.write_text("[adaptation]\nsteps = 2\nepochs = 0\nbatch = 3\n")
    given = ("adapt", few, "--base", base, "--method", "pdaln", "--sources", SOURCES[0])
    answer = sound(call(*given, "--config", steps, "-o", tmp_path / "model"))
    assert "synonyms: a small built-in list" in answer.err


# --- sources on top of the base of the package ----------------------------------------------------


@pytest.mark.slow
def test_a_domain_of_ones_own_is_added_to_the_base_of_the_package(
    call: Call, tmp_path: Path
) -> None:
    """By its name; what it knew stays, and what it has learnt is where a tagger starts."""
    learn = ("pretrain", "--method", "named", "--sources", OWN / "cellline", "--iterations", 40)
    sound(call(*learn, "--start", "biomedical", "-o", tmp_path / "base"))
    told = json.loads((tmp_path / "base" / "manifest.json").read_text(encoding="utf-8"))
    known = [domain["name"] for domain in told["domains"]]
    assert known == ["Disease", "Drug", "Gene", "Species", "CellLine"]
    adapt = ("adapt", OWN / "cellline" / "dev.jsonl", "--base", tmp_path / "base", "--no-estimate")
    assert "known to the base before: CellLine" in sound(call(*adapt, "-o", tmp_path / "m")).err
    refused = call(*learn, "--start", "biomedicine", "-o", tmp_path / "other")
    assert refused.code == 2
    assert "no base is called 'biomedicine'" in refused.err


def test_the_package_s_base_learns_from_text_without_labels_too(call: Call, tmp_path: Path) -> None:
    few, more = tmp_path / "few.jsonl", tmp_path / "more.txt"
    few.write_text("".join((CELLS / "train.jsonl").read_text().splitlines(True)[:5]))
    more.write_text("HeLa and K562 cells were grown. We thank Dr. Smith.\n" * 3)
    given = ("adapt", few, "--unlabelled", more, "--no-estimate")
    said = sound(call(*given, "-o", tmp_path / "model"))
    assert ", 6 sentences without labels; adapted in" in said.err
    told = json.loads(sound(call(*given, "-o", tmp_path / "again", "--json")).out)
    assert (told["unlabelled"], told["method"]) == (6, "named")
