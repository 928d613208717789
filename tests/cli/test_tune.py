"""``adaptner tune``: the file it writes, the base it changes, resuming, and what it refuses."""

from __future__ import annotations

import json
import shutil
import signal
import tomllib
from pathlib import Path
from typing import Any

import pytest
from cli_kit import CELLS, DISEASE, DRUG, GENE, contents, listing, manifest_of

from adaptner.methods.families.source_pretrained import SourcePretrainedMethod

QUICK = ("--iterations", 2, "--sizes", "3,12", "--draws", 1, "--limit", 10)
# With 3 sentences 4 steps whatever the epochs, with 12 sentences 4 or 8.
GRID = ("--rates", "0.05,0.1", "--epochs", "2,4", "--steps", 4)
ROWS = 3 * 2 * 4  # validation domains, sizes, settings


def timeless(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**row, "seconds": 0} for row in rows]


@pytest.fixture
def run(config: Path) -> tuple[object, ...]:
    sources = ("--sources", DISEASE, f"Medicine={DRUG}", GENE)
    return ("tune", "--method", "hgda", *sources, "--config", config, *QUICK, *GRID)


@pytest.mark.slow
def test_file_holds_command_choice_and_table(call, run, config, tmp_path):
    output = tmp_path / "tuned.toml"
    result = call.facts(*run, "-o", output, "--json")
    assert listing(tmp_path) == ["tuned.rows.jsonl", "tuned.toml"]
    rows = [json.loads(line) for line in (tmp_path / "tuned.rows.jsonl").read_text().splitlines()]
    assert rows == result["rows"]
    assert len(rows) == ROWS
    assert {r["validation_domain"] for r in rows} == {"Disease", "Medicine", "Gene"}
    assert {(r["size"], r["steps"]) for r in rows} == {(3, 4), (12, 4), (12, 8)}

    text = output.read_text()
    assert text.startswith("# adaptner tune --method hgda --sources ")
    assert "--json" not in text
    written = tomllib.loads(text)
    given = tomllib.loads(config.read_text())
    assert written["adaptation"] == result["adaptation"]
    assert {**written, "adaptation": 0} == {**given, "adaptation": 0}  # the rest of --config
    (chosen,) = [s for s in result["settings"] if s["chosen"]]
    assert written["adaptation"]["optimiser"]["rate"] == chosen["rate"]
    assert [written["adaptation"][n] for n in ("epochs", "steps", "encoder_scale")] == [
        chosen[n] for n in ("epochs", "steps", "encoder_scale")
    ]
    notes = [line for line in text.splitlines() if line.startswith("# ")]
    assert sum(line.startswith("# *") for line in notes) == 1
    assert f"{chosen['mean_f1']:.4f}" in next(line for line in notes if line.startswith("# *"))
    for setting in result["settings"]:
        own = [r["f1"] for r in rows if all(r["setting"][n] == setting[n] for n in r["setting"])]
        assert setting["mean_f1"] == pytest.approx(sum(own) / len(own))


@pytest.mark.slow
def test_file_is_a_configuration_for_pretrain_adapt_and_evaluate(call, run, base, tmp_path):
    output = tmp_path / "tuned.toml"
    only = ("--rates", "0.07", "--epochs", "3", "--steps", "5", "--validate-on", "Disease")
    call.ok(*run[:-6], *only, "-o", output, "-q")
    pretrained = tmp_path / "base"
    sources = ("--sources", DISEASE, DRUG, "--iterations", 1, "-q", "-o", pretrained)
    call.ok("pretrain", "--config", output, *sources)
    stored = manifest_of(pretrained)["config"]
    assert (stored["adaptation"]["steps"], stored["adaptation"]["epochs"]) == (5, 3)
    assert stored["encoder"]["hidden"] == 12
    target = ("--target", CELLS, "--sizes", "20", "--draws", 1, "--limit", 5, "--json")
    result = call.facts("evaluate", "--base", base, "--config", output, *target)
    assert [row["steps"] for row in result["rows"]] == [6]
    adapted = ("adapt", CELLS / "dev.jsonl", "--base", base, "--config", output, "--json")
    assert call.facts(*adapted, "-o", tmp_path / "model")["steps"] == 9


@pytest.mark.slow
def test_table_marks_the_choice(call, run):
    answer = call.ok(*run, "--validate-on", "Disease")  # without -o nothing is written
    marked = [line for line in answer.out.splitlines() if line.startswith("│ *")]
    assert len(marked) == 1
    assert "F1@12" in answer.out
    assert "validation domains: Disease" in answer.err
    quiet = call.ok(*run, "--validate-on", "Disease", "--quiet")
    assert quiet.err == ""
    assert quiet.out == answer.out


@pytest.mark.slow
def test_choice_is_stored_in_the_base_and_used_by_adapt(call, base, tmp_path):
    """Its own settings are tuned: no --config."""
    copy = tmp_path / "base"
    shutil.copytree(base, copy)
    sources = ("--sources", DISEASE, f"Medicine={DRUG}", GENE, "--validate-on", "Disease")
    grid = ("--rates", "0.07", "--epochs", "2", "--steps", "5")
    result = call.facts("tune", *sources, *QUICK, *grid, "--base", copy, "--json", "-q")
    before, after = contents(base), contents(copy)
    assert {n for n in before if before[n] != after[n]} == {"manifest.json", "card.md"}
    assert listing(copy) == listing(base)
    manifest = json.loads(after["manifest.json"])
    assert manifest["config"]["adaptation"] == result["adaptation"]
    assert manifest["facts"]["tuning"] == result["tuning"]
    assert manifest["config"]["encoder"]["hidden"] == 12

    adapted = ("adapt", CELLS / "dev.jsonl", "--json", "-q", "-o", tmp_path / "model")
    assert call.facts(*adapted, "--base", copy)["steps"] == 6  # 2 x 30 / 10
    assert call.facts(*adapted, "--base", base)["steps"] == 30
    target = ("--target", CELLS, "--sizes", "5", "--draws", 1, "--limit", 5, "--json")
    rows = call.facts("evaluate", "--base", copy, *target)["rows"]
    assert [row["steps"] for row in rows] == [5]


