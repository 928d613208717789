"""``adaptner vectors``: train word vectors on raw text and inspect them."""

from __future__ import annotations

import typer

from adaptner.cli.help import GroupHelp, VerbHelp
from adaptner.cli.vectors.context import context
from adaptner.cli.vectors.directions import directions
from adaptner.cli.vectors.near import near
from adaptner.cli.vectors.training import count, train

app = typer.Typer(
    cls=GroupHelp, help="Train word vectors on raw text and inspect them.", no_args_is_help=True
)
for command in (train, count, context, directions, near):
    app.command(command.__name__, cls=VerbHelp)(command)
