"""A run as one watches it: jobs done, time left, best so far. On a terminal a live line; else a
plain one every half minute."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console
from rich.live import Live
from rich.text import Text

from adaptner.reproduce.jobs.costs import expected_seconds
from adaptner.reproduce.jobs.plan import JobPlan
from adaptner.reproduce.jobs.result import StoredResult
from adaptner.reproduce.run.store import Progress, Store

_LIVE_SECONDS, _PLAIN_SECONDS = 1.0, 30.0


class ProgressDisplay:
    def __init__(self, wanted: JobPlan, run_id: str, data: Path, workers: int, quiet: bool) -> None:
        self._ask, self._workers, self._quiet = run_id, workers, quiet
        self._expected = {job.key: expected_seconds(job, data) for job in wanted.jobs}
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._live: Live | None = None
        self._every = _PLAIN_SECONDS
        self._begun = self._said = time.monotonic()
        self._last = ""

    def __enter__(self) -> ProgressDisplay:
        if not self._quiet and sys.stderr.isatty():
            self._every, self._said = _LIVE_SECONDS, 0.0
            self._live = Live(console=self._console, refresh_per_second=2, transient=True)
            self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._live is not None:
            self._live.stop()

    def look(self, store: Store) -> None:
        """Called often; says something when it is time."""
        if self._quiet or time.monotonic() - self._said < self._every:
            return
        self._said = time.monotonic()
        line = self.line(store)
        if self._live is not None:
            self._live.update(Text(line))
        elif line != self._last:
            self._console.print(line, markup=False)
        self._last = line

    def line(self, store: Store) -> str:
        progress = store.progress(self._ask)
        spent = _clock(time.monotonic() - self._begun)
        parts = [_counts(progress), f"{spent} so far, left {_clock(self._left(store))}"]
        if best := best_so_far(store.results(self._ask)):
            parts.append(best)
        return "; ".join(parts)

    def _left(self, store: Store) -> float:
        """What is expected of the rest, by how the jobs done compare with what was expected of
        them."""
        states = store.states(self._ask)
        done = [(s, self._expected[k]) for k, (state, s) in states.items() if state == "done" and s]
        pace = sum(s for s, _ in done) / sum(e for _, e in done) if done else 1.0
        rest = sum(self._expected[k] for k, (s, _) in states.items() if s in ("pending", "running"))
        running = sum(state == "running" for state, _ in states.values())
        return pace * rest / max(1, self._workers, running)


def best_so_far(results: Iterable[StoredResult]) -> str:
    """Mean F1 by method over the draws that all of them have done; over its own where there are
    none."""
    by_method: dict[str, dict[tuple[object, ...], float]] = {}
    for r in results:
        cell = (r.target, r.share or r.size, r.seed)
        by_method.setdefault(f"{r.method} {r.variant}".strip(), {})[cell] = r.f1
    if not by_method:
        return ""
    common = set.intersection(*(set(cells) for cells in by_method.values()))
    means = {
        name: statistics.fmean(f1 for cell, f1 in cells.items() if not common or cell in common)
        for name, cells in by_method.items()
    }
    ranked = sorted(means, key=lambda name: -means[name])[:3]
    shown = ", ".join(f"{name} {means[name]:.3f}" for name in ranked)
    over = f"{len(common)} common draws" if common else "different draws"
    return f"best so far: {shown} (mean F1, {over})"


def _counts(progress: Progress) -> str:
    text = f"{progress.done} of {progress.total} jobs done, {progress.running} running"
    return text + (f", {progress.failed} failed" if progress.failed else "")


def _clock(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02d} min" if minutes else "under a minute"
