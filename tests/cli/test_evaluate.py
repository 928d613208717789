"""``adaptner evaluate``."""

from __future__ import annotations

import json
import shutil

import pytest
from cli_kit import BASE_SOURCES, CELLS, DISEASE, DRUG

ROW = {"corpus", "size", "seed", "precision", "recall", "f1", "steps", "seconds"}


TARGET = ("--target", CELLS, "--sizes", "3", "--draws", 1, "--limit", 3)


def test_evaluate_a_base(call, base, tmp_path):
    arguments = ("evaluate", "--base", base, "--target", CELLS, "--sizes", "3,6", "--draws", 2)
    quick = ("--limit", 10, "--steps", 4, "--json")
    written = tmp_path / "rows.json"
    result = call.facts(*arguments, *quick, "--seed", 5, "-o", written)
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

    again = call.facts(*arguments, *quick, "--seed", 5)
    timeless = [[{**r, "seconds": 0} for r in found["rows"]] for found in (result, again)]
    assert timeless[0] == timeless[1]


def test_kind_of_draw_is_recorded_in_rows_summary_and_table(call, base):
    arguments = ("evaluate", "--base", base, *TARGET, "--steps", 1, "--draws-from", "with-entities")
    result = call.facts(*arguments, "--json")
    (row,), (summary,) = result["rows"], result["summary"]
    assert (row["draws_from"], row["protocol"]) == (
        "with-entities",
        "few-shot/draws-with-entities/strict-micro-f1",
    )
    assert row["entities"] >= 3
    assert (summary["draws_from"], summary["empty_draws"]) == ("with-entities", 0)
    assert summary["mentions"] == row["entities"]
    shown = call.ok(*arguments).out
    for column in ("draws from", "empty", "mentions"):
        assert column in shown


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--sizes", "5,100"), 2, "100 can only be drawn from all sentences"),
        (("--shares", "5"), 2, "5% can only be drawn from all sentences"),
        (("--draws-from", "entities"), 2, "no kind of draw is called 'entities'"),
        (("--sizes", "99"), 1, "counting only sentences with an entity"),
    ],
)
def test_draws_with_entities_that_cannot_be_drawn_are_refused(
    call, base, tmp_path, arguments, code, message
):
    few = tmp_path / "few"
    few.mkdir()
    for split in ("train", "test"):
        shutil.copy(f"{CELLS}/{split}.jsonl", few)
    lines = (few / "train.jsonl").read_text().splitlines()
    kept = [json.loads(line) for line in lines]
    bare = [json.dumps({**line, "entities": []}) for line in kept[50:]]
    (few / "train.jsonl").write_text("\n".join([*lines[:50], *bare]) + "\n")
    given = ("--base", base, "--target", few, "--draws-from", "with-entities", *arguments)
    answer = call("evaluate", *given)
    assert answer.code == code
    assert message in answer.err


def test_evaluate_shows_a_table(call, base):
    arguments = ("evaluate", "--base", base, "--target", f"Cells={CELLS}", "--sizes", "3")
    answer = call.ok(*arguments, "--draws", 1, "--limit", 5, "--steps", 1)
    assert "cellline" in answer.out
    assert "F1" in answer.out
    assert "5 test sentences" in answer.err


def test_evaluate_a_method_from_its_sources(call, config):
    arguments = ("--method", "hgda-nes", "--sources", DISEASE, DRUG, "--config", config)
    answer = call.ok(
        *("evaluate", *arguments, "--iterations", 2, "--target", CELLS, "--sizes", "3"),
        *("--draws", 1, "--limit", 5, "--json"),
    )
    (row,) = json.loads(answer.out)["rows"]
    assert (row["method"], row["seed"], row["steps"]) == ("hgda-nes", 0, 30)
    assert json.loads(answer.out)["summary"][0]["f1_sd"] is None  # of one draw


def test_sizes_may_not_repeat(call, base):
    answer = call("evaluate", "--base", base, "--target", CELLS, "--sizes", "3,3")
    assert answer.code == 2
    assert "3,3" in answer.err


def test_evaluate_shares_of_the_train_split(call, base):
    """Percent of 130 sentences; --sizes have no default beside them."""
    arguments = ("evaluate", "--base", base, "--target", CELLS, "--draws", 2, "--limit", 3)
    quick = (*arguments, "--steps", 1)
    result = call.facts(*quick, "--shares", "2.5,10", "--json")
    assert [(r["share"], r["size"]) for r in result["rows"]] == [(2.5, 3)] * 2 + [(10, 13)] * 2
    assert [(s["share"], s["size"], s["n"]) for s in result["summary"]] == [
        (2.5, 3, 2),
        (10, 13, 2),
    ]
    both = call.facts(*quick, "--shares", 100, "--sizes", 3, "--json")
    assert [(r["share"], r["size"]) for r in both["rows"]] == [(None, 3)] * 2 + [(100, 130)] * 2
    same = [{**r, "seconds": 0, "share": None} for r in (both["rows"][0], result["rows"][0])]
    assert same[0] == same[1]  # 2.5 % are the draw of 3


