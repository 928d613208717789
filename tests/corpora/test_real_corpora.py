"""Tests that statistics and overlaps of the real corpora equal the published tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from adaptner.corpora.corpus import Corpus, group_by_domain, load_corpus
from adaptner.corpora.overlap import fingerprints, remove_overlap
from adaptner.corpora.statistics import corpus_statistics
from adaptner.types import Sentence

pytestmark = pytest.mark.slow

BIO8 = {
    "ncbi-disease": "Disease",
    "bc5cdr-disease": "Disease",
    "bc5cdr-chem": "Drug",
    "jnlpba": "Gene",
    "bc2gm": "Gene",
    "linnaeus": "Species",
    "s800": "Species",
    "bc4chemd-sub": "Drug",
}
ROWS = [*(f"bio8/{name}" for name in BIO8), "news/conll03", "news/scitech", "general/wnut17"]

corpus_at = cache(load_corpus)


@pytest.fixture(scope="module", autouse=True)
def _clear_cache() -> Iterator[None]:
    """Millions of cached objects would slow down the tests that follow."""
    yield
    corpus_at.cache_clear()


def published(data: Path, corpus: str) -> dict[str, list[float]]:
    """The figures in the row of the README, by column heading."""
    group, name = corpus.split("/")
    text = (data / "README.md").read_text(encoding="utf-8")
    section = text.split(f"## {group}\n")[1].split("\n## ")[0]
    table = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    headings = [heading.strip() for heading in table[0]]
    (row,) = [row for row in table if row[0].strip() == name]
    found = {}
    for column in ("sentences", "mentions", "unique tokens", "% with NEs"):
        (index,) = [i for i, heading in enumerate(headings) if heading.startswith(column)]
        figures = re.sub(r"\(.*?\)|,", "", row[index])
        found[column] = [float(figure) for figure in figures.split("/")]
    return found


@pytest.mark.parametrize("name", ROWS)
def test_statistics_equal_the_published_ones(shared_data, name):
    figures = corpus_statistics(corpus_at(shared_data / name))
    assert published(shared_data, name) == {
        "sentences": list(figures.sentences.values()),
        "mentions": list(figures.mentions.values()),
        "unique tokens": [figures.unique_tokens],
        "% with NEs": [round(figures.percent_with_entities, 1)],
    }
    assert sum(figures.mentions_per_type.values()) == sum(figures.mentions.values())


def test_mentions_by_type_of_conll03(shared_data):
    corpus = corpus_at(shared_data / "news/conll03")
    counts: dict[str, int] = {}
    for sentence in corpus.split("train"):
        for entity in sentence.entities:
            counts[entity.label] = counts.get(entity.label, 0) + 1
    assert counts == {"PER": 6600, "LOC": 7140, "ORG": 6321, "MISC": 3438}
    assert corpus.domain == "conll03"


def test_domains_of_the_bio8_corpora(shared_data):
    corpora = [corpus_at(shared_data / "bio8" / name) for name in BIO8]
    assert {c.name: c.domain for c in corpora} == BIO8
    assert [d.name for d in group_by_domain(corpora)] == ["Disease", "Drug", "Gene", "Species"]


def train_and_dev(corpus: Corpus) -> list[Sentence]:
    return [*corpus.split("train"), *corpus.split("dev")]


def shared(corpus: Corpus, other: Corpus) -> int:
    """Number of distinct test sentences of ``corpus`` in ``other`` (train and dev if the same)."""
    sentences = (
        train_and_dev(other)
        if other is corpus
        else [s for n in other.splits for s in other.split(n)]
    )
    return len(fingerprints(corpus.split("test")) & fingerprints(sentences))


@pytest.mark.parametrize(
    ("tested", "held", "count"),
    [
        ("jnlpba", "jnlpba", 101),
        ("bc2gm", "bc2gm", 16),
        ("bc2gm", "jnlpba", 22),
        ("jnlpba", "bc2gm", 13),
        ("linnaeus", "linnaeus", 6),
        ("ncbi-disease", "ncbi-disease", 1),
        ("bc5cdr-chem", "bc5cdr-chem", 3),
    ],
)
def test_overlaps_equal_the_published_ones(shared_data, tested, held, count):
    assert shared(*(corpus_at(shared_data / "bio8" / name) for name in (tested, held))) == count


def test_overlap_is_removed(shared_data):
    corpus = corpus_at(shared_data / "bio8" / "jnlpba")
    sentences, test = train_and_dev(corpus), corpus.split("test")
    kept, removed = remove_overlap(sentences, test)
    assert removed == 101
    assert len(kept) == len(sentences) - removed
    assert remove_overlap(kept, test) == (kept, 0)


def test_overlap_ignores_case_and_spacing_and_short_sentences():
    def sentence(text: str) -> Sentence:
        return Sentence.from_tokens(text.split())

    long = "Loss of TP53 in early passages accelerated the emergence of clones ."
    other = long.replace("TP53", "TP 53").upper()
    short = "The results are shown in Table 1 ."
    kept, removed = remove_overlap(
        [sentence(long), sentence(short), sentence(long + " x")], [sentence(other), sentence(short)]
    )
    assert removed == 1
    assert [s.text for s in kept] == [short, long + " x"]
