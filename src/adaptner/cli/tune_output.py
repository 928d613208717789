"""What ``adaptner tune`` writes: a table of the settings, JSON, and a TOML file for ``--config``."""

from __future__ import annotations

import json
import shlex
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from adaptner.cli.common import emit_json, info, out, warn
from adaptner.errors import OutputExists

if TYPE_CHECKING:
    from adaptner.evaluation.tuning import Choice

FIRST_LINE = "# adaptner tune "  # marks a file that may be overwritten
# A resumed run writes the same file, so the recorded command leaves these out
_NOT_RECORDED = ("--resume", "--json", "--quiet", "-q")


def check_output(output: Path | None) -> None:
    """Raise if ``output`` is a file that `adaptner tune` has not written."""
    if output is not None and output.exists():
        with open(output, "rb") as file:
            if not file.readline().startswith(FIRST_LINE.encode()):
                raise OutputExists(file=output, kind="written by `adaptner tune`")


def report(choice: Choice, as_json: bool, quiet: bool) -> None:
    diverged = sum(result.diverged for result in choice.results)
    if diverged:
        warn(f"{diverged} of {len(choice.rows)} adaptations diverged and count as F1 0", quiet)
    if as_json:
        emit_json(_as_json(choice))
    else:
        out.print(_as_table(choice))
        info(_summary(choice), quiet)


def write_toml(choice: Choice, output: Path | None, config: Path | None) -> None:
    """Write the settings of ``config`` with the chosen adaptation: a file that can replace it."""
    from adaptner.files import atomic_file

    if output is None:
        return
    arguments = [word for word in sys.argv[1:] if word not in _NOT_RECORDED]
    command = f"adaptner {shlex.join(arguments)}"
    settings = {} if config is None else tomllib.loads(config.read_text(encoding="utf-8"))
    header, body = _cells(choice)
    widths = [max(map(len, column)) for column in zip(header, *body, strict=True)]
    rows = [
        "  ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
        for cells in (header, *body)
    ]
    notes = ["Chosen by the procedure of docs/tuning.md (*).", _summary(choice), "", *rows]
    tables = _toml_tables({**settings, "adaptation": choice.adaptation})
    with atomic_file(output) as file:
        file.write("\n".join([_comment(command.splitlines()), *tables, _comment(notes)]))


def _cells(choice: Choice) -> tuple[list[str], list[list[str]]]:
    """Header and rows of the table of settings."""
    sizes = choice.plan.sizes
    header = ["", "rate", "scale", "epochs", "steps", *(f"F1@{n}" for n in sizes), "mean"]
    body = [
        [
            "*" if result is choice.chosen else "",
            f"{result.setting.rate:g}",
            f"{result.setting.encoder_scale:g}",
            str(result.setting.epochs),
            "/".join(str(result.steps[n]) for n in sizes),
            *(f"{result.by_size[n]:.4f}" for n in sizes),
            f"{result.mean:.4f}",
        ]
        for result in choice.results
    ]
    return header, body


def _as_table(choice: Choice) -> Table:
    header, body = _cells(choice)
    sizes = "/".join(map(str, choice.plan.sizes))
    table = Table(caption=f"* chosen; scale: encoder's rate over decoder's; steps at {sizes}")
    for name in header:
        table.add_column(name, justify="right", no_wrap=True)
    for cells in body:
        table.add_row(*cells, style="bold green" if cells[0] else None)
    return table


def _summary(choice: Choice) -> str:
    plan, by_domain = choice.plan, choice.chosen.by_domain
    scores = ", ".join(f"{name} {f1:.4f}" for name, f1 in by_domain.items())
    kind = "" if plan.draws_from == "all" else f" ({plan.draws_from})"
    return (
        f"{plan.method.name}, validation domains: {scores}; {plan.draws} draw(s){kind} per size, at most "
        f"{plan.limit} dev sentences, {plan.iterations} iterations, seed {plan.seed}"
    )


def _as_json(choice: Choice) -> dict[str, Any]:
    settings = [
        {
            **vars(result.setting),
            "steps_by_size": result.steps,
            "f1_by_size": result.by_size,
            "f1_by_domain": result.by_domain,
            "mean_f1": result.mean,
            "diverged": result.diverged,
            "chosen": result is choice.chosen,
        }
        for result in choice.results
    ]
    return {
        "method": choice.plan.method.name,
        "adaptation": choice.adaptation,
        "tuning": choice.facts(),
        "settings": settings,
        "rows": choice.rows,
    }


def _comment(lines: list[str]) -> str:
    return "".join(f"# {line}".rstrip() + "\n" for line in lines)


def _toml_tables(settings: dict[str, Any], name: str = "") -> list[str]:
    """``settings`` and the dictionaries in it as TOML tables, without values that are None."""
    lines = [f"[{name}]"] if name else []
    for key, value in settings.items():
        if value is not None and not isinstance(value, dict):
            lines.append(f"{key} = {_toml_value(value)}")
    tables = ["\n".join(lines) + "\n"] if lines else []
    for key, value in settings.items():
        if isinstance(value, dict):
            tables += _toml_tables(value, f"{name}.{key}" if name else key)
    return tables


def _toml_value(value: Any) -> str:
    if isinstance(value, bool | str):
        return json.dumps(value, ensure_ascii=False)  # the same in JSON and TOML
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml_value, value))}]"
    return repr(value)
