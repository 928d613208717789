"""Tests of the rules for chemicals, on terminologies of a few names."""

from __future__ import annotations

import pytest
from terms_kit import compiled, concept, found, proposed

from adaptner.terms.doubts import Doubt

DRUGS = (
    "iron",
    "alcohol",
    "glycine",
    "fluorouracil",
    "bupropion",
    "doxorubicin",
    "ASA",
    "insulin",
    "NAD",
)


@pytest.fixture(scope="module")
def terms():
    chebi = [
        concept("CHEBI:24431", "chemical entity"),
        *(
            concept(f"CHEBI:{i}", name, parents=["CHEBI:24431"])
            for i, name in enumerate(
                (*DRUGS, "reset", "adenosine", "pyridine", "leucine", "thalidol", "CAT"), 1
            )
        ),
        concept("CHEBI:50906", "role"),
        concept("CHEBI:101", "analgesic", "painkiller", parents=["CHEBI:50906"]),
        concept("CHEBI:24433", "chemical group", parents=["CHEBI:24431"]),
        concept("CHEBI:102", "methyl", parents=["CHEBI:24433"]),
        concept("CHEBI:33250", "atom", parents=["CHEBI:24431"]),
        *(
            concept(f"CHEBI:{200 + i}", name, parents=["CHEBI:33250"])
            for i, name in enumerate(("Cu", "As", "Hg", "In", "Ca"))
        ),
        concept("CHEBI:300", "nitric oxide", "NO", parents=["CHEBI:24431"]),
        concept("CHEBI:301", "milligram ester", "25-mg", parents=["CHEBI:24431"]),
        concept("CHEBI:302", "prostaglandin E2", "PGE2", "XYZ", "QRS", parents=["CHEBI:24431"]),
        concept("CHEBI:33709", "amino acid", "serine", parents=["CHEBI:24431"]),
    ]
    return compiled(
        {
            "chebi": chebi,
            "drugbank-names": [concept(f"DB:{i}", name) for i, name in enumerate(DRUGS)],
            "drugs": [
                *(concept(f"DRUGNER:{i}", name) for i, name in enumerate(DRUGS)),
                concept("DRUGNER:97", "painkiller"),
                concept("DRUGNER:98", "actin", note="mesh=D1;tree=D12.776.5"),
                concept("DRUGNER:99", "opioid", note="mesh=D2;tree=D27.505.1|D27.720.2"),
            ],
            "mesh": [
                concept("MESH:1", "Insulin", note="D12.644.1|D12.776.2"),
                concept("MESH:2", "Analgesics", "Analgesic", note="D27.505.1"),
            ],
            "hgnc": [
                concept("HGNC:1", "INS", "insulin"),
                concept("HGNC:2", "CAT", "catalase"),
                concept("HGNC:3", "MTOR", "target of thalidol"),
                concept("HGNC:4", "XYZ"),
                concept("HGNC:5", "QRS"),
            ],
            "ncbi-taxonomy": [concept("NCBITaxon:1", "fig", note="species")],
        },
        counts={"general_alone": {"iron": 34, "reset": 5, "alcohol": 25}},
        definitions={
            ("XYZ", "adenosine"): 8,
            ("QRS", "cardiac wave"): 40,
            ("DXR", "doxorubicin"): 12,
        },
    )


