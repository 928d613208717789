"""The word cache returns the rows of the words and computes each word once."""

from __future__ import annotations

from threading import Thread

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from adaptner.nn.encoders import word_cache as word_memory
from adaptner.nn.encoders.word_cache import WordCache

ASKED = st.lists(
    st.tuples(st.sampled_from("ab"), st.lists(st.integers(0, 12), min_size=1, max_size=9)),
    max_size=12,
)


def row(known: str, number: int) -> list[float]:
    return [ord(known), number, number**2]


@given(ASKED, st.integers(1, 14))
def test_rows_are_those_of_the_words(asked: list[tuple[str, list[int]]], most: int) -> None:
    memory = WordCache()
    kept: set[int] = set()
    before = None
    for known, words in asked:
        numbers = np.array(words)
        if known != before:  # ids of another batcher
            kept, before = set(), known
        made: list[int] = []

        def fresh(
            places: np.ndarray, known: str = known, numbers: np.ndarray = numbers, made=made
        ) -> tuple[torch.Tensor, ...]:
            made += numbers[places].tolist()
            wide = torch.tensor([row(known, n) for n in numbers[places].tolist()])
            return wide, wide[:, :1]

        with_limit(memory, most, known, numbers, fresh, words)
        everything = not kept or not kept & set(words)
        assert everything or not kept & set(made)
        kept |= {n for n in words if n < most}


def with_limit(memory, most, known, numbers, fresh, words) -> None:
    old, word_memory.MAX_WORDS = word_memory.MAX_WORDS, most
    try:
        wide, narrow = memory.rows(known, numbers, fresh)
    finally:
        word_memory.MAX_WORDS = old
    assert wide.tolist() == [row(known, n) for n in words]
    assert narrow.tolist() == [[ord(known)] for _ in words]


def test_rows_are_right_with_several_threads() -> None:
    memory, wrong = WordCache(), []

    def run_id(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(200):
            numbers = rng.choice(9000, 40, replace=False)
            (found,) = memory.rows(
                memory, numbers, lambda places, n=numbers: (torch.from_numpy(n[places])[:, None],)
            )
            if found[:, 0].tolist() != numbers.tolist():
                wrong.append(numbers)

    threads = [Thread(target=run_id, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
