"""From results to the published table with ours beside it: lines of cells, nothing left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from adaptner.metrics.significance import mean_sd
from adaptner.reproduce.jobs.result import StoredResult
from adaptner.reproduce.report.cells import ComparisonCell
from adaptner.reproduce.report.levels import Level, row_level
from adaptner.reproduce.report.matching import (
    Column,
    Index,
    additional_columns,
    index_results,
    method_for_row,
    report_column,
)
from adaptner.reproduce.report.request import ReportRequest
from adaptner.reproduce.report.special import crossing_draws, fitting_runs, hardness_cell
from adaptner.reproduce.tables.published import (
    Paper,
    PublishedRow,
    PublishedTable,
    paper,
    row_label,
)

OVERALL = "Overall"
COMPARABLE = "Overall, comparable"
OWN = "Overall, own corpora"


@dataclass(frozen=True)
class ComparisonRow:
    """A method at a level. ``row`` is the published row it stands beside, if there is one."""

    label: str
    method: str | None
    variant: str
    level: Level
    row: PublishedRow | None
    cells: Mapping[str, ComparisonCell]

    @property
    def measured(self) -> bool:
        return any(cell.values for cell in self.cells.values())

    @property
    def results(self) -> list[StoredResult]:
        """Every draw once: an overall holds what its columns hold."""
        found = {id(r): r for cell in self.cells.values() for r in cell.results}
        return list(found.values())


@dataclass(frozen=True)
class Comparison:
    """``columns`` are the printed ones and ``totals`` stand after them; ``own`` are corpora that the
    published table does not have. ``repeated`` counts draws that were there more than once."""

    paper: Paper
    table: PublishedTable
    request: ReportRequest
    columns: tuple[Column, ...]
    totals: tuple[str, ...]
    own: tuple[Column, ...]
    lines: tuple[ComparisonRow, ...]
    repeated: int
    index: Index

    @property
    def scored(self) -> bool:
        """Whether its figures are scores at levels: neither hardness nor shares read off curves."""
        return not (self.table.columns == ("hardness",) or self.table.id.startswith("crossing"))

    @property
    def scale(self) -> float:
        return 100.0 if self.table.unit == "percent" else 1.0

    @property
    def names(self) -> tuple[str, ...]:
        return (*(c.name for c in self.columns), *self.totals)

    @property
    def own_names(self) -> tuple[str, ...]:
        """The columns of a table of its own: corpora, and their mean where there are several."""
        names = tuple(c.name for c in self.own)
        return (*names, OWN) if len(names) > 1 else names

    def filled(self, names: Iterable[str]) -> bool:
        """Whether anything was measured in these columns."""
        wanted = list(names)
        return any(line.cells[name].values for line in self.lines for name in wanted)

    @property
    def main(self) -> list[ComparisonRow]:
        """The lines of the published table: its rows, and our other methods at its levels."""
        published = {row_level(row) for row in self.table.rows}
        return [line for line in self.lines if line.level in published]

    @property
    def others(self) -> list[ComparisonRow]:
        """What was run at levels that the table does not have."""
        shown = {id(line) for line in self.main}
        return [line for line in self.lines if id(line) not in shown]

    @property
    def results(self) -> list[StoredResult]:
        found = {id(r): r for draws in self.index.values() for r in draws.values()}
        return list(found.values())


def compare(results: Iterable[StoredResult], request: ReportRequest) -> Comparison:
    """Every row of the published table, then what we have besides, level by level."""
    name, _, id = request.table.partition("/")
    source = paper(name)
    return _Comparer(source, source.table(id), request).comparison(results)


class _Comparer:
    def __init__(self, source: Paper, table: PublishedTable, request: ReportRequest) -> None:
        self.source, self.table, self.request = source, table, request
        self.columns = tuple(report_column(table, name, request) for name in table.columns)
        self.hardness = fitting_runs(request.hardness, table.rows)
        self.sound = [c.name for c in self.columns if not c.objection]
        self.own: tuple[Column, ...] = ()
        self.index: Index = {}

    def comparison(self, results: Iterable[StoredResult]) -> Comparison:
        results = list(results)
        published = {row_level(row) for row in self.table.rows}
        self.index, repeated = index_results(results, published)
        self.own = tuple(additional_columns(self.table, results, self.request))
        lines = [self._published_line(row) for row in self.table.rows]
        lines += self._own_lines(lines)
        levels = sorted({line.level for line in lines}, key=lambda level: level.place)
        lines = [self._totalled(n) for level in levels for n in lines if n.level == level]
        return Comparison(
            paper=self.source,
            table=self.table,
            request=self.request,
            columns=self.columns,
            totals=self._totals(),
            own=self.own,
            lines=tuple(lines),
            repeated=repeated,
            index=self.index,
        )

    def _published_line(self, row: PublishedRow) -> ComparisonRow:
        label, level = row_label(row), row_level(row)
        method, variant = method_for_row(row, self.index)
        cells = {}
        for column in (*self.columns, *self.own):
            found = self._found(row, method, variant, level, column)
            cell = self._excused(found, label, method, level, column)
            if column in self.columns:
                slips = self.source.slips_at(self.table, row, column.name)
                cell = replace(cell, published=self._figure(row, column.name), slips=slips)
            cells[column.name] = cell
        return ComparisonRow(label, method, variant, level, row, cells)

    def _own_lines(self, lines: Sequence[ComparisonRow]) -> list[ComparisonRow]:
        """What was run and stands in no published row."""
        corpora = {column.corpus for column in (*self.columns, *self.own) if column.metric}
        wanted = {(m, v, level) for m, v, level, corpus in self.index if corpus in corpora}
        wanted -= {(line.method or "", line.variant, line.level) for line in lines}
        # Their names are the published ones wherever the paper has the method at another level.
        names = {(line.method, line.variant): line.label for line in lines}
        found = []
        for method, variant, level in sorted(wanted, key=lambda w: (w[0], w[1], w[2].place)):
            label = names.get((method, variant)) or (f"{method} [{variant}]" if variant else method)
            cells = {
                column.name: self._excused(
                    self._found(None, method, variant, level, column), label, method, level, column
                )
                for column in (*self.columns, *self.own)
            }
            found.append(ComparisonRow(label, method, variant, level, None, cells))
        return found

    def _found(
        self,
        row: PublishedRow | None,
        method: str | None,
        variant: str,
        level: Level,
        column: Column,
    ) -> ComparisonCell:
        """Our draws for a cell, if any."""
        if row is not None and self.table.columns == ("hardness",):
            return hardness_cell(self.hardness, row, column.name)
        corpus = column.corpus
        if self.table.by_type and row is not None and row.corpus is not None:
            corpus = self.request.columns.get(row.corpus)
        if method is None or corpus is None:
            return ComparisonCell(column.name)
        if self.table.id.startswith("crossing"):
            return crossing_draws(self.index, method, variant, corpus, column.name)
        if column.metric is None:
            return ComparisonCell(column.name)
        draws = self.index.get((method, variant, level, corpus), {})
        results = tuple(draws[seed] for seed in sorted(draws))
        found = {r.seed: column.value_in(r) for r in results}
        values = {seed: value for seed, value in found.items() if value is not None}
        absence = "" if values or not found else "computed before counts by type were kept"
        return ComparisonCell(column.name, values, absence=absence, results=results)

    def _excused(
        self, cell: ComparisonCell, label: str, method: str | None, level: Level, column: Column
    ) -> ComparisonCell:
        """With the reasons why it is empty or must not be compared."""
        objection = cell.objection or self.request.incomparable.get(label) or column.objection
        absence = cell.absence or self._absence(label, method, level, column)
        return replace(cell, objection=objection, absence=absence)

    def _absence(self, label: str, method: str | None, level: Level, column: Column) -> str:
        """Why there may be nothing in a cell, most telling first."""
        request = self.request
        for name in (label, method, column.corpus):
            if name is not None and name in request.skipped:
                return request.skipped[name]
        if method is None:
            return "none of our runs fills this row"
        if column.corpus is None or column.metric is None:
            return column.objection or "no corpus and measure of ours stand for this column"
        if request.methods and method not in request.methods:
            return "not asked for (--methods)"
        if request.targets and column.corpus not in request.targets:
            return "not asked for (--targets)"
        if request.sizes and level.size is not None and level.size not in request.sizes:
            return "not asked for (--sizes)"
        return "no result: the job failed, or has not run yet"

    def _figure(self, row: PublishedRow, column: str) -> float | None:
        name = "overall" if column == OVERALL else column
        value = self.table.value(row, name)
        first = self.table.rows[0]
        if self.table.relative and row is not first and value is not None:
            whole = self.table.value(first, name)
            value = None if whole is None else whole + value
        return value / 100 if value is not None and self.table.unit == "percent" else value

    def _totals(self) -> tuple[str, ...]:
        if all(row.overall is None for row in self.table.rows):
            return ()
        return (OVERALL, COMPARABLE) if 1 < len(self.sound) < len(self.columns) else (OVERALL,)

    def _totalled(self, line: ComparisonRow) -> ComparisonRow:
        cells = dict(line.cells)
        totals = self._totals()
        if OVERALL in totals:
            total = _mean_over([line.cells[c.name] for c in self.columns], OVERALL)
            if line.row is not None:
                slips = self.source.slips_at(self.table, line.row, "overall")
                total = replace(total, published=self._figure(line.row, OVERALL), slips=slips)
            cells[OVERALL] = total
        if COMPARABLE in totals:
            parts = [line.cells[name] for name in self.sound]
            # The paper does not print this one: it is the mean of what it prints.
            figures = [p.published for p in parts if p.published is not None]
            mean = mean_sd(figures)[0] if len(figures) == len(parts) else None
            cells[COMPARABLE] = replace(_mean_over(parts, COMPARABLE), published=mean)
        if len(self.own) > 1:
            cells[OWN] = _mean_over([line.cells[c.name] for c in self.own], OWN)
        return replace(line, cells=cells)


def _mean_over(parts: Sequence[ComparisonCell], title: str) -> ComparisonCell:
    """The mean over corpora draw by draw; a draw counts when every corpus has it. (Draw by draw,
    because corpora may share sentences, so that their draws are not independent.)"""
    absent = [cell for cell in parts if not cell.values]
    seeds = sorted(set.intersection(*(set(cell.values) for cell in parts)))
    values: dict[int, float] = {}
    absence = ""
    if len(absent) == len(parts):
        reasons = {cell.reason for cell in parts}
        absence = reasons.pop() if len(reasons) == 1 else "nothing was run"
    elif absent:
        absence = f"a mean over all corpora; missing: {', '.join(c.column for c in absent)}"
    elif not seeds:
        absence = "a mean over all corpora; no draw is there for every one of them"
    else:
        values = {seed: mean_sd([cell.values[seed] for cell in parts])[0] for seed in seeds}
    reasons = {cell.objection for cell in parts}
    if len(reasons) > 1:
        objection = "; ".join(f"{c.column}: {c.objection}" for c in parts if c.objection)
    else:
        objection = reasons.pop()
    results = tuple(r for cell in parts for r in cell.results if r.seed in values)
    return ComparisonCell(title, values, objection=objection, absence=absence, results=results)
