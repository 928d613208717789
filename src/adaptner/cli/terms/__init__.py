"""``adaptner terms``: compile terminologies, and see what they know."""

from __future__ import annotations

import typer

from adaptner.cli.help import GroupHelp, VerbHelp
from adaptner.cli.terms.attach import attach
from adaptner.cli.terms.build import build
from adaptner.cli.terms.find import find
from adaptner.cli.terms.kinds import kinds
from adaptner.cli.terms.show import show

app = typer.Typer(
    cls=GroupHelp, help="Compile terminologies, and see what they know.", no_args_is_help=True
)
for command in (build, attach, find, kinds, show):
    app.command(command.__name__, cls=VerbHelp)(command)
