"""From the store to the report's request: what was asked, what is there, what does not compare."""

from __future__ import annotations

import json
from pathlib import Path

from adaptner.nn.encoders.transformer.pretrained import MINILM
from adaptner.reproduce.jobs.plan import JobPlan
from adaptner.reproduce.run.runner import RunRequest, hardness_records
from adaptner.reproduce.run.store import STORE, Store
from adaptner.reproduce.tables.protocol import fillings
from adaptner.reproduce.tables.published import paper


def write_plan_report(wanted: JobPlan, request: RunRequest) -> list[Path]:
    """The pages written; none where this version has no report yet."""
    try:
        from adaptner.reproduce.report import write_report  # type: ignore[attr-defined]
        from adaptner.reproduce.report.request import ReportRequest
    except ImportError:
        return []
    protocol = wanted.protocol
    with Store(request.output / STORE) as store:
        keys = {job.key for job in wanted.draws}
        results = [r for r in store.results() if r.key in keys]
    name = f"{protocol.table.replace('/', '-')}-{wanted.profile.name}"
    folder = request.output / "reports" / name
    told = ReportRequest(
        table=protocol.table,
        profile=wanted.profile.name,
        command=request.command,
        methods=tuple(wanted.selection.methods),
        targets=tuple(t.name for t in wanted.selection.targets),
        sizes=tuple(wanted.selection.sizes),
        draws=wanted.profile.draws,
        notes=comparability_notes(wanted),
        skipped=rows_not_run(wanted),
        columns=protocol.columns,
        incomparable=incomparable_reasons(wanted),
        hardness=hardness_records(request.output, wanted),
    )
    return list(write_report(results, told, folder))


def comparability_notes(wanted: JobPlan) -> tuple[str, ...]:
    """What keeps our numbers from comparing with the paper's."""
    profile, protocol = wanted.profile, wanted.protocol
    encoder = wanted.selection.encoder
    if_so = {
        "quick: ": not profile.recipes,
        "without --encoder: ": encoder is None,
        "with --encoder: ": encoder is not None,
    }
    own = [n for n in protocol.notes if all(so for tag, so in if_so.items() if tag in n)]
    budget = (
        f"Profile {profile.name}: {profile.iterations:,} iterations a base, {profile.draws} draws"
    )
    if profile.limit is not None:
        budget += f", the first {profile.limit:,} test sentences of a corpus at most"
    budget += ", the settings of the recipes." if profile.recipes else ", our default settings."
    columns = [
        f"Not comparable: {t.column or t.name}: {t.note}."
        for t in wanted.selection.targets
        if t.note
    ]
    if encoder is not None:
        stands_in = f"The transformer is {encoder}, in place of the paper's (BERT, BioBERT)"
        own = [f"{stands_in}: gains compare, levels do not.", *own]
    if profile.settings:
        own.append(f"Set by --config, for every method: {json.dumps(profile.settings)}.")
    return (budget, *own, *dict.fromkeys(columns))


def incomparable_reasons(wanted: JobPlan) -> dict[str, str]:
    """Columns with other data than the paper's, and rows with another network: no paper has MiniLM."""
    found = {t.column or t.name: t.note for t in wanted.selection.targets if t.note}
    if wanted.selection.encoder != MINILM:
        return found
    name, _, table = wanted.protocol.table.partition("/")
    rows = [f for f in fillings(wanted.protocol, paper(name).table(table)) if f.is_run(MINILM)]
    return found | {f.label: f"its transformer is {MINILM}, not the paper's" for f in rows}


def rows_not_run(wanted: JobPlan) -> dict[str, str]:
    """Rows of the paper and parts of the request that were not run, and why."""
    name, _, table = wanted.protocol.table.partition("/")
    encoder = wanted.selection.encoder
    found = {}
    for f in fillings(wanted.protocol, paper(name).table(table)):
        if f.reason:
            found[f.label] = f.reason
        elif not f.is_run(encoder):
            found[f.label] = (
                "it has a transformer: name one with --encoder"
                if encoder is None
                else "it has no transformer: leave out --encoder"
            )
    return {**found, **wanted.skipped}
