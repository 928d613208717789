"""``adaptner methods``: what can be pretrained."""

from __future__ import annotations

from adaptner.cli.common import JsonFlag, emit_json, out


def methods(as_json: JsonFlag = False) -> None:
    """List the methods: name, paper, what it needs.

    Example: adaptner methods
    """
    from rich.table import Table

    from adaptner.methods import methods as known

    rows = [
        {"name": m.name, "title": m.title, "paper": m.paper, "needs": m.needs}
        for m in known().values()
    ]
    if as_json:
        emit_json(rows)
        return
    table = Table("name", "title", "paper", "needs")
    for row in rows:
        table.add_row(*row.values())
    out.print(table)
