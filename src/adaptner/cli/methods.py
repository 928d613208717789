"""``adaptner methods``: what can be pretrained and adapted with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adaptner.cli.common import JsonFlag, emit_json, out

if TYPE_CHECKING:
    from adaptner.methods.base import Method


def methods(as_json: JsonFlag = False) -> None:
    """List the methods: name, paper, what each needs and which targets it supports.

    --json also says which learn from the sources when they adapt (joint), which make use of
    unlabelled text of the target (unlabelled) and which can do without labels of it (zero_shot).

    Example: adaptner methods
    """
    from rich import box
    from rich.table import Table

    from adaptner.methods import methods as known

    shown = ("name", "title", "paper", "needs", "supports")
    rows = [_described(kind) for kind in known().values()]
    if as_json:
        emit_json(rows)
        return
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for field in shown:
        table.add_column(field, no_wrap=field in ("name", "paper"))
    for row in rows:
        table.add_row(*(str(row[field]) for field in shown))
    out.print(table, soft_wrap=False)  # in narrow windows cells are folded, not lines


def _described(kind: type[Method]) -> dict[str, str | bool]:
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
