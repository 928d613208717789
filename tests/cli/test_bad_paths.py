"""Missing paths, paths of the wrong kind, foreign files and full disks."""

from __future__ import annotations

import errno
import os
import shutil

import pytest
from cli_kit import GOOD, OWN, SOURCE_OPTIONS, contents, listing, refused

MISSING = [
    ("adapt", "NONE.jsonl", "--base", "BASE", "-o", "OUT"),
    ("adapt", "FILE", "--base", "NONE", "-o", "OUT"),
    ("adapt", "FILE", "--base", "BASE", "--config", "NONE.toml", "-o", "OUT"),
    ("adapt", "FILE", "--base", "BASE", "--method", "agg", "-o", "OUT", "--sources", "NONE"),
    (
        *("adapt", "FILE", "--base", "BASE", "--method", "dann", "-o", "OUT", *SOURCE_OPTIONS[:2]),
        *("--unlabelled", "NONE.txt"),
    ),
    ("tag", "NONE", "FILE"),
    ("tag", "MODEL", "NONE.txt"),
    ("pretrain", "--sources", OWN / "drug", "NONE", "-o", "OUT"),
    ("pretrain", *SOURCE_OPTIONS, "--config", "NONE.toml", "-o", "OUT"),
    ("pretrain", *SOURCE_OPTIONS, "--held-out", "NONE", "-o", "OUT"),
    ("pretrain", *SOURCE_OPTIONS, "--vectors", "NONE.vec", "-o", "OUT"),
    ("evaluate", "--base", "NONE", "--target", OWN / "cellline"),
    ("evaluate", "--base", "BASE", "--target", "NONE"),
    ("evaluate", "--base", "BASE", "--config", "NONE.toml", "--target", OWN / "cellline"),
    (
        *("evaluate", "--base", "BASE", "--method", "agg", "--target", OWN / "cellline"),
        *("--sources", "NONE"),
    ),
    (
        *("evaluate", "--method", "maml", *SOURCE_OPTIONS, "--vectors", "NONE.vec"),
        *("--target", OWN / "gene"),
    ),
    ("score", "NONE.jsonl", "FILE"),
    ("score", "FILE", "NONE.jsonl"),
    ("convert", "NONE.jsonl", "OUT.conll"),
    ("corpora", "stats", "NONE"),
    ("hardness", "NONE"),
]


WRONG_KIND = [
    ("adapt", "FOLDER.jsonl", "--base", "BASE", "-o", "OUT"),
    ("adapt", "FILE", "--base", "FOLDER.jsonl", "-o", "OUT"),
    ("adapt", "FILE", "--base", "PLAIN", "-o", "OUT"),
    ("adapt", "FILE", "--base", "MODEL", "-o", "OUT"),
    ("tag", "BASE", "FILE"),
    ("tag", "PLAIN", "FILE"),
    ("tag", "FOLDER.jsonl", "FILE"),
    ("pretrain", "--sources", OWN / "drug", "PLAIN", "-o", "OUT"),
    ("pretrain", "--sources", OWN / "drug", "FOLDER.jsonl", "-o", "OUT"),
    ("pretrain", *SOURCE_OPTIONS, "--config", "FOLDER.jsonl", "-o", "OUT"),
    ("pretrain", *SOURCE_OPTIONS, "--vectors", "FOLDER.jsonl", "-o", "OUT"),
    ("pretrain", *SOURCE_OPTIONS, "--vectors", "PLAIN", "-o", "OUT"),
    ("evaluate", "--base", "BASE", "--target", "PLAIN"),
    ("score", "FOLDER.jsonl", "FILE"),
    ("convert", "FOLDER.jsonl", "OUT.conll"),
    ("corpora", "stats", "PLAIN"),
    ("hardness", "PLAIN"),
]


def named(arguments: tuple[object, ...]) -> str:
    return " ".join(map(str, arguments)).replace(str(OWN), "own")


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("adaptner.files.os.fsync", no_space)


