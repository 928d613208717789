"""Tests of the rules for diseases, on terminologies of a few names."""

from __future__ import annotations

import pytest
from terms_kit import compiled, concept, found, proposed

from adaptner.terms.doubts import Doubt
from adaptner.terms.rules.disease import ACCEPTED, _nouns

MODIFIED = ACCEPTED | Doubt.WITH_MODIFIER


@pytest.fixture(scope="module")
def terms():
    mesh = [
        concept("MESH:1", "Anxiety Disorders", "anxiety", note="F03.1"),
        concept("MESH:2", "Brain Edema", note="C10.2"),
        concept("MESH:3", "Edema", note="C23.888.3"),
        concept("MESH:4", "Body Weight", note="C23.888.4|E01.4"),
        concept("MESH:5", "Breast Neoplasms", "breast cancer", note="C04.5"),
        concept("MESH:6", "Ovarian Neoplasms", "ovarian cancer", note="C04.6"),
        concept("MESH:7", "Mosaicism", note="C23.550.7|G04.7"),
        concept("MESH:8", "Breast", note="A01.8"),
        concept("MESH:9", "Lung", note="A04.9"),
        concept("MESH:10", "Ischemia", note="C14.10"),
        concept("MESH:11", "Diabetes Mellitus", "diabetes", note="C19.11"),
        concept("MESH:12", "Hepatitis B", "hepatitis", note="C06.12"),
        concept("MESH:13", "Hepatitis B virus", note="B04.13"),
        concept("MESH:14", "Neoplasm Metastasis", "metastasis", note="C04.697.14"),
        concept("MESH:15", "Thalassemia", note="C15.15"),
        concept("MESH:16", "Hypertension", note="C14.16"),
        concept("MESH:17", "Carcinoma", note="C04.17"),
    ]
    mondo = [
        concept("MONDO:0000001", "disease"),
        concept("MONDO:1", "lung neoplasm", "lung", parents=["MONDO:0000001"]),
        concept("MONDO:2", "Hashimoto thyroiditis", "HT", parents=["MONDO:0000001"]),
        concept("MONDO:3", "cherubism", "PKD1", "face", parents=["MONDO:0000001"]),
        concept("MONDO:4", "hepatocellular tumour", "HCT", parents=["MONDO:0000001"]),
        concept("MONDO:5", "blue fever", "DD", parents=["MONDO:0000001"]),
    ]
    mondo += [
        concept(f"MONDO:{i}", f"fever {i}", parents=["MONDO:0000001"]) for i in range(9, 1200)
    ]
    hgnc = [concept("HGNC:1", "PKD1"), concept("HGNC:2", "PAH", "phenylalanine hydroxylase")]
    return compiled(
        {"mesh": mesh, "mondo": mondo, "hgnc": hgnc},
        counts={"general_alone": {"anxiety": 60, "face": 60}},
        definitions={
            ("HCT", "haematocrit"): 20,
            ("HCT", "diabetes"): 1,
            ("HTN", "arterial hypertension"): 9,
            ("HTN", "heat"): 1,
            ("XYZ", "diabetes"): 1,
        },
    )


@pytest.mark.parametrize(
    ("sentence", "mentions"),
    [
        ("patients with diabetes had brain edema", ["diabetes", "brain edema"]),
        ("anxiety is common in general text", ["anxiety"]),
        ("a disease of the lung", []),
        ("the face was pale", []),
        ("mosaicism and body weight", []),
        ("cherubism and edema", ["cherubism", "edema"]),
    ],
)
def test_listed_names_are_mentions_unless_they_are_classes_or_mostly_other_things(
    terms, sentence, mentions
):
    assert found(terms, "Disease", sentence) == mentions


@pytest.mark.parametrize(
    ("name", "doubt"),
    [
        ("disease", Doubt.GENERAL),
        ("lung", Doubt.SEVERAL_KINDS),
        ("mosaicism", Doubt.SEVERAL_KINDS),
        ("body weight", Doubt.SEVERAL_KINDS),
        ("face", Doubt.ORDINARY),
        ("PKD1", Doubt.SEVERAL_KINDS),
        ("HT", Doubt.OTHER_MEANING),
        ("HCT", Doubt.OTHER_MEANING),
        ("D / D", Doubt.CASE),
    ],
)
def test_name_has_the_doubt(terms, name, doubt):
    assert doubt in proposed(terms, "Disease", f"on {name} today")[name]


