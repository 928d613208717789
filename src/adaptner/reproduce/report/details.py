"""What every row must carry: protocol, budget, memory, seeds, data and code."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from hashlib import sha256
from itertools import pairwise

from adaptner.reproduce.jobs.result import StoredResult
from adaptner.reproduce.report.cells import MISSING, ComparisonCell
from adaptner.reproduce.report.compare import Comparison, ComparisonRow
from adaptner.reproduce.report.document import (
    Block,
    Code,
    Paragraph,
    ReportRow,
    ReportTable,
    TableCell,
)
from adaptner.reproduce.report.main_table import SIGNS, theirs


def protocol_blocks(comparison: Comparison) -> list[Block]:
    """A row per method and level that was measured."""
    lines = [line for line in comparison.lines if line.results]
    if not lines:
        return [Paragraph("There are no results yet.")]
    header: list[TableCell | str] = [
        "method",
        "target data",
        "protocol",
        TableCell("targets"),
        TableCell("seeds"),
        TableCell("steps", under="a draw"),
        TableCell("seconds", under="a draw, mean"),
        TableCell("base", under="iterations"),
        TableCell("base", under="seconds, mean"),
        TableCell("peak memory", under="MB"),
        TableCell("tested on", under="sentences"),
        TableCell("unlabelled", under="sentences"),
        TableCell("data", under="checksum"),
        TableCell("code"),
    ]
    rows = [ReportRow(_facts(line)) for line in lines]
    return [
        ReportTable(header, rows, names=3),
        Paragraph(
            "Steps and seconds are of adaptation; those of a base are spent once and serve every "
            "draw that starts from it. A data checksum covers the target and source corpora of the "
            "row, which are listed one by one below. * not the whole test split.",
            quiet=True,
        ),
    ]


def cell_blocks(comparison: Comparison) -> list[Block]:
    """Every cell with its numbers in full. What is missing says why; a line of which nothing was
    measured says it once."""
    header = [
        "method", "target data", "column", "mean", "sd", "n", "95 % interval", "published", "seeds",
        "steps", "seconds", "peak MB", "checksum", "verdict and reason",
    ]  # fmt: skip
    names = (*comparison.names, *comparison.own_names)
    rows = []
    for line in comparison.lines:
        reasons = dict.fromkeys(line.cells[name].reason for name in names)
        if line.measured or len(reasons) != 1:
            rows += [ReportRow(_cell_row(comparison, line, line.cells[name])) for name in names]
        else:
            why = TableCell(f"{SIGNS[MISSING]} {MISSING}: {next(iter(reasons))}", tone="long")
            blank = [""] * (len(header) - 4)
            rows.append(ReportRow([line.label, line.level.label, "all", *blank, why], "quiet"))
    said = "The checksum is that of the target's files, shortened; seconds are a draw's mean."
    return [Paragraph(said, quiet=True), ReportTable(header, rows, names=3)]


def data_blocks(results: Sequence[StoredResult]) -> list[Block]:
    """Checksums of corpora, versions of the code, settings of the methods."""
    if not results:
        return [Paragraph("There are no results yet.")]
    corpora: dict[str, set[str]] = {}
    for result in results:
        for name, checksum in result.data.items():
            corpora.setdefault(name, set()).add(checksum)
    rows = [
        ReportRow([name, checksum])
        for name in sorted(corpora)
        for checksum in sorted(corpora[name])
    ]
    blocks: list[Block] = [ReportTable(["corpus", "SHA-256 of its files"], rows, names=2)]
    blocks.append(Paragraph("Code: " + "; ".join(sorted({r.code or "not said" for r in results}))))
    settings: dict[tuple[str, str], dict[str, int]] = {}
    for result in results:
        text = json.dumps(result.settings, indent=1, sort_keys=True, ensure_ascii=False)
        found = settings.setdefault((result.method, result.variant), {})
        found[text] = found.get(text, 0) + 1
    for (method, variant), texts in settings.items():
        for text, count in texts.items():
            name = f"{method} [{variant}]" if variant else method
            blocks.append(Paragraph(f"Settings of {name} ({count} draws):"))
            blocks.append(Code(text))
    return blocks


def doubts(comparison: Comparison) -> list[str]:
    """What in the results themselves stands against reading them as one experiment."""
    results = comparison.results
    said = []
    if comparison.repeated:
        said.append(
            f"{comparison.repeated} draws were there more than once, made with other settings or "
            "code; the newest of each counts"
        )
    codes = sorted({r.code for r in results})
    if len(codes) > 1:
        said.append(f"results of {len(codes)} versions of the code stand side by side")
    profiles = sorted({r.profile for r in results})
    if len(profiles) > 1 or (profiles and profiles != [comparison.request.profile]):
        said.append(f"results come from the profile {' and '.join(profiles)}")
    checksums: dict[str, set[str]] = {}
    for result in results:
        for name, checksum in result.data.items():
            checksums.setdefault(name, set()).add(checksum)
    changed = sorted(name for name, found in checksums.items() if len(found) > 1)
    if changed:
        said.append(f"the data changed between runs: {', '.join(changed)}")
    limited = {r.target: r.sentences for r in results if r.limited}
    if limited:
        most = max(limited.values())
        said.append(
            f"not the whole test split was scored, but at most {most:,} sentences of it, on "
            + ", ".join(sorted(limited))
        )
    return said


def ranges(numbers: Iterable[int]) -> str:
    """``0-4, 7`` for 0, 1, 2, 3, 4, 7."""
    ordered = sorted(set(numbers))
    if not ordered:
        return ""
    starts = [ordered[0], *(b for a, b in pairwise(ordered) if b != a + 1)]
    ends = [*(a for a, b in pairwise(ordered) if b != a + 1), ordered[-1]]
    return ", ".join(f"{a}-{b}" if a != b else f"{a}" for a, b in zip(starts, ends, strict=True))


def _facts(line: ComparisonRow) -> list[TableCell | str]:
    results = line.results
    data = "; ".join(sorted({f"{k} {v}" for r in results for k, v in r.data.items()}))
    codes = sorted({r.code for r in results if r.code})
    tested = _span([r.sentences for r in results])
    bases = {r.base_key: r.base_seconds for r in results if r.base_key}
    base_seconds = _mean(list(bases.values()))
    return [
        line.label,
        line.level.label,
        ", ".join(sorted({r.protocol for r in results})),
        TableCell(
            str(len({r.target for r in results})),
            tip=", ".join(sorted({r.target for r in results})),
        ),
        ranges(r.seed for r in results),
        _span([r.steps for r in results]),
        _mean([r.seconds for r in results]),
        _span([r.iterations for r in results]),
        TableCell(base_seconds, tip=f"{len(bases)} bases"),
        f"{max(r.peak_mb for r in results):,.0f}",
        tested + (" *" if any(r.limited for r in results) else ""),
        _span([r.unlabelled for r in results]),
        TableCell(sha256(data.encode(errors="replace")).hexdigest()[:12] if data else "", tip=data),
        TableCell(
            codes[0][:20] if len(codes) == 1 else f"{len(codes)} versions", tip="; ".join(codes)
        ),
    ]


def _cell_row(
    comparison: Comparison, line: ComparisonRow, cell: ComparisonCell
) -> list[TableCell | str]:
    scale = comparison.scale
    digits = 2 if comparison.table.unit == "percent" else 4

    def figure(value: float | None) -> str:
        return "" if value is None else f"{value * scale:.{digits}f}"

    said = f"{SIGNS[cell.verdict]} {cell.verdict}"
    interval, results = cell.interval, cell.results
    targets = {r.target: r.data.get(r.target, "") for r in results}
    checksum = next(iter(targets.values()))[:12] if len(targets) == 1 else ""
    return [
        line.label,
        line.level.label,
        cell.column,
        figure(cell.mean),
        figure(cell.sd),
        str(cell.n or ""),
        f"{figure(interval.low)} to {figure(interval.high)}" if interval else "",
        theirs(cell, comparison) + ("†" if cell.slips else ""),
        ranges(cell.values) if results else "",
        _span([r.steps for r in results]),
        _mean([r.seconds for r in results]),
        f"{max(r.peak_mb for r in results):,.0f}" if results else "",
        checksum,
        TableCell(f"{said}: {cell.reason}" if cell.reason else said, tone="long"),
    ]


def _span(numbers: Sequence[int]) -> str:
    if not numbers:
        return ""
    low, high = min(numbers), max(numbers)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _mean(numbers: Sequence[float]) -> str:
    return f"{sum(numbers) / len(numbers):,.1f}" if numbers else ""
