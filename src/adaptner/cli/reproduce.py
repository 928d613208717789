"""``adaptner reproduce``: fill a published table with our own numbers."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adaptner.cli.common import SEEDS, JsonFlag, QuietFlag, emit_json, info, out

if TYPE_CHECKING:
    from adaptner.reproduce.jobs.plan import JobPlan
    from adaptner.reproduce.run.runner import RunRequest, RunSummary
    from adaptner.reproduce.tables.published import PublishedTable


def reproduce(
    table: Annotated[
        str | None, typer.Argument(help="For example hgda/3; see --list. Before the options.")
    ] = None,
    data: Annotated[Path, typer.Option(help="Folder of the corpora.")] = Path("data"),
    vectors: Annotated[
        Path | None,
        typer.Option(help="Folder of the word vectors, or a file of them; default beside --data."),
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            help="Fill the rows that have a transformer, with this one: minilm, a folder or a name."
        ),
    ] = None,
    download: Annotated[
        bool,
        typer.Option("--download", help="Fetch the transformer from the Hugging Face hub."),
    ] = False,
    config: Annotated[
        Path | None,
        typer.Option(help="TOML file: settings of every method, on top of the table's."),
    ] = None,
    profile: Annotated[
        str, typer.Option(help="quick (about 15 minutes a method on two cores) or paper (days).")
    ] = "quick",
    methods: Annotated[
        list[str] | None, typer.Option(help="Default: all that fill a row; several may follow.")
    ] = None,
    targets: Annotated[
        list[str] | None, typer.Option(help="Corpora, by our name or the paper's; default all.")
    ] = None,
    sizes: Annotated[
        list[str] | None, typer.Option(help="Sentences (20) or shares of the train split (20%).")
    ] = None,
    draws: Annotated[int | None, typer.Option(min=1, help="Draws a cell.")] = None,
    iterations: Annotated[int | None, typer.Option(min=0, help="Of a base.")] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Score only the first N test sentences.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, max=SEEDS, help="Of bases and of the first draw.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes, of one thread each.")] = 1,
    ray: Annotated[
        str | None, typer.Option(help="Run on this Ray cluster instead: HOST:PORT, auto, local.")
    ] = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Results, bases, logs and reports of all tables.")
    ] = Path("reproduced"),
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the grid and the expected hours, and stop.")
    ] = False,
    report_only: Annotated[
        bool, typer.Option("--report-only", help="Report what is there; compute nothing.")
    ] = False,
    show_list: Annotated[
        bool, typer.Option("--list", help="All published tables, and what of ours fills them.")
    ] = False,
    as_json: JsonFlag = False,
    quiet: QuietFlag = False,
) -> None:
    """Fill a published table: learn the bases, adapt to every draw, score, and report.

    Nothing is computed twice: an interrupted run goes on when the same command is given again, and
    a second table reuses the bases of the first. Jobs are known by their settings, the version of
    the code and the checksums of the data.

    Example: adaptner reproduce hgda/3 --data data --methods hgda maml --jobs 2 -o reproduced

    Example: adaptner reproduce hgda/3 --profile paper --dry-run
    """
    from adaptner.errors import UsageError
    from adaptner.reproduce.run.runner import RunRequest, prepared, raise_failures, run
    from adaptner.reproduce.tables.counts import PLACES
    from adaptner.reproduce.tables.protocol import find_table
    from adaptner.reproduce.tables.protocols import protocol_of

    if show_list:
        _list(as_json)
        return
    if table is None:
        raise UsageError(
            problem="no table named", remedy="give one, for example hgda/3; see --list"
        )
    protocol, (_, published) = protocol_of(table), find_table(table)
    if protocol.table in PLACES:
        _count(protocol.table, published, data, as_json, quiet)
        return
    if download:
        _download(encoder)
    request = RunRequest(
        data=data,
        vectors=vectors,
        output=output,
        profile=profile,
        methods=methods or (),
        targets=targets or (),
        sizes=sizes or (),
        draws=draws,
        iterations=iterations,
        limit=limit,
        seed=seed,
        jobs=jobs,
        ray=ray,
        encoder=encoder,
        config=config,
        command=shlex.join(["adaptner", *sys.argv[1:]]),
    )
    if dry_run:
        _dry_run(prepared(protocol, published, request), request, as_json)
        return
    from adaptner.reproduce.report.from_plan import require_report_packages, write_plan_report

    require_report_packages()
    if report_only:
        from adaptner.reproduce.run.runner import looked_up

        ended = looked_up(protocol, published, request)
    else:
        ended = run(protocol, published, request, lambda text: info(text, quiet), quiet)
    pages = write_plan_report(ended.plan, request)
    if as_json:
        emit_json(_facts(ended, pages))
    else:
        info(
            f"{ended.done} of {len(ended.plan.jobs)} jobs done, {ended.computed} of them now; "
            f"results in {request.output / 'results.sqlite'}",
            quiet,
        )
        for page in pages:
            out.print(str(page), markup=False)
    raise_failures(ended)


def _download(encoder: str | None) -> None:
    from adaptner.errors import UsageError
    from adaptner.nn.encoders.transformer.pretrained import download_pretrained

    if encoder is None:
        raise UsageError(
            problem="--download: no transformer is named", remedy="name it with --encoder"
        )
    download_pretrained(encoder)


def _count(name: str, table: PublishedTable, data: Path, as_json: bool, quiet: bool) -> None:
    """A table about corpora: nothing is to run, the corpora are to be counted."""
    from adaptner.errors import FileMissing
    from adaptner.progress import progress_bar
    from adaptner.reproduce.tables.counts import as_facts, count_corpora, counts_table

    if not data.is_dir():
        raise FileMissing(file=data, hint="--data is the folder of the corpora")
    with progress_bar(f"counting the corpora of {name}", quiet) as progress:
        rows = count_corpora(name, table, data, progress)
    if as_json:
        emit_json(as_facts(table, rows))
    else:
        out.print(counts_table(table, rows), soft_wrap=False)


def _facts(ended: RunSummary, pages: list[Path]) -> dict[str, Any]:
    from adaptner.reproduce.report.from_plan import rows_not_run

    return {
        "table": ended.plan.protocol.table,
        "profile": ended.plan.profile.name,
        "jobs": len(ended.plan.jobs),
        "done": ended.done,
        "computed": ended.computed,
        "failed": [{"key": f.key, "error": f.error, "log": f.log} for f in ended.failures],
        "skipped": ended.plan.skipped,
        "rows_not_run": rows_not_run(ended.plan),
        "report": [str(page) for page in pages],
    }


def _dry_run(wanted: JobPlan, request: RunRequest, as_json: bool) -> None:
    from adaptner.reproduce.report.plan_display import plan_summary, plan_table

    facts = plan_summary(wanted, request.data, request.jobs)
    if as_json:
        emit_json(facts)
        return
    out.print(plan_table(facts), soft_wrap=False)
    hours = facts["hours"]
    out.print(
        f"{facts['table']}, profile {facts['profile']}: {facts['bases']} bases of "
        f"{facts['iterations']:,} iterations, {facts['draws']} draws; expected {hours:.1f} hours "
        f"with {facts['jobs']} process(es)"
    )
    for what, why in facts["skipped"].items():
        out.print(f"not run: {what}: {why}", markup=False)
    out.print(facts["basis"], style="dim")


def _list(as_json: bool) -> None:
    from adaptner.reproduce.report.plan_display import format_table_entry, list_tables

    rows = list_tables()
    if as_json:
        emit_json(rows)
        return
    for row in rows:
        name, *more = format_table_entry(row)
        out.print(name, markup=False, style="bold")
        for line in more:
            out.print(line, markup=False)
