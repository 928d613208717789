"""The layout of `--help`: usage, description, examples, then options in named groups.

Typer's own layout takes five columns and a box for each group, so that `adapt --help` is 129 lines
long at 80 columns. This one takes two columns and prints no type for flags.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterable
from typing import Any

from rich.text import Text
from typer.core import TyperCommand, TyperGroup

from adaptner.cli.common import out

_MAX_WIDTH = 100
_MAX_NAME_WIDTH = 24  # a longer name gets a line of its own
_EXAMPLE = "Example: "

Rows = list[tuple[Text, str]]  # name and description


class VerbHelp(TyperCommand):
    """A command with our layout of `--help`."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Arguments and required options; the message about a wrong call prints them too."""
        parameters: list[Any] = self.params
        arguments = [p for p in parameters if p.param_type_name == "argument"]
        names = [p.metavar if p.required else f"[{p.metavar}]" for p in arguments]
        options = [p for p in parameters if p.param_type_name == "option" and p.required]
        return [*names, *(f"{min(p.opts, key=len)} {p.metavar}" for p in options), "[OPTIONS]"]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        shown: list[Any] = [p for p in self.params if not getattr(p, "hidden", False)]
        arguments = [p for p in shown if p.param_type_name == "argument"]
        options = [p for p in shown if p.param_type_name == "option"]
        _print_head([ctx.command_path, *self.collect_usage_pieces(ctx)], self.help or "")
        groups: dict[str, Rows] = {}
        for parameter in (*arguments, *options):
            default_group = "Arguments" if parameter in arguments else "Options"
            rows = groups.setdefault(parameter.rich_help_panel or default_group, [])
            rows.append((_name(parameter), _description(parameter)))
        _print_groups(groups)


class GroupHelp(TyperGroup):
    """A group of commands with our layout of `--help`."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        _print_head([ctx.command_path, "COMMAND", "..."], self.help or "")
        groups = {
            panel: [(Text(name, style="bold cyan"), summary) for name, summary in verbs.items()]
            for panel, verbs in self.summaries(ctx).items()
        }
        _print_groups(groups)
        out.print(f"\nOptions of a command: {ctx.command_path} COMMAND --help")

    def summaries(self, ctx: Any) -> dict[str, dict[str, str]]:
        """The first paragraph of each command's help, by panel."""
        panels: dict[str, dict[str, str]] = {}
        for name in self.list_commands(ctx):
            command: Any = self.get_command(ctx, name)
            panel = getattr(command, "rich_help_panel", None)
            first, *_ = _paragraphs(command.short_help or command.help or "")
            panels.setdefault(panel if isinstance(panel, str) else "Commands", {})[name] = first
        return panels


def _print_head(usage: Iterable[str], help: str) -> None:
    _print_wrapped(f"Usage: {' '.join(usage)}", style="bold", hanging=4)
    paragraphs = _paragraphs(help)
    for paragraph in paragraphs:
        if not paragraph.startswith(_EXAMPLE):
            out.print()
            _print_wrapped(paragraph)
    examples = [p.removeprefix(_EXAMPLE) for p in paragraphs if p.startswith(_EXAMPLE)]
    if examples:
        _print_title("Examples" if len(examples) > 1 else "Example")
        for example in examples:  # whole, so that it can be copied
            out.print(Text(f"  {example}"))


def _print_groups(groups: dict[str, Rows]) -> None:
    lengths = [len(name) for rows in groups.values() for name, _ in rows]
    column = max((n for n in lengths if n <= _MAX_NAME_WIDTH), default=0) + 4
    for title, rows in groups.items():
        _print_title(title)
        for name, description in rows:
            first, *others = _wrap(description, _width() - column) or [""]
            line = Text("  ").append_text(name)
            if len(line) + 2 > column:
                out.print(line)
                line = Text()
            if first:
                line.append(" " * (column - len(line)) + first)
            out.print(line)
            for other in others:
                out.print(Text(" " * column + other))


def _print_title(title: str) -> None:
    out.print(Text(f"\n{title}:", style="bold"))


def _print_wrapped(text: str, style: str = "", hanging: int = 0) -> None:
    for number, line in enumerate(_wrap(text, _width() - hanging)):
        out.print(Text(" " * hanging * (number > 0) + line, style=style))


def _wrap(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, max(width, 20), break_long_words=False, break_on_hyphens=False)


def _width() -> int:
    return min(out.width, _MAX_WIDTH)


def _paragraphs(help: str) -> list[str]:
    """The paragraphs of a docstring, each as one line."""
    parts = re.split(r"\n\s*\n", inspect.cleandoc(help))
    return [" ".join(part.split()) for part in parts]


def _name(parameter: Any) -> Text:
    if parameter.param_type_name == "argument":
        return Text(parameter.metavar, style="bold cyan")
    names = parameter.opts
    if parameter.secondary_opts:  # --estimate/--no-estimate
        names = [name.replace("--", "--[no-]", 1) for name in names]
    text = Text(", ".join(sorted(names, key=len)), style="bold cyan")
    return text.append(f" {parameter.metavar}", style="yellow") if parameter.metavar else text


def _description(parameter: Any) -> str:
    parts = [parameter.help or ""]
    default = parameter.default
    is_flag = getattr(parameter, "is_flag", False)
    if isinstance(parameter.show_default, str):
        parts.append(f"[default: {parameter.show_default}]")
    elif getattr(parameter, "secondary_opts", None):
        parts.append(f"[default: {'on' if default else 'off'}]")
    elif parameter.show_default and default not in (None, "") and not is_flag:
        parts.append(f"[default: {default}]")
    if parameter.required and parameter.param_type_name == "option":
        parts.append("[required]")
    return " ".join(parts)
