"""Tests of the MeSH readers: XML and ASCII, descriptors and supplementary concepts."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from adaptner.errors import (
    BadConcept,
    BadXml,
    DescriptorsMissing,
    NoNames,
    UnknownFormat,
    UnsafeXml,
)
from adaptner.terms.concepts import Concept
from adaptner.terms.readers import read_concepts, tsv
from adaptner.terms.readers.mesh import Record, descriptor_concepts

DOCTYPE = '<!DOCTYPE {root} SYSTEM "https://www.nlm.nih.gov/databases/dtd/nlm{root}_20260101.dtd">'

# An invented branch: fevers (C90) and moss fever below them, which also stands among plants.
DESCRIPTORS = [
    Record("D900001", "Fevers", ["Fever", "Heat & Chill"], ["C90"]),
    Record("D900002", "Moss Fever", ["Fever, Moss", "Green Fever"], ["C90.100", "B90.5.7"]),
    Record("D900003", "Mosses", [], ["B90.5"]),
    Record("D900004", "Females", [], []),
]
SUPPLEMENT = [
    Record("C900001", "mossol", ["moss <oil>"], [], ["D900003", "D900002"]),
    Record("C900002", "fever protein, mouse", [], [], ["D900001"]),
]

DESCRIPTOR_CONCEPTS = [
    Concept("MESH:D900001", "Fevers", ("Fever", "Heat & Chill"), (), "C90"),
    Concept(
        "MESH:D900002",
        "Moss Fever",
        ("Fever, Moss", "Green Fever"),
        ("MESH:D900001", "MESH:D900003"),
        "C90.100|B90.5.7",
    ),
    Concept("MESH:D900003", "Mosses", (), (), "B90.5"),
    Concept("MESH:D900004", "Females", (), ()),
]
SUPPLEMENTARY_CONCEPTS = [
    Concept("MESH:C900001", "mossol", ("moss <oil>",), ("MESH:D900003", "MESH:D900002")),
    Concept("MESH:C900002", "fever protein, mouse", (), ("MESH:D900001",)),
]


def escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")


def terms_xml(record: Record) -> str:
    """The preferred term and the others, the last of them in a concept of its own."""
    terms = [
        f'<Term IsPermutedTermYN="N"><TermUI>T1</TermUI><String>{escaped(t)}</String></Term>'
        for t in (record.name, *record.synonyms)
    ]
    own = terms.pop() if len(terms) > 1 else ""
    return (
        f'<ConceptList><Concept PreferredConceptYN="Y"><ConceptUI>M1</ConceptUI><ConceptName><String>'
        f"{escaped(record.name)}</String></ConceptName><TermList>{''.join(terms)}</TermList></Concept>"
        f'<Concept PreferredConceptYN="N"><TermList>{own}</TermList></Concept></ConceptList>'
    )


def descriptors_xml(records: list[Record]) -> str:
    body = "".join(
        f'<DescriptorRecord DescriptorClass="1"><DescriptorUI>{r.id}</DescriptorUI><DescriptorName>'
        f"<String>{escaped(r.name)}</String></DescriptorName><SeeRelatedList><SeeRelatedDescriptor>"
        "<DescriptorReferredTo><DescriptorUI>D999999</DescriptorUI><DescriptorName><String>Other"
        "</String></DescriptorName></DescriptorReferredTo></SeeRelatedDescriptor></SeeRelatedList>"
        f"<TreeNumberList>{''.join(f'<TreeNumber>{n}</TreeNumber>' for n in r.tree_numbers)}"
        f"</TreeNumberList>{terms_xml(r)}</DescriptorRecord>\n"
        for r in records
    )
    root = "DescriptorRecordSet"
    return (
        f'<?xml version="1.0"?>\n{DOCTYPE.format(root=root)}\n<{root} LanguageCode="eng">\n{body}'
        f"</{root}>\n"
    )


def supplement_xml(records: list[Record]) -> str:
    mapped = "<HeadingMappedTo><DescriptorReferredTo><DescriptorUI>*{}</DescriptorUI></DescriptorReferredTo></HeadingMappedTo>"
    body = "".join(
        f'<SupplementalRecord SCRClass="1"><SupplementalRecordUI>{r.id}</SupplementalRecordUI>'
        f"<SupplementalRecordName><String>{escaped(r.name)}</String></SupplementalRecordName>"
        f"<HeadingMappedToList>{''.join(mapped.format(p) for p in r.parents)}</HeadingMappedToList>"
        f"{terms_xml(r)}</SupplementalRecord>\n"
        for r in records
    )
    root = "SupplementalRecordSet"
    return f'<?xml version="1.0"?>\n{DOCTYPE.format(root=root)}\n<{root}>\n{body}</{root}>\n'


def descriptors_ascii(records: list[Record]) -> str:
    lines = []
    for record in records:
        lines += ["*NEWRECORD", "RECTYPE = D", f"MH = {record.name}", "AQ = BL CF"]
        for i, synonym in enumerate(record.synonyms):
            ending = "" if i else "|T109|T195|LAB|NRW|NLM (1991)|900308|abbcdef"
            lines.append(f"{'ENTRY' if i else 'PRINT ENTRY'} = {synonym}{ending}")
        lines += [f"MN = {number}" for number in record.tree_numbers]
        lines += ["MS = A note = with a sign", f"UI = {record.id}", ""]
    return "\n".join(lines) + "\n"


def supplement_ascii(records: list[Record]) -> str:
    names = {record.id: record.name for record in DESCRIPTORS}
    lines = []
    for record in records:
        lines += ["*NEWRECORD", "RECTYPE = C", f"NM = {record.name}", "RN = 0"]
        lines += [f"SY = {synonym}|NLM (2020)|201231|abcdef" for synonym in record.synonyms]
        lines += [f"HM = *{names[record.parents[0]]}/poisoning"]
        lines += [f"HM = {names[parent]}" for parent in record.parents[1:]]
        lines += [f"UI = {record.id}", ""]
    return "\n".join(lines) + "\n"


def write(path: Path, text: str) -> Path:
    content = text.encode("utf-8")
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_xml_and_ascii_give_the_same_concepts(tmp_path, ending):
    xml = write(tmp_path / f"desc2026.xml{ending}", descriptors_xml(DESCRIPTORS))
    ascii = write(tmp_path / f"d2026.bin{ending}", descriptors_ascii(DESCRIPTORS))
    assert list(read_concepts(xml)) == DESCRIPTOR_CONCEPTS
    assert list(read_concepts(ascii)) == DESCRIPTOR_CONCEPTS

    xml = write(tmp_path / f"supp2026.xml{ending}", supplement_xml(SUPPLEMENT))
    ascii = write(tmp_path / f"c2026.bin{ending}", supplement_ascii(SUPPLEMENT))
    assert list(read_concepts(xml)) == SUPPLEMENTARY_CONCEPTS
    assert list(read_concepts(ascii)) == SUPPLEMENTARY_CONCEPTS


def test_content_tells_xml_and_ascii_under_other_names(tmp_path):
    """NLM's supp2026.gz does not have .xml in its name."""
    xml = write(tmp_path / "supp2026.gz", supplement_xml(SUPPLEMENT))
    ascii = write(tmp_path / "descriptors", descriptors_ascii(DESCRIPTORS))
    assert list(read_concepts(xml)) == SUPPLEMENTARY_CONCEPTS
    assert list(read_concepts(ascii)) == DESCRIPTOR_CONCEPTS


