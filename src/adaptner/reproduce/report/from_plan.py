"""Writes the report of a job plan from the store, with the reasons why figures do not compare."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

from adaptner.errors import ExtraMissing
from adaptner.nn.encoders.transformer.pretrained import MINILM
from adaptner.reproduce.jobs.plan import JobPlan
from adaptner.reproduce.report.request import ReportRequest
from adaptner.reproduce.report.write import write_report
from adaptner.reproduce.run.request import RunRequest
from adaptner.reproduce.run.runner import hardness_records
from adaptner.reproduce.run.store import STORE, Store
from adaptner.reproduce.tables.protocol import RowFilling, fillings
from adaptner.reproduce.tables.published import paper


def require_report_packages() -> None:
    """Raises ``ExtraMissing`` before a long run that could not write its report."""
    for package in ("scipy", "matplotlib", "jinja2"):
        if find_spec(package) is None:
            raise ExtraMissing(what="a report", package=package, extra="reproduce")


def write_plan_report(plan: JobPlan, request: RunRequest) -> list[Path]:
    """Writes the pages and returns their paths."""
    protocol = plan.protocol
    with Store(request.output / STORE) as store:
        keys = {job.key for job in plan.draws}
        results = [r for r in store.results() if r.key in keys]
    kind = plan.profile.draws_from
    name = f"{protocol.table.replace('/', '-')}-{plan.profile.name}"
    name += "" if kind == "all" else f"-{kind}"
    report_request = ReportRequest(
        table=protocol.table,
        profile=plan.profile.name,
        command=request.command,
        methods=tuple(plan.selection.methods),
        targets=tuple(t.name for t in plan.selection.targets),
        sizes=tuple(plan.selection.sizes),
        draws=plan.profile.draws,
        bases=plan.profile.bases,
        draws_from=kind,
        notes=comparability_notes(plan),
        skipped=rows_not_run(plan),
        columns=protocol.columns,
        incomparable=incomparable_reasons(plan),
        hardness=hardness_records(request.output, plan),
    )
    return write_report(results, report_request, request.output / "reports" / name)


def comparability_notes(plan: JobPlan) -> tuple[str, ...]:
    """Returns the differences between our runs and the paper's, one sentence each."""
    profile, protocol = plan.profile, plan.protocol
    encoder = plan.selection.encoder
    conditions = {
        "quick: ": not profile.recipes,
        "paper: ": profile.recipes,
        "without --encoder: ": encoder is None,
        "with --encoder: ": encoder is not None,
    }
    notes = [
        note
        for note in protocol.notes
        if all(holds for prefix, holds in conditions.items() if prefix in note)
    ]
    budget = (
        f"Profile {profile.name}: {profile.iterations:,} iterations per base, {profile.draws} draws"
    )
    if profile.draws_from != "all":
        budget += f" from sentences {profile.draws_from.replace('-', ' ')}"
    if profile.bases > 1:
        budget += f" crossed with {profile.bases} bases for each method and domain"
    if profile.limit is not None:
        budget += f", at most the first {profile.limit:,} test sentences of a corpus"
    budget += ", the settings of the recipes." if profile.recipes else ", our default settings."
    columns = [
        f"Not comparable: {t.column or t.name}: {t.note}." for t in plan.selection.targets if t.note
    ]
    if encoder is not None:
        replaced = f"The transformer is {encoder} instead of the paper's (BERT, BioBERT)"
        notes = [f"{replaced}: compare gains, not levels.", *notes]
    if profile.settings:
        notes.append(f"Settings from --config, for all methods: {json.dumps(profile.settings)}.")
    return (budget, *notes, *dict.fromkeys(columns))


def incomparable_reasons(plan: JobPlan) -> dict[str, str]:
    """Returns why columns (other data) and rows (another network) cannot be compared."""
    reasons = {t.column or t.name: t.note for t in plan.selection.targets if t.note}
    if plan.selection.encoder != MINILM:  # no paper uses MiniLM
        return reasons
    rows = [filling for filling in _fillings(plan) if filling.is_run(MINILM)]
    return reasons | {f.label: f"its transformer is {MINILM}, not the paper's" for f in rows}


def rows_not_run(plan: JobPlan) -> dict[str, str]:
    """Returns why rows of the paper and parts of the request were not run."""
    encoder = plan.selection.encoder
    if encoder is None:
        wrong_encoder = "it uses a transformer: name one with --encoder"
    else:
        wrong_encoder = "it uses no transformer: leave out --encoder"
    reasons = {
        filling.label: filling.reason or wrong_encoder
        for filling in _fillings(plan)
        if filling.reason or not filling.is_run(encoder)
    }
    return {**reasons, **plan.skipped}


def _fillings(plan: JobPlan) -> list[RowFilling]:
    name, _, table = plan.protocol.table.partition("/")
    return fillings(plan.protocol, paper(name).table(table))
