import pytest

from adaptner.terms.doubts import Doubt
from tests.support.terms_kit import compiled, concept, found, proposed

CELLS = compiled(
    {
        "cell-ontology": [
            concept("CL:0000000", "cell"),
            *(
                concept(f"CL:{i}", f"zorcyte {'abcdefgh'[i % 8]}{i // 8}", parents=["CL:0000000"])
                for i in range(1, 200)
            ),
            concept("CL:0000084", "T cell", parents=["CL:0000000"]),
        ],
        "cellosaurus": [
            concept("CVCL:1", "HuWu-7"),
            concept("CVCL:2", "AB3"),
            concept("CVCL:3", "TP99"),
        ],
        "hgnc": [concept("HGNC:1", "TP99")],
        "uberon": [
            concept("UBERON:0001062", "anatomical entity"),
            concept("UBERON:1", "spleen", parents=["UBERON:0001062"]),
        ],
        "mondo": [
            concept("MONDO:0000001", "disease"),
            concept("MONDO:1", "spleen fever", parents=["MONDO:0000001"]),
        ],
        "sequence-ontology": [
            concept("SO:0001059", "sequence alteration"),
            concept("SO:0001060", "sequence variant"),
            concept("SO:0000694", "SNP"),
        ],
    }
)


def test_cells_are_named_with_what_they_are_cells_of():
    assert found(CELLS, "Cell", "spleen cells and HuWu - 7 cells") == [
        "spleen cells",
        "HuWu - 7 cells",
    ]
    assert found(CELLS, "Cell", "CD4 + T cells grew") == ["CD4 + T cells"]
    assert found(CELLS, "Cell", "leukemic cells") == ["leukemic cells"]


def test_the_word_cell_alone_is_no_mention():
    assert found(CELLS, "Cell", "the cells grew") == []
    assert Doubt.GENERAL in proposed(CELLS, "Cell", "the cells grew")["cells"]


def test_cell_before_a_noun_is_doubted():
    assert found(CELLS, "Cell", "T cell activation") == []
    assert found(CELLS, "Cell", "a T cell was") == ["T cell"]


def test_short_name_of_a_cell_line_or_one_of_a_gene_needs_cells_beside_it():
    assert found(CELLS, "CellLine", "AB3 and TP99 and HuWu - 7") == ["HuWu - 7"]
    assert found(CELLS, "CellLine", "AB3 cells and TP99 cell line") == ["AB3", "TP99"]


def test_cell_line_with_its_head_is_proposed():
    assert (
        Doubt.WITH_HEAD in proposed(CELLS, "CellLine", "HuWu - 7 cell line")["HuWu - 7 cell line"]
    )


def test_site_within_a_disease_is_no_mention_of_anatomy():
    assert found(CELLS, "Anatomy", "the spleen") == ["spleen"]
    assert found(CELLS, "Anatomy", "spleen fever") == []


@pytest.mark.parametrize(
    "variant",
    [
        "p . V600E", "V600E", "Val600Glu", "p . Val600Glu", "c . 35G > A", "rs123456", "35delG",
        "c . 1521_1523delCTT", "IVS1 + 5G > A", "C - 344T", "p . R83fs",
    ],
)  # fmt: skip
def test_variants_are_found_by_their_patterns(variant):
    assert found(CELLS, "Variant", f"we saw {variant} in two") == [variant]
    assert found(CELLS, "Variant", f"we saw it ( {variant} ) in two") == [variant]


@pytest.mark.parametrize(
    "text", ["TP53", "in 35 patients", "IL - 2", "Figure 3 A", "12 h", "a , c . 3", "Ala and Gly"]
)
def test_other_numbers_and_symbols_are_no_variants(text):
    assert found(CELLS, "Variant", text) == []


def test_kinds_of_variants_have_their_own_patterns():
    text = "V600E , c . 35G > A , rs123456"
    assert found(CELLS, "ProteinVariant", text) == ["V600E"]
    assert found(CELLS, "DNAVariant", text) == ["c . 35G > A"]
    assert found(CELLS, "SNP", text) == ["rs123456"]
