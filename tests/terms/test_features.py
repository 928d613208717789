"""What a decoder reads of terminologies: compared with a table filled span by span."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from terms_base_kit import FILES, NAMES
from terms_kit import compiled

from adaptner.terms.dictionary import Dictionary
from adaptner.terms.doubts import Doubt
from adaptner.terms.features import ALONE, BEGINS, ENDS, INSIDE, TermFeatures

WORDS = sorted({word for name in NAMES for word in name.split()})
SENTENCES = st.lists(
    st.lists(st.sampled_from([*WORDS, "the", "of", "hela"]), max_size=9), max_size=5
)


@pytest.fixture(scope="module")
def features() -> TermFeatures:
    kinds = {"B": ["Device", "Procedure"], "A": ["CellLine"]}
    return TermFeatures(Dictionary(compiled(FILES)), kinds)


def naive(features: TermFeatures, sentences: list[list[str]]) -> list[np.ndarray]:
    """One span and one column after another."""
    spans, starts = features.spans(sentences)
    terms = features.dictionary.terms
    known = [*terms.facts["kinds"], *terms.facts["attributes"]]
    tables = [np.zeros((len(s) + 2, features.width), dtype=np.float32) for s in sentences]

    def fill(start: int, end: int, column: int) -> None:
        number = int(np.searchsorted(starts, start, side="right")) - 1
        for place in range(start, end):
            tables[number][place - starts[number] + 1, column + (place > start)] = 1

    def mark(number: int, place: int, column: int) -> None:
        tables[number][place - starts[number] + 1, column] = 1

    for label, proposed in enumerate(spans.proposed):
        first = label * features.width_of_label
        for row in np.flatnonzero(spans.labels == label):
            start, end = int(spans.mentions.start[row]), int(spans.mentions.end[row])
            number = int(np.searchsorted(starts, start, side="right")) - 1
            fill(start, end, first + BEGINS)
            mark(number, end - 1, first + (ALONE if end - start == 1 else ENDS))
            mark(number, end, first + 6)
            mark(number, start - 1, first + 7)
        for row in range(len(proposed)):
            start, end = int(proposed.start[row]), int(proposed.end[row])
            fill(start, end, first + 4)
            for place, doubt in enumerate(features.doubts):
                if int(proposed.doubts[row]) & doubt:
                    fill(start, end, first + 8 + 2 * place)
            if (entry := int(proposed.entry[row])) >= 0:
                bits = terms.kinds_of(np.array([entry]))[0]
                for place in range(len(known)):
                    if int(bits[place // 64]) >> (place % 64) & 1:
                        fill(start, end, first + 8 + 2 * len(features.doubts) + 2 * place)
    return [table[1:-1] for table in tables]


@given(SENTENCES)
def test_features_are_those_of_each_span(features, sentences):
    expected = naive(features, sentences)
    found = features.of(sentences)
    assert len(found) == max(len(expected), 1) or not sentences
    for one, other in zip(found, expected, strict=bool(sentences)):
        np.testing.assert_array_equal(one, other)


@given(SENTENCES)
def test_product_with_weights_is_that_of_the_dense_features(features, sentences):
    weight = np.random.default_rng(0).normal(size=(features.width, 5))
    spans, starts = features.spans(sentences)
    present = features.present(spans, starts, [len(s) for s in sentences])
    for dense, product in zip(present.dense(), present.times(weight), strict=True):
        np.testing.assert_allclose(product, dense @ weight, atol=1e-9)


def test_doubts_without_columns_are_not_read(features):
    few = TermFeatures(features.dictionary, features.kinds, [Doubt.ORDINARY.name])
    assert features.width - few.width == 2 * 2 * (len(Doubt) - 1)
    (table,) = few.of([["the", "stent"]])
    assert table[1, few.columns("B")][BEGINS]
    assert not table[:, few.columns("A")].any()
    assert INSIDE == BEGINS + 1
