"""``adaptner reproduce`` and ``adaptner results`` from the command line."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from cli_kit import OWN, listing

# The package's own corpora in place of HGDA's.
PLACES = {
    "ncbi-disease": "disease",
    "bc5cdr-disease": "disease",
    "bc5cdr-chem": "drug",
    "bc4chemd-sub": "drug",
    "jnlpba": "gene",
    "bc2gm": "gene",
    "linnaeus": "species",
    "s800": "species",
}
SMALL = ("--targets", "NCBI", "--sizes", "5", "--draws", 2, "--iterations", 2, "--limit", 10)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("reproduce")
    for place, own in PLACES.items():
        shutil.copytree(OWN / own, root / "data" / "bio8" / place)
    (root / "vectors").mkdir()
    words = ["cells", "patients", "the", "of", "disease"]
    table = np.random.default_rng(0).normal(size=(len(words), 8)).astype(np.float32)
    np.save(root / "vectors" / "pubmed-w2v-200d.npy", table)
    (root / "vectors" / "pubmed-w2v-200d.vocab.txt").write_text("".join(f"{w}\n" for w in words))
    return root / "data"


@pytest.mark.slow
def test_list_has_every_table_and_the_reasons_for_missing_rows(call):
    answer = call.ok("reproduce", "--list", "--json")
    tables = {row["table"]: row for row in json.loads(answer.out)}
    assert {"hgda/1", "hgda/3", "metabioner/5", "metaner/2", "pdaln/1", "jia2019/3"} <= set(tables)
    assert tables["hgda/3"]["filled"]["HGDA-NEs"] == "hgda-nes"
    assert tables["hgda/3"]["filled"]["HGDA*"] == "hgda"
    assert tables["hgda/3"]["transformers"] == ["BioBERT", "HGDA*", "HGDA-NEs*"]
    assert "a tenth" in tables["hgda/3"]["not_comparable"]["bc4chemd-sub"]
    assert not tables["metaner/lambda"]["filled"]
    plain = call.ok("reproduce", "--list")
    assert "metaner/3" in plain.out
    assert "HGDA* (hgda --encoder)" in plain.out


@pytest.mark.slow
def test_dry_run_prints_the_plan_and_writes_nothing(call, data, tmp_path):
    output = ("-o", tmp_path / "out")
    dry = ("reproduce", "HGDA 3", "--data", data, "--profile", "paper", "--dry-run", *output)
    facts = json.loads(call(*dry, "--json").out)
    assert (facts["bases"], facts["draws"], facts["iterations"]) == (64, 2560, 10_000)
    assert facts["hours"] > 0
    plain = call.ok(*dry)
    assert "2560 draws" in plain.out
    assert "bio8/ncbi-disease" in plain.out
    crossed = call.ok(*dry, "--draws-from", "with-entities", "--bases", 3).out
    assert "192 bases of 10,000 iterations, 7680 draws from sentences with entities" in crossed
    assert "the same on each of 3 bases" in crossed
    assert listing(tmp_path) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("hgda/9",), "did you mean 'hgda/"),
        (("hgda/3", "--methods", "hgda", "mamll"), "did you mean 'maml'"),
        (("hgda/3", "--targets", "LINEUS"), "did you mean 'linnaeus'"),
        (("hgda/3", "--profile", "papers"), "did you mean 'paper'"),
        (("hgda/3", "--sizes", "x"), "--sizes 5 20 50"),
        (("hgda/3", "--draws-from", "with-entities", "--sizes", "100"), "from all sentences"),
        (("pdaln/1", "--bases", "2"), "leave out --bases"),
        ((), "for example hgda/3"),
    ],
)
def test_unknown_names_exit_with_2_and_a_suggestion(call, data, tmp_path, arguments, message):
    answer = call("reproduce", *arguments, "--data", data, "-o", tmp_path / "out")
    assert answer.code == 2
    assert message in answer.err
    assert listing(tmp_path) == []


def test_missing_data_exit_with_1_and_a_remedy(call, tmp_path):
    answer = call("reproduce", "hgda/3", "--data", tmp_path / "none", "-o", tmp_path / "out")
    assert answer.code == 1
    assert "corpora list" in answer.err
    assert listing(tmp_path) == []


def test_a_table_without_rows_to_fill_gives_the_reasons(call, tmp_path):
    facts = call.facts("reproduce", "metaner/lambda", "-o", tmp_path / "out", "--json")
    assert facts["jobs"] == 0
    assert "derived by the paper" in " ".join(facts["rows_not_run"].values())


@pytest.mark.processes
@pytest.mark.slow
def test_a_run_is_stored_reported_listed_and_exported(call, data, tmp_path):
    output = tmp_path / "out"
    arguments = ("reproduce", "hgda/3", "--data", data, "--methods", "maml", *SMALL, "-o", output)
    facts = call.facts(*arguments, "--json")
    assert (facts["jobs"], facts["done"], facts["computed"], facts["failed"]) == (3, 3, 3, [])
    again = json.loads(call(*arguments, "--json").out)
    assert (again["done"], again["computed"]) == (3, 0)
    assert again["report"] == facts["report"]
    assert json.loads(call(*arguments, "--report-only", "--json").out)["report"] == facts["report"]
    assert all(Path(page).is_file() for page in facts["report"])

    rows = json.loads(call("results", output, "--json").out)
    assert [(r["method"], r["target"], r["size"], r["seed"]) for r in rows] == [
        ("maml", "ncbi-disease", 5, 0),
        ("maml", "ncbi-disease", 5, 1),
    ]
    table = call("results", output / "results.sqlite", "--table", "HGDA 3")
    assert "ncbi-disease" in table.out
    assert "2 results" in table.err
    assert json.loads(call("results", output, "--size", 20, "--json").out) == []
    assert json.loads(call("results", output, "--table", "hgda/5", "--json").out) == []
    wrong = call("results", output, "--method", "malm")
    assert (wrong.code, "did you mean 'maml'" in wrong.err) == (2, True)

    call.ok("results", output, "--csv", tmp_path / "r.csv")
    with open(tmp_path / "r.csv", newline="") as file:
        found = list(csv.DictReader(file))
    assert [float(r["f1"]) for r in found] == [r["f1"] for r in rows]
    assert json.loads(found[0]["data"]) == rows[0]["data"]
    none = call("results", output, "--failures")
    assert (none.code, none.out) == (0, "")

    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    call.ok("results", output, "--parquet", tmp_path / "r.parquet")
    exported = parquet.read_table(tmp_path / "r.parquet").to_pylist()
    assert [r["f1"] for r in exported] == [r["f1"] for r in rows]
    assert json.loads(exported[0]["settings"]) == rows[0]["settings"]


@pytest.mark.processes
@pytest.mark.slow
def test_profile_paper_uses_the_recipe(call, data, tmp_path):
    """K = T', the recipe's settings and the whole test split, but fewer iterations."""
    cell = ("--targets", "S800", "--methods", "hgda", "--sizes", 4, "--draws", 1)
    arguments = ("reproduce", "hgda/3", "--data", data, "--profile", "paper", *cell)
    call.ok(*arguments, "--iterations", 1, "-o", tmp_path)
    (row,) = json.loads(call("results", tmp_path, "--json").out)
    assert (row["settings"]["k"], row["size"], row["iterations"]) == (4, 4, 1)
    assert row["settings"]["optimiser"]["name"] == "sgd"
    assert row["settings"]["weighting"] == "hardness"
    assert not row["limited"]


@pytest.mark.processes
@pytest.mark.slow
def test_a_failed_job_exits_with_1_and_names_its_log(call, data, tmp_path):
    output = tmp_path / "out"
    arguments = ("--methods", "maml", *SMALL[:2], "--sizes", "99999", *SMALL[4:], "--draws", 1)
    answer = call("reproduce", "hgda/3", "--data", data, *arguments, "-o", output)
    assert answer.code == 1
    assert "1 of 2 jobs failed" in answer.err
    assert "Traceback" not in answer.err
    (log,) = (output / "logs").glob("*[0-9a-f].log")
    assert str(log) in answer.err
    failures = json.loads(call("results", output, "--failures", "--json").out)
    assert [f["log"] for f in failures] == [str(log)]
    assert "size 99999" in call("results", output, "--failures").out


def test_parquet_without_pyarrow_exits_with_the_extra_to_install(call, tmp_path, monkeypatch):
    import sys

    from adaptner.reproduce.run.store import STORE, Store

    Store(tmp_path / STORE).close()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    answer = call("results", tmp_path, "--parquet", tmp_path / "r.parquet")
    assert answer.code == 1
    assert "adaptner[parquet]" in answer.err


def test_ray_without_ray_exits_with_the_extra_to_install(call, data, tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "ray", None)
    arguments = (
        "reproduce",
        "hgda/3",
        "--data",
        data,
        "--methods",
        "maml",
        *SMALL,
        "--ray",
        "local",
    )
    answer = call(*arguments, "-o", tmp_path / "out")
    assert answer.code == 1
    assert "adaptner[cluster]" in answer.err


@pytest.mark.parametrize("content", [None, b"not a database at all, by any means" * 30])
def test_a_file_that_is_no_store_exits_with_1_and_its_name(call, tmp_path, content):
    path = tmp_path / "results.sqlite"
    if content is not None:
        path.write_bytes(content)
    answer = call("results", path)
    assert answer.code == 1
    assert "results.sqlite" in answer.err
