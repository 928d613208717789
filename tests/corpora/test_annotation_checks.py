"""Tests of the checks for inconsistent labels and duplicates."""

from __future__ import annotations

from adaptner.corpora.annotation_checks import find_contradictions, find_duplicates
from adaptner.types import Sentence


def sentence(tagged: str) -> Sentence:
    pairs = [word.split("/") for word in tagged.split()]
    return Sentence.from_tokens([p[0] for p in pairs], [p[1] for p in pairs])


def test_find_contradictions():
    sentences = [
        sentence("p53/B-G fell/O p53/O"),
        sentence("breast/B-D cancer/I-D and/O cancer/B-D"),  # part of a longer mention
        sentence("IL/B-G -/I-G 2/I-G IL/O"),
        sentence("IL/O -/O 2/O and/O p53/B-D P53/O"),
    ]
    found = [(i.number, i.other, i.describe(str)) for i in find_contradictions(sentences)]
    assert found == [
        (0, 0, "'p53' is labelled G once, D once and left unlabelled once (see 0)"),
        (2, 3, "'IL - 2' is labelled G once and left unlabelled once (see 3)"),
    ]


def test_find_duplicates():
    texts = [sentence(t) for t in ("a/O", "b/O", "a/O", "a/B-X")]
    assert find_duplicates(texts) == {2: 0, 3: 0}
