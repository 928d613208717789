"""Tests of the rules for species, on terminologies of a few names."""

from __future__ import annotations

import pytest
from terms_kit import compiled, concept, entries_of, found, kinds_of, proposed

from adaptner.terms.doubts import Doubt
from adaptner.terms.rules.species import ACCEPTED


@pytest.fixture(scope="module")
def terms():
    taxa = [
        ("2", "Bacteria", ["eubacteria"], "", "superkingdom"),
        ("561", "Escherichia", [], "2", "genus"),
        ("3", "Escherichia coli", [], "561", "species"),
        ("4", "Arabidopsis", [], "", "genus"),
        ("5", "Arabidopsis thaliana", ["thale cress"], "4", "species"),
        ("6", "Cancer", [], "", "genus"),
        ("7", "Mus musculus", ["mouse", "house mouse"], "", "species"),
        ("8", "Trachinotus falcatus", ["permit"], "", "species"),
        ("9", "Ficus carica", ["Fig"], "", "species"),
        ("10", "Causa", [], "", "genus"),
        ("10239", "Viruses", ["viruses"], "", "superkingdom"),
        ("12", "Human immunodeficiency virus 1", ["HIV", "CNV", "E12"], "10239", "species"),
        ("13", "hepatitis B virus (HBV)", ["hepatitis B virus"], "10239", "species"),
        ("14", "Insecta", ["insects"], "", "class"),
        ("15", "Dengue virus", ["dengue virus"], "10239", "species"),
        ("16", "Equus caballus", ["horse"], "", "species"),
        ("17", "Cinchona", ["quinine"], "", "species"),
        ("18", "Spatula", [], "", "species"),
        ("19", "Labrus", ["old woman"], "", "species"),
    ]
    mesh = [
        ("Mice", ["mouse"], "B01.1"),
        ("Mice, Nude", ["nude mice"], "B01.1.2"),
        ("Horses", ["horse"], "B01.2"),
        ("Larva", ["larvae"], "B05.500"),
    ]
    return compiled(
        {
            "ncbi-taxonomy": [
                concept(
                    f"NCBITaxon:{i}",
                    name,
                    *synonyms,
                    parents=[f"NCBITaxon:{parent}"] if parent else [],
                    note=rank,
                )
                for i, name, synonyms, parent, rank in taxa
            ]
            + [
                concept(
                    f"NCBITaxon:{i}", f"Insectus no{i}a", parents=["NCBITaxon:14"], note="species"
                )
                for i in range(100, 400)
            ],
            "mesh": [
                concept(f"MESH:{i}", name, *names, note=tree)
                for i, (name, names, tree) in enumerate(mesh)
            ],
            "chebi": [concept("CHEBI:24431", "quinine")],
            "cellosaurus": [concept("CVCL:1", "Rat-1")],
        },
        counts={
            "field_alone": {"Arabidopsis": 100, "Escherichia": 20, "permit": 16, "horse": 6},
            "field_inside": {"Arabidopsis": 10, "Escherichia": 500},
            "field_lower": {"permit": 16, "horse": 6, "mouse": 200},
            "field_capitalised": {"Fig": 300, "Arabidopsis": 110},
            "general_alone": {"permit": 58, "horse": 44},
            "general_lower": {"permit": 58, "horse": 40},
        },
        definitions={
            ("DBV", "dengue virus"): 9,
            ("MSQ", "magnetic square"): 9,
            ("MSQ", "dengue virus"): 2,
            ("CNV", "copy number"): 30,
        },
    )


