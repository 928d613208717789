"""Tests of the catalogue: completeness, agreement with the data, and `corpora list`."""

from __future__ import annotations

import inspect
import json
import re
import tomllib
from pathlib import Path

import pytest
from web_kit import SPLITS, entry, write_mirror

from adaptner.corpora import catalogue as module
from adaptner.corpora.catalogue import (
    ACCESS,
    catalogue,
    check_files,
    describe_state,
    find_entry,
    select_entries,
)
from adaptner.corpora.converters import FILE_CONVERTERS, FOLDER_CONVERTERS
from adaptner.errors import UnknownName
from adaptner.reproduce.tables.published import papers

ROOT = Path(__file__).resolve().parents[2]

# The corpora that each paper uses
BIO8 = ("ncbi-disease", "bc5cdr-disease", "bc5cdr-chem", "bc4chemd", "bc2gm", "jnlpba")
EIGHT = {f"bio8/{name}" for name in (*BIO8, "linnaeus", "s800")}
USED = {
    "HGDA": EIGHT,
    "MetaBioNER": EIGHT,
    "MetaNER": {
        *(f"general/ace2005-{domain}" for domain in ("bc", "bn", "cts", "nw", "un", "wl")),
        *(f"general/{name}" for name in ("ontonotes5", "wikigold", "wikigold-silver", "wnut17")),
        *(f"general/{name}" for name in ("mit-movie", "mit-restaurant", "re3d", "sec")),
        "news/conll03",
        "bio-extra/bionlp13pc",
    },
    "PDALN": {
        "news/conll03",
        "news/scitech",
        *(f"general/{name}" for name in ("wnut16", "wnut16-conll", "webpage", "wikigold")),
    },
    "Jia2019": {
        "news/conll03",
        "news/scitech",
        "bio-extra/bionlp13pc",
        "bio-extra/bionlp13cg",
        "raw/reuters",
        "raw/cbs-scitech",
    },
}


def test_catalogue_has_every_corpus_of_the_papers():
    named = {paper: {e.name for e in catalogue() if paper in e.papers} for paper in USED}
    assert named == USED
    assert {p.short for p in papers()} == set(USED)


@pytest.mark.parametrize("known", catalogue(), ids=lambda e: e.name)
def test_entry_is_consistent(known):
    assert re.fullmatch(r"[a-z0-9-]+/[a-z0-9-]+", known.name)
    assert known.access in ACCESS
    assert known.licence
    assert known.domain
    assert set(known.papers) <= set(USED)
    assert all(re.fullmatch(r"[0-9a-f]{64}", digest) for digest in known.sha256.values())
    if known.sha256:
        assert list(known.sentences) == list(known.sha256)
        assert known.types
        assert re.fullmatch(r"[0-9a-f]{10}|[0-9a-f]{40}", known.commit)
        assert known.address.startswith(
            f"https://github.com/{known.repository}/tree/{known.commit}/"
        )
        assert all(known.url(part).startswith("https://") for part in known.raw)
        assert known.how
    else:
        assert known.obtain  # the entry must say how to obtain the corpus
    assert (known.access == "public") <= bool(known.sha256 and known.raw and known.conversion)
    assert (known.access in ("licensed", "by-hand")) <= bool(known.conversion)


@pytest.mark.parametrize("known", [e for e in catalogue() if e.conversion], ids=lambda e: e.name)
def test_converter_accepts_the_settings_of_the_entry(known):
    settings = dict(known.conversion)
    layout = settings.pop("layout")
    if layout in FOLDER_CONVERTERS:
        assert not settings
    else:
        inspect.signature(FILE_CONVERTERS[layout]).bind({}, **settings)


def test_names_are_unique():
    entries = catalogue()
    assert len({e.name for e in entries}) == len(entries)
    assert len({e.short_name for e in entries}) == len(entries)
    assert not {e.short_name for e in entries} & {e.group for e in entries}


def test_catalogue_is_package_data():
    package = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "corpora/catalogue.toml" in package["tool"]["setuptools"]["package-data"]["adaptner"]


# --- agreement with the data ----------------------------------------------------------------------


def test_every_data_folder_is_in_the_catalogue(shared_data):
    folders = {f"{p.parent.name}/{p.name}" for p in shared_data.glob("*/*") if p.is_dir()}
    assert folders == {e.name for e in catalogue() if e.sha256}


@pytest.mark.parametrize("known", [e for e in catalogue() if e.sha256], ids=lambda e: e.name)
def test_checksums_sentences_and_types_agree_with_the_data(shared_data, known):
    assert check_files(known, shared_data).verified == tuple(known.sha256)
    assert describe_state(known, shared_data) == "here"
    splits = {p.name.removesuffix(".conll") for p in known.folder(shared_data).iterdir()}
    assert splits == set(known.sha256)
    types = set()
    for split, count in known.sentences.items():
        lines = known.file(shared_data, split).read_text(encoding="utf-8").split("\n")
        assert lines.count("") - 1 == count  # one after each sentence, and one at the end
        types |= {
            tag[2:] for line in set(lines) if "\t" in line and (tag := line.split("\t")[1]) != "O"
        }
    assert tuple(sorted(types)) == known.types


