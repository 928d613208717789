"""Tests of loading corpora: files, names, checksums, and errors."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from adaptner.corpora.corpus import group_by_domain, load_corpus
from adaptner.errors import AmbiguousSplit, CorpusIncomplete, EntityOffTokens, FileMissing

GENE = "TP53\tB-Gene\nfell\tO\n\nBRCA1\tB-Gene\n\n"
MIXED = "TP53\tB-Gene\nHeLa\tB-CellLine\n\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "my-corpus"
    folder.mkdir()
    (folder / "train.conll").write_text(GENE)
    (folder / "train.distant.conll").write_text("x\tB-Other\n")
    (folder / "README.txt").write_text("not a split")
    (folder / "test.jsonl").write_text(
        '{"text": "We saw it. p53 fell.", "entities": [{"start": 11, "end": 14, "label": "Gene"}]}'
    )
    return folder


def test_corpus_of_a_folder(folder):
    corpus = load_corpus(folder)
    assert (corpus.name, corpus.domain, corpus.folder) == ("my-corpus", "Gene", folder)
    assert corpus.labels.labels == ("Gene",)
    assert corpus.splits == ("train", "test")
    assert [s.text for s in corpus.split("train")] == ["TP53 fell", "BRCA1"]
    assert [(s.text, s.start, s.tags) for s in corpus.split("test")] == [
        ("We saw it.", 0, ("O", "O", "O", "O")),
        ("p53 fell.", 11, ("B-Gene", "O", "O")),
    ]
    with pytest.raises(CorpusIncomplete, match=r"the dev split is missing \(found: train, test\)"):
        corpus.split("dev")


def test_domain_is_given_or_the_label_or_the_folder(folder):
    assert load_corpus(f"Protein={folder}").domain == "Protein"
    (folder / "dev.tsv").write_text(MIXED)
    assert load_corpus(str(folder)).domain == "my-corpus"
    with_equals = folder.rename(folder.with_name("a=b"))
    assert load_corpus(str(with_equals)).name == "a=b"


def test_corpus_is_immutable(folder):
    corpus = load_corpus(folder)
    with pytest.raises(dataclasses.FrozenInstanceError):
        corpus.name = "other"
    with pytest.raises(TypeError):
        corpus.sentences["train"] = ()


def test_checksum_depends_on_splits_and_contents_only(folder):
    before = load_corpus(folder).sha256
    (folder / "train.distant.conll").write_text("y\tO\n")
    moved = folder.rename(folder.with_name("moved"))
    assert load_corpus(moved).sha256 == before
    (moved / "test.jsonl").write_text('{"text": "other"}')
    assert load_corpus(moved).sha256 != before
    (moved / "test.jsonl").rename(moved / "dev.jsonl")
    assert load_corpus(moved).sha256 not in (before, "")


def test_missing_and_ambiguous_files_raise(folder, tmp_path):
    with pytest.raises(FileMissing, match="nowhere"):
        load_corpus(tmp_path / "nowhere")
    with pytest.raises(FileMissing, match="nowhere"):
        load_corpus(f"X={tmp_path / 'nowhere'}")
    (tmp_path / "empty").mkdir()
    with pytest.raises(CorpusIncomplete, match="found: none"):
        load_corpus(tmp_path / "empty")
    (folder / "train.jsonl").write_text('{"text": "a"}')
    with pytest.raises(AmbiguousSplit, match=r"train\.conll and train\.jsonl"):
        load_corpus(folder)


def test_misaligned_entity_raises_with_its_line(folder):
    (folder / "dev.jsonl").write_text(
        '{"text": "fine"}\n{"text": "TP53", "entities": [{"start": 0, "end": 2, "label": "G"}]}'
    )
    with pytest.raises(EntityOffTokens, match=r"dev\.jsonl:2: "):
        load_corpus(folder)


def test_domains_are_in_order_of_appearance(folder):
    gene = load_corpus(folder)
    others = [load_corpus(f"{name}={folder}") for name in ("Z", "Gene", "A", "Z")]
    domains = group_by_domain([gene, *others])
    assert [d.name for d in domains] == ["Gene", "Z", "A"]
    assert [len(d.corpora) for d in domains] == [2, 2, 1]
    assert domains[0].corpora[0] is gene
    assert domains[1].labels.labels == ("Gene",)
