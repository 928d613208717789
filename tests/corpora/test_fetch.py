"""Tests of fetching corpora from a mirror, their publishers, and a folder, with all failures."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from web_kit import SPLITS, Server, entry, mirrored, plain, serving, write_mirror

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
def _unreachable_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests to this machine must not use the proxies of the environment."""
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(mirrored()) as server:
        yield server


class Pauses(list[float]):
    """Replaces ``time.sleep`` and records the pauses."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


@pytest.fixture
def pauses() -> Pauses:
    return Pauses()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def fetcher(data: Path, pauses: Pauses) -> Callable[..., Fetcher]:
    def make(**settings: object) -> Fetcher:
        limits = {"attempts": 5, "timeout": 60.0, **settings.pop("limits", {})}
        web = Downloader(pause=1.0, sleep=pauses, **limits)
        return Fetcher(data, web, **settings)

    return make


def listing(folder: Path) -> list[str]:
    return sorted(os.path.relpath(p, folder) for p in folder.rglob("*") if p.is_file())


def is_complete(folder: Path) -> bool:
    """Returns whether the folder contains the correct splits and nothing else."""
    right = [(folder / f"tiny/gene/{s}.conll").read_bytes() == SPLITS[s] for s in SPLITS]
    return all(right) and listing(folder) == sorted(f"tiny/gene/{s}.conll" for s in SPLITS)


# --- from a mirror ----------------------------------------------------------------------------------


def test_mirror_is_downloaded_once(server, fetcher, pauses, data):
    outcome = fetcher().fetch(entry(), server.url())
    assert (outcome.did, outcome.verified) == ("downloaded", True)
    assert is_complete(data)
    assert server.requests == [(path, None) for path in mirrored()]
    assert pauses == []
    again = fetcher().fetch(entry(), server.url())
    assert again.did == "already there"
    assert len(server.requests) == len(SPLITS)


def test_truncated_download_is_resumed(server, fetcher, pauses, data):
    server.faults[TRAIN] = [1000, 2000]
    fetcher().fetch(entry(), server.url())
    assert is_complete(data)
    ranges = [range_ for path, range_ in server.requests if path == TRAIN]
    assert ranges == [None, "bytes=1000-", "bytes=3000-"]
    assert pauses == [1.0, 1.0]  # not doubled, because each attempt received data


def test_failed_download_is_resumed_by_the_next_run(server, fetcher, data):
    server.faults[TRAIN] = [1000, "500"]
    with pytest.raises(DownloadFailed, match="resume after 1,000 bytes"):
        fetcher(limits={"attempts": 2}).fetch(entry(), server.url())
    assert listing(data) == [f"{TRAIN}.part"]
    assert (data / f"{TRAIN}.part").read_bytes() == SPLITS["train"][:1000]
    fetcher().fetch(entry(), server.url())
    assert is_complete(data)
    assert server.requests[2] == (TRAIN, "bytes=1000-")


def test_interrupted_download_is_resumed_by_the_next_run(server, fetcher, data):
    def stop(done: int, total: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetcher(progress=lambda name: stop).fetch(entry(), server.url())
    (part,) = listing(data)
    assert part == f"{TRAIN}.part"
    fetcher().fetch(entry(), server.url())
    assert is_complete(data)


@pytest.mark.parametrize("junk", [100, SIZE, SIZE + 100], ids=["shorter", "as long", "longer"])
def test_partial_file_of_another_file_is_discarded(server, fetcher, data, junk):
    part = data / f"{TRAIN}.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"x" * junk)
    fetcher().fetch(entry(), server.url())
    assert is_complete(data)


def test_complete_partial_file_is_not_downloaded_again(server, fetcher, data):
    part = data / f"{TRAIN}.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(SPLITS["train"])
    fetcher().fetch(entry(), server.url())
    assert is_complete(data)
    assert server.requests[0] == (TRAIN, f"bytes={SIZE}-")


def test_corrupted_download_raises_and_leaves_no_file(server, fetcher, data):
    server.faults[TRAIN] = ["corrupt"]
    with pytest.raises(ChecksumMismatch, match=f"(?s){entry().sha256['train']}.*was rejected"):
        fetcher().fetch(entry(), server.url())
    assert list(data.rglob("*")) == []


def test_corrupted_download_is_accepted_without_verification(server, fetcher, data):
    server.faults[TRAIN] = ["corrupt"]
    outcome = fetcher(verify=False).fetch(entry(), server.url())
    assert not outcome.verified
    assert (data / TRAIN).read_bytes().endswith(b"\0\0\0")


def test_download_restarts_if_the_server_cannot_resume(server, fetcher, data):
    server.ranges = False
    server.faults[TRAIN] = [1000, "ok"]
    fetcher().fetch(entry(), server.url())
    assert is_complete(data)


def test_stalled_download_is_resumed(server, fetcher, data):
    server.faults[TRAIN] = ["stall"]
    # On a slow machine, other responses may time out too and are requested again.
    fetcher(limits={"timeout": 2.0, "attempts": 50}).fetch(entry(), server.url())
    assert is_complete(data)
    assert len([path for path, _ in server.requests if path == TRAIN]) > 1


def test_temporary_error_is_retried_with_growing_pauses(server, fetcher, pauses, data):
    server.faults[TRAIN] = ["500", "503", "429"]
    fetcher().fetch(entry(), server.url())
    assert is_complete(data)
    assert pauses == [1.0, 2.0, 4.0]


@pytest.mark.parametrize(
    ("retry_after", "pause"), [("7", 7.0), ("100000", 60.0), ("tomorrow", 1.0)]
)
def test_retry_after_determines_the_pause(server, fetcher, pauses, retry_after, pause):
    server.headers["Retry-After"] = retry_after
    server.faults[TRAIN] = ["503"]
    fetcher().fetch(entry(), server.url())
    assert pauses == [pause]


def test_persistent_error_raises_after_all_attempts(server, fetcher, pauses, data):
    server.faults[TRAIN] = ["500"] * 10
    with pytest.raises(DownloadFailed, match=r"responded with 500.*\(5 attempts\)"):
        fetcher().fetch(entry(), server.url())
    assert len(server.requests) == 5
    assert pauses == [1.0, 2.0, 4.0, 8.0]
    assert listing(data) == []


@pytest.mark.parametrize("code", ["404", "403", "410"])
def test_permanent_error_is_not_retried(server, fetcher, data, code):
    server.faults[TRAIN] = [code]
    with pytest.raises(DownloadFailed, match=f"the server responded with {code}"):
        fetcher().fetch(entry(), server.url())
    assert len(server.requests) == 1
    assert listing(data) == []


def test_refused_connection_raises_after_all_attempts(fetcher, pauses):
    with socket.socket() as closed:  # bound, but not listening
        closed.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{closed.getsockname()[1]}"
        with pytest.raises(DownloadFailed, match="5 attempts"):
            fetcher().fetch(entry(), address)
    assert len(pauses) == 4


def test_redirections_are_followed(server, fetcher, data):
    server.redirects = {f"old/{path}": server.url(path) for path in mirrored()}
    server.faults[TRAIN] = [1000]
    fetcher().fetch(entry(), server.url("old/"))
    assert is_complete(data)
    assert ("old/" + TRAIN, "bytes=1000-") in server.requests
    assert (TRAIN, "bytes=1000-") in server.requests


@pytest.mark.parametrize("target", ["ftp://127.0.0.1/x", "file:///etc/hostname"])
def test_redirection_to_another_protocol_raises(server, fetcher, data, target):
    server.redirects = {TRAIN: target}
    with pytest.raises(DownloadFailed):
        fetcher().fetch(entry(), server.url())
    assert listing(data) == []


# --- from the publisher --------------------------------------------------------------------


@pytest.fixture
def published(server: Server) -> CatalogueEntry:
    server.files |= {f"raw/{s}.tsv": plain(content) for s, content in SPLITS.items()}
    return entry(published=server.url("raw"))


def test_published_files_are_converted(server, fetcher, published, data):
    server.faults["raw/train.tsv"] = [5000]
    outcome = fetcher().fetch(published)
    assert (outcome.did, outcome.verified) == ("converted", True)
    assert is_complete(data)  # without the raw files
    assert load_corpus(data / "tiny/gene").domain == "Gene"


def test_existing_raw_files_are_not_downloaded_again(server, fetcher, published, data):
    server.faults["raw/test.tsv"] = ["404"]
    with pytest.raises(DownloadFailed):
        fetcher().fetch(published)
    assert listing(data) == [f"tiny/gene/raw/{s}-{s}.tsv" for s in ("dev", "train")]
    fetcher().fetch(published)
    assert is_complete(data)
    assert [path for path, _ in server.requests].count("raw/train.tsv") == 1


def test_conversion_with_a_wrong_checksum_is_kept_as_mismatch(server, fetcher, published, data):
    correct = server.files["raw/test.tsv"]
    server.files["raw/test.tsv"] = correct.replace(b"CDK0\tB", b"CDK0\tO")
    with pytest.raises(ChecksumMismatch, match=r"(?s)nothing was installed.*test.conll.mismatch"):
        fetcher().fetch(published)
    assert listing(data) == ["tiny/gene/test.conll.mismatch"]
    mismatch = (data / "tiny/gene/test.conll.mismatch").read_bytes()
    # The rest of the mention has lost its first tag, so it becomes a mention.
    assert mismatch == SPLITS["test"].replace(b"CDK0\tB-Gene\n-\tI-Gene", b"CDK0\tO\n-\tB-Gene")
    server.files["raw/test.tsv"] = correct
    fetcher().fetch(published)
    assert is_complete(data)


def test_conversion_with_a_wrong_checksum_is_accepted_without_verification(
    server, fetcher, published, data
):
    server.files["raw/test.tsv"] += b"more\tO\n"
    outcome = fetcher(verify=False).fetch(published)
    assert not outcome.verified
    assert len(load_corpus(data / "tiny/gene").split("test")) == 51


def test_raw_files_that_cannot_be_converted_are_kept(server, fetcher, published, data):
    server.files["raw/dev.tsv"] = b"<html>\n<p>not here</p> any more\n"
    with pytest.raises(RawFileUnusable, match=r"(?s)raw/dev-dev\.tsv:1: .*delete it"):
        fetcher().fetch(published)
    assert listing(data) == [f"tiny/gene/raw/{s}-{s}.tsv" for s in ("dev", "test", "train")]


# --- from a folder, and existing files -------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_mirror(tmp_path / "copy")


def test_folder_is_copied(fetcher, folder, data):
    outcome = fetcher().fetch(entry(), folder)
    assert (outcome.did, outcome.verified) == ("copied", True)
    assert is_complete(data)
    assert is_complete(folder)


def test_changed_copy_raises(fetcher, folder, data):
    with open(folder / "tiny/gene/test.conll", "ab") as file:
        file.write(b"one\tO\n\n")
    with pytest.raises(ChecksumMismatch, match=r"test: .*test\.conll has the SHA-256"):
        fetcher().fetch(entry(), folder)
    assert listing(data) == []
    assert not fetcher(verify=False).fetch(entry(), folder).verified


def test_incomplete_copy_raises(fetcher, folder, data):
    (folder / "tiny/gene/dev.conll").unlink()
    with pytest.raises(FileMissing, match=r"dev\.conll"):
        fetcher().fetch(entry(), folder)
    with pytest.raises(FileMissing, match="other"):
        fetcher().fetch(entry("tiny/other"), folder)
    assert listing(data) == []


def test_only_missing_splits_are_fetched(server, fetcher, data):
    fetcher().fetch(entry(), server.url())
    (data / TRAIN).unlink()
    server.requests.clear()
    fetcher().fetch(entry(), server.url())
    assert is_complete(data)
    assert server.requests == [(TRAIN, None)]


def test_existing_file_that_differs_is_only_overwritten_with_replace(fetcher, folder, data):
    existing = data / "tiny/gene/dev.conll"
    existing.parent.mkdir(parents=True)
    existing.write_bytes(b"mine\tO\n\n")
    with pytest.raises(ChecksumMismatch, match=r"(?s)dev\.conll has the.*--replace"):
        fetcher().fetch(entry(), folder)
    assert listing(data) == ["tiny/gene/dev.conll"]
    assert existing.read_bytes() == b"mine\tO\n\n"
    fetcher(replace=True).fetch(entry(), folder)
    assert is_complete(data)


def test_corpus_without_checksum_needs_no_verify_and_replace(fetcher, folder, data):
    licensed = entry(sha256={}, access="licensed", obtain="a licence from them")
    with pytest.raises(CorpusUnavailable, match="get a licence from them"):
        fetcher().fetch(licensed)
    with pytest.raises(CorpusUnavailable, match="--no-verify"):
        fetcher().fetch(licensed, folder)
    assert not fetcher(verify=False).fetch(licensed, folder).verified
    assert is_complete(data)
    with pytest.raises(CorpusUnavailable, match="--replace"):
        fetcher(verify=False).fetch(licensed, folder)


# --- the verb ---------------------------------------------------------------------------------------


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Replaces the catalogue."""
    return lambda *entries: monkeypatch.setattr(catalogue, "catalogue", lambda: entries)


