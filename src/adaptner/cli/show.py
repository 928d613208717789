"""Entities made visible in the terminal: coloured, each with its label behind it."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from adaptner.types import Document

STYLES = ("black on yellow", "black on cyan", "black on green", "black on magenta", "white on blue")


def terminal(document: Document, labels: Sequence[str]) -> Text:
    """The text with its entities coloured by label and followed by the label."""
    text, shown, at = document.text, Text(), 0
    for entity in sorted(document.entities):
        shown.append(text[at : entity.start])
        style = STYLES[labels.index(entity.label) % len(STYLES)]
        shown.append(entity.text_in(text), style=style)
        shown.append(f"|{entity.label}", style="dim")
        at = entity.end
    shown.append(text[at:])
    return shown