def test_table_has_a_column_of_shares_if_there_are_any(call, base):
    arguments = ("evaluate", "--base", base, "--target", CELLS, "--draws", 1, "--limit", 2)
    quick = (*arguments, "--steps", 1, "-q")
    shown = call.ok(*quick, "--shares", "5").out
    assert "share" in shown
    assert "5 %" in shown
    assert "share" not in call.ok(*quick, "--sizes", "3").out


def test_sizes_are_the_default(call, base):
    quick = ("--draws", 1, "--limit", 1, "--steps", 1, "--json")
    answer = call.ok("evaluate", "--base", base, "--target", CELLS, *quick)
    assert [r["size"] for r in json.loads(answer.out)["rows"]] == [5, 10, 20, 50]


def test_evaluate_another_method_on_a_base(call, base):
    """It adapts as the base's own would, steps and rates, unless --config says otherwise."""
    (row,) = call.facts("evaluate", "--base", base, "--method", "finetuning", *TARGET, "--json")[
        "rows"
    ]
    assert (row["method"], row["base"], row["steps"]) == ("finetuning", "hgda", 30)
    assert row["unlabelled"] == 0
    (own,) = call.facts("evaluate", "--base", base, *TARGET, "--json")["rows"]
    assert {**own, "method": "finetuning", "seconds": 0} == {**row, "seconds": 0}


@pytest.mark.parametrize("method", [(), ("--method", "finetuning")], ids=["own", "another"])
def test_configuration_overrides_the_settings_of_a_base(call, base, tmp_path, method):
    (tmp_path / "c.toml").write_text("adaptation = {steps = 2}")
    more = (*method, "--config", tmp_path / "c.toml")
    (row,) = call.facts("evaluate", "--base", base, *more, *TARGET, "--json")["rows"]
    assert row["steps"] == 2  # and the base's epochs = 0
    answer = call.ok(
        "adapt", CELLS / "dev.jsonl", "--base", base, *more, "--json", "-o", tmp_path / "m"
    )
    assert json.loads(answer.out)["steps"] == 2


def test_rows_of_dann_state_the_unlabelled_text(call, base):
    arguments = (
        "evaluate",
        "--base",
        base,
        "--method",
        "dann",
        "--sources",
        *BASE_SOURCES,
        *TARGET,
    )
    result = call.facts(*arguments, "--steps", 2, "--json")
    (row,) = result["rows"]
    assert (row["method"], row["base"], row["steps"], row["unlabelled"]) == ("dann", "hgda", 2, 130)
    assert result["summary"][0]["unlabelled"] == 130
    shown = call.ok(*arguments, "--steps", 1).out
    assert "unlabelled" in shown
    assert " 130 " in shown


@pytest.mark.parametrize("name", ["agg", "multitask"])
def test_evaluate_a_joint_method_from_its_sources(call, tmp_path, name, joint_config):
    """They serve to pretrain and to adapt."""
    arguments = ("--method", name, "--sources", DISEASE, DRUG, "--config", joint_config)
    (row,) = call.facts("evaluate", *arguments, "--iterations", 1, *TARGET, "--json")["rows"]
    assert (row["method"], row["base"], row["steps"], row["unlabelled"]) == (name, name, 3, 0)


def test_test_sentences_are_removed_from_sources_of_adaptation(call, base, tmp_path):
    copy = tmp_path / "copied"
    shutil.copytree(CELLS, copy)
    shutil.copy(DISEASE / "dev.jsonl", copy / "test.jsonl")  # 30 sentences that are in a source
    target = ("--target", copy, "--sizes", 3, "--draws", 1, "--limit", 1, "--steps", 1)
    joint = ("--method", "agg", "--sources", *BASE_SOURCES)
    answer = call.ok("evaluate", "--base", base, *joint, *target)
    assert "30 source sentences removed" in answer.err


def test_evaluate_an_unchanged_base(call, tmp_path, joint_config):
    arguments = ("--method", "d-shift", "--sources", DISEASE, DRUG, "--config", joint_config)
    target = ("--target", DISEASE, "--shares", 5, "--draws", 2, "--limit", 5, "--json")
    answer = call.ok("evaluate", *arguments, "--iterations", 2, *target)
    first, second = ({**r, "seed": 0, "seconds": 0} for r in json.loads(answer.out)["rows"])
    assert first["steps"] == 0
    assert (first["f1"], first["size"]) == (second["f1"], 6)  # no draw is learnt from


@pytest.mark.parametrize("option", ["--sources", "--vectors"])
def test_options_of_pretraining_are_refused_with_a_base(call, base, option):
    answer = call("evaluate", "--base", base, "--target", CELLS, option, DISEASE)
    assert answer.code == 2
    assert option in answer.err