@pytest.mark.parametrize("arguments", [*MISSING, *WRONG_KIND], ids=named)
def test_missing_path_or_wrong_kind_is_refused(call, workshop, tmp_path, arguments, mine):
    (tmp_path / "plain").write_text("just a file\n")
    (tmp_path / "folder.jsonl").mkdir()
    places = {
        "FILE": mine,
        "PLAIN": tmp_path / "plain",
        "FOLDER.jsonl": tmp_path / "folder.jsonl",
        "BASE": workshop / "base",
        "MODEL": workshop / "model",
    }
    for name in ("OUT", "OUT.conll", "NONE", "NONE.jsonl", "NONE.txt", "NONE.toml", "NONE.vec"):
        places[name] = tmp_path / name.lower()
    before = listing(tmp_path)
    answer = call(*(places.get(a, a) for a in arguments))
    blamed = [p for n, p in places.items() if n in arguments and n.startswith(("NONE", "FOLDER"))]
    blamed = blamed or [places["PLAIN"]] if "PLAIN" in arguments else blamed
    if not blamed:  # a model for a base, or a base for a model
        blamed = [places["MODEL"]] if arguments[0] == "adapt" else [places["BASE"]]
    refused(answer, 1, blamed[0])
    assert listing(tmp_path) == before


@pytest.mark.parametrize(
    "arguments",
    [("adapt", "FILE", "--base", "BASE", "-o", "OUT"), ("pretrain", *SOURCE_OPTIONS, "-o", "OUT")],
    ids=lambda arguments: arguments[0],
)
@pytest.mark.parametrize("kind", ["folder", "file", "below a file"])
def test_foreign_file_is_not_overwritten(call, base, tmp_path, arguments, kind, mine):
    theirs = tmp_path / "theirs"
    if kind == "folder":
        theirs.mkdir()
        (theirs / "thesis.tex").write_text("years of work")
    else:
        theirs.write_text("years of work")
    output = theirs / "below" if kind == "below a file" else theirs
    places = {"FILE": mine, "BASE": base, "OUT": output}
    before = contents(tmp_path)
    answer = call(*(places.get(a, a) for a in arguments))
    refused(answer, 1, theirs)
    assert contents(tmp_path) == before
    assert len(listing(tmp_path)) == (3 if kind == "folder" else 2)


@pytest.mark.parametrize("existing", [False, True], ids=["new", "over an old one"])
def test_adapt_on_a_full_disk(call, workshop, tmp_path, existing, full_disk, mine):
    if existing:
        shutil.copytree(workshop / "model", tmp_path / "model")
    before = contents(tmp_path)
    arguments = ("--base", workshop / "base", "-o", tmp_path / "model")
    answer = call("adapt", mine, *arguments)
    refused(answer, 1, tmp_path / "", "no space left")
    assert contents(tmp_path) == before
    assert not [name for name in listing(tmp_path) if name.startswith(".")]


@pytest.mark.parametrize("ending", ["jsonl", "conll", "html"])
def test_tag_on_a_full_disk(call, model, tmp_path, ending, full_disk):
    output = tmp_path / f"out.{ending}"
    output.write_text("earlier")
    refused(call("tag", model, "-o", output, stdin="HeLa."), 1, output, "no space left")
    assert contents(tmp_path) == {output.name: b"earlier"}


def test_convert_and_evaluate_on_a_full_disk(call, base, tmp_path, full_disk):
    (tmp_path / "mine.jsonl").write_bytes(GOOD)
    answer = call("convert", tmp_path / "mine.jsonl", tmp_path / "mine.conll")
    refused(answer, 1, tmp_path / "mine.conll", "no space left")
    arguments = ("--target", OWN / "cellline", "--sizes", 2, "--draws", 1, "--steps", 1)
    answer = call("evaluate", "--base", base, *arguments, "--limit", 2, "-o", tmp_path / "rows")
    refused(answer, 1, tmp_path / "rows", "no space left")
    assert listing(tmp_path) == ["mine.jsonl"]


def test_pretrain_on_a_full_disk_leaves_no_base(call, config, tmp_path, full_disk):
    run = ("pretrain", *SOURCE_OPTIONS, "--config", config, "--iterations", 1, "-q")
    refused(call(*run, "-o", tmp_path / "base"), 1, tmp_path / "base", "no space left")
    assert [name for name in listing(tmp_path) if name != "base"] == []


def test_pretrain_continues_from_its_checkpoint_after_a_full_disk(
    call, config, tmp_path, base, monkeypatch
):
    """The base does not fit any more; what was learnt is not lost."""

    def no_space(*_: object, **__: object) -> bytes:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    run = ("pretrain", "--sources", OWN / "disease", f"Medicine={OWN / 'drug'}", "-q")
    run += ("--config", config, "--iterations", 5, "-o", tmp_path / "base")
    with monkeypatch.context() as patch:
        patch.setattr("adaptner.models.storage.save", no_space)
        refused(call(*run), 1, "no space left")
    assert "manifest.json" not in listing(tmp_path / "base")
    call.ok(*run, "--resume")
    assert contents(tmp_path / "base") == contents(base)
