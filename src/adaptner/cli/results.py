"""``adaptner results``: what a results file holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adaptner.cli.common import JsonFlag, emit_json, info, out

if TYPE_CHECKING:
    from adaptner.reproduce.run.store import Failure


def results(
    store: Annotated[Path, typer.Argument(help="results.sqlite of a run, or its folder.")],
    method: Annotated[str | None, typer.Option(help="Only this method.")] = None,
    target: Annotated[str | None, typer.Option(help="Only this corpus.")] = None,
    size: Annotated[
        str | None, typer.Option(help="Only so many sentences (20), or this share (20%).")
    ] = None,
    table: Annotated[str | None, typer.Option(help="Only what was run for this table.")] = None,
    failures: Annotated[
        bool, typer.Option("--failures", help="The jobs that failed instead, with their logs.")
    ] = False,
    csv: Annotated[Path | None, typer.Option(help="Write the results here, a line a draw.")] = None,
    parquet: Annotated[
        Path | None, typer.Option(help="The same as Parquet (extra `parquet`).")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """List, filter and export the results of `adaptner reproduce`.

    Without --csv, --parquet or --json: mean and sd over the draws by method, corpus and size.

    Example: adaptner results reproduced --method hgda --size 20 --csv hgda.csv
    """
    from adaptner.evaluation.tables import rich_table
    from adaptner.reproduce.report.exports import (
        as_rows,
        select_results,
        summarise_results,
        write_csv,
        write_parquet,
    )
    from adaptner.reproduce.run.store import STORE, Store
    from adaptner.reproduce.tables.protocol import find_table

    spelled = None
    if table is not None:
        paper, published = find_table(table)
        spelled = f"{paper.name}/{published.id}"
    with Store(store / STORE if store.is_dir() else store, make=False) as opened:
        if failures:
            _show_failures(opened.failures(), as_json)
            return
        every = opened.results(table=spelled)
    found = select_results(every, method, target, size)
    if csv is not None:
        write_csv(found, csv)
    if parquet is not None:
        write_parquet(found, parquet)
    if as_json:
        emit_json(as_rows(found))
    elif csv is None and parquet is None and found:
        out.print(rich_table(summarise_results(found)))
    info(f"{len(found)} results")


def _show_failures(failures: list[Failure], as_json: bool) -> None:
    rows: list[dict[str, Any]] = [
        {"key": f.key, "kind": f.kind, "error": f.error, "log": f.log, "spec": f.spec}
        for f in failures
    ]
    if as_json:
        emit_json(rows)
        return
    for row in rows:
        spec = row["spec"]
        cell = [spec.get("method") or spec.get("learner")]
        if row["kind"] == "draw":
            size = spec["size"] or f"{spec['share']:g}%"
            cell += [spec["target"][0], f"size {size}", f"seed {spec['seed']}"]
        out.print(f"{row['kind']} {' '.join(map(str, cell))}: {row['error']}", markup=False)
        out.print(f"  {row['log']}", markup=False)
    info(f"{len(rows)} failed")