def test_utf16_xml_is_read(tmp_path):
    text = descriptors_xml(DESCRIPTORS).replace('"1.0"?', '"1.0" encoding="UTF-16"?')
    (tmp_path / "desc.xml").write_bytes(text.encode("utf-16"))
    assert list(read_concepts(tmp_path / "desc.xml")) == DESCRIPTOR_CONCEPTS


def test_supplementary_ascii_needs_the_descriptors_beside_it(tmp_path):
    path = write(tmp_path / "c2026.bin", supplement_ascii(SUPPLEMENT))
    with pytest.raises(DescriptorsMissing, match=r"no d2026\.bin"):
        list(read_concepts(path))


# --- bad input ----------------------------------------------------------------------------------------


def test_xml_that_defines_entities_is_refused(tmp_path):
    bomb = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 12))
    text = (
        f'<?xml version="1.0"?>\n<!DOCTYPE DescriptorRecordSet [<!ENTITY l0 "ha">{bomb}]>\n'
        "<DescriptorRecordSet><DescriptorRecord><DescriptorUI>&l11;</DescriptorUI></DescriptorRecord>"
        "</DescriptorRecordSet>"
    )
    with pytest.raises(UnsafeXml, match=r"desc\.xml:2: .*'l0'"):
        list(read_concepts(write(tmp_path / "desc.xml", text)))

    (tmp_path / "secret").write_text("secret", encoding="utf-8")
    external = text.replace("[", f'[<!ENTITY outside SYSTEM "{tmp_path}/secret">')
    with pytest.raises(UnsafeXml, match="'outside'"):
        list(read_concepts(write(tmp_path / "desc.xml", external)))


