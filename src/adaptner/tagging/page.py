"""Entities made visible: marked in a page of HTML that stands alone."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence

from adaptner.formats.chunks import DocumentChunk

# Light backgrounds on which dark text reads well, told apart also by people with colour blindness.
HUES = ("#ffd6a5", "#bde0fe", "#caffbf", "#ffc8dd", "#e2d4f9", "#fdffb6", "#c7f2ee", "#e0e0e0")


def page(
    parts: Iterable[DocumentChunk], labels: Sequence[str], title: str, note: str = ""
) -> Iterator[str]:
    """One HTML file, piece by piece: no scripts, nothing fetched from anywhere."""
    colours = {label: HUES[i % len(HUES)] for i, label in enumerate(labels)}
    legend = " ".join(_mark(html.escape(label), label, colours, "") for label in labels)
    yield _HEAD.format(title=html.escape(title), note=html.escape(note), legend=legend)
    for part in parts:
        if not part.start:
            name = part.document.id
            yield f"<article>{f'<h2>{html.escape(name)}</h2>' if name else ''}<p>"
        yield _marked(part, colours)
        if part.last:
            yield "</p></article>\n"
    yield _END


def _marked(part: DocumentChunk, colours: dict[str, str]) -> str:
    text, at, pieces = part.document.text, 0, []
    for entity in sorted(part.document.entities):
        pieces.append(html.escape(text[at : entity.start]))
        sure = "" if entity.score is None else f", score {entity.score:.2f}"
        shown = html.escape(entity.text_in(text))
        pieces.append(_mark(shown, entity.label, colours, f"{entity.label}{sure}"))
        at = entity.end
    pieces.append(html.escape(text[at:]))
    return "".join(pieces)


def _mark(shown: str, label: str, colours: dict[str, str], tip: str) -> str:
    title = f' title="{html.escape(tip, quote=True)}"' if tip else ""
    tag = f"<sub>{html.escape(label)}</sub>" if tip else ""
    return f'<mark style="background:{colours.get(label, HUES[-1])}"{title}>{shown}{tag}</mark>'


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
