"""adaptner corpora: what labelled corpora hold."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from adaptner.cli.common import JsonFlag, emit_json, out

if TYPE_CHECKING:
    from adaptner.corpora.statistics import Statistics

app = typer.Typer(help="Look at labelled corpora.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Look at labelled corpora."""


@app.command()
def stats(
    folders: Annotated[
        list[str],
        typer.Argument(
            metavar="DIR...", help="Folders with train, dev and test files; DOMAIN=DIR names one."
        ),
    ],
    json: JsonFlag = False,
) -> None:
    """Count sentences, mentions, tokens and types of corpora.

    Example: adaptner corpora stats data/bio8/ncbi-disease data/bio8/jnlpba
    """
    from adaptner.corpora.corpus import load_corpus
    from adaptner.corpora.statistics import statistics

    found = []
    for folder in folders:
        corpus = load_corpus(folder)
        found.append((statistics(corpus), corpus.sha256))
    if json:
        emit_json([asdict(figures) | {"sha256": sha256} for figures, sha256 in found])
    else:
        _print_table([figures for figures, _ in found])


def _print_table(rows: list[Statistics]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("corpus", "domain", "split"):
        table.add_column(name, no_wrap=True)
    for name in ("sentences", "mentions", "tokens", "unique", "% with"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        corpus, domain = row.corpus, row.domain
        for split in row.sentences:
            counts = (row.sentences[split], row.mentions[split], row.tokens[split])
            table.add_row(corpus, domain, split, *(f"{n:,}" for n in counts))
            corpus = domain = ""
        totals = [sum(c.values()) for c in (row.sentences, row.mentions, row.tokens)]
        table.add_row(
            "",
            "",
            "all",
            *(f"{n:,}" for n in (*totals, row.unique_tokens)),
            f"{row.percent_with_entities:.1f}",
            end_section=True,
        )
    out.print(table)
    for row in rows:
        types = ", ".join(f"{label} {n:,}" for label, n in row.mentions_per_type.items())
        out.print(f"types of {row.corpus}: {types or 'none'}", markup=False)
    out.print("unique: different tokens; % with: sentences with an entity, in percent")
