import pytest

from adaptner.terms.compiled import CompiledTerms
from adaptner.terms.kinds import built_in_kinds
from adaptner.terms.label_kinds import describe, kinds_of_label, near_labels, source_of_root
from adaptner.terms.licences import terminology_sources

TERMS = CompiledTerms(
    {},
    {
        "kinds": [kind.name for kind in built_in_kinds() if not kind.is_attribute],
        "sources": dict.fromkeys(terminology_sources(), 0),
    },
)


@pytest.mark.parametrize(
    ("label", "kinds"),
    [
        ("Disease", "Disease"),
        ("diseases", "Disease"),
        ("DISEASE", "Disease"),
        ("CellLine", "CellLine"),
        ("cell_lines", "CellLine"),
        ("Cell Type", "Cell"),
        ("Gene_or_gene_product", "Gene"),
        ("GeneProtein", "Gene"),
        ("HumanGenes", "Gene"),
        ("GeneName", "Gene"),
        ("DNA", "DNA"),
        ("RNAs", "RNA"),
        ("DNA_SNPs", "SNP"),
        ("ADR", "Symptom"),
        ("SNP", "SNP"),
        ("ProteinMutation", "ProteinVariant"),
        ("Multi-tissue_structure", "MultiTissueStructure"),
        ("Sign_symptom_illness", "Symptom Disease"),
        ("Injury_or_poisoning", "Injury Poisoning"),
        ("Chemicals and Drugs", "Chemical"),
        ("chronic_disease", "Disease"),
        ("PlantDisease", "Disease"),
    ],
)
def test_name_of_a_label_finds_its_kinds(label, kinds):
    assert kinds_of_label(TERMS, label) == tuple(kinds.split())


# Names of types in corpora of other fields, whose words are names of kinds in medicine.
@pytest.mark.parametrize(
    "label",
    [
        *("Method", "Task", "Material", "MATERIAL", "Value", "Function", "Phenotype", "DEVICE"),
        *("Quality", "Operation", "Outcome", "Identity", "Tool", "Library_Function"),
        *("Function_Name", "MeasurementMethod", "Operating_system", "OtherScientificTerm"),
        *("Reactants", "Solvent", "RockUnit", "Quantity", "Organism_of_unknown_sort", "123", "Ω"),
    ],
)
def test_label_of_no_known_kind_is_not_placed(label):
    assert kinds_of_label(TERMS, label) == ()


def test_kinds_that_the_compiled_file_lacks_are_not_found():
    terms = CompiledTerms({}, {"kinds": ["Disease"], "sources": {}})
    assert kinds_of_label(terms, "Cell") == ()
    assert kinds_of_label(terms, "Sign_symptom_illness") == ("Disease",)


def test_near_labels_are_written_alike_or_share_a_word():
    assert near_labels(TERMS, "Diseese")[0] == "disease"
    assert "cell line" in near_labels(TERMS, "LineOfCells")
    assert near_labels(TERMS, "Qwxz") == []


def test_description_names_kinds_and_the_terminologies_they_come_from():
    assert describe(TERMS, ["Tissue", "Cell"]) == "Tissues and Cells (Uberon, MeSH, Cell Ontology)"
    assert describe(TERMS, ["Virus"]) == "Viruses (NCBI Taxonomy, MeSH)"
    only_uberon = CompiledTerms({}, {"kinds": ["Tissue"], "sources": {"uberon": 0}})
    assert describe(only_uberon, ["Tissue"]) == "Tissues (Uberon)"


def test_every_root_of_a_kind_belongs_to_a_known_terminology():
    for kind in built_in_kinds():
        for root in kind.roots:
            assert source_of_root(root) in terminology_sources(), root
