"""Tests of the rules for genes, on terminologies of a few names."""

from __future__ import annotations

import pytest
from terms_kit import compiled, concept, found, proposed

from adaptner.terms.doubts import Doubt
from adaptner.terms.rules.gene import ACCEPTED


@pytest.fixture(scope="module")
def terms():
    mesh = [
        concept("MESH:1", "Actins", "Actin", note="D12.776.1"),
        concept("MESH:2", "Phosphotransferases", "Kinase", note="D08.811.2"),
        concept("MESH:3", "Nerve Growth Factor", note="D12.776.3"),
    ]
    kinases = [
        concept(f"EC:{i}", f"{name} kinase", parents=["MESH:2"])
        for i, name in enumerate(f"{a}{b}ol" for a in "bcdfghklmnprstvwz" for b in "aeiou" * 7)
    ]
    return compiled(
        {
            "mesh": mesh,
            "ec": kinases,
            "hgnc": [
                concept("HGNC:1", "NGF", "nerve growth factor", "beta-NGF"),
                concept("HGNC:2", "CAT", "catalase"),
                concept("HGNC:3", "BRCA1"),
                concept("HGNC:4", "APC"),
                concept("HGNC:5", "PRKCA", "ABC", "XYZ"),
                concept("HGNC:6", "SPI1", "PU.1"),
                concept("HGNC:7", "P0", "A2"),
                concept("HGNC:8", "NANOG"),
                concept("HGNC:9", "TP53", "p53"),
                concept("HGNC:10", "STAT3"),
            ],
            "mgi-mouse-genes": [concept("MGI:1", "Nanog")],
            "famplex": [concept("FPLX:1", "NFAT")],
            "fly-genes": [concept("FB:1", "w", "white"), concept("FB:2", "MSI")],
            "chebi": [concept("CHEBI:24431", "XYZ")],
        },
        counts={
            "field_alone": {"white": 60, "APC": 90, "MSI": 30, "BRCA1": 40, "actin": 80}
            | {"Nanog": 20, "kinase": 100, "ABC": 80, "CAT": 50},
            "field_lower": {"white": 50, "actin": 80, "kinase": 100},
            "general_alone": {"white": 200, "CAT": 12},
        },
        definitions={
            ("APC", "adipose phosphorylation cell"): 40,
            ("ABC", "actin"): 5,
            ("CAT", "actin"): 9,
            ("CAT", "computed tomography"): 1,
        },
    )


@pytest.mark.parametrize(
    ("sentence", "mentions"),
    [
        ("BRCA1 binds actin", ["BRCA1", "actin"]),
        ("the nerve growth factor beta-NGF", ["nerve growth factor", "beta-NGF"]),
        ("a white cell", []),  # a fly's gene and an ordinary word
        ("any kinase", []),  # a class
        ("MSI was high", []),  # a fly's symbol
        ("a P = 0 . 01", []),  # P0, but for what stands between
        ("by PU . 1", ["PU . 1"]),
        ("in A2", []),  # two characters
        ("APC presented it", []),  # raw text defines it otherwise
        ("ABC and CAT", ["ABC", "CAT"]),  # raw text defines them as proteins
        ("XYZ was added", []),  # also a chemical
        ("of Nanog", ["Nanog"]),
        ("of NFAT", ["NFAT"]),
    ],
)
def test_found_mentions(terms, sentence, mentions):
    assert found(terms, "Gene", sentence) == mentions


@pytest.mark.parametrize("symbol", ["APC", "XYZ", "A2", "MSI"])
def test_doubtful_symbol_is_a_gene_before_the_word_gene(terms, symbol):
    assert found(terms, "Gene", f"the {symbol} gene") == [symbol]


def test_mentions_are_bare_unless_heads_are_accepted(terms):
    sentence = "human BRCA1 gene promoter"
    assert found(terms, "Gene", sentence) == ["BRCA1"]
    heads = ACCEPTED | Doubt.WITH_HEAD
    assert found(terms, "Gene", sentence, heads) == ["BRCA1 gene promoter"]
    assert found(terms, "Gene", sentence, heads | Doubt.WITH_MODIFIER) == [sentence]


def test_families_are_not_found_where_higher_is_not_accepted(terms):
    assert found(terms, "Gene", "of NFAT", ACCEPTED & ~Doubt.HIGHER) == []


def test_number_after_a_name_belongs_to_it(terms):
    assert found(terms, "Gene", "actin beta , BRCA1 - II") == ["actin beta", "BRCA1 - II"]


@pytest.mark.parametrize("word", ["p27", "Abc12", "lacZ", "hBRCA1", "pSTAT3"])
def test_word_that_looks_like_a_gene_is_one_without_a_list(terms, word):
    assert proposed(terms, "Gene", f"of {word}")[word] == Doubt.PATTERN


@pytest.mark.parametrize("word", ["Fig2", "Ser10", "Day12", "hABD"])
def test_word_that_only_seems_to_look_like_a_gene_is_none(terms, word):
    assert word not in proposed(terms, "Gene", f"of {word}")


@pytest.mark.parametrize(
    ("sentence", "name", "doubt"),
    [
        ("white eyes", "white", Doubt.ORDINARY),
        ("a kinase", "kinase", Doubt.GENERAL),
        ("APC", "APC", Doubt.OTHER_MEANING),
        ("XYZ", "XYZ", Doubt.SEVERAL_KINDS),
        ("A2", "A2", Doubt.SHORT),
        ("P = 0", "P = 0", Doubt.JOINED),
        ("the a2", "a2", Doubt.CASE),
    ],
)
def test_doubts_say_what_is_wrong(terms, sentence, name, doubt):
    assert doubt in proposed(terms, "Gene", sentence)[name]


def test_span_is_proposed_once_if_it_is_found_with_its_case_and_without(terms):
    places = list(proposed(terms, "Gene", "BRCA1"))
    assert places == ["BRCA1"]
    assert Doubt.CASE not in proposed(terms, "Gene", "BRCA1")["BRCA1"]


def test_text_without_a_gene_has_no_mention(terms):
    assert found(terms, "Gene", "nothing here .") == []
