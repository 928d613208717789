"""Shows a run's progress: a live line on a terminal, otherwise a plain line every half minute."""

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
    def __init__(self, plan: JobPlan, run_id: str, data: Path, workers: int, quiet: bool) -> None:
        self._run_id, self._workers, self._quiet = run_id, workers, quiet
        self._expected = {job.key: expected_seconds(job, data) for job in plan.jobs}
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._live: Live | None = None
        self._interval = _PLAIN_SECONDS
        self._start = self._updated = time.monotonic()
        self._last_line = ""

    def __enter__(self) -> ProgressDisplay:
        if not self._quiet and sys.stderr.isatty():
            self._interval, self._updated = _LIVE_SECONDS, 0.0
            self._live = Live(console=self._console, refresh_per_second=2, transient=True)
            self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._live is not None:
            self._live.stop()

    def update(self, store: Store) -> None:
        """To be called often; prints only after the interval."""
        if self._quiet or time.monotonic() - self._updated < self._interval:
            return
        self._updated = time.monotonic()
        line = self.line(store)
        if self._live is not None:
            self._live.update(Text(line))
        elif line != self._last_line:
            self._console.print(line, markup=False)
        self._last_line = line

    def line(self, store: Store) -> str:
        progress = store.progress(self._run_id)
        elapsed = _hours_and_minutes(time.monotonic() - self._start)
        left = _hours_and_minutes(self._seconds_left(store))
        parts = [_counts(progress), f"elapsed {elapsed}, expected {left} more"]
        if best := best_so_far(store.results(self._run_id)):
            parts.append(best)
        return "; ".join(parts)

    def _seconds_left(self, store: Store) -> float:
        """Expected seconds of the other jobs, scaled by how long finished jobs really took."""
        states = store.states(self._run_id)
        done = [(s, self._expected[k]) for k, (state, s) in states.items() if state == "done" and s]
        pace = sum(s for s, _ in done) / sum(e for _, e in done) if done else 1.0
        rest = sum(self._expected[k] for k, (s, _) in states.items() if s in ("pending", "running"))
        running = sum(state == "running" for state, _ in states.values())
        return pace * rest / max(1, self._workers, running)


def best_so_far(results: Iterable[StoredResult]) -> str:
    """Mean F1 of the best three methods over the draws and bases that all methods have done, or over each
    method's own draws if there are no common ones."""
    by_method: dict[str, dict[tuple[object, ...], float]] = {}
    for r in results:
        cell = (r.target, r.share or r.size, r.seed, r.base_seed)
        by_method.setdefault(f"{r.method} {r.variant}".strip(), {})[cell] = r.f1
    if not by_method:
        return ""
    common = set.intersection(*(set(cells) for cells in by_method.values()))
    means = {
        name: statistics.fmean(f1 for cell, f1 in cells.items() if not common or cell in common)
        for name, cells in by_method.items()
    }
    ranked = sorted(means, key=lambda name: -means[name])[:3]
    scores = ", ".join(f"{name} {means[name]:.3f}" for name in ranked)
    draws = f"{len(common)} common draws" if common else "different draws"
    return f"best so far: {scores} (mean F1, {draws})"


def _counts(progress: Progress) -> str:
    text = f"{progress.done} of {progress.total} jobs done, {progress.running} running"
    return text + (f", {progress.failed} failed" if progress.failed else "")


def _hours_and_minutes(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02d} min" if minutes else "less than a minute"
