"""``adaptner hardness``: tasks of a pretraining run by their hardness, as in Table 1 of HGDA."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from rich.text import Text

from adaptner.cli import options
from adaptner.cli.common import emit_json, out
from adaptner.errors import FileMissing, ModelUnreadable, UsageError


def hardness(
    run: Annotated[Path, options.argument("FOLDER", "Folder written by `adaptner pretrain`.")],
    iteration: Annotated[
        int | None,
        options.research("--iteration N", "A recorded iteration.", show_default="the last"),
    ] = None,
    as_json: options.JsonFlag = False,
) -> None:
    """Show the tasks of a pretraining iteration, hardest first.

    Each task is shown with its sentences, entities in square brackets, and with the hardness γ of
    the encoder, the decoder (φ) and the auxiliary head (ω).

    Example: adaptner hardness base --iteration 450
    """
    tasks = _read_tasks(run, iteration)
    if as_json:
        emit_json(tasks)
    else:
        _print(tasks)


def _read_tasks(run: Path, iteration: int | None) -> list[dict[str, Any]]:
    """The tasks recorded for ``iteration`` (the last one if None), hardest first."""
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
        raise UsageError(problem=f"{run}: no task is recorded yet", remedy="let the run continue")
    if iteration is None:
        iteration = max(tasks)
    if iteration not in tasks:
        closest = min(tasks, key=lambda recorded: abs(recorded - iteration))
        raise UsageError(
            problem=f"iteration {iteration} is not among the {len(tasks)} recorded ones",
            remedy=f"the closest is --iteration {closest}",
        )
    return sorted(tasks[iteration], key=lambda task: -task["gamma"]["encoder"])


def _print(tasks: list[dict[str, Any]]) -> None:
    iteration = tasks[0]["iteration"]
    out.print(f"iteration {iteration}, {len(tasks)} tasks, hardest first", style="bold")
    for task in tasks:
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