@pytest.mark.slow
def test_content_of_test_splits_makes_no_difference(call, run, config, tmp_path):
    """Another type, other words, other letters: not one number changes."""
    sources = []
    for name, folder in (("Disease", DISEASE), ("Medicine", DRUG), ("Gene", GENE)):
        copy = tmp_path / name
        shutil.copytree(folder, copy)
        poison = {"text": "Ζeus Ωmega.", "entities": [{"start": 0, "end": 4, "label": "God"}]}
        (copy / "test.jsonl").write_text(json.dumps(poison) + "\n")
        sources.append(f"{name}={copy}")
    play = ("--validate-on", "Medicine", "--json", "-q")
    clean = call.facts(*run, *play)
    given = ("tune", "--sources", *sources, "--config", config, *QUICK, *GRID)
    dirty = call.facts(*given, *play)
    assert clean["settings"] == dirty["settings"]
    for mine, other in zip(timeless(clean["rows"]), timeless(dirty["rows"]), strict=True):
        assert mine.pop("run") != other.pop("run")  # it is another corpus, though
        assert {**mine, "corpus": 0} == {**other, "corpus": 0}


KILLED = """
import os, signal, sys
from adaptner.training.records import MetricsFile

flush, flushed = MetricsFile.flush, []

def flush_and_die(self):
    flush(self)
    flushed.append(1)
    if len(flushed) == {rows}:
        os.kill(os.getpid(), signal.SIGKILL)

MetricsFile.flush = flush_and_die
from adaptner.cli.main import main
sys.argv = {arguments!r}
main()
"""


@pytest.mark.slow
@pytest.mark.processes
def test_killed_run_continues_to_the_same_file(call, child, run, tmp_path):
    output, rows = tmp_path / "tuned.toml", tmp_path / "tuned.rows.jsonl"
    call.ok(*run, "-o", output, "-q")
    whole = output.read_bytes(), [json.loads(line) for line in rows.read_text().splitlines()]
    output.unlink()
    rows.unlink()

    arguments = ["adaptner", *map(str, run), "-o", str(output)]
    killed = child(KILLED.format(rows=5, arguments=arguments))
    assert killed.returncode == -signal.SIGKILL
    assert not output.exists()
    assert len(rows.read_text().splitlines()) == 5

    refused = call(*run, "-o", output)
    assert refused.code == 2
    assert "--resume" in refused.err
    refused = call(*run, "-o", output, "--resume", "--seed", 1)
    assert refused.code == 1
    assert "cannot resume" in refused.err

    answer = call.ok(*run, "-o", output, "--resume")
    assert "5 of 24 trials are finished already" in answer.err
    assert "again, since bases are not kept" in answer.err
    found = [json.loads(line) for line in rows.read_text().splitlines()]
    assert timeless(found) == timeless(whole[1])
    assert output.read_bytes() == whole[0]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--method", "d-shift"), 2, "nothing to choose"),
        (("--method", "metaner-zero"), 2, "nothing to choose"),
        (("--method", "nonsense"), 2, "no method is called 'nonsense'"),
        (("--validate-on", "Genes"), 2, "choose one of: Disease, Drug, Gene"),
        (("--rates", "0.1,fast"), 2, "--rates 0.1,fast"),
        (("--rates", "0.1,0.1"), 2, "different numbers"),
        (("--rates", "nan"), 2, "--rates nan"),
        (("--rates", "0"), 2, "adaptation.optimiser.rate"),
        (("--epochs", "1.5"), 2, "different whole numbers"),
        (("--steps", "0"), 2, "adaptation.steps"),
        (("--encoder-scales", ""), 2, "--encoder-scales"),
        (("--sizes", "0,5"), 2, "positive whole numbers"),
        (("--sizes", "200"), 1, "200 are needed"),
        (("--draws-from", "with-entities", "--sizes", "5,100"), 2, "100 can only be drawn"),
        (("--resume",), 2, "give the -o of the run"),
        (("-o", "mine.toml"), 1, "not overwritten"),
        (("--base", "nowhere"), 1, "adaptner pretrain"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_wrong_calls_are_refused_before_any_work(
    call, tmp_path, monkeypatch, arguments, code, message
):
    def worked(*_: object, **__: object) -> None:
        raise AssertionError("it has begun to learn")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(SourcePretrainedMethod, "fit", worked)
    (tmp_path / "mine.toml").write_text("k = 5\n")
    output = () if arguments == ("--resume",) else ("-o", "tuned.toml")
    answer = call("tune", "--sources", DISEASE, DRUG, GENE, *output, *arguments)
    assert answer.code == code, answer.err
    assert message in answer.err
    assert "What to do" in answer.err
    assert answer.out == ""
    assert listing(tmp_path) == ["mine.toml"]
    assert (tmp_path / "mine.toml").read_text() == "k = 5\n"


def test_base_of_another_method_is_refused(call, base, tmp_path):
    before = contents(base)
    answer = call("tune", "--method", "maml", "--base", base, "--sources", DISEASE, GENE, *QUICK)
    assert answer.code == 2
    assert "is a base of hgda, not of maml" in answer.err
    assert contents(base) == before
