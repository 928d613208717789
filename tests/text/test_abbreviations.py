"""Tests of definitions of abbreviations: examples by hand, and a brute-force search."""

from __future__ import annotations

import random
from itertools import combinations

import pytest

from adaptner.text.abbreviations import Definition, find_definitions
from adaptner.text.tokenizer import tokenize


def definitions(text: str) -> list[tuple[str, str]]:
    """The short and long forms, with a space between tokens."""
    tokens = [text[a:b] for a, b in tokenize(text)]
    return [
        (" ".join(tokens[slice(*d.short)]), " ".join(tokens[slice(*d.long)]))
        for d in find_definitions(tokens)
    ]


@pytest.mark.parametrize(
    ("text", "short", "long"),
    [
        ("She has diabetes mellitus (DM).", "DM", "diabetes mellitus"),
        ("She has DM (diabetes mellitus).", "DM", "diabetes mellitus"),
        ("She has DM [diabetes mellitus].", "DM", "diabetes mellitus"),
        ("the nuclear factor kappa B (NF-kappa B) site", "NF - kappa B", "nuclear factor kappa B"),
        ("of NF-kappa B (nuclear factor kappa B)", "NF - kappa B", "nuclear factor kappa B"),
        ("However, IL-2 (interleukin 2) rose", "IL - 2", "interleukin 2"),
        ("heat shock transcription factor (HSF)", "HSF", "heat shock transcription factor"),
        ("hepatitis (HEP; see above)", "HEP", "hepatitis"),
        ("severe lung fever (SLF; see above)", "SLF", "severe lung fever"),
        ("severe lung fever (SLF, type 2)", "SLF", "severe lung fever"),
        ("phospho-inositol 4,5-bisphosphate (PI4,5BP)", "PI4 , 5BP", "phospho - inositol 4 , 5 - bisphosphate"),
        ("Candida albicans (C. albicans)", "C . albicans", "Candida albicans"),
        ("cyclic AMP (cAMP) levels", "cAMP", "cyclic AMP"),
        ("acute multiple myeloma (MM)", "MM", "multiple myeloma"),
        ("lung pain, (LP)", "LP", "lung pain"),
        ("fever [and lung pain (LP)]", "LP", "lung pain"),
        ("red (and very rare) blood cells (RBC)", "RBC", "red ( and very rare ) blood cells"),
        ("X-ray diffraction of crystals (XRD)", "XRD", "X - ray diffraction of crystals"),
    ],
)  # fmt: skip
def test_definition_is_found(text, short, long):
    assert definitions(text) == [(short, long)]


@pytest.mark.parametrize(
    "text",
    [
        "No bracket in diabetes mellitus DM .",
        "diabetes mellitus (D)",  # one character
        "diabetes mellitus (12)",  # no letter
        "a big city down every fine good hill (abcdefghijk)",  # eleven characters
        "diabetes mellitus (MD)",  # another order
        "in adiabetes mellitus (DM)",  # not at the beginning of a word
        "type DM diabetes (DM)",  # the long form contains the short form
        "a DM (DM)",
        "(DM) at the beginning",
        "diabetes of a kind that is like mellitus (DM)",  # eight words, four allowed
        "unclosed diabetes mellitus (DM",
        "closed diabetes mellitus DM)",
        "diabetes mellitus ()",
        "diabetes mellitus (; DM)",
        "diabetes mellitus (-DM)",
        "the gas [methane (CH4)] burns",
        "lung [pain (LP)]",  # the long form would leave the bracket
    ],
)
def test_what_is_no_definition_is_not_found(text):
    assert definitions(text) == []


def test_several_definitions_of_a_sentence_are_found_in_order():
    text = "Rift valley fever (RVF), Q fever (QF) and interleukin 2 (IL-2) receptor (IL-2R)"
    assert definitions(text) == [
        ("RVF", "Rift valley fever"),
        ("QF", "Q fever"),
        ("IL - 2", "interleukin 2"),
        ("IL - 2R", "interleukin 2 ( IL - 2 ) receptor"),
    ]


def test_tokens_may_contain_punctuation():
    tokens = ["a", "beta-blocker", "drug", "(", "BBD", ")"]
    assert find_definitions(tokens) == [Definition((4, 5), (1, 3))]
    assert find_definitions(["non-small", "lung", "(", "SL", ")"]) == [Definition((3, 4), (0, 2))]


# --- brute force --------------------------------------------------------------------------------------


def brute_force_long_form(tokens: list[str], short: str) -> int | None:
    """Tries the initials, then every start from the right, with every choice of positions.

    ``tokens`` are letters only and end the long form; ``short`` is a word.
    """
    starts = list(reversed(range(len(tokens))))
    if [word[0].lower() for word in tokens[-len(short) :]] == list(short.lower()):
        starts.insert(0, len(tokens) - len(short))
    for start in starts:
        letters = "".join(tokens[start:]).lower()
        for places in combinations(range(len(letters)), len(short)):
            if places[0] == 0 and all(
                letters[p] == c for p, c in zip(places, short.lower(), strict=True)
            ):
                words = len(tokens) - start
                allowed = words <= len(short) + 5 and words <= 2 * len(short)
                new = short not in tokens[start:] and len(letters) > len(short)
                return start if allowed and new else None
    return None


def test_long_forms_are_those_of_a_brute_force_search():
    draw = random.Random(5)
    found = 0
    for _ in range(3000):
        words = [
            "".join(draw.choices("abC", k=draw.randint(1, 3))) for _ in range(draw.randint(1, 8))
        ]
        n = len(words)
        short = "".join(draw.choices("Abc", k=draw.randint(2, 3)))
        start = brute_force_long_form(words, short)
        found += start is not None

        inside = [d for d in find_definitions([*words, "(", short, ")"]) if d.short[0] > n]
        expected = [] if start is None else [Definition((n + 1, n + 2), (start, n))]
        assert inside == expected, (words, short)

        if sum(map(len, words)) >= len(short):  # or the word before is the long form
            before = find_definitions([short, "(", *words, ")"])
            expected = [] if start is None else [Definition((0, 1), (start + 2, n + 2))]
            assert before == expected, (words, short)
    assert 1000 < found < 2900
