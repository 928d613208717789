"""Progress of long computations: a bar on the terminal, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)


class ProgressCallback(Protocol):
    """Called after every step with the number of steps done, their total and a remark."""

    def __call__(self, done: int, total: int, remark: str = "") -> None: ...


Shown = Callable[[str], AbstractContextManager[ProgressCallback]]  # a title to a bar


def no_progress(done: int, total: int, remark: str = "") -> None:
    """Ignores all progress."""


@contextmanager
def progress_bar(title: str, quiet: bool = False) -> Iterator[ProgressCallback]:
    """A bar on standard error, if that is a terminal and ``quiet`` is false."""
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield no_progress
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[remark]}"),
    )
    with Progress(*columns, console=console, transient=True) as bars:
        task = bars.add_task(title, total=None, remark="")

        def progress(done: int, total: int, remark: str = "") -> None:
            bars.update(task, completed=done, total=total, remark=remark)

        yield progress
