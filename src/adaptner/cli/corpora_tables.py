"""Terminal output of ``adaptner corpora``: the catalogue, the card of a corpus, download bars."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.table import Table

from adaptner.cli.common import err, out

if TYPE_CHECKING:
    from adaptner.corpora.catalogue import CatalogueEntry
    from adaptner.corpora.download import DownloadProgress
    from adaptner.corpora.fetch import FetchProgress
    from adaptner.corpora.statistics import Statistics


def facts(entry: CatalogueEntry, state: str) -> dict[str, Any]:
    """All facts about a corpus, for ``--json``."""
    return {
        "name": entry.name,
        "state": state,
        "access": entry.access,
        "domain": entry.domain,
        "papers": list(entry.papers),
        "types": list(entry.types),
        "sentences": dict(entry.sentences),
        "licence": entry.licence,
        "address": entry.address,
        "obtain": entry.obtain,
        "raw": {part: entry.url(part) for part in entry.raw} if entry.repository else {},
        "conversion": entry.how,
        "convert": _convert_call(entry),
        "note": entry.note,
        "sha256": dict(entry.sha256),
    }


def print_catalogue(entries: Sequence[CatalogueEntry], states: Mapping[str, str]) -> None:
    """Print the corpora by group, then how to obtain those that cannot be downloaded."""
    rows: list[tuple[str, ...]] = [("corpus", "state", "sentences", "domain", "licence", "papers")]
    group = ""
    for entry in entries:
        if entry.group != group:
            group = entry.group
            rows.append((f"{group}/",))
        count = sum(entry.sentences.values())
        amount = f"{count:,}" if count else "-"
        licence = re.split(r" \(|[;:,]", entry.licence)[0]
        papers, state = " ".join(entry.papers), states[entry.name]
        rows.append((f"  {entry.short_name}", state, amount, entry.domain, licence, papers))
    _print_aligned(rows, right=2)
    # Several corpora of one package share one paragraph
    by_hand: dict[str, list[CatalogueEntry]] = {}
    for entry in entries:
        if entry.obtain:
            by_hand.setdefault(entry.obtain, []).append(entry)
    for obtain, members in by_hand.items():
        out.print(f"\n{', '.join(e.name for e in members)}")
        out.print(f"  how to obtain: {obtain}")
        if call := _convert_call(members[0]):
            out.print(f"  then: {call}")
    out.print("\n`adaptner corpora list NAME` shows all details of a corpus")


def _print_aligned(rows: Sequence[Sequence[str]], right: int) -> None:
    """Print rows at full width: rich would cut names to the width of the terminal."""
    width = [max(len(row[i]) for row in rows if len(row) > i) for i in range(len(rows[0]))]
    for row in rows:
        cells = [c.rjust(width[i]) if i == right else c.ljust(width[i]) for i, c in enumerate(row)]
        out.print("  ".join(cells).rstrip())


def print_card(entry: CatalogueEntry, state: str) -> None:
    splits = ", ".join(f"{split} {count:,}" for split, count in entry.sentences.items())
    lines = {
        "state": state,
        "domain": entry.domain,
        "types": ", ".join(entry.types),
        "sentences": splits,
        "papers": ", ".join(entry.papers) or "none",
        "licence": entry.licence,
        "address": entry.address,
        "how to get": entry.obtain,
        "conversion": entry.how,
        "convert with": _convert_call(entry),
        "note": entry.note,
    }
    out.print(entry.name, style="bold")
    for heading, text in lines.items():
        if text:
            out.print(f"  {heading + ':':14}{text}")
    for part in entry.raw:
        where = entry.url(part) if entry.repository else entry.raw[part]
        out.print(f"  {'raw ' + part + ':':14}{where}")
    for split, sha256 in entry.sha256.items():
        out.print(f"  {split}.conll: {sha256}")


def _convert_call(entry: CatalogueEntry) -> str:
    from adaptner.corpora.fetch import convert_name

    if not entry.conversion:
        return ""
    return f"adaptner corpora convert {convert_name(entry)} FOLDER -o DATA"


@contextmanager
def download_bars(quiet: bool) -> Iterator[FetchProgress]:
    """One progress bar per file on standard error, if that is a terminal."""
    from adaptner.progress import no_progress

    if quiet or not err.is_terminal:
        yield lambda name: no_progress
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
    )
    with Progress(*columns, console=err, transient=True) as bars:

        def start_bar(name: str) -> DownloadProgress:
            task = bars.add_task(name, total=None)

            def progress(done: int, total: int) -> None:
                bars.update(task, completed=done, total=total or None)

            return progress

        yield start_bar


def print_statistics(rows: Sequence[Statistics]) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("corpus", "domain", "split"):
        table.add_column(name, no_wrap=True)
    for name in ("sentences", "mentions", "tokens", "unique", "% with"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        corpus, domain = row.corpus, row.domain
        for split in row.sentences:
            counts = (row.sentences[split], row.mentions[split], row.tokens[split])
            table.add_row(corpus, domain, split, *(f"{n:,}" for n in counts))
            corpus = domain = ""
        totals = [sum(c.values()) for c in (row.sentences, row.mentions, row.tokens)]
        table.add_row(
            "",
            "",
            "all",
            *(f"{n:,}" for n in (*totals, row.unique_tokens)),
            f"{row.percent_with_entities:.1f}",
            end_section=True,
        )
    out.print(table)
    for row in rows:
        labels = ", ".join(f"{label} {n:,}" for label, n in row.mentions_per_type.items())
        out.print(f"labels of {row.corpus}: {labels or 'none'}")
    out.print("unique: different tokens; % with: percentage of sentences with an entity")
