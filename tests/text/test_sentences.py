"""Tests of the sentence splitter: where it cuts, where it must not, and its running time."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptner.text.sentences import split_sentences


def split(text: str, keep_whole: list[tuple[int, int]] | None = None) -> list[str]:
    return [text[a:b] for a, b in split_sentences(text, keep_whole or [])]


# "|" marks where a sentence ends; the white space after it is part of the text.
@pytest.mark.parametrize(
    "text",
    [
        "We grew E. coli overnight.| It died.",
        "J. Smith and A. B. Jones found it.| They left.",
        "As shown by Smith et al. (2003), it works.| See Fig. 2 and Figs. 3 and 4.| Done.",
        "The dose was 0.5 mg.| P was 0.05.| No effect!| Why?| Nobody knows.",
        "Aspirin vs. placebo, i.e. nothing, e.g. Sugar, was approx. 5 mg.| Good.",
        "Candida spp. were found, Aspergillus sp. too.| S. enterica subsp. Enterica grew.",
        "Arabidopsis thaliana var. Columbia grew.| Dr. Who came from St. Louis.",
        "It was given (on day 1. Then again on day 2. Twice) to all.| It helped.",
        "It was unclosed (see below.| The next one.| Another.",
        "He took vitamin C.| The effect was small.| Hepatitis B.| We saw it.",
        "Cells died.| p53 was lost.| mRNA fell.| α-Synuclein rose. and then stopped.",
        'He said "Stop."| She did.| (It was late.)| They left.',
        "First line\nsecond line of it.| Third.|\n\nA heading|\n \nText",
        "one|\r\n\r\ntwo",
        "1. Introduction is here.| 2. Methods follow.",
        "Figure 3. Staining of plaques.| Table 1. Doses.",
        "See No. 5 of it.| He said no.| We left.",
        "The half-life is 20 ms.| Mice were kept cf. Table 2.| In March.",
        "This stops...| Then goes on.",
        "Resp. values, Eq. 3 and Ref. 4 are in Suppl. Table 2, ca. 5 of them.| End.",
        "p = 0 . 05 was the level .| The end .",
    ],
)
def test_sentences_end_at_the_bars(text):
    assert split(text.replace("|", "")) == [sentence.strip() for sentence in text.split("|")]


def test_blank_text_has_no_sentences():
    assert split_sentences("") == []
    assert split_sentences(" \n\n \t") == []


def test_entities_are_kept_whole():
    text = "It was St. Mary. Then\n\nmore. End."
    assert split(text) == ["It was St. Mary.", "Then", "more.", "End."]
    whole = (text.index("Mary"), text.index("Then") + 4)
    assert split(text, [whole]) == ["It was St. Mary. Then", "more.", "End."]
    assert split(text, [(0, len(text)), whole]) == [text]
    # Two entities that end and begin where a sentence ends do not prevent the cut.
    assert split("A b. C d.", [(2, 4), (5, 6)]) == ["A b.", "C d."]


PROSE = st.text(alphabet="aAbE1.!?()[] \n\"'…µ", max_size=60)


@settings(max_examples=300, deadline=None)
@given(PROSE, st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=4))
def test_spans_cover_the_text_and_do_not_cut_entities(text, pairs):
    keep = [(min(p), min(max(p), len(text))) for p in pairs if min(p) < min(max(p), len(text))]
    spans = split_sentences(text, keep)
    covered = [i for a, b in spans for i in range(a, b) if not text[i].isspace()]
    assert covered == [i for i, c in enumerate(text) if not c.isspace()]
    for a, b in spans:
        assert text[a:b] == text[a:b].strip() != ""
    for (_, end), (start, _) in pairwise(spans):
        assert text[end:start].isspace()
        assert not any(s < end and start < e for s, e in keep)


@pytest.mark.parametrize(
    "piece",
    [
        "The effect of IL-2 (Fig. 1) was 0.5 mg. We saw E. coli grow. ",
        ".",
        ". ",
        "(",
        "(. A ",
        "\n",
        "\n ",
        " ",
        "a",
        ".\n\n)",
        "Fig. ",
        "?! \n",
    ],
)
@pytest.mark.timeout(60)
def test_long_repetitive_text_is_split_in_linear_time(piece):
    """Well below a second; in quadratic time this text would take many minutes."""
    text = "A. " + piece * (200_000 // len(piece)) + "x"
    sentences = split_sentences(text, [(0, 1)])
    assert text[sentences[0][0]] == "A"
    assert text[sentences[-1][0] : sentences[-1][1]].endswith("x")
