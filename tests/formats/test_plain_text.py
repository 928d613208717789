"""Tests of the plain text format."""

from __future__ import annotations

import pytest

from adaptner import formats
from adaptner.errors import EntityNotRepresentable
from adaptner.types import Document, Entity


def test_round_trip_keeps_every_character(tmp_path):
    content = "  Line one.\r\nLine two µ 🧬.\n\n"
    source, copy = tmp_path / "a.txt", tmp_path / "b.txt"
    source.write_bytes(content.encode())
    assert list(formats.read(source)) == [Document(content)]
    formats.write(formats.read(source), copy)
    assert copy.read_bytes() == source.read_bytes()


def test_documents_are_separated_by_a_blank_line(tmp_path):
    formats.write([Document("One"), Document("Two")], tmp_path / "a.txt")
    assert (tmp_path / "a.txt").read_text() == "One\n\nTwo"


def test_entities_raise_because_text_cannot_hold_them(tmp_path):
    with pytest.raises(EntityNotRepresentable, match="document 2"):
        formats.write([Document("One"), Document("Two", (Entity(0, 3, "X"),))], tmp_path / "a.txt")
    assert not (tmp_path / "a.txt").exists()
