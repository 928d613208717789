"""Entities made visible: coloured in the terminal, marked in a page of HTML that stands alone."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from rich.text import Text

from adaptner.types import Document

# Light backgrounds on which dark text reads well, told apart also by people with colour blindness.
HUES = ("#ffd6a5", "#bde0fe", "#caffbf", "#ffc8dd", "#e2d4f9", "#fdffb6", "#c7f2ee", "#e0e0e0")
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


def page(documents: Iterable[Document], labels: Sequence[str], title: str, note: str = "") -> str:
    """One HTML file: no scripts, nothing fetched from anywhere."""
    colours = {label: HUES[i % len(HUES)] for i, label in enumerate(labels)}
    legend = " ".join(_mark(html.escape(label), label, colours, "") for label in labels)
    parts = []
    for document in documents:
        text, at, pieces = document.text, 0, []
        for entity in sorted(document.entities):
            pieces.append(html.escape(text[at : entity.start]))
            sure = "" if entity.score is None else f", score {entity.score:.2f}"
            shown = html.escape(entity.text_in(text))
            pieces.append(_mark(shown, entity.label, colours, f"{entity.label}{sure}"))
            at = entity.end
        pieces.append(html.escape(text[at:]))
        name = f"<h2>{html.escape(document.id)}</h2>" if document.id else ""
        parts.append(f"<article>{name}<p>{''.join(pieces)}</p></article>")
    return _PAGE.format(
        title=html.escape(title), note=html.escape(note), legend=legend, body="\n".join(parts)
    )


def _mark(shown: str, label: str, colours: dict[str, str], tip: str) -> str:
    title = f' title="{html.escape(tip, quote=True)}"' if tip else ""
    tag = f"<sub>{html.escape(label)}</sub>" if tip else ""
    return f'<mark style="background:{colours.get(label, HUES[-1])}"{title}>{shown}{tag}</mark>'


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font: 17px/1.7 Georgia, serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem;
  color: #222; background: #fff; }}
h1 {{ font-size: 1.4rem; }} h2 {{ font: 600 0.85rem/1 system-ui, sans-serif; color: #777; }}
article {{ border-top: 1px solid #e6e6e6; padding: 0.2rem 0; }}
p {{ white-space: pre-wrap; }}
mark {{ border-radius: 0.25em; padding: 0.1em 0.25em; color: inherit; }}
mark sub {{ font: 600 0.6em/1 system-ui, sans-serif; color: #555; padding-left: 0.4em;
  vertical-align: baseline; }}
.note {{ color: #666; font: 0.9rem/1.5 system-ui, sans-serif; }}
</style>
</head>
<body>
<h1>{title}</h1>
<p class="note">{legend}
{note}</p>
{body}
</body>
</html>
"""
