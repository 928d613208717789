"""A self-contained HTML page with the entities of documents marked in their text."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence

from adaptner.formats.chunks import DocumentChunk

# Light backgrounds with enough contrast for dark text, distinguishable with colour blindness.
COLOURS = ("#ffd6a5", "#bde0fe", "#caffbf", "#ffc8dd", "#e2d4f9", "#fdffb6", "#c7f2ee", "#e0e0e0")


def html_page(
    chunks: Iterable[DocumentChunk], labels: Sequence[str], title: str, note: str = ""
) -> Iterator[str]:
    """The page in pieces. It contains no scripts and loads nothing."""
    colours = {label: COLOURS[i % len(COLOURS)] for i, label in enumerate(labels)}
    legend = " ".join(_mark(html.escape(label), label, colours, "") for label in labels)
    yield _HEAD.format(title=html.escape(title), note=html.escape(note), legend=legend)
    for chunk in chunks:
        if not chunk.start:
            name = chunk.document.id
            yield f"<article>{f'<h2>{html.escape(name)}</h2>' if name else ''}<p>"
        yield _marked_text(chunk, colours)
        if chunk.last:
            yield "</p></article>\n"
    yield _END


def _marked_text(chunk: DocumentChunk, colours: dict[str, str]) -> str:
    text, position, pieces = chunk.document.text, 0, []
    for entity in sorted(chunk.document.entities):
        pieces.append(html.escape(text[position : entity.start]))
        score = "" if entity.score is None else f", score {entity.score:.2f}"
        mention = html.escape(entity.text_in(text))
        ids = "".join(f", {identifier}" for identifier in entity.ids)
        pieces.append(_mark(mention, entity.label, colours, f"{entity.label}{score}{ids}"))
        position = entity.end
    pieces.append(html.escape(text[position:]))
    return "".join(pieces)


def _mark(content: str, label: str, colours: dict[str, str], tooltip: str) -> str:
    title = f' title="{html.escape(tooltip, quote=True)}"' if tooltip else ""
    tag = f"<sub>{html.escape(label)}</sub>" if tooltip else ""
    colour = colours.get(label, COLOURS[-1])
    return f'<mark style="background:{colour}"{title}>{content}{tag}</mark>'


_HEAD = """<!doctype html>
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
"""
_END = """</body>
</html>
"""
