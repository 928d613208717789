"""Compares results with a published table: rows of cells, none of the paper's rows left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from adaptner.metrics.crossed import Run
from adaptner.metrics.significance import mean_sd
from adaptner.reproduce.jobs.result import StoredResult
from adaptner.reproduce.report.cells import ComparisonCell
from adaptner.reproduce.report.crossings import crossing_cell
from adaptner.reproduce.report.hardness import hardness_cell, records_of_matching_runs
from adaptner.reproduce.report.levels import Level, row_level
from adaptner.reproduce.report.matching import (
    Column,
    Index,
    additional_columns,
    index_results,
    method_for_row,
    report_column,
    run_of,
)
from adaptner.reproduce.report.request import ReportRequest
from adaptner.reproduce.tables.published import (
    Paper,
    PublishedRow,
    PublishedTable,
    paper,
    row_label,
)

OVERALL = "Overall"
COMPARABLE = "Overall, comparable"
ADDITIONAL = "Overall, additional corpora"


@dataclass(frozen=True)
class ComparisonRow:
    """A method at a level. ``published`` is the paper's row, if it has one."""

    label: str
    method: str | None
    variant: str
    level: Level
    published: PublishedRow | None
    cells: Mapping[str, ComparisonCell]

    @property
    def measured(self) -> bool:
        return any(cell.values for cell in self.cells.values())

    @property
    def results(self) -> list[StoredResult]:
        """Each run once, although the cells of overall columns repeat them."""
        unique = {id(r): r for cell in self.cells.values() for r in cell.results}
        return list(unique.values())


@dataclass(frozen=True)
class Comparison:
    """``columns`` are the printed ones, followed by ``totals``. ``additional`` columns are corpora
    that the published table does not have. ``repeated`` counts the results left out because a newer
    one exists for the same run."""

    paper: Paper
    table: PublishedTable
    request: ReportRequest
    columns: tuple[Column, ...]
    totals: tuple[str, ...]
    additional: tuple[Column, ...]
    rows: tuple[ComparisonRow, ...]
    repeated: int
    index: Index

    @property
    def has_scores(self) -> bool:
        """False for hardness and for shares read off curves."""
        return not (self.table.columns == ("hardness",) or self.table.id.startswith("crossing"))

    @property
    def scale(self) -> float:
        return 100.0 if self.table.unit == "percent" else 1.0

    @property
    def all_columns(self) -> tuple[Column, ...]:
        return (*self.columns, *self.additional)

    def column(self, name: str) -> Column | None:
        """Returns the column of a corpus; None for the mean over several."""
        return next((c for c in self.all_columns if c.name == name), None)

    @property
    def names(self) -> tuple[str, ...]:
        return (*(c.name for c in self.columns), *self.totals)

    @property
    def additional_names(self) -> tuple[str, ...]:
        """The additional corpora and, if there are several, their mean."""
        names = tuple(c.name for c in self.additional)
        return (*names, ADDITIONAL) if len(names) > 1 else names

    @property
    def measured_names(self) -> list[str]:
        return [n for n in (*self.names, *self.additional_names) if self.has_values([n])]

    def has_values(self, names: Iterable[str]) -> bool:
        """True if anything was measured in these columns."""
        names = list(names)
        return any(row.cells[name].values for row in self.rows for name in names)

    @property
    def main_rows(self) -> list[ComparisonRow]:
        """The published rows, and our other methods at the published levels."""
        return [row for row in self.rows if row.level in self._published_levels]

    @property
    def other_rows(self) -> list[ComparisonRow]:
        """The rows at levels that the published table does not have."""
        return [row for row in self.rows if row.level not in self._published_levels]

    @cached_property
    def _published_levels(self) -> set[Level]:
        return {row_level(row, self.request.draws_from) for row in self.table.rows}

    def label(self, method: str, variant: str) -> str:
        rows = (row for row in self.rows if (row.method, row.variant) == (method, variant))
        return next(rows).label

    @property
    def results(self) -> list[StoredResult]:
        return [result for runs in self.index.values() for result in runs.values()]


