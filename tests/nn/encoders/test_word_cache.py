"""The word cache returns the rows of the words and computes each word once."""

from __future__ import annotations

from threading import Thread

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from adaptner.nn.encoders import word_cache
from adaptner.nn.encoders.word_cache import WordCache

REQUESTS = st.lists(
    st.tuples(st.sampled_from("ab"), st.lists(st.integers(0, 12), min_size=1, max_size=9)),
    max_size=12,
)


def row(batcher: str, number: int) -> list[float]:
    return [ord(batcher), number, number**2]


@given(REQUESTS, st.integers(1, 14))
def test_rows_are_those_of_the_words(requests, limit):
    cache = WordCache()
    cached: set[int] = set()
    last_batcher = None
    for batcher, words in requests:
        numbers = np.array(words)
        if batcher != last_batcher:  # its ids mean other words
            cached, last_batcher = set(), batcher
        computed: list[int] = []

        def compute(
            places: np.ndarray, batcher: str = batcher, words=numbers, computed=computed
        ) -> tuple[torch.Tensor, ...]:
            computed += words[places].tolist()
            wide = torch.tensor([row(batcher, n) for n in words[places].tolist()])
            return wide, wide[:, :1]

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(word_cache, "MAX_WORDS", limit)
            wide, narrow = cache.rows(batcher, numbers, compute)
        assert wide.tolist() == [row(batcher, n) for n in words]
        assert narrow.tolist() == [[ord(batcher)] for _ in words]
        assert not cached & set(words) or not cached & set(computed)
        cached |= {n for n in words if n < limit}


def test_rows_are_right_with_several_threads():
    cache, wrong = WordCache(), []

    def look_up(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(200):
            numbers = rng.choice(9000, 40, replace=False)
            (found,) = cache.rows(
                cache, numbers, lambda places, n=numbers: (torch.from_numpy(n[places])[:, None],)
            )
            if found[:, 0].tolist() != numbers.tolist():
                wrong.append(numbers)

    threads = [Thread(target=look_up, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
