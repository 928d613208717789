"""A document as one HTML page: no script, nothing fetched, every text escaped."""

from __future__ import annotations

from html import escape

from adaptner.reproduce.report.document import (
    Block,
    Bullets,
    Code,
    Figures,
    Paragraph,
    ReportPage,
    ReportRow,
    ReportTable,
    Section,
    TableCell,
    printable,
    table_cell,
)

_NAMESPACE = ' xmlns="http://www.w3.org/2000/svg"'  # a page of HTML needs none


def html_page(document: ReportPage) -> str:
    """The whole page, ending in a newline."""
    parts = [
        f"<header><p class='source'>{_text(document.above)}</p><h1>{_text(document.title)}</h1></header>",
        *(_block(block) for block in document.lead),
        *(_section(section) for section in document.sections),
    ]
    return _PAGE.format(title=_text(document.title), style=_STYLE, body="\n".join(parts))


def _section(section: Section) -> str:
    opened = " open" if section.open else ""
    body = "\n".join(_block(block) for block in section.blocks)
    title = _text(section.title)
    return f"<details{opened}><summary><h2>{title}</h2></summary>\n{body}\n</details>"


def _block(block: Block) -> str:
    if isinstance(block, Paragraph):
        kind = " class='quiet'" if block.quiet else ""
        return f"<p{kind}>{_text(block.words)}</p>"
    if isinstance(block, Bullets):
        return f"<ul>{''.join(_item(about, said) for about, said in block.items)}</ul>"
    if isinstance(block, Code):
        return f"<pre>{escape(_printable_lines(block.text))}</pre>"
    if isinstance(block, Figures):
        return f"<div class='figures'>{''.join(_figure(f.svg) for f in block.figures)}</div>"
    return _grid(block)


def _item(about: str, said: str) -> str:
    return f"<li><b>{_text(about)}</b>: {_text(said)}</li>" if about else f"<li>{_text(said)}</li>"


def _figure(svg: str) -> str:
    return f"<figure>{svg.replace(_NAMESPACE, '', 1)}</figure>"


def _grid(grid: ReportTable) -> str:
    head = "".join(_cell(e, "th", number >= grid.names) for number, e in enumerate(grid.header))
    body = "\n".join(_row(row, grid) for row in grid.rows)
    kind = "wide" if grid.wide else "plain"
    return (
        f"<div class='scroll'><table class='{kind}'><thead><tr>{head}</tr></thead>\n"
        f"<tbody>\n{body}\n</tbody></table></div>"
    )


def _row(row: ReportRow, grid: ReportTable) -> str:
    if row.kind == "group":
        label = _text(table_cell(row.entries[0]).text)
        return f"<tr class='group'><th colspan='{len(grid.header)}'>{label}</th></tr>"
    cells = "".join(
        _cell(e, "td" if number else "th", number >= grid.names)
        for number, e in enumerate(row.entries)
    )
    return f"<tr class='{escape(row.kind)}'>{cells}</tr>"


def _cell(cell: TableCell | str, tag: str, numeric: bool) -> str:
    found = table_cell(cell)
    classes = " ".join(c for c in ("n" if numeric else "", found.tone.replace(" ", "-")) if c)
    kind = f' class="{escape(classes)}"' if classes else ""
    tip = f' title="{_text(found.tip)}"' if found.tip else ""
    shown = f"<b>{_text(found.text)}</b>" if found.strong else _text(found.text)
    if found.aside:
        shown += f" <small>{_text(found.aside)}</small>"
    if found.under:
        shown += f"<span>{_text(found.under)}</span>"
    return f"<{tag}{kind}{tip}>{shown}</{tag}>"


def _text(text: str) -> str:
    return escape(printable(text), quote=True)


def _printable_lines(text: str) -> str:
    return "\n".join(printable(line) for line in text.split("\n"))


_STYLE = """
:root { --ink: #1a1a1a; --quiet: #5c5c5c; --rule: #e2e2e2; --soft: #f6f6f4; }
* { box-sizing: border-box; }
body { font: 15px/1.4 system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif;
  color: var(--ink); background: #fff; max-width: 1340px; margin: 0 auto; padding: 20px 24px 60px; }
header { margin-bottom: 8px; }
h1 { font-size: 1.45rem; line-height: 1.25; margin: 0 0 6px; }
h2 { font-size: 1.05rem; display: inline; margin: 0; }
p { margin: 6px 0; max-width: 75em; }
p.source { color: var(--quiet); margin: 0 0 2px; font-size: 0.9rem; }
p.quiet { color: var(--quiet); font-size: 0.87rem; }
pre { font: 12.5px/1.5 ui-monospace, Menlo, Consolas, monospace; background: var(--soft);
  padding: 7px 10px; margin: 6px 0 10px; overflow-x: auto; border-radius: 4px; white-space: pre-wrap;
  overflow-wrap: anywhere; }
ul { margin: 6px 0; padding-left: 1.3em; max-width: 75em; } li { margin: 2px 0; }
details { border-top: 1px solid var(--rule); padding: 9px 0; }
details[open] { padding-bottom: 16px; }
summary { cursor: pointer; } summary:hover h2 { text-decoration: underline; }
.scroll { overflow-x: auto; margin: 8px 0 12px; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 0.8rem; }
table.wide { width: 100%; font-size: 0.83rem; }
table.wide th, table.wide td { padding: 2px 5px; }
th, td { padding: 2px 7px; text-align: left; vertical-align: top; }
thead th { border-bottom: 1.5px solid var(--ink); vertical-align: bottom; font-weight: 600; }
thead th span { display: block; font-weight: 400; color: var(--quiet); font-size: 0.92em; }
tbody th { font-weight: 500; white-space: nowrap; }
tbody th span { display: block; color: var(--quiet); font-weight: 400; font-size: 0.92em; }
table.wide th:first-child { position: sticky; left: 0; background: #fff; }
.n { text-align: right; } td.n { white-space: nowrap; }
tbody tr { border-bottom: 1px solid var(--rule); }
tr.group { border: 0; } tr.group th { padding-top: 10px; font-weight: 700; }
table.plain td { white-space: nowrap; }
table.plain td.long { white-space: normal; min-width: 19em; text-align: left; }
tr.quiet { color: var(--quiet); }
td small, th small { font-weight: 400; color: var(--quiet); font-size: 0.9em; }
td span { display: block; color: var(--quiet); font-size: 0.95em; }
table.wide tbody td { border-left: 3px solid #fff; }
td.within { background: #dcf1e7; } td.above { background: #d9e9fb; }
td.below { background: #fdebd3; } td.not-comparable { background: #ececec; }
td.missing { color: var(--quiet); }
td.within span, td.above span, td.below span, td.not-comparable span { color: #3f3f3f; }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(400px, 1fr)); gap: 14px; }
figure { margin: 0; border: 1px solid var(--rule); border-radius: 4px; padding: 4px; }
figure svg { width: 100%; height: auto; display: block; }
@media (max-width: 480px) { .figures { grid-template-columns: 1fr; } body { padding: 12px; } }
@page { size: A4 landscape; margin: 12mm; }
@media print {
  table, table.wide { font-size: 7.5pt; } .scroll { overflow: visible; }
  body { max-width: none; padding: 0; font-size: 10pt; }
  details::details-content { content-visibility: visible; }
  figure, tr { break-inside: avoid; }
  * { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
}
"""

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
{body}
</body>
</html>
"""
