"""Random sentences for property tests, and a check of valid sentences."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import strategies as st

from adaptner.types import Entity, Sentence

LABELS = ("LOC", "PER", "ORG")


@st.composite
def sentences(draw: st.DrawFn) -> Sentence:
    """Tokens with random gaps and random mentions of three labels."""
    lengths = draw(st.lists(st.integers(1, 4), min_size=1, max_size=8))
    text, spans = "", []
    for length in lengths:
        text += " " * draw(st.integers(0, 2))
        spans.append((len(text), len(text) + length))
        text += "".join(draw(st.lists(st.sampled_from("aZé9-"), min_size=length, max_size=length)))
    entities, first = [], 0
    while first < len(spans):
        size = draw(st.integers(0, 2))
        if size and first + size <= len(spans):
            label = draw(st.sampled_from(LABELS))
            entities.append(Entity(spans[first][0], spans[first + size - 1][1], label))
        first += max(size, 1)
    return Sentence(text, tuple(spans), tuple(entities), draw(st.integers(0, 9)))


def assert_valid(sentence: Sentence) -> None:
    """Asserts that tokens are ordered and not blank, and entities on token boundaries."""
    for (_, end), (start, _) in pairwise(((0, 0), *sentence.token_spans)):
        assert end <= start
    assert all(token and not token.isspace() for token in sentence.tokens)
    starts, ends = ({span[i] for span in sentence.token_spans} for i in (0, 1))
    for entity in sentence.entities:
        assert entity.start in starts
        assert entity.end in ends
    assert len(sentence.tags) == len(sentence)
