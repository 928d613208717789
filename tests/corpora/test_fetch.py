"""Fetching corpora: from a mirror, from where they were published, from a folder; and what fails."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from web_kit import SPLITS, Server, entry, mirrored, plain, serving

from adaptner.corpora import catalogue
from adaptner.corpora.catalogue import CatalogueEntry
from adaptner.corpora.corpus import load_corpus
from adaptner.corpora.download import Downloader
from adaptner.corpora.fetch import Fetcher
from adaptner.errors import (
    ChecksumMismatch,
    CorpusUnavailable,
    DownloadFailed,
    FileMissing,
    RawFileUnusable,
    UsageError,
)

TRAIN = "tiny/gene/train.conll"
SIZE = len(SPLITS["train"])


@pytest.fixture(autouse=True)
def _proxies_that_lead_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing on this machine may be asked for through a proxy, whatever the environment says."""
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(mirrored()) as server:
        yield server


class Pauses(list[float]):
    """A clock that notes how long it should have slept."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


@pytest.fixture
def pauses() -> Pauses:
    return Pauses()


@pytest.fixture
def fetcher(tmp_path: Path, pauses: Pauses) -> Callable[..., Fetcher]:
    def make(**settings: object) -> Fetcher:
        patience = {"attempts": 5, "timeout": 60.0, **settings.pop("patience", {})}  # type: ignore[dict-item]
        web = Downloader(pause=1.0, sleep=pauses, **patience)  # type: ignore[arg-type]
        return Fetcher(tmp_path / "data", web, **settings)  # type: ignore[arg-type]

    return make


def listing(folder: Path) -> list[str]:
    return sorted(os.path.relpath(p, folder) for p in folder.rglob("*") if p.is_file())


def is_whole(folder: Path) -> bool:
    """Every split is there with the right bytes, and nothing else is."""
    right = [(folder / f"tiny/gene/{s}.conll").read_bytes() == SPLITS[s] for s in SPLITS]
    return all(right) and listing(folder) == sorted(f"tiny/gene/{s}.conll" for s in SPLITS)


# --- from a mirror ----------------------------------------------------------------------------------


@pytest.mark.processes
def test_whole(server: Server, fetcher, pauses: Pauses, tmp_path: Path) -> None:
    outcome = fetcher().fetch(entry(), server.url())
    assert (outcome.did, outcome.verified) == ("downloaded", True)
    assert is_whole(tmp_path / "data")
    assert server.requests == [(path, None) for path in mirrored()]
    assert pauses == []
    again = fetcher().fetch(entry(), server.url())
    assert again.did == "already there"
    assert len(server.requests) == len(SPLITS)


@pytest.mark.processes
def test_truncated_then_resumed(server: Server, fetcher, pauses: Pauses, tmp_path: Path) -> None:
    server.faults[TRAIN] = [1000, 2000]
    fetcher().fetch(entry(), server.url())
    assert is_whole(tmp_path / "data")
    asked = [wanted for path, wanted in server.requests if path == TRAIN]
    assert asked == [None, "bytes=1000-", "bytes=3000-"]
    assert pauses == [1.0, 1.0]  # each brought something new, so the pause did not grow


@pytest.mark.processes
def test_broken_off_then_resumed_by_the_next_run(server: Server, fetcher, tmp_path: Path) -> None:
    server.faults[TRAIN] = [1000, "500"]
    with pytest.raises(DownloadFailed, match="goes on after 1,000 bytes"):
        fetcher(patience={"attempts": 2}).fetch(entry(), server.url())
    assert listing(tmp_path / "data") == [f"{TRAIN}.part"]
    assert (tmp_path / "data" / f"{TRAIN}.part").read_bytes() == SPLITS["train"][:1000]
    fetcher().fetch(entry(), server.url())
    assert is_whole(tmp_path / "data")
    assert server.requests[2] == (TRAIN, "bytes=1000-")


@pytest.mark.processes
def test_stopped_by_the_user_then_resumed(server: Server, fetcher, tmp_path: Path) -> None:
    def stop(done: int, total: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetcher(watching=lambda name: stop).fetch(entry(), server.url())
    (part,) = listing(tmp_path / "data")
    assert part == f"{TRAIN}.part"
    fetcher().fetch(entry(), server.url())
    assert is_whole(tmp_path / "data")


@pytest.mark.processes
@pytest.mark.parametrize("junk", [100, SIZE, SIZE + 100], ids=["shorter", "as long", "longer"])
def test_a_part_of_something_else_is_noticed(
    server: Server, fetcher, tmp_path: Path, junk: int
) -> None:
    part = tmp_path / "data" / f"{TRAIN}.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"x" * junk)
    fetcher().fetch(entry(), server.url())
    assert is_whole(tmp_path / "data")


@pytest.mark.processes
def test_a_part_that_is_whole_needs_no_more(server: Server, fetcher, tmp_path: Path) -> None:
    part = tmp_path / "data" / f"{TRAIN}.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(SPLITS["train"])
    fetcher().fetch(entry(), server.url())
    assert is_whole(tmp_path / "data")
    assert server.requests[0] == (TRAIN, f"bytes={SIZE}-")


@pytest.mark.processes
def test_corrupted_is_refused_and_nothing_is_left(server: Server, fetcher, tmp_path: Path) -> None:
    server.faults[TRAIN] = ["corrupt"]
    with pytest.raises(ChecksumMismatch, match=f"(?s){entry().sha256['train']}.*was not accepted"):
        fetcher().fetch(entry(), server.url())
    assert list((tmp_path / "data").rglob("*")) == []


@pytest.mark.processes
def test_corrupted_and_accepted_by_the_user(server: Server, fetcher, tmp_path: Path) -> None:
    server.faults[TRAIN] = ["corrupt"]
    outcome = fetcher(verify=False).fetch(entry(), server.url())
    assert not outcome.verified
    assert (tmp_path / "data" / TRAIN).read_bytes().endswith(b"\0\0\0")


@pytest.mark.processes
def test_server_that_cannot_resume(server: Server, fetcher, tmp_path: Path) -> None:
    server.ranges = False
    server.faults[TRAIN] = [1000, "ok"]
    fetcher().fetch(entry(), server.url())
    assert is_whole(tmp_path / "data")


@pytest.mark.processes
def test_stalled_then_resumed(server: Server, fetcher, tmp_path: Path) -> None:
    server.faults[TRAIN] = ["stall"]
    # A slow machine may find other answers late too; then they are asked for again.
    fetcher(patience={"timeout": 2.0, "attempts": 50}).fetch(entry(), server.url())
    assert is_whole(tmp_path / "data")
    assert len([path for path, _ in server.requests if path == TRAIN]) > 1


@pytest.mark.processes
def test_an_error_of_the_moment_is_tried_again(
    server: Server, fetcher, pauses: Pauses, tmp_path: Path
) -> None:
    server.faults[TRAIN] = ["500", "503", "429"]
    fetcher().fetch(entry(), server.url())
    assert is_whole(tmp_path / "data")
    assert pauses == [1.0, 2.0, 4.0]


@pytest.mark.processes
@pytest.mark.parametrize(("said", "pause"), [("7", 7.0), ("100000", 60.0), ("tomorrow", 1.0)])
def test_the_server_says_when_to_come_back(
    server: Server, fetcher, pauses: Pauses, said: str, pause: float
) -> None:
    server.headers["Retry-After"] = said
    server.faults[TRAIN] = ["503"]
    fetcher().fetch(entry(), server.url())
    assert pauses == [pause]


@pytest.mark.processes
def test_an_error_that_stays_ends_it(
    server: Server, fetcher, pauses: Pauses, tmp_path: Path
) -> None:
    server.faults[TRAIN] = ["500"] * 10
    with pytest.raises(DownloadFailed, match=r"answers 500.*\(5 attempts\)"):
        fetcher().fetch(entry(), server.url())
    assert len(server.requests) == 5
    assert pauses == [1.0, 2.0, 4.0, 8.0]
    assert listing(tmp_path / "data") == []


@pytest.mark.processes
@pytest.mark.parametrize("code", ["404", "403", "410"])
def test_not_there_is_not_tried_again(server: Server, fetcher, tmp_path: Path, code: str) -> None:
    server.faults[TRAIN] = [code]
    with pytest.raises(DownloadFailed, match=f"the server answers {code}"):
        fetcher().fetch(entry(), server.url())
    assert len(server.requests) == 1
    assert listing(tmp_path / "data") == []


@pytest.mark.processes
def test_nobody_answers(fetcher, pauses: Pauses) -> None:
    with socket.socket() as taken:  # bound, but it does not listen
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(DownloadFailed, match="5 attempts"):
            fetcher().fetch(entry(), address)
    assert len(pauses) == 4


@pytest.mark.processes
def test_redirections(server: Server, fetcher, tmp_path: Path) -> None:
    server.redirects = {f"old/{path}": server.url(path) for path in mirrored()}
    server.faults[TRAIN] = [1000]
    fetcher().fetch(entry(), server.url("old/"))
    assert is_whole(tmp_path / "data")
    assert ("old/" + TRAIN, "bytes=1000-") in server.requests
    assert (TRAIN, "bytes=1000-") in server.requests


@pytest.mark.processes
@pytest.mark.parametrize("target", ["ftp://127.0.0.1/x", "file:///etc/hostname"])
def test_no_redirection_leads_out_of_http(
    server: Server, fetcher, tmp_path: Path, target: str
) -> None:
    server.redirects = {TRAIN: target}
    with pytest.raises(DownloadFailed):
        fetcher().fetch(entry(), server.url())
    assert listing(tmp_path / "data") == []


# --- from where it was published --------------------------------------------------------------------


@pytest.fixture
def published(server: Server) -> CatalogueEntry:
    server.files |= {f"raw/{s}.tsv": plain(content) for s, content in SPLITS.items()}
    return entry(published=server.url("raw"))


@pytest.mark.processes
def test_published_files_are_converted(
    server: Server, fetcher, published: CatalogueEntry, tmp_path: Path
) -> None:
    server.faults["raw/train.tsv"] = [5000]
    outcome = fetcher().fetch(published)
    assert (outcome.did, outcome.verified) == ("converted", True)
    assert is_whole(tmp_path / "data")  # and the raw files are gone
    assert load_corpus(tmp_path / "data/tiny/gene").domain == "Gene"


@pytest.mark.processes
def test_raw_files_that_are_here_are_not_downloaded_again(
    server: Server, fetcher, published: CatalogueEntry, tmp_path: Path
) -> None:
    server.faults["raw/test.tsv"] = ["404"]
    with pytest.raises(DownloadFailed):
        fetcher().fetch(published)
    assert listing(tmp_path / "data") == [f"tiny/gene/raw/{s}-{s}.tsv" for s in ("dev", "train")]
    fetcher().fetch(published)
    assert is_whole(tmp_path / "data")
    assert [path for path, _ in server.requests].count("raw/train.tsv") == 1


@pytest.mark.processes
def test_another_result_is_kept_aside(
    server: Server, fetcher, published: CatalogueEntry, tmp_path: Path
) -> None:
    right = server.files["raw/test.tsv"]
    server.files["raw/test.tsv"] = right.replace(b"CDK0\tB", b"CDK0\tO")
    with pytest.raises(
        ChecksumMismatch, match=r"(?s)nothing was put in place.*test.conll.mismatch"
    ):
        fetcher().fetch(published)
    assert listing(tmp_path / "data") == ["tiny/gene/test.conll.mismatch"]
    aside = (tmp_path / "data/tiny/gene/test.conll.mismatch").read_bytes()
    # The rest of the mention continues nothing any more.
    assert aside == SPLITS["test"].replace(b"CDK0\tB-Gene\n-\tI-Gene", b"CDK0\tO\n-\tB-Gene")
    server.files["raw/test.tsv"] = right
    fetcher().fetch(published)
    assert is_whole(tmp_path / "data")


@pytest.mark.processes
def test_another_result_can_be_accepted(
    server: Server, fetcher, published: CatalogueEntry, tmp_path: Path
) -> None:
    server.files["raw/test.tsv"] += b"more\tO\n"
    outcome = fetcher(verify=False).fetch(published)
    assert not outcome.verified
    assert len(load_corpus(tmp_path / "data/tiny/gene").split("test")) == 51


@pytest.mark.processes
def test_raw_files_that_cannot_be_read(
    server: Server, fetcher, published: CatalogueEntry, tmp_path: Path
) -> None:
    server.files["raw/dev.tsv"] = b"<html>\n<p>not here</p> any more\n"
    with pytest.raises(RawFileUnusable, match=r"(?s)raw/dev-dev\.tsv:1: .*delete it"):
        fetcher().fetch(published)
    # They are there to be looked at, and nothing is in place.
    assert listing(tmp_path / "data") == [
        f"tiny/gene/raw/{s}-{s}.tsv" for s in ("dev", "test", "train")
    ]


# --- from a folder, and what is there already -------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for path, content in mirrored().items():
        target = tmp_path / "copy" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    return tmp_path / "copy"


def test_copied(fetcher, folder: Path, tmp_path: Path) -> None:
    outcome = fetcher().fetch(entry(), folder)
    assert (outcome.did, outcome.verified) == ("copied", True)
    assert is_whole(tmp_path / "data")
    assert is_whole(folder)


def test_a_changed_copy_is_refused(fetcher, folder: Path, tmp_path: Path) -> None:
    with open(folder / "tiny/gene/test.conll", "ab") as file:
        file.write(b"one\tO\n\n")
    with pytest.raises(ChecksumMismatch, match=r"test: .*test\.conll has the SHA-256"):
        fetcher().fetch(entry(), folder)
    assert listing(tmp_path / "data") == []
    assert not fetcher(verify=False).fetch(entry(), folder).verified


def test_a_copy_that_lacks_something(fetcher, folder: Path, tmp_path: Path) -> None:
    (folder / "tiny/gene/dev.conll").unlink()
    with pytest.raises(FileMissing, match=r"dev\.conll"):
        fetcher().fetch(entry(), folder)
    with pytest.raises(FileMissing, match="other"):
        fetcher().fetch(entry("tiny/other"), folder)
    assert listing(tmp_path / "data") == []


@pytest.mark.processes
def test_only_what_is_missing_is_fetched(server: Server, fetcher, tmp_path: Path) -> None:
    fetcher().fetch(entry(), server.url())
    (tmp_path / "data" / TRAIN).unlink()
    server.requests.clear()
    fetcher().fetch(entry(), server.url())
    assert is_whole(tmp_path / "data")
    assert server.requests == [(TRAIN, None)]


def test_a_file_that_differs_is_left_alone(fetcher, folder: Path, tmp_path: Path) -> None:
    mine = tmp_path / "data/tiny/gene/dev.conll"
    mine.parent.mkdir(parents=True)
    mine.write_bytes(b"mine\tO\n\n")
    with pytest.raises(ChecksumMismatch, match=r"(?s)dev\.conll has the.*--replace"):
        fetcher().fetch(entry(), folder)
    assert listing(tmp_path / "data") == ["tiny/gene/dev.conll"]
    assert mine.read_bytes() == b"mine\tO\n\n"
    fetcher(replace=True).fetch(entry(), folder)
    assert is_whole(tmp_path / "data")


def test_without_a_known_checksum(fetcher, folder: Path, tmp_path: Path) -> None:
    licensed = entry(sha256={}, access="licensed", obtain="a licence from them")
    with pytest.raises(CorpusUnavailable, match="get a licence from them"):
        fetcher().fetch(licensed)
    with pytest.raises(CorpusUnavailable, match="--no-verify"):
        fetcher().fetch(licensed, folder)
    assert not fetcher(verify=False).fetch(licensed, folder).verified
    assert is_whole(tmp_path / "data")
    with pytest.raises(CorpusUnavailable, match="--replace"):
        fetcher(verify=False).fetch(licensed, folder)


# --- the verb ---------------------------------------------------------------------------------------


@pytest.fixture
def call(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    def run(*arguments: object) -> tuple[int, str, str]:
        from adaptner.cli.main import main

        monkeypatch.setattr(sys, "argv", ["adaptner", "corpora", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err
        return int(end.value.code or 0), printed.out, printed.err

    return run


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Another catalogue than ours."""
    return lambda *entries: monkeypatch.setattr(catalogue, "_load", lambda: entries)