def test_disease_within_the_name_of_a_virus_is_no_mention(terms):
    assert found(terms, "Disease", "hepatitis B was found") == ["hepatitis B"]
    assert found(terms, "Disease", "hepatitis B virus was found") == []
    assert found(terms, "Disease", "hepatitis B virus disease") == ["hepatitis B virus disease"]


@pytest.mark.parametrize(
    "mention",
    [
        "renal injury",
        "lung disease",
        "left renal edema",
        "inherited ischemia",
        "ischemic edema",
        "PAH deficiency",
        "deficiency of phenylalanine hydroxylase",
        "type IIB diabetes",
        "diabetes type 2",
        "beta - thalassemia",
    ],
)
def test_site_gene_or_type_makes_a_longer_mention(terms, mention):
    expected = mention.removeprefix("left ")
    assert found(terms, "Disease", f"the {mention} was seen") == [expected]


@pytest.mark.parametrize(
    "mention",
    [
        "breast and ovarian cancer",
        "breast and / or ovarian cancer",
        "lung , breast and ovarian cancer",
        "renal or hepatic injury",
    ],
)
def test_sites_joined_before_one_disease_are_one_mention(terms, mention):
    assert found(terms, "Disease", mention) == [mention]
    assert found(terms, "Disease", f"in {mention} , too") == [mention]
    assert mention not in found(terms, "Disease", mention, ACCEPTED & ~Doubt.JOINED)


def test_modifier_belongs_to_the_mention_only_if_asked_for(terms):
    sentence = "severe diabetes and chronic renal injury"
    assert found(terms, "Disease", sentence) == ["diabetes", "renal injury"]
    assert found(terms, "Disease", sentence, MODIFIED) == [
        "severe diabetes",
        "chronic renal injury",
    ]


@pytest.mark.parametrize(
    ("adjective", "noun"),
    [
        ("diabetic", "diabetes"),
        ("diabetics", "diabetes"),
        ("ischemic", "ischemia"),
        ("psychotic", "psychosis"),
        ("asthmatic", "asthma"),
        ("epileptic", "epilepsy"),
        ("nephrotoxic", "nephrotoxicity"),
        ("hypertensive", "hypertension"),
        ("inflammatory", "inflammation"),
        ("parkinsonian", "parkinsonism"),
        ("thromboembolic", "thromboembolism"),
        ("obese", "obesity"),
        ("edematous", "edema"),
        ("cancerous", "cancer"),
        ("anginal", "angina"),
    ],
)
def test_nouns_of_an_adjective_contain_the_right_one(adjective, noun):
    assert noun in _nouns(adjective)


def test_adjectives_of_diseases_are_mentions_but_not_those_of_tumours_or_other_words(terms):
    sentence = "diabetic and hypertensive but not carcinomatous or public persons"
    assert found(terms, "Disease", sentence) == ["diabetic", "hypertensive"]
    assert found(terms, "Disease", sentence, ACCEPTED & ~Doubt.ADJECTIVE) == []


def test_unlisted_word_with_the_ending_of_a_disease_is_a_mention(terms):
    assert found(terms, "Disease", "excitotoxicity and diagnosticity") == ["excitotoxicity"]


def test_unlisted_abbreviation_is_a_mention_if_raw_text_mostly_defines_it_as_disease(terms):
    assert found(terms, "Disease", "HTN and XYZ") == ["HTN"]  # XYZ is defined once


def test_nothing_is_found_in_sentences_without_words(terms):
    assert found(terms, "Disease", ", and - / or") == []
    assert found(terms, "Disease", "") == []


def test_neoplasm_before_cells_is_no_cancer(terms):
    assert found(terms, "Cancer", "ovarian cancer cells in breast cancer") == ["breast cancer"]


def test_metastasis_is_a_disease_but_no_cancer(terms):
    assert found(terms, "Cancer", "metastasis of breast and ovarian cancer") == [
        "breast and ovarian cancer"
    ]
    assert "metastasis" in found(terms, "Disease", "metastasis was seen")
