"""A plan, and all tables, as people look at them: --dry-run and --list."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from adaptner.reproduce.jobs import costs
from adaptner.reproduce.jobs.plan import JobPlan
from adaptner.reproduce.tables.counts import PLACES
from adaptner.reproduce.tables.protocol import BERT, fillings
from adaptner.reproduce.tables.protocols import protocol_of
from adaptner.reproduce.tables.published import papers

if TYPE_CHECKING:
    from rich.table import Table


def plan_summary(wanted: JobPlan, data: Path, jobs: int) -> dict[str, Any]:
    """Bases and draws by method and target, with the hours they are expected to take."""
    seconds = {job.key: costs.expected_seconds(job, data) for job in wanted.jobs}
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    shared: dict[str, set[str]] = {}
    order = list(wanted.selection.methods)
    for job in wanted.draws:
        key = (job.spec["method"], job.spec["target"][0])
        row = rows.setdefault(
            key, {"method": key[0], "target": key[1], "sizes": [], "draws": 0, "seconds": 0.0}
        )
        size = f"{job.spec['share']:g}%" if job.spec["size"] is None else job.spec["size"]
        row["sizes"] += [] if size in row["sizes"] else [size]
        row["draws"] += 1
        row["seconds"] += seconds[job.key]
        shared.setdefault(key[0], set()).add(str(job.base))
    return {
        "table": wanted.protocol.table,
        "profile": wanted.profile.name,
        "iterations": wanted.profile.iterations,
        "jobs": jobs,
        "bases": len(wanted.bases),
        "bases_by_method": {name: len(keys) for name, keys in shared.items()},
        "draws": len(wanted.draws),
        "base_hours": sum(seconds[j.key] for j in wanted.bases) / 3600,
        "draw_hours": sum(seconds[j.key] for j in wanted.draws) / 3600,
        "hours": sum(seconds.values()) / 3600 / jobs,
        "grid": sorted(rows.values(), key=lambda row: order.index(row["method"])),
        "skipped": wanted.skipped,
        "basis": costs.BASIS,
    }


def plan_table(facts: dict[str, Any]) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in ("method", "bases", "target", "sizes", "draws", "hours"):
        side = "right" if name in ("bases", "draws", "hours") else "left"
        table.add_column(name, justify=side)  # type: ignore[arg-type]
    last = None
    for row in facts["grid"]:
        new = row["method"] != last
        last = row["method"]
        table.add_row(
            last if new else "",
            str(facts["bases_by_method"][last]) if new else "",
            row["target"],
            " ".join(map(str, row["sizes"])),
            str(row["draws"]),
            f"{row['seconds'] / 3600:.2f}",
        )
    return table


def list_tables() -> list[dict[str, Any]]:
    """Every published table, with the rows that a method of ours fills and those none does."""
    found = []
    for paper in papers():
        for table in paper.tables:
            name = f"{paper.name}/{table.id}"
            protocol = protocol_of(name)
            filled: dict[str, str] = {}
            missing: dict[str, str] = {}
            transformers: list[str] = []
            for f in fillings(protocol, table):
                if f.method is not None:
                    filled[f.label] = f.method
                    if f.row.encoder == BERT and f.label not in transformers:
                        transformers.append(f.label)
                else:
                    missing[f.label] = f.reason
            found.append(
                {
                    "table": name,
                    "caption": table.caption,
                    "filled": filled,
                    "transformers": transformers,
                    "missing": missing,
                    "extra": list(protocol.extra),
                    "counted": name in PLACES,
                    "columns": protocol.columns,
                    "not_comparable": {t.name: t.note for t in protocol.targets if t.note},
                }
            )
    return found


def format_table_entry(row: dict[str, Any]) -> list[str]:
    """A table's entry in the list, its name and caption first."""
    lines = [f"{row['table']}  {row['caption']}"]
    if row["counted"]:
        lines.append("  beside our own counts")
    elif not row["filled"]:
        lines.append(f"  nothing of ours fills it: {next(iter(row['missing'].values()))}")
    else:
        filled = ", ".join(
            f"{label} ({name} --encoder)"
            if label in row["transformers"]
            else label
            if label.lower() == name
            else f"{label} ({name})"
            for label, name in row["filled"].items()
        )
        extra = f"; beside them {', '.join(row['extra'])}" if row["extra"] else ""
        lines.append(f"  filled: {filled}{extra}")
        by_reason: dict[str, list[str]] = {}
        for label, reason in row["missing"].items():
            by_reason.setdefault(reason, []).append(label)
        lines += [f"  not filled: {', '.join(own)}: {why}" for why, own in by_reason.items()]
        notes = dict.fromkeys(row["not_comparable"].values())
        lines += [f"  not comparable: {note}" for note in notes]
    return lines
