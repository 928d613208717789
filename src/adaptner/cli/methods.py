"""``adaptner methods``: the methods of pretraining and adaptation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.table import Table

from adaptner.cli import options
from adaptner.cli.common import emit_json, out

if TYPE_CHECKING:
    from adaptner.methods.base import Method


def methods(as_json: options.JsonFlag = False) -> None:
    """List the methods of pretraining and adaptation.

    Shows each method's paper, what it needs and which targets it supports. --json also shows
    whether a method trains on the sources during adaptation (joint), uses unlabelled text of the
    target (unlabelled) and can adapt without labelled sentences (zero_shot).

    Example: adaptner methods
    """
    from adaptner.methods import methods as all_methods

    shown = ("name", "title", "paper", "needs", "supports")
    rows = [_as_row(kind) for kind in all_methods().values()]
    if as_json:
        emit_json(rows)
        return
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for field in shown:
        table.add_column(field, no_wrap=field in ("name", "paper"))
    for row in rows:
        table.add_row(*(str(row[field]) for field in shown))
    out.print(table, soft_wrap=False)  # in a narrow terminal, cells wrap instead of lines


def _as_row(kind: type[Method]) -> dict[str, str | bool]:
    capabilities = kind.capabilities
    return {
        "name": kind.name,
        "title": kind.title,
        "paper": kind.paper,
        "needs": kind.needs,
        "supports": "any target" if capabilities.new_labels else "targets with the sources' labels",
        "joint": capabilities.reads_sources,
        "unlabelled": capabilities.reads_text,
        "zero_shot": capabilities.zero_shot,
    }