def test_fetch_command_continues_after_a_failure(server, call, known, data):
    known(entry(), entry("tiny/missing"), entry("other/gene2"))
    where = ("-o", data, "--from", server.url())
    answer = call("corpora", "fetch", "gene", *where)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out == "tiny/gene: downloaded (train, dev, test)\n"
    (data / TRAIN).unlink()
    answer = call("corpora", "fetch", "tiny/missing", "tiny", *where, "--json")
    assert answer.code == 1
    assert [(row["name"], row["did"]) for row in json.loads(answer.out)] == [
        ("tiny/missing", "failed"),
        ("tiny/gene", "downloaded"),
    ]
    assert answer.err.count("error:") == 1
    assert "404" in answer.err
    assert is_complete(data)


def test_fetch_command_warns_about_unverified_files(server, call, known, tmp_path):
    known(entry())
    server.faults[TRAIN] = ["corrupt"]
    answer = call(
        "corpora", "fetch", "tiny/gene", "-o", tmp_path, "--from", server.url(), "--no-verify"
    )
    assert answer.code == 0
    assert "warning: tiny/gene: not compared with a known checksum: train" in answer.err


@pytest.mark.parametrize(
    ("name", "near"),
    [("bio8/ncbi-diseases", "bio8/ncbi-disease"), ("wikigld", "wikigold"), ("bio9", "bio8")],
)
def test_unknown_name_suggests_the_nearest(call, data, name, near):
    answer = call("corpora", "fetch", name, "-o", data)
    assert answer.code == 2
    assert f"no corpus is called {name!r} (did you mean {near!r}?)" in answer.err
    assert not data.exists()


@pytest.mark.parametrize("name", ["general/ontonotes5", "general/ace2005-bc", "biored", "bc4chemd"])
def test_corpus_that_cannot_be_downloaded_raises_with_a_remedy(call, data, name):
    answer = call("corpora", "fetch", name, "-o", data)
    assert answer.code == 1
    assert "What to do: g" in answer.err  # "get ..." or "give ..."
    assert ("corpora convert" in answer.err) == (name != "biored")
    assert not data.exists()


def test_invalid_origin_raises(call, tmp_path):
    for origin, error in (("ftp://example.org", UsageError), (tmp_path / "none", FileMissing)):
        answer = call("corpora", "fetch", "s800", "-o", tmp_path / "data", "--from", origin)
        assert answer.code == error.exit_code
        assert "What to do" in answer.err
