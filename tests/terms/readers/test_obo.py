"""Tests of the OBO reader, on hand-made files and on files that an independent writer makes."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from adaptner.errors import BadConcept, NoNames, RepeatedConcept
from adaptner.terms.concepts import Concept, make_concept
from adaptner.terms.readers import obo, read_concepts

EXAMPLE = r"""format-version: 1.4
! a comment
ontology: x

[Term]
id: X:1
name: moss fever
def: "A fever [from] moss, \"green\"." [A:1]
synonym: "green fever" EXACT [A:1]
synonym: "mf" RELATED ABBREVIATION [A:1, A:2] {source="A:3"} ! short
synonym: "moss\, \"wet\"\ fever \(old\)" NARROW OLD []
synonym: "fever" BROAD []
synonym: "plant fever" []
xref: A:9
is_a: X:2 {source="A:1"} ! fever
is_a: Y:3!other
relationship: part_of X:4
alt_id: X:10
alt_id: X:11 ! merged

[Term]
id: X:2 ! with a comment
name: fever {source="A:1", of="b, c"} ! and another
is_obsolete: false

[Term]
id: X:3
name: gone
is_obsolete: true

[Term]
id: X:4

[Typedef]
id: part_of
name: part of

[Term]
id: X:5
name: a long \
name\: N-{x}-y\!\nz
property_value: a b "c" xsd:string
"""


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_terms_become_concepts(tmp_path):
    assert list(obo.read(write(tmp_path / "x.obo", EXAMPLE))) == [
        Concept(
            "X:1",
            "moss fever",
            ("green fever", "mf", 'moss, "wet" fever (old)', "fever", "plant fever"),
            ("X:2", "Y:3"),
            "alt_id=X:10|X:11",
            "ERNBR",
        ),
        Concept("X:2", "fever", (), ()),
        Concept("X:5", "a long name: N-{x}-y! z", (), ()),
    ]


def test_ids_without_prefix_get_the_name_of_the_file(tmp_path):
    (concept,) = obo.read(write(tmp_path / "x.obo", "[Term]\nid: 1\nname: a\nis_a: 2\n"))
    assert (concept.id, concept.parents) == ("x:1", ("x:2",))


def test_content_tells_obo_under_another_ending(tmp_path):
    assert len(list(read_concepts(write(tmp_path / "x.download", EXAMPLE)))) == 3
    assert len(list(read_concepts(write(tmp_path / "x.obo", EXAMPLE.partition("\n")[2])))) == 3


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("", NoNames, "x.obo: "),
        ("format-version: 1.2\n", NoNames, "x.obo: "),
        ("[Term]\nname: a\n", BadConcept, "x.obo:1: .* no id"),
        ("[Term]\nid: X:1\nname: a\nsynonym: b EXACT []\n", BadConcept, "x.obo:4: .* quotes"),
        ("[Term]\nid: X:1\nname: a\n\x1f garbage\n", BadConcept, "x.obo:4: .* no tag"),
        (
            "[Term]\nid: X:1\nname: a\n[Term]\nid: X:1\nname: b\n",
            RepeatedConcept,
            "x.obo:4: .* 'a' in line 1",
        ),
    ],
)
def test_bad_ontology_is_an_error_with_its_line(tmp_path, text, error, message):
    with pytest.raises(error, match=message):
        list(obo.read(write(tmp_path / "x.obo", text)))


# --- an independent writer ----------------------------------------------------------------------------

_WORDS = {"E": "EXACT", "R": "RELATED", "N": "NARROW", "B": "BROAD"}
_MUST_BE_ESCAPED = '\\"!{}'


def escape(name: str) -> str:
    return "".join("\\" + c if c in _MUST_BE_ESCAPED else c for c in name)


def to_obo(concepts: list[Concept], draw: random.Random) -> str:
    lines = ["format-version: 1.4"]
    for concept in concepts:
        lines += ["", "[Term]", f"id: {concept.id}", f"name: {escape(concept.name)}"]
        for synonym, scope in zip(
            concept.synonyms, concept.scopes or "E" * len(concept.synonyms), strict=True
        ):
            end = draw.choice(["[]", "[A:1]", "TYPE []", '[] {a="b"}', '[A:1 "c"] ! d'])
            lines.append(f'synonym: "{escape(synonym)}" {_WORDS[scope]} {end}')
        for parent in concept.parents:
            lines.append(f"is_a: {parent}" + draw.choice(["", " ! name", ' {a="b"} ! name']))
    return "\n".join(lines) + "\n"


def test_what_is_written_as_obo_is_read_back(tmp_path):
    draw = random.Random(2)

    def name() -> str:
        return draw.choice("ab") + "".join(draw.choices('ab\\"!{}[]():, ', k=7)) + "c"

    concepts = [
        make_concept(
            f"X:{i}",
            name(),
            [(name(), draw.choice("ERNB")) for _ in range(draw.randint(0, 4))],
            [f"X:{draw.randint(0, 99)}" for _ in range(draw.randint(0, 2))],
        )
        for i in range(500)
    ]
    path = write(tmp_path / "x.obo", to_obo(concepts, draw))
    assert list(obo.read(path)) == concepts


@pytest.mark.slow
def test_shared_ontologies_survive_obo(shared_data, tmp_path):
    draw = random.Random(2)
    for file in ("cell-ontology", "symptom-ontology", "plant-ontology"):
        shared = read_concepts(shared_data / "terms" / f"{file}.tsv.xz")
        concepts = [replace(concept, note="") for concept in shared]
        path = write(tmp_path / f"{file}.obo", to_obo(concepts, draw))
        assert list(obo.read(path)) == concepts