@pytest.mark.processes
def test_the_verb(server: Server, call, known, tmp_path: Path) -> None:
    known(entry(), entry("tiny/missing"), entry("other/gene2"))
    where = ("-o", tmp_path / "data", "--from", server.url())
    code, printed, said = call("fetch", "gene", *where)
    assert (code, said) == (0, "")
    assert printed == "tiny/gene: downloaded (train, dev, test)\n"
    # One that fails does not keep the others from being fetched.
    (tmp_path / "data" / TRAIN).unlink()
    code, printed, said = call("fetch", "tiny/missing", "tiny", *where, "--json")
    assert code == 1
    assert [(row["name"], row["did"]) for row in json.loads(printed)] == [
        ("tiny/missing", "failed"),
        ("tiny/gene", "downloaded"),
    ]
    assert said.count("error:") == 1
    assert "404" in said
    assert is_whole(tmp_path / "data")


@pytest.mark.processes
def test_the_verb_says_what_is_not_verified(server: Server, call, known, tmp_path: Path) -> None:
    known(entry())
    server.faults[TRAIN] = ["corrupt"]
    code, _, said = call(
        "fetch", "tiny/gene", "-o", tmp_path, "--from", server.url(), "--no-verify"
    )
    assert code == 0
    assert "warning: tiny/gene: not compared with a known checksum: train" in said


@pytest.mark.parametrize(
    ("name", "near"),
    [("bio8/ncbi-diseases", "bio8/ncbi-disease"), ("wikigld", "wikigold"), ("bio9", "bio8")],
)
def test_an_unknown_name_names_the_nearest(call, tmp_path: Path, name: str, near: str) -> None:
    code, _, said = call("fetch", name, "-o", tmp_path / "data")
    assert code == 2
    assert f"no corpus is called {name!r} (did you mean {near!r}?)" in said
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("name", ["general/ontonotes5", "general/ace2005-bc", "biored", "bc4chemd"])
def test_what_cannot_be_downloaded_says_what_to_do(call, tmp_path: Path, name: str) -> None:
    code, _, said = call("fetch", name, "-o", tmp_path / "data")
    assert code == 1
    assert "What to do: g" in said  # get something, or give something
    assert ("corpora convert" in said) == (name != "biored")
    assert not (tmp_path / "data").exists()


def test_wrong_origins(call, tmp_path: Path) -> None:
    for origin, error in (("ftp://example.org", UsageError), (tmp_path / "none", FileMissing)):
        code, _, said = call("fetch", "s800", "-o", tmp_path / "data", "--from", origin)
        assert code == error.exit_code
        assert "What to do" in said
