"""``adaptner pretrain``."""

from __future__ import annotations

import json
import random
import shutil
import signal

import pytest
from cli_kit import (
    CELLS,
    DISEASE,
    DRUG,
    GENE,
    OWN,
    SOURCE_OPTIONS,
    TINY,
    contents,
    listing,
    manifest_of,
    refused,
)

TOO_FEW = [(("--sources", OWN / "disease"), "at least two"), ((*SOURCE_OPTIONS, "--k", 200), "--k")]


RUN = ["card.md", "config.json", "hardness.jsonl", "manifest.json", "metrics.jsonl"]


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


def test_divergence_stops_the_run_and_keeps_the_last_finite_state(call, tmp_path):
    (tmp_path / "wild.toml").write_text(TINY + "base_rate = 1e30\n")
    run = ("pretrain", *SOURCE_OPTIONS, "--config", tmp_path / "wild.toml", "-o", tmp_path / "base")
    answer = call(*run, "--iterations", 5)
    refused(answer, 1, "the loss became", "lower the learning rates", "checkpoint.safetensors")
    assert "manifest.json" not in listing(tmp_path / "base")
    from safetensors.torch import load_file

    kept = load_file(tmp_path / "base" / "checkpoint.safetensors")
    assert all(bool(t.isfinite().all()) for n, t in kept.items() if n.startswith("model."))


@pytest.mark.parametrize(("arguments", "says"), TOO_FEW, ids=["domains", "sentences"])
def test_too_few_sources_are_refused(call, config, tmp_path, arguments, says):
    answer = call("pretrain", "--config", config, *arguments, "-o", tmp_path / "base")
    refused(answer, 1, says)
    assert "manifest.json" not in listing(tmp_path / "base")


def test_too_few_sources_leave_no_folder(call, config, tmp_path):
    call("pretrain", "--config", config, "--sources", OWN / "drug", "-o", tmp_path / "base")
    assert listing(tmp_path) == []


def test_run_leaves_base_records_and_card(base):
    assert listing(base) == sorted([*RUN, "weights.safetensors", "words.txt"])
    manifest = manifest_of(base)
    assert [d["name"] for d in manifest["domains"]] == ["Disease", "Medicine"]  # DOMAIN=DIR
    assert manifest["config"]["encoder"]["hidden"] == 12  # --config
    assert manifest["facts"]["iterations"] == 5
    metrics = [json.loads(line) for line in (base / "metrics.jsonl").read_text().splitlines()]
    assert [m["iteration"] for m in metrics] == [1, 2, 3, 4, 5]
    assert "HGDA" in (base / "card.md").read_text()


def test_sources_may_follow_one_option_or_many_and_the_bytes_are_the_same(call, tmp_path, config):
    first = ("--sources", DISEASE, DRUG, GENE)
    second = ("--sources", DISEASE, "--sources", DRUG, "--sources", GENE)
    for name, sources in (("one", first), ("many", second)):
        answer = call.ok(
            *("pretrain", "--method", "maml", *sources, "--config", config, "--k", 3),
            *("--iterations", 3, "--seed", 7, "--json", "-o", tmp_path / name),
        )
        result = json.loads(answer.out)
        assert (result["method"], result["iterations"], result["seed"]) == ("maml", 3, 7)
        assert [s["domain"] for s in result["sources"]] == ["Disease", "Drug", "Gene"]
        assert "Gene: 160 sentences" in answer.err
    one, many = contents(tmp_path / "one"), contents(tmp_path / "many")
    assert one == many
    assert json.loads(one["config.json"])["config"]["k"] == 3  # the command line over the file


def test_another_seed_gives_another_base(call, tmp_path, config, base):
    sources = ("--sources", DISEASE, f"Medicine={DRUG}")
    common = ("--config", config, "--iterations", 5, "-q")
    for seed in (0, 1):
        call.ok("pretrain", *sources, *common, "--seed", seed, "-o", tmp_path / str(seed))
    assert contents(tmp_path / "0") == contents(base)
    assert contents(tmp_path / "1")["weights.safetensors"] != contents(base)["weights.safetensors"]


@pytest.mark.slow
@pytest.mark.processes
def test_killed_run_resumes_to_the_same_bytes(call, child, tmp_path, config, base):
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

    call.ok(*run, "--resume")
    assert contents(tmp_path / "base") == contents(base)


def test_vectors_are_stored_in_base_and_model(call, tmp_path, config):
    vectors = tmp_path / "tiny.vec"
    rng = random.Random(3)
    words = ["the", "of", "cells", "mutation", "patients", "β-catenin"]
    rows = [f"{w} {' '.join(f'{rng.gauss(0, 1):.3f}' for _ in range(6))}" for w in words]
    vectors.write_text("\n".join([f"{len(words)} 6", *rows, ""]), encoding="utf-8")
    pretrained = tmp_path / "base"
    call.ok(
        *("pretrain", "--sources", DISEASE, DRUG, "--config", config, "--iterations", 2),
        *("--vectors", vectors, "-q", "-o", pretrained),
    )
    vectors.unlink()  # the base stands alone
    assert (pretrained / "vectors.vocab.txt").read_text(encoding="utf-8").split() == words
    call.ok("adapt", CELLS / "dev.jsonl", "--base", pretrained, "-q", "-o", tmp_path / "model")
    shutil.rmtree(pretrained)  # and so does the model
    tagged = call.ok("tag", tmp_path / "model", stdin="The cells of patients.")
    assert tagged.records()[0]["text"] == "The cells of patients."


def test_held_out_test_sentences_are_removed_from_the_sources(call, tmp_path, config):
    copy = tmp_path / "copied"
    shutil.copytree(DISEASE, copy)
    shutil.copy(DISEASE / "dev.jsonl", copy / "test.jsonl")  # 30 sentences that are in a source
    answer = call.ok(
        *("pretrain", "--sources", DISEASE, DRUG, "--held-out", copy, "--config", config),
        *("--iterations", 1, "-o", tmp_path / "base", "--json"),
    )
    assert [s["removed"] for s in json.loads(answer.out)["sources"]] == [30, 0]
    assert "30 left out" in answer.err


@pytest.mark.slow
def test_own_domain_is_added_to_the_package_base(call, tmp_path):
    """By its name; what it knew stays. A label that terminologies know starts from them all the same."""
    learn = ("pretrain", "--method", "named", "--sources", OWN / "cellline", "--iterations", 40)
    call.ok(*learn, "--start", "biomedical", "-o", tmp_path / "base")
    manifest = manifest_of(tmp_path / "base")
    known = [domain["name"] for domain in manifest["domains"]]
    assert known == ["Disease", "Drug", "Gene", "Species", "CellLine"]
    adapt = ("adapt", OWN / "cellline" / "dev.jsonl", "--base", tmp_path / "base", "--no-estimate")
    assert "CellLine starts from Cell lines" in call.ok(*adapt, "-o", tmp_path / "m").err
    refused = call(*learn, "--start", "biomedicine", "-o", tmp_path / "other")
    assert refused.code == 2
    assert "no base is called 'biomedicine'" in refused.err
