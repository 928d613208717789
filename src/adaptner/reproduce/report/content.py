"""Puts a report page together: the main table first, then plots, tests and details."""

from __future__ import annotations

from collections.abc import Iterable

from adaptner.reproduce.jobs.result import StoredResult
from adaptner.reproduce.report.cells import ABOVE, BELOW, WITHIN
from adaptner.reproduce.report.compare import Comparison, compare
from adaptner.reproduce.report.details import (
    cell_blocks,
    data_blocks,
    protocol_blocks,
    result_warnings,
)
from adaptner.reproduce.report.evidence import (
    hardness_blocks,
    share_blocks,
    significance_blocks,
    size_blocks,
)
from adaptner.reproduce.report.main_table import comparison_table, main_blocks, verdict_table
from adaptner.reproduce.report.page import Block, Bullets, Code, Paragraph, ReportPage, Section
from adaptner.reproduce.report.request import ReportRequest, table_name

PROFILES = {
    "quick": "a small budget, for a first look within an hour; not the paper's",
    "paper": "the paper's protocol",
    "custom": "settings from the command line",
}


_KINDS = {
    "all": "draws from all sentences",
    "with-entities": "draws from sentences with an entity",
}


def report_page(results: Iterable[StoredResult], request: ReportRequest) -> ReportPage:
    comparison = compare(results, request)
    paper, table = comparison.paper, comparison.table
    name = table_name(table)
    lead: list[Block] = [
        Paragraph(_summary(comparison)),
        Code(request.command),
        *main_blocks(comparison),
    ]
    sections = [
        Section(f"Verdicts ({_KINDS[request.draws_from]})", _verdicts(comparison), expanded=True),
        Section("Comparability and omissions", [_remarks(comparison)], expanded=True),
        Section("Score against size", size_blocks(comparison), expanded=True),
        Section("Share of the target's data", share_blocks(comparison), expanded=True),
        Section(
            "Task hardness over iterations",
            hardness_blocks(request.hardness, request.table),
            expanded=True,
        ),
        *(_detail_sections(comparison) if comparison.has_scores or comparison.results else ()),
        Section("Known errors in the published table (†)", _slips(comparison)),
    ]
    return ReportPage(
        title=f"{paper.short}, {name}: {_start_lower(table.caption)}",
        source=f"Reproduction of {name} of “{paper.title}” ({paper.year})",
        lead=lead,
        sections=[section for section in sections if section.blocks],
    )


def _detail_sections(comparison: Comparison) -> list[Section]:
    return [
        Section("Differences between methods", significance_blocks(comparison)),
        Section("Other amounts of target data", _other_levels(comparison)),
        Section("Protocol, budget, memory and seeds", protocol_blocks(comparison)),
        Section("All cells", cell_blocks(comparison)),
        Section("Data checksums, code and settings", data_blocks(comparison.results)),
    ]


def _verdicts(comparison: Comparison) -> list[Block]:
    """The counts of verdicts, if any cell can be compared."""
    verdicts = {cell.verdict for row in comparison.main_rows for cell in row.cells.values()}
    return [verdict_table(comparison)] if verdicts & {WITHIN, ABOVE, BELOW} else []


def _summary(comparison: Comparison) -> str:
    request, results = comparison.request, comparison.results
    profile = (
        f"Profile {request.profile}: {PROFILES.get(request.profile, 'see the protocol below')}."
    )
    if not results and request.hardness:
        return f"{profile} {len(request.hardness):,} tasks were recorded."
    if not results:
        return f"{profile} There are no results yet: only the published figures are shown."
    latest = max(r.finished for r in results)
    methods = len({(r.method, r.variant) for r in results})
    corpora = len({r.target for r in results})
    return (
        f"{profile} {_KINDS[request.draws_from].capitalize()}. {len(results):,} results of {methods} method{'s' * (methods != 1)} on "
        f"{corpora} {'corpora' if corpora != 1 else 'corpus'}"
        + (f", the latest from {latest[:16].replace('T', ' ')} UTC." if latest else ".")
    )


def _remarks(comparison: Comparison) -> Bullets:
    request = comparison.request
    items = [("", note) for note in request.notes]
    items += [("These results", warning) for warning in result_warnings(comparison)]
    items += [
        (f"{name}, not comparable", why)
        for name, why in request.incomparable.items()
        if not any(why in note for note in request.notes)
    ]
    items += _objections(comparison)
    items += [(f"{name}, not run", why) for name, why in _omitted_rows(comparison).items()]
    items.append(("The paper's protocol", comparison.table.protocol))
    return Bullets(items)


def _objections(comparison: Comparison) -> list[tuple[str, str]]:
    """Objections to single cells, which the remarks on rows and columns do not mention."""
    known = {*comparison.request.incomparable.values(), ""}
    known |= {column.objection for column in comparison.all_columns}
    printed = {column.name for column in comparison.columns}
    return [
        (f"{row.label}, {name}", cell.objection)
        for row in comparison.main_rows
        for name, cell in row.cells.items()
        if name in printed and cell.values and cell.objection not in known
    ]


def _omitted_rows(comparison: Comparison) -> dict[str, str]:
    """Rows without any result, with the reason; those that the runner skipped come first."""
    reasons = dict(comparison.request.skipped)
    measured = {row.label for row in comparison.main_rows if row.measured}
    for row in comparison.main_rows:
        if row.label not in measured and row.label not in reasons:
            found = list(dict.fromkeys(cell.reason for cell in row.cells.values()))
            reasons[row.label] = found[0] if found else "not run"
    return reasons


def _other_levels(comparison: Comparison) -> list[Block]:
    rows = [row for row in comparison.other_rows if row.measured]
    if not rows:
        return []
    text = "Amounts of target data that the published table does not have."
    return [Paragraph(text), comparison_table(comparison, rows, comparison.measured_names)]


def _slips(comparison: Comparison) -> list[Block]:
    """All known errors in the published table, including remarks on the whole table."""
    items = []
    for slip in comparison.paper.slips:
        if slip.table == comparison.table.id:
            size = str(slip.size) if slip.size else None
            place = (slip.method, slip.corpus, slip.setting, size, slip.column)
            where = ", ".join(str(part) for part in place if part) or "the table"
            printed = f" (printed: {slip.printed})" if slip.printed else ""
            items.append((f"{where}{printed}", slip.note))
    return [Bullets(items)] if items else []


def _start_lower(caption: str) -> str:
    """A caption after a colon; abbreviations (F1, PDALN) keep their capitals."""
    second = caption[1:2]
    if second.isupper() or second.isdigit():
        return caption
    return caption[:1].lower() + caption[1:]
