"""Tests of the task sampler: exact counts, disjoint sets, and uniform distributions."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptner.episodes import TaskSource
from adaptner.errors import TooFewSentences
from adaptner.types import Sentence


def corpus(name: str, size: int, with_entities: int | None = None) -> list[Sentence]:
    """``size`` distinct sentences, the first ``with_entities`` of them with an entity."""
    with_entities = size if with_entities is None else with_entities
    return [
        Sentence.from_tokens([name, str(i)], ["O", "B-X" if i < with_entities else "O"])
        for i in range(size)
    ]


DOMAINS = [
    {"a1": corpus("a1", 1000, 400)},
    {"b1": corpus("b1", 30, 20), "b2": corpus("b2", 500, 60)},
    {"c1": corpus("c1", 24, 24), "c2": corpus("c2", 100, 50), "c3": corpus("c3", 60, 30)},
]


@settings(max_examples=60, deadline=None)
@given(
    k=st.integers(1, 10),
    sampling=st.sampled_from(["all", "entities", "support_only"]),
    seed=st.integers(0, 2**32),
)
def test_task_has_2k_distinct_sentences_of_one_corpus(k, sampling, seed):
    task = TaskSource(DOMAINS, k, sampling).sample(random.Random(seed))
    assert len(task.support) == len(task.query) == k
    texts = [s.text for s in (*task.support, *task.query)]
    assert len(set(texts)) == 2 * k
    assert task.corpus in DOMAINS[task.domain]
    assert {s.tokens[0] for s in (*task.support, *task.query)} == {task.corpus}
    if sampling != "all":
        assert all(s.entities for s in task.support)
    if sampling == "entities":
        assert all(s.entities for s in task.query)


def test_support_only_does_not_restrict_the_query():
    source = TaskSource([{"x": corpus("x", 40, 10)}], 5, "support_only")
    rng = random.Random(0)
    query = [s for _ in range(200) for s in source.sample(rng).query]
    share = sum(bool(s.entities) for s in query) / len(query)
    assert share == pytest.approx(
        5 / 35, abs=0.03
    )  # ten have an entity, five of them in the support


def test_all_draws_sentences_with_and_without_entities():
    rng, source = random.Random(0), TaskSource([{"x": corpus("x", 40, 10)}], 5)
    tasks = [source.sample(rng) for _ in range(200)]
    for part in ("support", "query"):
        drawn = [s for t in tasks for s in getattr(t, part)]
        assert sum(bool(s.entities) for s in drawn) / len(drawn) == pytest.approx(0.25, abs=0.04)


def chi_square(counts: Counter, expected: dict) -> float:
    assert set(counts) <= set(expected)
    return sum((counts[x] - e) ** 2 / e for x, e in expected.items())


def test_domains_and_corpora_are_uniform_independent_of_size():
    rng, source, n = random.Random(7), TaskSource(DOMAINS, 1), 6000
    tasks = [source.sample(rng) for _ in range(n)]
    by_domain = Counter(t.domain for t in tasks)
    assert chi_square(by_domain, dict.fromkeys(range(3), n / 3)) < 13.8  # 2 df, p = 0.001
    expected = {c: n / 3 / len(domain) for domain in DOMAINS for c in domain}
    by_corpus = Counter(t.corpus for t in tasks)
    assert chi_square(by_corpus, expected) < 20.5  # 5 df, p = 0.001


@pytest.mark.parametrize("sampling", ["all", "support_only"])
def test_sentences_are_uniform_in_support_and_query(sampling):
    rng, source, n = random.Random(8), TaskSource([{"x": corpus("x", 10)}], 2, sampling), 3000
    tasks = [source.sample(rng) for _ in range(n)]
    expected = {str(i): 2 * n / 10 for i in range(10)}
    for part in ("support", "query"):
        counts = Counter(s.tokens[1] for t in tasks for s in getattr(t, part))
        assert chi_square(counts, expected) < 27.9  # 9 df, p = 0.001


def test_tasks_depend_on_the_generator_only():
    source = TaskSource(DOMAINS, 3)
    one, two = random.Random(5), random.Random(5)
    assert [source.sample(one) for _ in range(20)] == [source.sample(two) for _ in range(20)]
    again = [source.sample(random.Random(6)) for _ in range(2)]
    assert again[0] == again[1]  # the source has no state


def test_repeated_sentences_count_once_and_empty_ones_never():
    twice = [*corpus("x", 4), *corpus("x", 4), Sentence("", ())]
    source, rng = TaskSource([{"x": twice}], 2), random.Random(0)
    for _ in range(50):
        task = source.sample(rng)
        assert {s.text for s in (*task.support, *task.query)} == {f"x {i}" for i in range(4)}
    with pytest.raises(TooFewSentences):
        TaskSource([{"x": twice}], 3)


TOO_FEW = {
    "all": (corpus("x", 9), "all", {"found": 9, "needed": 10, "what": "corpus x"}),
    "entities": (
        corpus("x", 50, 9),
        "entities",
        {"found": 9, "needed": 10, "what": "corpus x with an entity"},
    ),
    "support": (
        corpus("x", 50, 4),
        "support_only",
        {"found": 4, "needed": 5, "what": "corpus x with an entity"},
    ),
    "query": (corpus("x", 9, 8), "support_only", {"found": 9, "needed": 10, "what": "corpus x"}),
}


@pytest.mark.parametrize("case", TOO_FEW)
def test_corpus_with_too_few_sentences_raises(case):
    sentences, sampling, facts = TOO_FEW[case]
    with pytest.raises(TooFewSentences) as caught:
        TaskSource([{"fine": corpus("fine", 30)}, {"x": sentences}], 5, sampling)
    assert {n: caught.value.facts[n] for n in facts} == facts


@pytest.mark.parametrize("sampling", ["all", "entities", "support_only"])
def test_corpus_with_just_enough_sentences_is_accepted(sampling):
    with_entities = {"all": 0, "entities": 10, "support_only": 5}[sampling]
    task = TaskSource([{"x": corpus("x", 10, with_entities)}], 5, sampling).sample(random.Random(0))
    assert len({s.text for s in (*task.support, *task.query)}) == 10