def test_sources_and_licences_agree_with_the_readme_of_the_data(shared_data):
    """Each row of the README has a repository, a commit, and a path."""
    text = (shared_data / "README.md").read_text(encoding="utf-8")
    checked = 0
    for group in ("bio8", "bio-extra", "news", "general"):
        section = text.split(f"## {group}\n")[1].split("\n## ")[0]
        for row in section.splitlines():
            source = re.search(r"\| ([\w.-]+/[\w.-]+)@([0-9a-f]+) `([^`]+)`", row)
            if source is None:
                continue
            name = f"{group}/{row.strip('| ').split(' |')[0]}"
            known = find_entry(name)
            assert known.repository == source[1]
            assert known.commit.startswith(source[2])
            folder = source[3].rpartition("/")[0]
            assert any(path.startswith(folder) for path in known.raw.values()), name
            licences = re.findall(
                r"CC0? ?[\w-]* [\d.]+|MIT|Apache|GPL|not stated|public domain", row
            )
            assert any(word in known.licence for word in licences), name
            checked += 1
    assert checked == len([e for e in catalogue() if e.sha256])


# --- data folders and names -------------------------------------------------------------


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_mirror(tmp_path / "data")


def test_describe_state(data):
    known = entry()
    assert describe_state(known, data) == "here"
    assert check_files(known, data).complete
    assert describe_state(entry(sha256={}), data) == "here, no checksum known"
    assert describe_state(known, None) == describe_state(known, data.parent) == "by copy"
    test = data / "tiny/gene/test.conll"
    test.unlink()
    assert describe_state(known, data) == "incomplete: no test"
    test.write_bytes(SPLITS["test"] + b"\n")
    assert describe_state(known, data) == "changed: test"
    assert check_files(known, data).changed == ("test",)
    assert not check_files(known, data).complete


def test_entries_are_found_by_name_and_group():
    assert find_entry("bio8/s800") is find_entry("s800") is find_entry("bio8/s800/")
    assert [e.name for e in select_entries(["s800", "news", "bio8/s800"])] == [
        "bio8/s800",
        "news/conll03",
        "news/scitech",
    ]
    assert {e.access for e in select_entries(["general"])} == {"public"}
    with pytest.raises(UnknownName, match="did you mean 'news/conll03'"):
        find_entry("news/conll2003")


# --- corpora list ---------------------------------------------------------------------------------------


def test_list_shows_every_corpus(call):
    answer = call("corpora", "list")
    assert (answer.code, answer.err) == (0, "")
    for known in catalogue():
        (line,) = [x for x in answer.out.splitlines() if x.startswith(f"  {known.short_name} ")]
        assert ACCESS[known.access] in line
        assert known.domain in line
    assert "then: adaptner corpora convert ontonotes FOLDER -o DATA" in answer.out
    assert "then: adaptner corpora convert ace2005 FOLDER -o DATA" in answer.out
    assert answer.out.count("LDC2006T06") == 1


def test_list_shows_the_state_of_a_data_folder(call, data, monkeypatch):
    known = (entry(), entry("tiny/other"), entry("tiny/silver", access="unavailable", obtain="no"))
    monkeypatch.setattr(module, "catalogue", lambda: known)
    (data / "tiny/gene/dev.conll").write_bytes(b"changed")
    answer = call("corpora", "list", "--data", data)
    assert answer.code == 0
    assert re.search(r"^  gene +changed: dev ", answer.out, re.MULTILINE)
    assert re.search(r"^  other +by copy ", answer.out, re.MULTILINE)
    assert re.search(r"^  silver +not available ", answer.out, re.MULTILINE)
    answer = call("corpora", "list", "--data", data, "--json")
    (row, *_) = json.loads(answer.out)
    assert (row["name"], row["state"], row["sha256"]) == (
        "tiny/gene",
        "changed: dev",
        dict(entry().sha256),
    )


def test_list_shows_the_facts_about_one_corpus(call):
    answer = call("corpora", "list", "scitech", "general/ontonotes5")
    assert answer.code == 0
    for part in (
        "2,824 entities",
        "jiachenwestlake/Cross-Domain_NER",
        find_entry("scitech").sha256["test"],
    ):
        assert part in answer.out
    assert "LDC2013T19" in answer.out
    assert "adaptner corpora convert ontonotes FOLDER -o DATA" in answer.out


def test_unknown_name_or_folder_exits_with_an_error(call, tmp_path):
    answer = call("corpora", "list", "scitec")
    assert (answer.code, answer.out) == (2, "")
    assert "did you mean 'scitech'" in answer.err
    answer = call("corpora", "list", "--data", tmp_path / "none")
    assert answer.code == 1
    assert "GROUP/NAME/SPLIT.conll" in answer.err