def compare(results: Iterable[StoredResult], request: ReportRequest) -> Comparison:
    """Returns each row of the published table, then our additional rows, level by level."""
    paper_name, _, table_id = request.table.partition("/")
    source = paper(paper_name)
    return _Comparer(source, source.table(table_id), request, list(results)).comparison()


class _Comparer:
    def __init__(
        self,
        source: Paper,
        table: PublishedTable,
        request: ReportRequest,
        results: Sequence[StoredResult],
    ) -> None:
        self.source, self.table, self.request = source, table, request
        self.columns = tuple(report_column(table, name, request) for name in table.columns)
        self.additional = tuple(additional_columns(table, results, request))
        self.all_columns = (*self.columns, *self.additional)
        self.hardness = records_of_matching_runs(request.hardness, table.rows)
        self.comparable = [c.name for c in self.columns if not c.objection]
        published = {row_level(row, request.draws_from) for row in table.rows}
        self.index, self.repeated = index_results(results, published)
        self.totals: tuple[str, ...] = ()
        if any(row.overall is not None for row in table.rows):
            partly = 1 < len(self.comparable) < len(self.columns)
            self.totals = (OVERALL, COMPARABLE) if partly else (OVERALL,)

    def comparison(self) -> Comparison:
        kind = self.request.draws_from
        rows = [
            self._row(row_label(row), *method_for_row(row, self.index), row_level(row, kind), row)
            for row in self.table.rows
        ]
        rows += self._additional_rows(rows)
        levels = sorted({row.level for row in rows}, key=lambda level: level.sort_key)
        rows = [self._with_totals(row) for level in levels for row in rows if row.level == level]
        return Comparison(
            paper=self.source,
            table=self.table,
            request=self.request,
            columns=self.columns,
            totals=self.totals,
            additional=self.additional,
            rows=tuple(rows),
            repeated=self.repeated,
            index=self.index,
        )

    def _row(
        self, label: str, method: str | None, variant: str, level: Level, row: PublishedRow | None
    ) -> ComparisonRow:
        cells = {}
        for column in self.all_columns:
            cell = self._cell(row, method, variant, level, column)
            objection = cell.objection or self.request.incomparable.get(label) or column.objection
            absence = cell.absence or self._absence(label, method, level, column)
            cell = replace(cell, objection=objection, absence=absence)
            if row is not None and column in self.columns:
                cell = self._with_figure(cell, row, column.name)
            cells[column.name] = cell
        return ComparisonRow(label, method, variant, level, row, cells)

    def _additional_rows(self, rows: Sequence[ComparisonRow]) -> list[ComparisonRow]:
        """Results that fill no published row."""
        corpora = {column.corpus for column in self.all_columns if column.metric}
        keys = {(m, v, level) for m, v, level, corpus in self.index if corpus in corpora}
        keys -= {(row.method or "", row.variant, row.level) for row in rows}
        # A method that the paper has at another level keeps its published name.
        labels = {(row.method, row.variant): row.label for row in rows}
        found = []
        for method, variant, level in sorted(keys, key=lambda k: (k[0], k[1], k[2].sort_key)):
            default = f"{method} [{variant}]" if variant else method
            label = labels.get((method, variant)) or default
            found.append(self._row(label, method, variant, level, None))
        return found

    def _cell(
        self,
        row: PublishedRow | None,
        method: str | None,
        variant: str,
        level: Level,
        column: Column,
    ) -> ComparisonCell:
        """Our runs for a cell, if there are any."""
        if row is not None and self.table.columns == ("hardness",):
            return hardness_cell(self.hardness, row, column.name)
        corpus = column.corpus
        if self.table.by_type and row is not None and row.corpus is not None:
            corpus = self.request.columns.get(row.corpus)
        if method is None or corpus is None:
            return ComparisonCell(column.name)
        if self.table.id.startswith("crossing"):
            return crossing_cell(self.index, method, variant, corpus, column.name)
        if column.metric is None:
            return ComparisonCell(column.name)
        runs = self.index.get((method, variant, level, corpus), {})
        results = tuple(runs[run] for run in sorted(runs))
        figures = {run_of(r): column.value_in(r) for r in results}
        values = {run: value for run, value in figures.items() if value is not None}
        absence = "" if values or not figures else "computed before counts by type were kept"
        return ComparisonCell(column.name, values, absence=absence, results=results)

    def _absence(self, label: str, method: str | None, level: Level, column: Column) -> str:
        """Why a cell may be empty, the most specific reason first."""
        request = self.request
        for name in (label, method, column.corpus):
            if name is not None and name in request.skipped:
                return request.skipped[name]
        if method is None:
            return "none of our runs fills this row"
        if column.corpus is None or column.metric is None:
            return column.objection or "none of our corpora and measures matches this column"
        if request.methods and method not in request.methods:
            return "not requested (--methods)"
        if request.targets and column.corpus not in request.targets:
            return "not requested (--targets)"
        if request.sizes and level.size is not None and level.size not in request.sizes:
            return "not requested (--sizes)"
        return "the job failed or has not run yet"

    def _with_figure(self, cell: ComparisonCell, row: PublishedRow, name: str) -> ComparisonCell:
        """Adds the published figure, as a fraction or as a count, and its slips."""
        value = self.table.value(row, name)
        first = self.table.rows[0]
        if self.table.relative and row is not first and value is not None:
            absolute = self.table.value(first, name)
            value = None if absolute is None else absolute + value
        if value is not None and self.table.unit == "percent":
            value /= 100
        return replace(cell, published=value, slips=self.source.slips_at(self.table, row, name))

    def _with_totals(self, row: ComparisonRow) -> ComparisonRow:
        cells = dict(row.cells)
        if OVERALL in self.totals:
            total = _mean_cell([row.cells[c.name] for c in self.columns], OVERALL)
            if row.published is not None:
                total = self._with_figure(total, row.published, "overall")
            cells[OVERALL] = total
        if COMPARABLE in self.totals:
            parts = [row.cells[name] for name in self.comparable]
            # The paper does not print this figure: it is the mean of those it prints.
            figures = [p.published for p in parts if p.published is not None]
            mean = mean_sd(figures)[0] if len(figures) == len(parts) else None
            cells[COMPARABLE] = replace(_mean_cell(parts, COMPARABLE), published=mean)
        if len(self.additional) > 1:
            parts = [row.cells[c.name] for c in self.additional]
            cells[ADDITIONAL] = _mean_cell(parts, ADDITIONAL)
        return replace(row, cells=cells)


def _mean_cell(parts: Sequence[ComparisonCell], title: str) -> ComparisonCell:
    """The mean over corpora, run by run, over the runs that all corpora have.

    Run by run, because corpora may share sentences, so that their draws are not independent.
    """
    empty = [cell for cell in parts if not cell.values]
    runs = sorted(set.intersection(*(set(cell.values) for cell in parts)))
    values: dict[Run, float] = {}
    absence = ""
    if len(empty) == len(parts):
        reasons = {cell.reason for cell in parts}
        absence = reasons.pop() if len(reasons) == 1 else "nothing was run"
    elif empty:
        absence = f"a mean over all corpora; missing: {', '.join(c.column for c in empty)}"
    elif not runs:
        absence = "a mean over all corpora; no draw has a result for each of them"
    else:
        values = {run: mean_sd([cell.values[run] for cell in parts])[0] for run in runs}
    objections = {cell.objection for cell in parts}
    if len(objections) > 1:
        objection = "; ".join(f"{c.column}: {c.objection}" for c in parts if c.objection)
    else:
        objection = objections.pop()
    results = tuple(r for cell in parts for r in cell.results if run_of(r) in values)
    return ComparisonCell(title, values, objection=objection, absence=absence, results=results)
