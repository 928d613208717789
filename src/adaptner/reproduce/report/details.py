"""The details of a report: protocol, budget, memory, seeds, all cells, data and code."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from hashlib import sha256
from itertools import pairwise

from adaptner.reproduce.jobs.result import StoredResult
from adaptner.reproduce.report.cells import MISSING, ComparisonCell
from adaptner.reproduce.report.compare import Comparison, ComparisonRow
from adaptner.reproduce.report.main_table import SIGNS, format_published
from adaptner.reproduce.report.page import (
    Block,
    Code,
    Paragraph,
    ReportRow,
    ReportTable,
    TableCell,
)

_NO_RESULTS = Paragraph("There are no results yet.")
_PROTOCOL_HEADER = (
    ("method", ""), ("target data", ""), ("protocol", ""), ("targets", ""), ("draws", "seeds"), ("bases", "seeds"),
    ("optimiser", "of adaptation"), ("rates", "decoder / encoder"), ("encoder moved", "Δθ"),
    ("steps", "per draw"), ("seconds", "per draw, mean"), ("base", "iterations"),
    ("base", "seconds, mean"), ("peak memory", "MB"), ("tested on", "sentences"),
    ("unlabelled", "sentences"), ("data", "checksum"), ("code", ""),
)  # fmt: skip


def protocol_blocks(comparison: Comparison) -> list[Block]:
    """Returns a row per measured method and level."""
    measured = [row for row in comparison.rows if row.results]
    if not measured:
        return [_NO_RESULTS]
    rows = [ReportRow(_protocol_cells(row)) for row in measured]
    return [
        ReportTable(
            [TableCell(name, second_line=line) for name, line in _PROTOCOL_HEADER],
            rows,
            text_columns=3,
        ),
        Paragraph(
            "Optimiser, rates, steps and seconds are those of adaptation. Δθ is the mean distance that "
            "adaptation moved the encoder, followed by its share of the distance that pretraining had "
            "moved it, where that is known. A base is trained once and serves all draws "
            "that start from it. The data checksum covers the target and source corpora of the row, "
            "which are listed below. * only a part of the test split.",
            muted=True,
        ),
    ]


def cell_blocks(comparison: Comparison) -> list[Block]:
    """Returns all cells with unrounded figures; a row without results takes one line."""
    header = [
        "method", "target data", "column", "mean", "±", "sd over draws", "sd over bases", "draws",
        "bases", "draws without entity", "mentions in a draw", "95 % interval", "published", "seeds",
        "seeds of bases", "steps", "seconds", "peak MB", "checksum", "verdict and reason",
    ]  # fmt: skip
    names = (*comparison.names, *comparison.additional_names)
    rows = []
    for row in comparison.rows:
        reasons = dict.fromkeys(row.cells[name].reason for name in names)
        if row.measured or len(reasons) != 1:
            rows += [ReportRow(_figures(comparison, row, row.cells[name])) for name in names]
        else:
            why = TableCell(f"{SIGNS[MISSING]} {MISSING}: {next(iter(reasons))}", tone="long")
            blank = [""] * (len(header) - 4)
            rows.append(ReportRow([row.label, row.level.label, "all", *blank, why], "muted"))
    text = (
        "± is the root of the sum of the variances over draws and over bases. Where each draw has a "
        "base of its own, the sd over draws holds both. Mentions are a mean over draws. The checksum is "
        "the beginning of that of the target's files. Seconds are means over runs."
    )
    return [Paragraph(text, muted=True), ReportTable(header, rows, text_columns=3)]


def data_blocks(results: Sequence[StoredResult]) -> list[Block]:
    """Returns checksums of corpora, versions of the code and settings of the methods."""
    if not results:
        return [_NO_RESULTS]
    rows = [
        ReportRow([name, checksum])
        for name, checksums in sorted(_checksums(results).items())
        for checksum in sorted(checksums)
    ]
    codes = "; ".join(sorted({r.code or "not recorded" for r in results}))
    blocks: list[Block] = [
        ReportTable(["corpus", "SHA-256 of its files"], rows, text_columns=2),
        Paragraph(f"Code: {codes}"),
    ]
    settings: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for result in results:
        text = json.dumps(result.settings, indent=1, sort_keys=True, ensure_ascii=False)
        settings[result.method, result.variant][text] += 1
    for (method, variant), counts in settings.items():
        name = f"{method} [{variant}]" if variant else method
        for text, count in counts.items():
            blocks += [Paragraph(f"Settings of {name} ({count} runs):"), Code(text)]
    return blocks


def result_warnings(comparison: Comparison) -> list[str]:
    """Returns reasons not to read the results as those of one experiment."""
    results = comparison.results
    warnings = []
    if comparison.repeated:
        warnings.append(
            f"{comparison.repeated} draws had been run before with other settings or code; only the "
            "newest result of a draw and base counts"
        )
    codes = {r.code for r in results}
    if len(codes) > 1:
        warnings.append(f"they come from {len(codes)} versions of the code")
    profiles = sorted({r.profile for r in results})
    if len(profiles) > 1 or (profiles and profiles != [comparison.request.profile]):
        warnings.append(f"they come from the profile {' and '.join(profiles)}")
    changed = sorted(name for name, found in _checksums(results).items() if len(found) > 1)
    if changed:
        warnings.append(f"the data changed between runs: {', '.join(changed)}")
    limited = {r.target: r.sentences for r in results if r.limited}
    if limited:
        warnings.append(
            f"only a part of the test split, at most {max(limited.values()):,} sentences, was "
            f"scored on {', '.join(sorted(limited))}"
        )
    return warnings


def format_ranges(numbers: Iterable[int]) -> str:
    """Returns ``0-4, 7`` for 0, 1, 2, 3, 4, 7."""
    ordered = sorted(set(numbers))
    if not ordered:
        return ""
    starts = [ordered[0], *(b for a, b in pairwise(ordered) if b != a + 1)]
    ends = [*(a for a, b in pairwise(ordered) if b != a + 1), ordered[-1]]
    return ", ".join(f"{a}-{b}" if a != b else f"{a}" for a, b in zip(starts, ends, strict=True))


def _checksums(results: Iterable[StoredResult]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for result in results:
        for name, checksum in result.data.items():
            found.setdefault(name, set()).add(checksum)
    return found


def _protocol_cells(row: ComparisonRow) -> list[TableCell | str]:
    results = row.results
    data = "; ".join(sorted({f"{k} {v}" for r in results for k, v in r.data.items()}))
    checksum = sha256(data.encode(errors="replace")).hexdigest()[:12] if data else ""
    codes = sorted({r.code for r in results if r.code})
    code = codes[0][:20] if len(codes) == 1 else f"{len(codes)} versions"
    targets = sorted({r.target for r in results})
    bases = {r.base_key: r.base_seconds for r in results if r.base_key}
    tested = _low_to_high([r.sentences for r in results])
    return [
        row.label,
        row.level.label,
        ", ".join(sorted({r.protocol for r in results})),
        TableCell(str(len(targets)), tooltip=", ".join(targets)),
        format_ranges(r.seed for r in results),
        format_ranges(r.base_seed for r in results),
        *_optimiser(results),
        _encoder_change(results),
        _low_to_high([r.steps for r in results]),
        _mean([r.seconds for r in results]),
        _low_to_high([r.iterations for r in results]),
        TableCell(_mean(list(bases.values())), tooltip=f"{len(bases)} bases"),
        f"{max(r.peak_mb for r in results):,.0f}",
        tested + (" *" if any(r.limited for r in results) else ""),
        _low_to_high([r.unlabelled for r in results]),
        TableCell(checksum, tooltip=data),
        TableCell(code, tooltip="; ".join(codes)),
    ]


def _optimiser(results: Sequence[StoredResult]) -> tuple[str, str]:
    """Names and rates of the optimisers of adaptation."""
    names, rates = set(), set()
    for result in results:
        adaptation = result.settings.get("adaptation", {})
        if "optimiser" in adaptation:
            optimiser = adaptation["optimiser"]
            rate = optimiser["rate"]
            names.add(str(optimiser["name"]))
            rates.add(f"{rate:.3g} / {rate * adaptation.get('encoder_scale', 1.0):.3g}")
    return ", ".join(sorted(names)), ", ".join(sorted(rates))


def _encoder_change(results: Sequence[StoredResult]) -> str:
    changes = [r.encoder_change for r in results if r.encoder_change is not None]
    relative = [r.relative_change for r in results if r.relative_change is not None]
    if not changes:
        return ""
    share = f" ({100 * sum(relative) / len(relative):.0f} %)" if relative else ""
    return f"{sum(changes) / len(changes):.3g}{share}"


def _figures(
    comparison: Comparison, row: ComparisonRow, cell: ComparisonCell
) -> list[TableCell | str]:
    digits = 2 if comparison.table.unit == "percent" else 4

    def figure(value: float | None) -> str:
        return "" if value is None else f"{value * comparison.scale:.{digits}f}"

    verdict = f"{SIGNS[cell.verdict]} {cell.verdict}"
    interval, results, spread = cell.interval, cell.results, cell.spread
    targets = {r.target: r.data.get(r.target, "") for r in results}
    checksum = next(iter(targets.values()))[:12] if len(targets) == 1 else ""
    return [
        row.label,
        row.level.label,
        cell.column,
        figure(cell.mean),
        figure(cell.sd),
        figure(spread.sd_draws if spread else None),
        figure(spread.sd_bases if spread else None),
        str(cell.n or ""),
        str(cell.bases or ""),
        f"{cell.empty_draws} of {len(cell.mentions)}" if cell.mentions else "",
        "" if cell.mean_mentions is None else f"{cell.mean_mentions:.1f}",
        f"{figure(interval.low)} to {figure(interval.high)}" if interval else "",
        format_published(cell, comparison),
        format_ranges(draw for draw, _ in cell.values) if results else "",
        format_ranges(base for _, base in cell.values) if results else "",
        _low_to_high([r.steps for r in results]),
        _mean([r.seconds for r in results]),
        f"{max(r.peak_mb for r in results):,.0f}" if results else "",
        checksum,
        TableCell(f"{verdict}: {cell.reason}" if cell.reason else verdict, tone="long"),
    ]


def _low_to_high(numbers: Sequence[int]) -> str:
    if not numbers:
        return ""
    low, high = min(numbers), max(numbers)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _mean(numbers: Sequence[float]) -> str:
    return f"{sum(numbers) / len(numbers):,.1f}" if numbers else ""
