"""``adaptner results``: list, filter and export what ``adaptner reproduce`` stored."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from adaptner.cli import options
from adaptner.cli.common import emit_json, info, out

if TYPE_CHECKING:
    from adaptner.reproduce.run.store import Failure


def results(
    store: Annotated[Path, options.argument("STORE", "results.sqlite of a run, or its folder.")],
    csv: Annotated[
        Path | None, options.file("--csv FILE", "Write one line per draw as CSV.")
    ] = None,
    parquet: Annotated[
        Path | None,
        options.file("--parquet FILE", "Write one line per draw as Parquet (extra `parquet`)."),
    ] = None,
    failures: Annotated[
        bool, options.file("--failures", "List failed jobs and their logs instead.")
    ] = False,
    as_json: options.JsonFlag = False,
    table: Annotated[
        str | None, options.research("--table TABLE", "Only results of runs for this table.")
    ] = None,
    method: Annotated[
        str | None, options.research("--method NAME", "Only results of this method.")
    ] = None,
    target: Annotated[
        str | None, options.research("--target NAME", "Only results on this corpus.")
    ] = None,
    size: Annotated[
        str | None,
        options.research(
            "--size SIZE",
            "Only this number of labelled sentences (20) or share of the train split (20%).",
        ),
    ] = None,
) -> None:
    """List, filter and export the results of `adaptner reproduce`.

    Without --csv, --parquet or --json: mean and standard deviation over the draws by method, corpus
    and size.

    Example: adaptner results reproduced --method hgda --size 20 --csv hgda.csv
    """
    from adaptner.evaluation.tables import rich_table
    from adaptner.reproduce.report.exports import (
        select_results,
        summarise_results,
        write_csv,
        write_parquet,
    )
    from adaptner.reproduce.run.store import STORE, Store
    from adaptner.reproduce.tables.protocol import find_table

    table_name = None
    if table is not None:
        paper, published = find_table(table)
        table_name = f"{paper.name}/{published.id}"
    with Store(store / STORE if store.is_dir() else store, make=False) as opened:
        if failures:
            _show_failures(opened.failures(), as_json)
            return
        stored = opened.results(table=table_name)
    selected = select_results(stored, method, target, size)
    if csv is not None:
        write_csv(selected, csv)
    if parquet is not None:
        write_parquet(selected, parquet)
    if as_json:
        emit_json([r.as_dict() for r in selected])
    elif csv is None and parquet is None and selected:
        out.print(rich_table(summarise_results(selected)))
    info(f"{len(selected)} results")


def _show_failures(failures: list[Failure], as_json: bool) -> None:
    rows = [asdict(failure) for failure in failures]
    if as_json:
        emit_json(rows)
        return
    for row in rows:
        out.print(f"{row['kind']} {_job_name(row)}: {row['error']}")
        out.print(f"  {row['log']}")
    info(f"{len(rows)} failed")


def _job_name(row: dict[str, Any]) -> str:
    spec = row["spec"]
    if row["kind"] == "base":
        return str(spec["learner"])
    size = f"{spec['share']:g}%" if spec["size"] is None else spec["size"]
    return f"{spec['method']} {spec['target'][0]} size {size} seed {spec['seed']}"
