"""``adaptner adapt``."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from cli_kit import (
    BASE_SOURCES,
    CELL_TEXT,
    CELLS,
    DISEASE,
    GENE,
    GOOD,
    checked_entities,
    contents,
    jsonl,
    listing,
    manifest_of,
    refused,
)


def packed(folder: Path, ending: str) -> Path:
    """Three lines of text, one of them with two sentences, as a user may have them."""
    import gzip
    import lzma

    opened = {".txt": open, ".gz": gzip.open, ".xz": lzma.open}[ending]
    file = folder / f"text.txt{ending}".replace(".txt.txt", ".txt")
    with opened(file, "wb") as out:
        out.write(b"HeLa cells died. K562 cells grew.\n\nThe BHK-21 line was kept.\nOthers died.\n")
    return file


def test_divergence_writes_no_model(call, base, tmp_path):
    wild = tmp_path / "wild"
    shutil.copytree(base, wild)
    manifest = manifest_of(wild)
    manifest["config"]["adaptation"]["optimiser"]["rate"] = 1e30
    (wild / "manifest.json").write_text(json.dumps(manifest))
    (tmp_path / "mine.jsonl").write_bytes(GOOD * 3)
    answer = call("adapt", tmp_path / "mine.jsonl", "--base", wild, "-o", tmp_path / "model")
    refused(answer, 1, "the loss became", "nothing had been written")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mine.jsonl", "wild"]


def test_several_new_labels_are_adapted_to_at_once(call, base, tmp_path):
    file = tmp_path / "mine.jsonl"
    sentences = [("HeLa met Bob.", [(0, 4, "Cell"), (9, 12, "Person")])] * 3
    file.write_bytes(jsonl(*sentences, ("Nothing here.", [])))
    facts = call.facts("adapt", file, "--base", base, "--json", "-o", tmp_path / "model")
    assert facts["labels"] == {"Cell": 3, "Person": 3}
    assert (facts["sentences"], facts["steps"]) == (4, 30)
    manifest = manifest_of(tmp_path / "model")
    assert manifest["domains"][0]["labels"] == ["Cell", "Person"]
    assert not [f for f in listing(tmp_path / "model") if f.endswith((".pt", ".pkl", ".bin"))]


def test_same_seed_gives_the_same_bytes(call, base, model, tmp_path):
    arguments = ("adapt", CELLS / "train.jsonl", "--base", base, "-q")
    for seed in (0, 1):
        call.ok(*arguments, "--seed", seed, "-o", tmp_path / str(seed))
    assert contents(tmp_path / "0") == contents(model)
    assert contents(tmp_path / "1") != contents(model)


def test_conll_is_read_and_an_earlier_model_replaced(call, base, model, tmp_path):
    file = tmp_path / "mine.data"
    file.write_text("HeLa\tB-Cell\ncells\tO\n\nBHK-21\tB-Cell\n\n")
    shutil.copytree(model, tmp_path / "model")
    arguments = ("--base", base, "-o", tmp_path / "model")
    answer = call.ok("adapt", file, "--from", "conll", *arguments)
    assert "2 sentences, mentions of Cell (2)" in answer.err
    manifest = manifest_of(tmp_path / "model")
    assert manifest["domains"][0]["labels"] == ["Cell"]
    assert listing(tmp_path)[:1] == ["mine.data"]  # no hidden neighbour is left


@pytest.mark.parametrize("name", ["agg", "multitask", "dann"])
def test_joint_method_adapts_a_base(call, base, tmp_path, name):
    """From the command line to a saved model that tags, the same as from Python."""
    (tmp_path / "c.toml").write_text("adaptation = {steps = 4}")
    model = tmp_path / "model"
    more = ("--sources", *BASE_SOURCES, "--config", tmp_path / "c.toml")
    adapt = ("adapt", CELLS / "dev.jsonl", "--base", base, "--method", name, *more)
    facts = call.facts(*adapt, "--json", "-o", model)
    assert (facts["method"], facts["base"], facts["steps"]) == (name, "hgda", 4)
    assert (facts["sentences"], facts["source_sentences"]) == (30, 320)
    manifest = manifest_of(model)
    assert manifest["method"] == name
    labels = ["CellLine", *(["Disease", "Drug"] if name == "agg" else [])]  # AGG has one decoder
    assert manifest["domains"][0]["labels"] == labels
    tagged = call.ok("tag", model, stdin=CELL_TEXT).records()
    assert tagged[0]["text"] == CELL_TEXT
    checked_entities(tagged[0])

    import adaptner as an
    from adaptner.methods.configuration import method_for_base
    from adaptner.models.base import Base

    start = Base.load(base)
    chosen = method_for_base(name, start, tmp_path / "c.toml")
    sources = [str(source) for source in BASE_SOURCES]
    an.adapt(CELLS / "dev.jsonl", start, method=chosen, sources=sources).save(tmp_path / "python")
    assert contents(tmp_path / "python") == contents(model)


def test_another_method_adapts_with_the_settings_of_the_base(call, base, model, tmp_path):
    adapt = ("adapt", CELLS / "train.jsonl", "--base", base, "-q")
    call.ok(*adapt, "--method", "finetuning", "-o", tmp_path / "other")
    call.ok(*adapt, "--method", "hgda", "-o", tmp_path / "own")
    assert contents(tmp_path / "own") == contents(model)
    ours, theirs = contents(tmp_path / "other"), contents(model)
    assert ours["weights.safetensors"] == theirs["weights.safetensors"]
    manifest = json.loads(ours["manifest.json"])
    assert (manifest["method"], manifest["facts"]["base"]) == ("finetuning", "hgda")


def test_unlabelled_text_is_read_from_files_of_all_formats(call, base, tmp_path):
    text, lines, columns = (tmp_path / f"more{e}" for e in (".txt", ".jsonl", ".conll"))
    text.write_text("HeLa cells died. The rats ate.\n")
    lines.write_bytes(jsonl(("K562 cells grew.", [(0, 3, "Cut")])))  # labels are ignored
    columns.write_text("BHK-21\tB-Cell\ncells\tO\n")
    (tmp_path / "c.toml").write_text("adaptation = {steps = 2}")
    more = ("--method", "dann", "--sources", *BASE_SOURCES, "--config", tmp_path / "c.toml")
    adapt = ("adapt", CELLS / "dev.jsonl", "--base", base, *more, "--json")
    facts = call.facts(*adapt, "--unlabelled", text, lines, columns, "-o", tmp_path / "m")
    assert facts["unlabelled"] == 4
    spelled = [part for file in (text, lines, columns) for part in ("--unlabelled", file)]
    call.ok(*adapt, *spelled, "-o", tmp_path / "again")
    assert contents(tmp_path / "again") == contents(tmp_path / "m")
    facts = call.facts(*adapt, "-o", tmp_path / "without")
    assert facts["unlabelled"] == 30  # the labelled sentences serve
    assert contents(tmp_path / "without") != contents(tmp_path / "m")


def test_unchanged_base_needs_the_wanted_labels_only(call, tmp_path, joint_config):
    run = ("pretrain", "--method", "d-shift", "--sources", *BASE_SOURCES, "--config", joint_config)
    call.ok(*run, "--iterations", 2, "-q", "-o", tmp_path / "base")
    one = tmp_path / "one.jsonl"
    one.write_bytes(jsonl(("Gout hurts.", [(0, 4, "Disease")])))
    for method in ((), ("--method", "metaner-zero")):
        model = tmp_path / f"model{len(method)}"
        answer = call.ok("adapt", one, "--base", tmp_path / "base", *method, "-o", model)
        assert "warning" not in answer.err  # one sentence is enough to show a label
        assert "mentions of Disease (1); the base is used unchanged; model in" in answer.err
        assert call.ok("tag", model, stdin=CELL_TEXT).records()[0]["text"] == CELL_TEXT
    two = contents(tmp_path / "model0"), contents(tmp_path / "model2")
    assert two[0]["weights.safetensors"] == two[1]["weights.safetensors"]


@pytest.mark.parametrize("ending", [".txt", ".gz", ".xz"])
def test_cross_domain_learning_from_raw_text(call, base, tmp_path, ending):
    (tmp_path / "c.toml").write_text("adaptation = {steps = 2}")
    more = ("--sources", *BASE_SOURCES, "--config", tmp_path / "c.toml", "--json")
    adapt = ("adapt", CELLS / "dev.jsonl", "--base", base, "--method", "crossdomain-lm", *more)
    text = packed(tmp_path, ending)
    facts = call.facts(*adapt, "--unlabelled", text, "-o", tmp_path / "m")
    assert (facts["method"], facts["steps"], facts["unlabelled"]) == ("crossdomain-lm", 2, 4)
    assert (facts["sentences"], facts["source_sentences"]) == (30, 320)
    tagged = call.ok("tag", tmp_path / "m", stdin=CELL_TEXT).records()
    assert tagged[0]["text"] == CELL_TEXT


@pytest.mark.slow
def test_cross_domain_learning_over_the_package_base(call, tmp_path):
    """With sources of the user's, which that base knows nothing of, or with none."""
    (tmp_path / "c.toml").write_text("adaptation = {steps = 2, epochs = 0}")
    more = ("--config", tmp_path / "c.toml", "--unlabelled", packed(tmp_path, ".gz"))
    adapt = ("adapt", "--method", "crossdomain-lm", *more, "-o", tmp_path / "m")
    mine = CELLS / "dev.jsonl"
    alone = call.ok(*adapt, mine)
    assert "no --sources: crossdomain-lm learns from the sentences and text" in alone.err
    assert call.ok("tag", tmp_path / "m", stdin=CELL_TEXT).records()[0]["text"] == CELL_TEXT
    shutil.rmtree(tmp_path / "m")
    joint = call.ok(*adapt, mine, "--sources", GENE, "--json")
    assert "no --sources" not in joint.err
    facts = json.loads(joint.out)
    assert (facts["source_sentences"], facts["unlabelled"], facts["steps"]) == (160, 4, 2)


