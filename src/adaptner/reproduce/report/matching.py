"""Assigns results to the rows and columns of a published table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Set
from dataclasses import dataclass

from adaptner.metrics.crossed import Run
from adaptner.metrics.spans import Score
from adaptner.reproduce.jobs.result import StoredResult
from adaptner.reproduce.report.levels import Level, result_level
from adaptner.reproduce.report.request import ReportRequest
from adaptner.reproduce.tables.published import PublishedRow, PublishedTable

# (method, variant, level, corpus) -> run -> result
Index = dict[tuple[str, str, Level, str], dict[Run, StoredResult]]

TOTAL = "Total"  # the column over all types in a table by type
_MEASURES = {"f1": "f1", "precision": "precision", "recall": "recall", "mean": "f1"}


@dataclass(frozen=True)
class Column:
    """A column with the corpus and the measure of ours that fill it, if there are any.

    ``objection`` says why its figures must not be compared. ``entity_type`` is set if the column
    is about one type only.
    """

    name: str
    corpus: str | None
    metric: str | None
    objection: str = ""
    entity_type: str | None = None

    def value_in(self, result: StoredResult) -> float | None:
        """Returns the value of a result; None if it was computed before counts by type were kept."""
        if self.metric is None:
            return None
        if self.entity_type is None:
            return float(getattr(result, self.metric))
        counts = result.by_type
        if not counts:
            return None
        types = counts if self.entity_type == TOTAL else {self.entity_type} & counts.keys()
        correct, predicted, gold, tokens = (
            sum(counts[name][kind] for name in types)
            for kind in ("correct", "predicted", "gold", "tokens")
        )
        if self.metric == "tokens":
            return float(tokens)
        return float(getattr(Score(correct, predicted, gold), self.metric))


def report_column(table: PublishedTable, name: str, request: ReportRequest) -> Column:
    """Returns the column. Some tables have the measure in its name: "SciTech precision"."""
    subject, _, last = name.rpartition(" ")
    if table.by_type:
        return _column_by_type(table, name, request)
    metric = table.metric or (_MEASURES.get(last) if subject else None)
    corpus = request.columns.get(name) or request.columns.get(subject)
    keys = (name, subject, corpus or "")
    objection = next((why for key in keys if (why := request.incomparable.get(key))), "")
    if table.unit not in ("fraction", "percent"):
        metric, objection = None, objection or "a count, which our results do not hold"
    return Column(name, corpus, metric, objection)


def _column_by_type(table: PublishedTable, name: str, request: ReportRequest) -> Column:
    """A column about the only target. Counts by type are of tokens (see the slip in Jia2019's
    Table 5)."""
    subject, _, last = name.rpartition(" ")
    corpus = request.targets[0] if len(request.targets) == 1 else None
    objection = request.incomparable.get(corpus or "", "")
    if table.unit == "count":
        return Column(name, corpus, "tokens", objection, name)
    return Column(name, corpus, _MEASURES.get(last), objection, subject)


def additional_columns(
    table: PublishedTable, results: Iterable[StoredResult], request: ReportRequest
) -> list[Column]:
    """Returns columns for corpora without a printed column: the requested ones, then others."""
    counts = table.unit not in ("fraction", "percent")
    if counts or table.by_type or table.columns == ("hardness",):
        return []
    printed = set(request.columns.values())
    corpora = dict.fromkeys((*request.targets, *(r.target for r in results)))
    return [
        Column(
            name if name not in table.columns else f"{name} (ours)",
            name,
            table.metric or "f1",
            request.incomparable.get(name) or "a corpus that the published table does not have",
        )
        for name in corpora
        if name not in printed
    ]


def run_of(result: StoredResult) -> Run:
    return result.seed, result.base_seed


def index_results(results: Iterable[StoredResult], published: Set[Level]) -> tuple[Index, int]:
    """Returns results by method, variant, level, corpus and run, and the number of those left out.

    If a run was repeated (with other settings or code), only the newest result counts.
    """
    index: Index = {}
    repeated = 0
    for result in results:
        key = result.method, result.variant, result_level(result, published), result.target
        runs = index.setdefault(key, {})
        run = run_of(result)
        known = runs.get(run)
        if known is not None and known.key != result.key:
            repeated += 1
            if known.finished > result.finished:
                continue
        runs[run] = result
    return index, repeated


def method_for_row(row: PublishedRow, index: Index) -> tuple[str | None, str]:
    """Returns the method and variant that fill a row. An ablation is the variant of that name."""
    if row.method_id is None and row.method is not None:
        names = (row.method, f"bert {row.method}")
        found = next(((m, v) for m, v, *_ in index if v in names), None)
        if found is not None:
            return found
    # A row without results gets the variant that would fill it.
    default = "" if row.encoder in (None, "bilstm") else row.encoder
    return row.method_id, next((v for m, v, *_ in index if _fills(row, m, v)), default)


def _fills(row: PublishedRow, method: str, variant: str) -> bool:
    """True if the variant changes nothing but the encoder, to the row's encoder if it names one."""
    words = {w for w in re.split(r"[^a-z0-9]+", variant.lower()) if w} - {"encoder"}
    encoder = "bert" if words & {"bert", "transformer"} else "bilstm"
    return (
        row.method_id == method
        and (row.encoder or encoder) == encoder
        and not words - {"bert", "bilstm", "transformer"}
    )
