"""``adaptner hardness``: the tasks of a run, ranked by hardness, as in HGDA's Table 1."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from adaptner.cli.common import JsonFlag, emit_json, out


def hardness(
    run: Annotated[Path, typer.Argument(help="Folder that `adaptner pretrain` wrote.")],
    iteration: Annotated[
        int | None, typer.Option(help="A recorded iteration; default the last one.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Show the tasks of an iteration, hardest first, with their sentences, entities in brackets.

    Example: adaptner hardness base --iteration 450
    """
    from rich.text import Text

    from adaptner.errors import FileMissing, ModelUnreadable, UsageError
    from adaptner.training.loop import HARDNESS
    from adaptner.training.records import read_metrics

    if not (run / HARDNESS).is_file():
        raise FileMissing(file=run / HARDNESS, hint="give the folder of a pretraining run")
    tasks: dict[int, list[dict[str, Any]]] = {}
    try:
        for record in read_metrics(run / HARDNESS):
            tasks.setdefault(record["iteration"], []).append(record)
    except (ValueError, KeyError, TypeError) as error:
        reason = f"{HARDNESS} is damaged ({error})"
        raise ModelUnreadable(
            file=run, kind="run", reason=reason, command="adaptner pretrain"
        ) from error
    if not tasks:
        raise UsageError(
            problem=f"{run}: no task recorded yet", remedy="let the run go on a little"
        )
    chosen = max(tasks) if iteration is None else iteration
    if chosen not in tasks:
        near = min(tasks, key=lambda known: abs(known - chosen))
        raise UsageError(
            problem=f"iteration {chosen} is not among the {len(tasks)} recorded",
            remedy=f"the nearest is --iteration {near}",
        )
    ranked = sorted(tasks[chosen], key=lambda task: -task["gamma"]["encoder"])
    if as_json:
        emit_json(ranked)
        return
    out.print(f"iteration {chosen}, {len(ranked)} tasks, hardest first", style="bold")
    for task in ranked:
        gamma = task["gamma"]
        out.print(
            f"\nγ {gamma['encoder']:.2f}  {task['domain']} ({task['corpus']}), loss {task['loss']:.2f}, "
            f"γφ {gamma['decoder']:.2f}, γω {gamma['head']:.2f}",
            style="cyan",
        )
        for sentence in task["sentences"]:
            text = Text("  " + sentence)
            text.highlight_regex(r"\[[^\[\]]*\]", "red")
            out.print(text)
