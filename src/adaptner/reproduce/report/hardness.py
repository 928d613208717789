"""Task hardness of HGDA: the weight of a task in the encoder's update, as recorded by a run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from adaptner.reproduce.report.cells import ComparisonCell
from adaptner.reproduce.tables.published import PublishedRow

# HGDA's Table 1 names no iteration. MetaBioNER shows the same tasks at this one.
_DEFAULT_ITERATION = 450
_TOLERANCE = 0.1  # of the iteration, on either side: a single one has too few tasks for a mean


def gamma_of(record: Mapping[str, Any]) -> float:
    """Returns the weight of a task for the encoder (HGDA, equation 2)."""
    gamma = record["gamma"]
    return float(gamma["encoder"] if isinstance(gamma, Mapping) else gamma)


def records_of_matching_runs(
    records: Sequence[Mapping[str, Any]], rows: Iterable[PublishedRow]
) -> list[Mapping[str, Any]]:
    """Returns the records of runs with exactly the domains of the table, or all if there are none.

    Weights are shares of a batch, so that they depend on the other domains of a run.
    """
    wanted = {row.corpus for row in rows if not (row.corpus or "").startswith("task ")}
    domains: dict[Any, set[str]] = {}
    for record in records:
        domains.setdefault(record.get("run"), set()).add(record["domain"])
    runs = {run for run, found in domains.items() if found == wanted}
    return [r for r in records if r.get("run") in runs] if runs else list(records)


def hardness_cell(
    records: Sequence[Mapping[str, Any]], row: PublishedRow, column: str
) -> ComparisonCell:
    """Returns the cell with the weights of a domain's tasks near the iteration that the paper
    shows one batch of."""
    named = re.search(r"\d+", row.setting or "")
    iteration = int(named.group()) if named else _DEFAULT_ITERATION
    weights = [
        gamma_of(r)
        for r in records
        if r["domain"] == row.corpus and abs(r["iteration"] - iteration) <= _TOLERANCE * iteration
    ]
    if not weights:
        return ComparisonCell(
            column, absence=f"no task of this domain recorded near iteration {iteration}"
        )
    objection = (
        f"the paper shows one hand-picked batch; ours is the mean over {len(weights)} tasks of this "
        f"domain near iteration {iteration}"
    )
    values = {(number, 0): weight for number, weight in enumerate(weights)}
    return ComparisonCell(column, values, objection=objection)
