"""Tests of the TSV layout, on small files and on the shared terminologies."""

from __future__ import annotations

import lzma
import re
from pathlib import Path

import pytest

from adaptner.errors import BadConcept, NoNames, RepeatedConcept, WrongFieldCount
from adaptner.terms.concepts import Concept
from adaptner.terms.readers import read_concepts, tsv

HEADER = "id\tname\tsynonyms\tparents\tnote\n"


def write(path: Path, *lines: str) -> Path:
    path.write_text(HEADER + "".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def test_fields_become_a_concept(tmp_path):
    path = write(tmp_path / "x.tsv", 'X:1\tmoss "fever"\tmf|m. fever\tX:2|Y:3\trare')
    assert list(tsv.read(path)) == [
        Concept("X:1", 'moss "fever"', ("mf", "m. fever"), ("X:2", "Y:3"), "rare")
    ]


def test_scopes_are_taken_from_the_note(tmp_path):
    path = write(tmp_path / "x.tsv", "X:1\ta\tb|c|d\t\tR2 N3", "X:2\te\tf\t\tB1", "X:3\tg\th\t\tR2")
    assert [(c.scopes, c.note) for c in tsv.read(path)] == [("ERN", ""), ("B", ""), ("", "R2")]


def test_header_may_follow_blank_lines(tmp_path):
    path = tmp_path / "x.tsv"
    path.write_text(f"\n\n{HEADER}X:1\ta\t\t\tR{'9' * 5000}\n", encoding="utf-8")
    assert [c.id for c in read_concepts(path)] == ["X:1"]


def test_tree_number_is_not_a_scope(tmp_path):
    path = write(tmp_path / "mesh.tsv", "D1\tBugs\tBug|Insects\t\tB02")
    (concept,) = tsv.read(path)
    assert (concept.note, concept.scopes) == ("B02", "")


@pytest.mark.parametrize(
    ("file", "id", "parent", "expected"),
    [
        ("mesh.tsv", "D000001", "D0000002", ("MESH:D000001", ("MESH:D0000002",))),
        (
            "mesh-supplementary.tsv",
            "C1",
            "D000002,D000003",
            ("MESH:C1", ("MESH:D000002", "MESH:D000003")),
        ),
        ("mesh-supplementary.tsv", "C1", "a protein, mouse|CD234 protein", ("MESH:C1", ())),
        ("ncbi-taxonomy.tsv", "9606", "9605", ("NCBITaxon:9606", ("NCBITaxon:9605",))),
        ("my-list.tsv", "7", "6", ("my-list:7", ("my-list:6",))),
        ("my-list.tsv", "DOID:7", "DOID:4", ("DOID:7", ("DOID:4",))),
    ],
)
def test_identifiers_get_the_prefix_of_their_file(tmp_path, file, id, parent, expected):
    (concept,) = tsv.read(write(tmp_path / file, f"{id}\tname\t\t{parent}\t"))
    assert (concept.id, concept.parents) == expected


def test_wrong_number_of_fields_is_an_error_with_its_line(tmp_path):
    path = write(tmp_path / "x.tsv", "X:1\ta\t\t\t", "X:2\tb\t\t")
    with pytest.raises(WrongFieldCount, match=r"x\.tsv:3: 4 field\(s\), but 5"):
        list(tsv.read(path))


@pytest.mark.parametrize("line", ["\ta\t\t\t", "X:1\t \t\t\t"])
def test_concept_without_id_or_name_is_an_error(tmp_path, line):
    with pytest.raises(BadConcept, match=r"x\.tsv:2: "):
        list(tsv.read(write(tmp_path / "x.tsv", line)))


def test_repeated_id_is_an_error_that_names_both_lines(tmp_path):
    path = write(tmp_path / "x.tsv", "X:1\ta\t\t\t", "X:2\tb\t\t\t", "X:1\tc\t\t\t")
    with pytest.raises(RepeatedConcept, match=r"x\.tsv:4: .*X:1 of 'c'.* 'a' in line 2"):
        list(tsv.read(path))


def test_file_without_concepts_is_an_error(tmp_path):
    with pytest.raises(NoNames):
        list(tsv.read(write(tmp_path / "x.tsv")))


# --- the shared terminologies -----------------------------------------------------------------------

_COUNTS = re.compile(r"\| `([\w-]+)` \|.*?\| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \| [\d,]+ \|")


@pytest.mark.slow
def test_shared_files_have_the_counts_of_their_readme(shared_data):
    folder = shared_data / "terms"
    counted, expected = {}, {}
    for match in map(_COUNTS.fullmatch, (folder / "README.md").read_text("utf-8").splitlines()):
        if match is None:
            continue
        file, *counts = match.groups()
        expected[file] = [int(count.replace(",", "")) for count in counts]
        counted[file] = [0, 0, 0]
        for concept in tsv.read(folder / f"{file}.tsv.xz"):
            counted[file][0] += 1
            counted[file][1] += len(concept.names)
            counted[file][2] += bool(concept.parents)
    assert len(expected) == 47
    expected["mesh-supplementary"][2] -= 1  # one record has names where its parents belong
    assert counted == expected


@pytest.mark.slow
def test_shared_files_are_read_as_by_splitting_their_lines(shared_data):
    for file in ("mesh", "uberon", "general-places", "ncbi-taxonomy", "general-wordnet"):
        path = shared_data / "terms" / f"{file}.tsv.xz"
        with lzma.open(path, "rt", encoding="utf-8", newline="\n") as lines:
            next(lines)
            for concept, line in zip(tsv.read(path), lines, strict=True):
                id, name, synonyms, _, note = line.rstrip("\n").split("\t")
                assert concept.id.endswith(id)
                assert concept.name == " ".join(name.split())
                assert list(concept.synonyms) == (synonyms.split("|") if synonyms else [])
                if concept.scopes:
                    letters = enumerate(concept.scopes, start=1)
                    assert note.split() == [f"{s}{i}" for i, s in letters if s != "E"]
                else:
                    assert concept.note == note