def test_undefined_entity_is_an_error(tmp_path):
    text = descriptors_xml(DESCRIPTORS).replace("Green", "&green;")
    with pytest.raises(BadXml, match=r"desc\.xml:\d+: .*entity"):
        list(read_concepts(write(tmp_path / "desc.xml", text)))


@pytest.mark.parametrize("encoding", ["nonsense", "shift_jis"])
def test_unknown_encoding_of_xml_is_an_error(tmp_path, encoding):
    text = f'<?xml version="1.0" encoding="{encoding}"?>\n<DescriptorRecordSet/>\n'
    with pytest.raises(BadXml, match=r"desc\.xml:1: .*encoding"):
        list(read_concepts(write(tmp_path / "desc.xml", text)))


def test_truncated_xml_is_an_error_with_its_line(tmp_path):
    text = descriptors_xml(DESCRIPTORS)
    with pytest.raises(BadXml, match=r"desc\.xml:5: "):
        list(read_concepts(write(tmp_path / "desc.xml", text[: text.index("Green")])))
    with pytest.raises(BadXml):
        list(read_concepts(write(tmp_path / "desc.xml", "asthma\n")))


@pytest.mark.parametrize("text", ["", "  \n", '<?xml version="1.0"?>', descriptors_xml([])])
def test_xml_without_records_is_an_error(tmp_path, text):
    with pytest.raises(NoNames):
        list(read_concepts(write(tmp_path / "desc.xml", text)))


def test_other_xml_is_an_error(tmp_path):
    with pytest.raises(UnknownFormat, match="'html'"):
        list(read_concepts(write(tmp_path / "desc.xml", "<html></html>")))


@pytest.mark.parametrize("write_file", [descriptors_xml, descriptors_ascii])
@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([Record("", "Fevers")], "'Fevers' has no"),
        ([Record("D1", " ")], "'D1' has no"),
        ([Record("D1", "a"), Record("D1", "b")], "second .* D1"),
    ],
)
def test_bad_record_is_an_error(tmp_path, write_file, records, message):
    name = "desc.xml" if write_file is descriptors_xml else "d2026.bin"
    with pytest.raises(BadConcept, match=message):
        list(read_concepts(write(tmp_path / name, write_file(records))))


# --- the shipped MeSH ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_parents_are_those_of_the_shared_mesh(shared_data, tmp_path):
    """Its tree numbers, read as records, must give its parents."""
    expected = list(tsv.read(shared_data / "terms" / "mesh.tsv.xz"))
    records = [
        Record(
            c.id.removeprefix("MESH:"),
            c.name,
            list(c.synonyms),
            c.note.split("|") if c.note else [],
        )
        for c in expected
    ]
    found = list(descriptor_concepts(records, Path("mesh")))
    assert [c.id for c in found] == [c.id for c in expected]
    assert [set(c.parents) for c in found] == [set(c.parents) for c in expected]
    for write_file, name in ((descriptors_xml, "desc.xml"), (descriptors_ascii, "d2026.bin")):
        path = write(tmp_path / name, write_file(records))
        assert list(read_concepts(path)) == found
