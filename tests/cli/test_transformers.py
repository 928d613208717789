"""--encoder: from a pretrained transformer to tags, and what is refused at once."""

from __future__ import annotations

import json

import pytest
from cli_kit import OWN, SOURCE_OPTIONS, manifest_of

import adaptner

QUICK = "[adaptation]\nsteps = 2\nepochs = 0\n"


def test_pretrain_adapt_and_tag(call, tmp_path, tiny_transformer):
    config = tmp_path / "config.toml"
    config.write_text(f'k = 2\ntasks = 2\n{QUICK}[encoder]\nsubwords = "mean"\n')
    base, model = tmp_path / "base", tmp_path / "model"
    answer = call.ok(
        *("pretrain", "--method", "hgda-nes", *SOURCE_OPTIONS, "--encoder", tiny_transformer),
        *("--config", config, "--iterations", 2, "-o", base),
    )
    manifest = manifest_of(base)
    assert manifest["encoder"]["subwords"] == "mean"  # the file over what --encoder means
    assert manifest["encoder"]["name"] == str(tiny_transformer)
    assert manifest["shape"]["decoder"] == "softmax"
    assert manifest["config"]["adaptation"]["steps"] == 2
    assert manifest["facts"]["vectors"] == "pretrained"
    assert f"transformer `{tiny_transformer}`" in (base / "card.md").read_text()
    sentences = OWN / "cellline" / "train.jsonl"
    answer = call.ok("adapt", sentences, "--base", base, "-o", model)
    answer = call.ok("tag", model, stdin="HeLa cells were grown.\n")
    assert json.loads(answer.out)["text"] == "HeLa cells were grown.\n"


def test_adapt_a_transformer_without_a_base(call, tmp_path, tiny_transformer, monkeypatch):
    config = tmp_path / "config.toml"
    config.write_text(QUICK)
    train = OWN / "cellline" / "train.jsonl"
    call.ok(
        *("adapt", train, "--encoder", tiny_transformer, "--config", config),
        *("-o", tmp_path / "model"),
    )
    from adaptner.methods import transformer_settings

    monkeypatch.setitem(transformer_settings.ADAPTATION, "steps", 2)
    monkeypatch.setitem(transformer_settings.ADAPTATION, "epochs", 0)
    tagger = adaptner.adapt(train, encoder=str(tiny_transformer))
    text = ["HeLa cells were grown."]
    assert tagger.predict(text) == adaptner.load(tmp_path / "model").predict(text)
    assert tagger.method == "in-domain"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("pretrain", *SOURCE_OPTIONS, "--encoder", "nobody/nothing", "-o", "x"), "--download"),
        (("adapt", OWN / "cellline/train.jsonl", "--encoder", "nobody/nothing", "-o", "x"), "here"),
        (("pretrain", *SOURCE_OPTIONS, "--download", "-o", "x"), "no transformer is named"),
        (("adapt", "a.jsonl", "--download", "-o", "x"), "no transformer is named"),
        (("reproduce", "hgda/3", "--download"), "no transformer is named"),
        (("reproduce", "metaner/3", "--encoder", "minilm", "--data", OWN), "metaner/3 has no row"),
        (
            ("pretrain", *SOURCE_OPTIONS, "--method", "named", "--encoder", "minilm", "-o", "x"),
            "named",
        ),
        (
            (
                "pretrain",
                *SOURCE_OPTIONS,
                "--method",
                "multi-cell",
                "--encoder",
                "minilm",
                "-o",
                "x",
            ),
            "multi-cell needs a recurrent encoder",
        ),
        (
            ("pretrain", *SOURCE_OPTIONS, "--encoder", "minilm", "--vectors", "v.npy", "-o", "x"),
            "--vectors cannot be used with a transformer",
        ),
        (
            ("adapt", "a.jsonl", "--base", "b", "--encoder", "minilm", "-o", "x"),
            "--encoder and --base exclude each other",
        ),
        (
            ("evaluate", "--base", "biomedical", "--target", OWN / "gene", "--encoder", "minilm"),
            "--encoder cannot be used with --base",
        ),
    ],
)
def test_wrong_calls_are_refused_before_any_work(call, tmp_path, monkeypatch, arguments, message):
    pytest.importorskip("transformers", reason="pip install 'adaptner[transformers]'")
    monkeypatch.chdir(tmp_path)
    answer = call(*arguments)
    assert answer.code in (1, 2)
    assert message.replace("here", "not available on this machine") in answer.err
    assert "Traceback" not in answer.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_rows_with_a_transformer_have_their_own_plan(call, tiny_transformer, shared_data):
    asked = ("reproduce", "hgda/3", "--data", shared_data, "--dry-run", "--json")
    plain = json.loads(call(*asked).out)
    starred = json.loads(call(*asked, "--encoder", tiny_transformer).out)
    assert {row["method"] for row in plain["grid"]} == {"hgda", "hgda-nes", "metaner", "maml"}
    assert {row["method"] for row in starred["grid"]} == {"hgda", "hgda-nes", "in-domain"}
    assert starred["base_hours"] > plain["base_hours"]
