"""What a report says, in order: the table first, the evidence and the small print after it."""

from __future__ import annotations

from collections.abc import Iterable

from adaptner.reproduce.jobs.result import StoredResult
from adaptner.reproduce.report.cells import ABOVE, BELOW, WITHIN
from adaptner.reproduce.report.compare import Comparison, compare
from adaptner.reproduce.report.details import cell_blocks, data_blocks, doubts, protocol_blocks
from adaptner.reproduce.report.document import Block, Bullets, Code, Paragraph, ReportPage, Section
from adaptner.reproduce.report.evidence import (
    hardness_blocks,
    share_blocks,
    significance_blocks,
    size_blocks,
)
from adaptner.reproduce.report.main_table import comparison_grid, main_blocks, verdict_grid
from adaptner.reproduce.report.request import ReportRequest, table_name

PROFILES = {
    "quick": "a budget for a look within the hour, not the paper's",
    "paper": "the paper's protocol to the letter",
    "custom": "settings chosen on the command line",
}


def report_document(results: Iterable[StoredResult], request: ReportRequest) -> ReportPage:
    comparison = compare(results, request)
    paper, table = comparison.paper, comparison.table
    place = table_name(table)
    lead: list[Block] = [
        Paragraph(_state(comparison)),
        Code(request.command),
        *main_blocks(comparison),
    ]
    sections = [
        _verdicts(comparison),
        Section("Comparability, and what was left out", _remarks(comparison), open=True),
        _plots("Score against size", size_blocks(comparison)),
        _plots("Share of the target's data", share_blocks(comparison)),
        _plots("Hardness over iterations", hardness_blocks(request.hardness, request.table)),
        *(_small_print(comparison) if comparison.scored or comparison.results else ()),
        _slips(comparison),
    ]
    return ReportPage(
        title=f"{paper.short}, {place}: {_lowered(table.caption)}",
        above=f"Reproduction of {place} of “{paper.title}” ({paper.year})",
        lead=lead,
        sections=[section for section in sections if section is not None],
    )


def _small_print(comparison: Comparison) -> list[Section | None]:
    return [
        Section("Significance between methods", significance_blocks(comparison)),
        _others(comparison),
        Section("Protocol, budget, memory, seeds", protocol_blocks(comparison)),
        Section("Every cell", cell_blocks(comparison)),
        Section("Data checksums, code and settings", data_blocks(comparison.results)),
    ]


def _verdicts(comparison: Comparison) -> Section | None:
    """Counts, if there is anything to count: a table of which nothing compares has none."""
    judged = {cell.verdict for line in comparison.main for cell in line.cells.values()}
    if not judged & {WITHIN, ABOVE, BELOW}:
        return None
    return Section("Verdicts", [verdict_grid(comparison)], open=True)


def _state(comparison: Comparison) -> str:
    request, results = comparison.request, comparison.results
    said = f"Profile {request.profile}: {PROFILES.get(request.profile, 'see the protocol below')}."
    if not results and request.hardness:
        return f"{said} {len(request.hardness):,} tasks were recorded."
    if not results:
        return f"{said} There are no results yet; the published figures stand alone."
    latest = max(r.finished for r in results)
    methods = len({(r.method, r.variant) for r in results})
    return (
        f"{said} {len(results):,} results of {methods} method{'s' * (methods != 1)} on "
        f"{len({r.target for r in results})} corpora"
        + (f", the last of {latest[:16].replace('T', ' ')} UTC." if latest else ".")
    )


def _remarks(comparison: Comparison) -> list[Block]:
    request = comparison.request
    items = [("", note) for note in request.notes]
    items += [("These results", doubt) for doubt in doubts(comparison)]
    items += [
        (f"{name}, not comparable", why)
        for name, why in request.incomparable.items()
        if not any(why in note for note in request.notes)
    ]
    items += _objections(comparison)
    items += [(f"{name}, not run", why) for name, why in _left_out(comparison).items()]
    items.append(("The paper's protocol", comparison.table.protocol))
    return [Bullets(items)]


def _objections(comparison: Comparison) -> list[tuple[str, str]]:
    """What only the cells know: the request has said what it knows of rows and columns."""
    known = {*comparison.request.incomparable.values(), ""}
    known |= {column.objection for column in (*comparison.columns, *comparison.own)}
    printed = {column.name for column in comparison.columns}
    return [
        (f"{line.label}, {name}", cell.objection)
        for line in comparison.main
        for name, cell in line.cells.items()
        if name in printed and cell.values and cell.objection not in known
    ]


def _left_out(comparison: Comparison) -> dict[str, str]:
    """Rows without a single result, with the reason; those skipped by the runner come first."""
    reasons = dict(comparison.request.skipped)
    for line in comparison.main:
        measured = any(n.measured for n in comparison.main if n.label == line.label)
        if not measured and line.label not in reasons:
            found = list(dict.fromkeys(cell.reason for cell in line.cells.values()))
            reasons[line.label] = found[0] if found else "not run"
    return reasons


def _others(comparison: Comparison) -> Section | None:
    lines = [line for line in comparison.others if line.measured]
    if not lines:
        return None
    said = "Amounts of target data that the published table does not have."
    names = [n for n in (*comparison.names, *comparison.own_names) if comparison.filled([n])]
    grid = comparison_grid(comparison, lines, names)
    return Section("Other amounts of target data", [Paragraph(said), grid])


def _slips(comparison: Comparison) -> Section | None:
    """All that is known to be wrong with the published table, general remarks included."""
    table = comparison.table
    items = []
    for slip in comparison.paper.slips:
        if slip.table == table.id:
            named = [slip.method, slip.corpus, slip.setting, slip.size and str(slip.size)]
            where = ", ".join(str(n) for n in (*named, slip.column) if n) or "the table"
            printed = f" (printed: {slip.printed})" if slip.printed else ""
            items.append((f"{where}{printed}", slip.note))
    if not items:
        return None
    return Section("Known slips of the published table (†)", [Bullets(items)])


def _plots(title: str, blocks: list[Block]) -> Section | None:
    return Section(title, blocks, open=True) if blocks else None


def _lowered(caption: str) -> str:
    """A caption after a colon; abbreviations (F1, PDALN) keep their capitals."""
    first = caption.split(" ", 1)[0]
    return (
        caption
        if first[1:2].isupper() or first[1:2].isdigit()
        else caption[:1].lower() + caption[1:]
    )