@pytest.mark.parametrize(
    ("sentence", "mentions"),
    [
        ("iron and alcohol .", ["iron", "alcohol"]),  # frequent, but DrugBank has them
        ("They reset it .", []),  # frequent, and only ChEBI has it
        ("an analgesic was given", []),
        ("a painkiller was given", []),
        ("opioid and actin", []),
        ("the insulin level", []),  # a gene
        ("CAT was measured", []),
        ("ASA was given", ["ASA"]),
        ("the target of thalidol was", []),
        ("thalidol was", ["thalidol"]),
        ("Cu and Ca levels", ["Cu", "Ca"]),
        ("In patients As before", []),
        ("120 mm Hg and Hg levels", ["Hg"]),
        ("NO was released by no cell", ["NO"]),
        ("25 mg daily", []),
        ("the methyl - CpG site", []),
        ("a methyl group", ["methyl"]),
        ("XYZ rose", ["XYZ"]),  # text defines it as a chemical
        ("DXR rose", ["DXR"]),  # in no list
        ("the QRS wave", []),
    ],
)
def test_listed_name_counts_unless_it_mostly_means_something_else(terms, sentence, mentions):
    assert found(terms, "Chemical", sentence) == mentions


@pytest.mark.parametrize(
    ("sentence", "doubt"),
    [
        ("reset", Doubt.ORDINARY),
        ("analgesic", Doubt.ACTION),
        ("opioid", Doubt.ACTION),
        ("insulin", Doubt.SEVERAL_KINDS),
        ("CAT", Doubt.SHORT),
        ("QRS", Doubt.OTHER_MEANING),
        ("25 mg", Doubt.PART),
    ],
)
def test_name_that_does_not_count_is_proposed_with_its_doubt(terms, sentence, doubt):
    assert proposed(terms, "Chemical", sentence)[sentence] & doubt


@pytest.mark.parametrize(
    ("sentence", "mentions"),
    [
        ("Ca ( 2 + ) and K + entry", ["Ca ( 2 + )", "K +"]),
        ("Ca2 + and Na ( + )", ["Ca2 +", "Na ( + )"]),
        ("NAD + .", ["NAD +"]),
        ("PGE ( 2 ) rose", ["PGE ( 2 )"]),
        ("Fe2O3 and CD4 and H3K4", ["Fe2O3"]),
        ("MK - 801 or AMN082", ["MK - 801", "AMN082"]),
        ("bupropion HCl tablets", ["bupropion HCl"]),
        ("[ 3H ] leucine uptake", ["[ 3H ] leucine"]),
        (
            "6 - amino - thieno [ 2 , 3 - b ] pyridine was made",
            ["6 - amino - thieno [ 2 , 3 - b ] pyridine"],
        ),
        ("N - ( bromomethyl ) benzisothiazolone .", ["N - ( bromomethyl ) benzisothiazolone"]),
        ("fluorouracil ( 5 - FU ) was", ["fluorouracil"]),
        ("( bupropion )", ["bupropion"]),
        ("bupropion , doxorubicin , pyridine", ["bupropion", "doxorubicin", "pyridine"]),
        ("nitroguaiacol acetylates the methoxy end", ["nitroguaiacol"]),
    ],
)
def test_names_in_no_list_are_found_by_their_structure(terms, sentence, mentions):
    assert found(terms, "Chemical", sentence) == mentions


def test_ion_without_its_charge_is_proposed_as_a_part(terms):
    assert proposed(terms, "Chemical", "Ca ( 2 + ) entry")["Ca"] & Doubt.PART


@pytest.mark.parametrize(
    ("sentence", "longer", "doubt"),
    [
        ("adenosine derivatives", "adenosine derivatives", Doubt.WITH_HEAD),
        ("at serine 473", "serine 473", Doubt.WITH_MODIFIER),
        ("at serine - 473", "serine - 473", Doubt.WITH_MODIFIER),
    ],
)
def test_conventions_of_few_corpora_are_proposed_and_do_not_count(terms, sentence, longer, doubt):
    assert proposed(terms, "Chemical", sentence)[longer] & doubt
    assert longer not in found(terms, "Chemical", sentence)


@pytest.mark.parametrize(
    "sentence", ["", "( [ (", ") - pyridine ( [", "- - -", "+", "( + )", "1 , 2 , 3"]
)
def test_stray_marks_are_no_names(terms, sentence):
    assert set(found(terms, "Chemical", sentence)) <= {"pyridine"}
