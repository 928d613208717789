"""``adaptner reproduce``: fill a published table with our own numbers."""

from __future__ import annotations

import shlex
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from adaptner.cli import options
from adaptner.cli.common import emit_json, info, out
from adaptner.errors import FileMissing, UsageError

if TYPE_CHECKING:
    from adaptner.reproduce.run.request import RunRequest
    from adaptner.reproduce.run.runner import RunSummary
    from adaptner.reproduce.tables.protocol import Protocol
    from adaptner.reproduce.tables.published import PublishedTable

_profile_option = partial(options.research, show_default="the profile's")


def reproduce(
    table: Annotated[
        str | None, options.argument("TABLE", "A table listed by --list, for example hgda/3.")
    ] = None,
    data: Annotated[Path, options.file("--data FOLDER", "Folder of the corpora.")] = Path("data"),
    vectors: Annotated[
        Path | None,
        options.file(
            "--vectors PATH",
            "Word vectors: a folder with the table's file, or another file to use instead.",
            show_default="the folder vectors next to --data",
        ),
    ] = None,
    output: Annotated[
        Path, options.file("-o, --output FOLDER", "Results, bases, logs and reports of all tables.")
    ] = Path("reproduced"),
    show_list: Annotated[
        bool, options.file("--list", "List all tables and the methods that fill their rows.")
    ] = False,
    dry_run: Annotated[
        bool, options.file("--dry-run", "Show what would run and the expected hours.")
    ] = False,
    report_only: Annotated[
        bool, options.file("--report-only", "Report stored results without computing any.")
    ] = False,
    as_json: options.JsonFlag = False,
    quiet: options.QuietFlag = False,
    methods: Annotated[
        list[str] | None,
        options.research(
            "--methods NAME...",
            "Methods to run; several may follow.",
            show_default="all that fill a row",
        ),
    ] = None,
    targets: Annotated[
        list[str] | None,
        options.research(
            "--targets NAME...", "Target corpora, by our name or the paper's.", show_default="all"
        ),
    ] = None,
    sizes: Annotated[
        list[str] | None,
        options.research(
            "--sizes SIZE...",
            "Numbers of labelled sentences (20) or shares of the train split (20%).",
            show_default="the table's",
        ),
    ] = None,
    profile: Annotated[
        str,
        options.research(
            "--profile NAME", "quick (about 15 minutes per method on two cores) or paper (days)."
        ),
    ] = "quick",
    draws: Annotated[int | None, _profile_option("--draws N", "Draws of each cell.", min=1)] = None,
    draws_from: options.DrawsFromFlag = "all",
    bases: Annotated[
        int | None,
        options.research(
            "--bases N",
            "Bases (seeds of pretraining) of each method and domain, each adapted to all draws.",
            min=1,
            show_default="the table's, 1",
        ),
    ] = None,
    iterations: Annotated[
        int | None, _profile_option("--iterations N", "Training iterations of each base.", min=0)
    ] = None,
    limit: Annotated[
        int | None, _profile_option("--limit N", "Score only the first N test sentences.", min=1)
    ] = None,
    config: Annotated[
        Path | None, options.research("--config FILE", "TOML file with settings for every method.")
    ] = None,
    encoder: Annotated[
        str | None,
        options.research(
            "--encoder NAME",
            "Fill the rows that have a transformer, with this one: minilm, a folder or a "
            "Hugging Face name.",
        ),
    ] = None,
    download: Annotated[
        bool, options.research("--download", "Download the transformer if it is missing.")
    ] = False,
    seed: Annotated[
        int | None, options.seed("Seed of the bases and of the first draw.", show_default="0")
    ] = None,
    jobs: options.Jobs = 1,
    device: options.DeviceName = "auto",
    ray: options.RayAddress = None,
) -> None:
    """Fill a published table: train bases, adapt, score and report.

    An interrupted run continues when the command is repeated, and tables share bases and results.

    Example: adaptner reproduce hgda/3 --data data --methods hgda maml --jobs 2

    Example: adaptner reproduce hgda/3 --profile paper --dry-run
    """
    from adaptner.compute import find_device
    from adaptner.nn.encoders.transformer.pretrained import download_pretrained
    from adaptner.reproduce.report.from_plan import require_report_packages
    from adaptner.reproduce.run.request import RunRequest
    from adaptner.reproduce.run.runner import raise_failures, run, stored_summary
    from adaptner.reproduce.tables.counts import PLACES
    from adaptner.reproduce.tables.protocol import find_table
    from adaptner.reproduce.tables.protocols import protocol_of

    if show_list:
        _list_tables(as_json)
        return
    if table is None:
        raise UsageError(
            problem="no table named", remedy="name one, for example hgda/3; see --list"
        )
    protocol, (_, published) = protocol_of(table), find_table(table)
    if protocol.table in PLACES:
        _count_corpora(protocol.table, published, data, as_json, quiet)
        return
    if download:
        if encoder is None:
            problem, remedy = "--download: no transformer is named", "name it with --encoder"
            raise UsageError(problem=problem, remedy=remedy)
        download_pretrained(encoder)
    request = RunRequest(
        data=data,
        vectors=vectors,
        output=output,
        profile=profile,
        methods=methods or (),
        targets=targets or (),
        sizes=sizes or (),
        draws=draws,
        draws_from=draws_from,
        bases=bases,
        iterations=iterations,
        limit=limit,
        seed=seed,
        jobs=jobs,
        ray=ray,
        device=device,
        encoder=encoder,
        config=config,
        command=shlex.join(["adaptner", *sys.argv[1:]]),
    )
    if dry_run:
        _show_plan(protocol, published, request, as_json)
        return
    require_report_packages()
    if report_only:
        summary = stored_summary(protocol, published, request)
    else:
        find_device(device)  # refuses a missing device before any worker starts
        summary = run(protocol, published, request, lambda text: info(text, quiet), quiet)
    _report(summary, request, as_json, quiet)
    raise_failures(summary)