@pytest.mark.parametrize("name", ["crossdomain-lm", "dann"])
def test_zero_shot_needs_no_labelled_sentences(call, base, tmp_path, name):
    """No labelled sentence: the tagger finds the sources' labels."""
    (tmp_path / "c.toml").write_text("adaptation = {steps = 2}")
    more = ("--sources", *BASE_SOURCES, "--config", tmp_path / "c.toml", "--method", name)
    adapt = ("adapt", "--zero-shot", "--base", base, *more)
    text = ("--unlabelled", packed(tmp_path, ".xz"))
    facts = call.facts(*adapt, *text, "--json", "-o", tmp_path / "m")
    assert (facts["sentences"], facts["unlabelled"], facts["labels"]) == (0, 4, {})
    manifest = manifest_of(tmp_path / "m")
    assert manifest["domains"][0]["labels"] == ["Disease", "Drug"]
    answer = call.ok(*adapt, *text, "-o", tmp_path / "n")
    assert "no labels of the target; it finds Disease, Drug" in answer.err
    assert contents(tmp_path / "n") == contents(tmp_path / "m")


def test_augment_adds_copies_with_other_mentions(call, base, tmp_path):
    few = tmp_path / "few.jsonl"
    few.write_text("".join((CELLS / "train.jsonl").read_text().splitlines(True)[:5]))
    given = ("adapt", few, "--base", base, "--augment", 2)
    answer = call.ok(*given, "-o", tmp_path / "model")
    assert ", 10 augmented copies" in answer.err
    other = call.ok(*given, "--sources", CELLS, "--json", "-o", tmp_path / "other")
    assert json.loads(other.out)["augmented"] == 10
    one = tmp_path / "one.jsonl"
    one.write_text('{"text": "HeLa grew", "entities": [{"start": 0, "end": 4, "label": "X"}]}\n')
    alone = call.ok("adapt", one, "--base", base, "--augment", 2, "-o", tmp_path / "alone")
    assert "no other mention" in alone.err