@pytest.mark.parametrize(
    ("sentence", "mentions"),
    [
        ("mouse and thale cress cells", ["mouse", "thale cress"]),
        ("Mus musculus", ["Mus musculus"]),
        ("murine and porcine cells of a calf", ["murine", "porcine", "calf"]),
        # abbreviated and unlisted binomials
        ("E . coli and E coli", ["E . coli", "E coli"]),
        ("e coli or coli alone", []),
        ("strains of S . novensis", ["S . novensis"]),
        ("St . novensis", ["St . novensis"]),
        ("part A . mutants", []),
        ("Escherichia novensis in Escherichia medium", ["Escherichia novensis"]),
        ("Escherichia larvae", []),
        ("an Escherichia sp . of soil", ["Escherichia sp ."]),
        # the scientific name has a capital
        ("breast cancer in mus musculus", ["mus musculus"]),
        ("Los Angeles , CA , USA", []),
        # ranks
        ("Arabidopsis but not Escherichia", ["Arabidopsis"]),
        ("bacteria , viruses , insects and larvae", []),
        # ordinary words
        ("they permit a horse", ["horse"]),
        ("see Fig 1", []),
        ("two figs", ["figs"]),
        ("quinine", []),
        ("old woman", []),
        # viruses
        ("HIV and CNV and E12", ["HIV"]),
        ("HIV - 2 and dengue virus type 3", ["HIV - 2", "dengue virus type 3"]),
        ("the DBV is no MSQ", ["DBV"]),
        ("dengue virus type III", ["dengue virus"]),
        # extended names
        ("Escherichia coli K12 was", ["Escherichia coli"]),
        ("Escherichia novensis sp . nov . grew", ["Escherichia novensis sp . nov ."]),
        ("Arabidopsis thaliana subsp . novensis", ["Arabidopsis thaliana subsp . novensis"]),
        ("nude mice", ["mice"]),
        ("women and patients", []),
    ],
)
def test_mentions_of_species_by_default(terms, sentence, mentions):
    assert found(terms, "Species", sentence) == mentions


@pytest.mark.parametrize(
    ("sentence", "mention", "doubt"),
    [
        ("two patients", "patients", Doubt.PERSON),
        ("an old woman", "old woman", Doubt.PERSON),
        ("in Escherichia", "Escherichia", Doubt.HIGHER),
        ("the viral load", "viral", Doubt.HIGHER),
        ("nude mice", "nude mice", Doubt.WITH_MODIFIER),
        ("E . coli K12", "E . coli K12", Doubt.STRAIN),
        ("three larvae", "larvae", Doubt.GENERAL),
        ("a cancer", "cancer", Doubt.CASE),
        ("we permit it", "permit", Doubt.ORDINARY),
        ("a CNV", "CNV", Doubt.OTHER_MEANING),
        ("S . novensis", "S . novensis", Doubt.PATTERN),
    ],
)
def test_doubted_mention_counts_only_where_its_doubts_are_accepted(terms, sentence, mention, doubt):
    doubts = proposed(terms, "Species", sentence)[mention]
    assert doubt in doubts
    assert mention in found(terms, "Species", sentence, doubts)
    assert (mention in found(terms, "Species", sentence)) == (doubt in ACCEPTED)


def test_name_at_the_end_of_the_last_sentence_has_no_extension(terms):
    for sentence in ("Escherichia", "E .", "E . coli", "HIV -", "HIV", "dengue virus type"):
        found(terms, "Species", sentence)


@pytest.mark.parametrize(
    ("kind", "mentions"),
    [
        ("Bacterium", ["E . coli K12"]),
        ("Virus", ["HIV"]),
        ("Plant", []),
        ("Species", ["E . coli", "HIV", "mouse"]),
    ],
)
def test_kinds_below_species_have_their_own_taxa_only(terms, kind, mentions):
    assert found(terms, kind, "E . coli K12 , HIV and a mouse") == mentions


def test_abbreviated_binomials_are_of_the_kinds_of_their_species_without_its_attributes(terms):
    entry, _ = entries_of(terms, "E. coli")
    assert kinds_of(terms, entry) == {"Species", "Bacterium", "abbreviated taxon"}


def test_lower_case_attribute_holds_for_names_written_so(terms):
    names = {"mouse": True, "Mus musculus": False, "thale cress": True, "Arabidopsis": False}
    for name, lower in names.items():
        entry, _ = entries_of(terms, name)
        assert ("common name of taxon" in kinds_of(terms, entry)) == lower


def test_rank_is_that_of_the_taxon_itself(terms):
    genus, species = entries_of(terms, "Escherichia")[0], entries_of(terms, "Escherichia coli")[0]
    assert "genus" in kinds_of(terms, genus)
    assert "species rank" not in kinds_of(terms, genus)
    assert "genus" not in kinds_of(terms, species)
    assert "Bacterium" in kinds_of(terms, species)