def _count_corpora(
    name: str, table: PublishedTable, data: Path, as_json: bool, quiet: bool
) -> None:
    """For a table about corpora: counts ours instead of running methods."""
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


def _report(summary: RunSummary, request: RunRequest, as_json: bool, quiet: bool) -> None:
    from adaptner.reproduce.report.from_plan import rows_not_run, write_plan_report
    from adaptner.reproduce.run.store import STORE

    plan, done, computed = summary.plan, summary.done, summary.computed
    pages = write_plan_report(plan, request)
    if as_json:
        emit_json(
            {
                "table": plan.protocol.table,
                "profile": plan.profile.name,
                "jobs": len(plan.jobs),
                "done": done,
                "computed": computed,
                "failed": [
                    {"key": f.key, "error": f.error, "log": f.log} for f in summary.failures
                ],
                "skipped": plan.skipped,
                "rows_not_run": rows_not_run(plan),
                "report": [str(page) for page in pages],
            }
        )
        return
    place = request.output / STORE
    info(f"{done} of {len(plan.jobs)} jobs done, {computed} of them now; results in {place}", quiet)
    for page in pages:
        out.print(str(page))


def _show_plan(
    protocol: Protocol, published: PublishedTable, request: RunRequest, as_json: bool
) -> None:
    from adaptner.reproduce.report.plan_display import plan_summary, plan_table
    from adaptner.reproduce.run.request import plan_request

    facts = plan_summary(plan_request(protocol, published, request), request.data, request.jobs)
    if as_json:
        emit_json(facts)
        return
    out.print(plan_table(facts), soft_wrap=False)
    kind = "all sentences" if facts["draws_from"] == "all" else "sentences with entities"
    bases = facts["bases_per_domain"]
    same = f" (the same on each of {bases} bases)" if bases > 1 else ""
    out.print(
        f"{facts['table']}, profile {facts['profile']}: {facts['bases']} bases of "
        f"{facts['iterations']:,} iterations, {facts['draws']} draws from {kind}{same}; expected "
        f"{facts['hours']:.1f} hours with {facts['jobs']} process(es)"
    )
    for name, reason in facts["skipped"].items():
        out.print(f"not run: {name}: {reason}")
    out.print(facts["basis"], style="dim")


def _list_tables(as_json: bool) -> None:
    from adaptner.reproduce.report.plan_display import format_table_entry, list_tables

    rows = list_tables()
    if as_json:
        emit_json(rows)
        return
    for row in rows:
        name, *details = format_table_entry(row)
        out.print(name, style="bold")
        for line in details:
            out.print(line)