def test_origin_of_synonyms_is_reported(call, base, tmp_path):
    few = tmp_path / "few.jsonl"
    few.write_text("".join((DISEASE / "train.jsonl").read_text().splitlines(True)[:4]))
    steps = tmp_path / "steps.toml"
    steps.write_text("[adaptation]\nsteps = 2\nepochs = 0\nbatch = 3\n")
    given = ("adapt", few, "--base", base, "--method", "pdaln", "--sources", BASE_SOURCES[0])
    answer = call.ok(*given, "--config", steps, "-o", tmp_path / "model")
    assert "synonyms: a small built-in list" in answer.err


def test_package_base_uses_unlabelled_text(call, tmp_path):
    few, more = tmp_path / "few.jsonl", tmp_path / "more.txt"
    few.write_text("".join((CELLS / "train.jsonl").read_text().splitlines(True)[:5]))
    more.write_text("HeLa and K562 cells were grown. We thank Dr. Smith.\n" * 3)
    given = ("adapt", few, "--unlabelled", more, "--no-estimate")
    answer = call.ok(*given, "-o", tmp_path / "model")
    assert ", 6 unlabelled sentences; adapted in" in answer.err
    facts = call.facts(*given, "-o", tmp_path / "again", "--json")
    assert (facts["unlabelled"], facts["method"]) == (6, "named")
