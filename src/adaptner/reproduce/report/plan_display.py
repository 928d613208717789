"""What ``reproduce --dry-run`` and ``reproduce --list`` show: a job plan, and the published tables."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adaptner.reproduce.jobs import costs
from adaptner.reproduce.jobs.plan import JobPlan
from adaptner.reproduce.tables.counts import PLACES
from adaptner.reproduce.tables.protocol import BERT, fillings
from adaptner.reproduce.tables.protocols import protocol_of
from adaptner.reproduce.tables.published import PublishedTable, papers

if TYPE_CHECKING:
    from rich.table import Table


def plan_summary(plan: JobPlan, data: Path, jobs: int) -> dict[str, Any]:
    """Returns bases and draws by method and target, with their expected hours."""
    seconds = {job.key: costs.expected_seconds(job, data) for job in plan.jobs}
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    bases: dict[str, set[str]] = {}
    for job in plan.draws:
        method, target = key = (job.spec["method"], job.spec["target"][0])
        row = rows.setdefault(
            key, {"method": method, "target": target, "sizes": [], "draws": 0, "seconds": 0.0}
        )
        size = f"{job.spec['share']:g}%" if job.spec["size"] is None else job.spec["size"]
        if size not in row["sizes"]:
            row["sizes"].append(size)
        row["draws"] += 1
        row["seconds"] += seconds[job.key]
        bases.setdefault(method, set()).add(str(job.base))
    methods = list(plan.selection.methods)
    return {
        "table": plan.protocol.table,
        "profile": plan.profile.name,
        "iterations": plan.profile.iterations,
        "draws_from": plan.profile.draws_from,
        "bases_per_domain": plan.profile.bases,
        "jobs": jobs,
        "bases": len(plan.bases),
        "bases_by_method": {name: len(keys) for name, keys in bases.items()},
        "draws": len(plan.draws),
        "base_hours": sum(seconds[j.key] for j in plan.bases) / 3600,
        "draw_hours": sum(seconds[j.key] for j in plan.draws) / 3600,
        "hours": sum(seconds.values()) / 3600 / jobs,
        "grid": sorted(rows.values(), key=lambda row: methods.index(row["method"])),
        "skipped": plan.skipped,
        "basis": costs.BASIS,
    }


def plan_table(summary: dict[str, Any]) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in ("method", "bases", "target", "sizes", "draws", "hours"):
        side = "right" if name in ("bases", "draws", "hours") else "left"
        table.add_column(name, justify=side)  # type: ignore[arg-type]
    for method, rows in groupby(summary["grid"], key=itemgetter("method")):
        first_columns = method, str(summary["bases_by_method"][method])
        for row in rows:
            sizes, hours = " ".join(map(str, row["sizes"])), f"{row['seconds'] / 3600:.2f}"
            table.add_row(*first_columns, row["target"], sizes, str(row["draws"]), hours)
            first_columns = "", ""
    return table


def list_tables() -> list[dict[str, Any]]:
    """Returns each published table, with the rows that our methods fill and those they do not."""
    return [
        _table_entry(f"{paper.name}/{table.id}", table)
        for paper in papers()
        for table in paper.tables
    ]


def _table_entry(name: str, table: PublishedTable) -> dict[str, Any]:
    protocol = protocol_of(name)
    rows = fillings(protocol, table)
    transformers = [f.label for f in rows if f.method is not None and f.row.encoder == BERT]
    return {
        "table": name,
        "caption": table.caption,
        "filled": {f.label: f.method for f in rows if f.method is not None},
        "transformers": list(dict.fromkeys(transformers)),
        "missing": {f.label: f.reason for f in rows if f.method is None},
        "extra": list(protocol.extra),
        "counted": name in PLACES,
        "columns": protocol.columns,
        "not_comparable": {t.name: t.note for t in protocol.targets if t.note},
    }


def format_table_entry(entry: dict[str, Any]) -> list[str]:
    """Returns the lines of a table in the list, beginning with its name and caption."""
    lines = [f"{entry['table']}  {entry['caption']}"]
    if entry["counted"]:
        return [*lines, "  compared with our counts of the same corpora"]
    if not entry["filled"]:
        return [*lines, f"  not reproduced: {next(iter(entry['missing'].values()))}"]
    methods = [
        f"{label} ({name} --encoder)"
        if label in entry["transformers"]
        else label
        if label.lower() == name
        else f"{label} ({name})"
        for label, name in entry["filled"].items()
    ]
    extra = f"; in addition {', '.join(entry['extra'])}" if entry["extra"] else ""
    lines.append(f"  reproduced: {', '.join(methods)}{extra}")
    by_reason: dict[str, list[str]] = {}
    for label, reason in entry["missing"].items():
        by_reason.setdefault(reason, []).append(label)
    lines += [f"  not run: {', '.join(rows)}: {why}" for why, rows in by_reason.items()]
    notes = dict.fromkeys(entry["not_comparable"].values())
    return lines + [f"  not comparable: {note}" for note in notes]
