"""``adaptner terms kinds``: the kinds that terminologies know."""

from __future__ import annotations

from rich import box
from rich.table import Table

from adaptner.cli import options
from adaptner.cli.common import emit_json, out
from adaptner.cli.terms.loading import TermsFile, load_terms


def kinds(terms: TermsFile = None, json: options.JsonFlag = False) -> None:
    """List the kinds of entities that terminologies know, with frequent names.

    The number counts a name twice if it is looked up both with its case and without. The names are
    the most frequent ones in the texts that were given to `adaptner terms build`.

    Example: adaptner terms kinds
    """
    facts = load_terms(terms).facts
    rows = [
        {
            "kind": kind,
            "names": facts["names"].get(kind, 0),
            "examples": facts.get("examples", {}).get(kind, []),
        }
        for kind in facts["kinds"]
    ]
    if json:
        emit_json(rows)
        return
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("kind", no_wrap=True)
    table.add_column("names", justify="right", no_wrap=True)
    table.add_column("for example")
    for row in rows:
        table.add_row(row["kind"], f"{row['names']:,}", ", ".join(row["examples"]))
    out.print(table, soft_wrap=False)
