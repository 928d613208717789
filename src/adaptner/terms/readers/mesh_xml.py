"""MeSH in XML: descriptors (desc2026.xml) and supplementary concepts (supp2026.xml)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO
from xml.etree import ElementTree
from xml.parsers import expat

from adaptner.errors import BadXml, NoNames, UnknownFormat, UnsafeXml
from adaptner.terms.concepts import Concept
from adaptner.terms.readers.files import open_binary
from adaptner.terms.readers.mesh import Record, descriptor_concepts, supplementary_concepts

ENDINGS = (".xml",)

_DESCRIPTORS = "DescriptorRecordSet"
_SUPPLEMENT = "SupplementalRecordSet"
_TERMS = "ConceptList/Concept/TermList/Term/String"
_TREE_NUMBERS = "TreeNumberList/TreeNumber"
_MAPPED_TO = "HeadingMappedToList/HeadingMappedTo/DescriptorReferredTo/DescriptorUI"
_BLOCK_BYTES = 1 << 16


def read(path: str | Path) -> Iterator[Concept]:
    """Yields the concepts; raises UnsafeXml for definitions of entities, which can be bombs."""
    path = Path(path)
    with open_binary(path) as file:
        root = _root_element(file, path)
        if root == _DESCRIPTORS:
            yield from descriptor_concepts(_records(file, path, "Descriptor"), path)
        elif root == _SUPPLEMENT:
            yield from supplementary_concepts(_records(file, path, "SupplementalRecord"), path)
        else:
            raise UnknownFormat(
                file=path,
                given=f"of XML with the root element {root!r}",
                known=f"{_DESCRIPTORS}, {_SUPPLEMENT}",
            )


def _root_element(file: BinaryIO, path: Path) -> str:
    """Returns the name of the root element; all definitions of entities stand before it."""
    found: list[str] = []

    def refuse(name: str, *_: object) -> None:
        raise UnsafeXml(file=path, line=parser.CurrentLineNumber, name=name)

    parser = expat.ParserCreate()
    parser.EntityDeclHandler = refuse
    parser.StartElementHandler = lambda name, _: found.append(name)
    try:
        while not found:
            block = file.read(_BLOCK_BYTES)
            parser.Parse(block, not block)
    except expat.ExpatError as error:
        if not found:
            if error.code == expat.errors.codes[expat.errors.XML_ERROR_NO_ELEMENTS]:
                raise NoNames(file=path) from error
            raise BadXml(
                file=path, line=error.lineno, reason=expat.ErrorString(error.code)
            ) from error
    except (LookupError, ValueError) as error:  # the encoding that the file declares
        raise BadXml(file=path, line=1, reason=error) from error
    file.seek(0)
    return found[0]


def _records(file: BinaryIO, path: Path, kind: str) -> Iterator[Record]:
    tag = kind if kind.endswith("Record") else f"{kind}Record"
    try:
        for _, element in ElementTree.iterparse(file):
            if element.tag == tag:
                yield Record(
                    id=element.findtext(f"{kind}UI", ""),
                    name=element.findtext(f"{kind}Name/String", ""),
                    synonyms=[term.text or "" for term in element.iterfind(_TERMS)],
                    tree_numbers=[number.text or "" for number in element.iterfind(_TREE_NUMBERS)],
                    # An asterisk marks the main ones.
                    parents=[(ui.text or "").lstrip("*") for ui in element.iterfind(_MAPPED_TO)],
                )
                element.clear()
    except ElementTree.ParseError as error:
        reason = expat.ErrorString(error.code)
        raise BadXml(file=path, line=error.position[0], reason=reason) from error
