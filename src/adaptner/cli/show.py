"""Colours entities in the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from adaptner.types import Document

STYLES = ("black on yellow", "black on cyan", "black on green", "black on magenta", "white on blue")


def coloured(document: Document, labels: Sequence[str]) -> Text:
    """The text with its entities coloured by label and followed by the label."""
    text, result, position = document.text, Text(), 0
    for entity in sorted(document.entities):
        result.append(text[position : entity.start])
        style = STYLES[labels.index(entity.label) % len(STYLES)]
        result.append(entity.text_in(text), style=style)
        result.append(f"|{entity.label}", style="dim")
        position = entity.end
    return result.append(text[position:])
