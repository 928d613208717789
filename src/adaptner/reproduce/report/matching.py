"""Which results belong into which published row and column."""

from __future__ import annotations

import re
from collections.abc import Iterable, Set
from dataclasses import dataclass

from adaptner.metrics.spans import Score
from adaptner.reproduce.jobs.result import StoredResult
from adaptner.reproduce.report.levels import Level, result_level
from adaptner.reproduce.report.request import ReportRequest
from adaptner.reproduce.tables.published import PublishedRow, PublishedTable

Index = dict[
    tuple[str, str, Level, str], dict[int, StoredResult]
]  # method, variant, level, corpus; seed

TOTAL = "Total"  # the column of a table by type that is about all of them
_MEASURES = {"f1": "f1", "precision": "precision", "recall": "recall", "mean": "f1"}


@dataclass(frozen=True)
class Column:
    """A column: the corpus of ours and the measure that fill it, where there are any."""

    name: str
    corpus: str | None
    metric: str | None
    objection: str = ""  # why its figures must not be compared
    type: str | None = None  # of the entities it is about, where it is not about all

    def value_in(self, result: StoredResult) -> float | None:
        """What a result has for it; None where it was computed before it kept counts by type."""
        if self.metric is None:
            return None
        if self.type is None:
            return float(getattr(result, self.metric))
        known = result.by_type
        kept = (
            known if self.type == TOTAL else {t: own for t, own in known.items() if t == self.type}
        )
        if not known:
            return None
        correct, predicted, gold, tokens = (
            sum(own[name] for own in kept.values())
            for name in ("correct", "predicted", "gold", "tokens")
        )
        if self.metric == "tokens":
            return float(tokens)
        return float(getattr(Score(correct, predicted, gold), self.metric))


def report_column(table: PublishedTable, name: str, request: ReportRequest) -> Column:
    """Some tables name the measure in the column: "SciTech precision"."""
    subject, _, last = name.rpartition(" ")
    if table.by_type:
        return _typed(table, name, request)
    metric = table.metric or (_MEASURES.get(last) if subject else None)
    corpus = request.columns.get(name) or request.columns.get(subject)
    named = (name, subject, corpus or "")
    objection = next((why for n in named if (why := request.incomparable.get(n))), "")
    if table.unit not in ("fraction", "percent"):
        metric, objection = None, objection or "a count, which our results do not hold"
    return Column(name, corpus, metric, objection)


def _typed(table: PublishedTable, name: str, request: ReportRequest) -> Column:
    """Of the one corpus that was run. Counts by type are of tokens (Jia2019's Table 5, see its slip)."""
    subject, _, last = name.rpartition(" ")
    corpus = request.targets[0] if len(request.targets) == 1 else None
    objection = request.incomparable.get(corpus or "", "")
    if table.unit == "count":
        return Column(name, corpus, "tokens", objection, name)
    return Column(name, corpus, _MEASURES.get(last), objection, subject)


def additional_columns(
    table: PublishedTable, results: Iterable[StoredResult], request: ReportRequest
) -> list[Column]:
    """Corpora that stand for no printed column: those asked for, then others that were run."""
    counts = table.unit not in ("fraction", "percent")
    if counts or table.by_type or table.columns == ("hardness",):
        return []
    printed = {request.columns.get(key) for key in request.columns}
    every = dict.fromkeys((*request.targets, *(r.target for r in results)))
    return [
        Column(
            name if name not in table.columns else f"{name} (ours)",
            name,
            table.metric or "f1",
            request.incomparable.get(name) or "a corpus that the published table does not have",
        )
        for name in every
        if name not in printed
    ]


def index_results(results: Iterable[StoredResult], published: Set[Level]) -> tuple[Index, int]:
    """Draws by method, variant, level, corpus and seed. A draw made twice (with other settings or
    code) must not count twice: the newest stays, and the number of those dropped is returned."""
    index: Index = {}
    repeated = 0
    for result in results:
        where = result.method, result.variant, result_level(result, published), result.target
        draws = index.setdefault(where, {})
        known = draws.get(result.seed)
        if known is not None and known.key != result.key:
            repeated += 1
            if known.finished > result.finished:
                continue
        draws[result.seed] = result
    return index, repeated


def fills(row: PublishedRow, method: str, variant: str) -> bool:
    """Whether a run of ours is that row's: the method, with its encoder (any, where the row names
    none), and nothing else changed."""
    words = {w for w in re.split(r"[^a-z0-9]+", variant.lower()) if w} - {"encoder"}
    ours = "bert" if words & {"bert", "transformer"} else "bilstm"
    return (
        row.method_id == method
        and (row.encoder or ours) == ours
        and not words - {"bert", "bilstm", "transformer"}
    )


def method_for_row(row: PublishedRow, index: Index) -> tuple[str | None, str]:
    """The method and variant of ours that fill a row: an ablation is a variant of the row's name."""
    if row.method_id is None and row.method is not None:
        names = (row.method, f"bert {row.method}")
        named = next(((m, v) for m, v, *_ in index if v in names), None)
        if named is not None:
            return named
    return row.method_id, variant_for(row, index)


def variant_for(row: PublishedRow, index: Index) -> str:
    """The variant of ours that fills a row; where none was run, one that would."""
    wanted = "" if row.encoder in (None, "bilstm") else row.encoder
    return next((v for m, v, *_ in index if fills(row, m, v)), wanted)
