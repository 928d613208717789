"""Calibration error and coverage of observed draws, each with constants fitted on other domains."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from adaptner.adaptation.confidence.calibration import CalibrationConstants
from adaptner.evaluation.calibration.fit import STEP, Observation, fit_calibration
from adaptner.nn.decoders.calibration import Calibration

BINS = 10  # of scores, equally wide


@dataclass(frozen=True)
class Bin:
    """Mentions with similar scores."""

    found: int = 0
    promised: float = 0.0  # sum of the scores
    right: int = 0

    def __add__(self, other: Bin) -> Bin:
        promised = self.promised + other.promised
        return Bin(self.found + other.found, promised, self.right + other.right)


@dataclass(frozen=True)
class CalibrationCheck:
    """A draw with scores and F1 interval by the constants of other domains."""

    row: Observation
    bins: tuple[Bin, ...]
    raw_bins: tuple[Bin, ...]  # with uncalibrated scores
    interval: tuple[float, float, float] | None  # F1, low, high; None for a draw without a mention

    @property
    def covered(self) -> bool:
        assert self.interval is not None
        return self.interval[1] <= self.row.f1 <= self.interval[2]


def check_calibration(rows: Sequence[Observation]) -> list[CalibrationCheck]:
    """Check each draw with constants that were fitted on the other domains."""
    constants = {
        domain: fit_calibration([row for row in rows if row.domain != domain])
        for domain in {row.domain for row in rows}
    }
    return [check_draw(row, constants[row.domain]) for row in rows]


def check_draw(row: Observation, constants: CalibrationConstants) -> CalibrationCheck:
    calibration = constants.calibration(row.mentions, row.as_left_out())
    interval = constants.interval(row.cross_validated, row.mentions) if row.mentions else None
    return CalibrationCheck(row, _binned(row, calibration), _binned(row, Calibration()), interval)


def calibration_error(bins: Iterable[Bin]) -> float:
    """Expected calibration error: the sum of |promised - right| over bins, divided by the mentions
    found."""
    listed = list(bins)
    found = sum(b.found for b in listed)
    return sum(abs(b.promised - b.right) for b in listed) / found if found else 0.0


def pooled(draws: Iterable[tuple[Bin, ...]]) -> tuple[Bin, ...]:
    """The bins of several draws added up."""
    return tuple(sum(column, Bin()) for column in zip(*draws, strict=True))


def report(draws: Sequence[CalibrationCheck]) -> str:
    """Markdown tables of calibration error and coverage by corpus and size, with notes."""
    sizes = sorted({d.row.size for d in draws})
    columns = [f"ECE at {n}" for n in sizes] + [f"covered at {n}" for n in sizes]
    lines = [_row("corpus", columns), "|---" * (len(columns) + 1) + "|"]
    by_corpus = _group_by(draws, "corpus")
    for corpus, of_corpus in sorted(by_corpus.items()):
        by_size = _group_by(of_corpus, "size")
        errors = [f"{calibration_error(pooled(d.bins for d in by_size[n])):.3f}" for n in sizes]
        lines.append(_row(corpus, [*errors, *(_coverage(by_size[n]) for n in sizes)]))
    groups = {
        n: [group for of in by_corpus.values() if (group := [d for d in of if d.row.size == n])]
        for n in sizes
    }
    covered = [_coverage([d for d in draws if d.row.size == n]) for n in sizes]
    empty = [""] * len(sizes)
    for name, error, more in (
        ("**mean**", lambda group: calibration_error(pooled(d.bins for d in group)), covered),
        ("mean of single draws", lambda g: fmean(calibration_error(d.bins) for d in g), empty),
        ("without calibration", lambda g: calibration_error(pooled(d.raw_bins for d in g)), empty),
    ):
        means = [f"{fmean(map(error, groups[n])):.3f}" for n in sizes]
        lines.append(_row(name, [*means, *more]))
    return "\n".join([*lines, "", *_notes(draws, sizes)])


def _notes(draws: Sequence[CalibrationCheck], sizes: Sequence[int]) -> Iterator[str]:
    """Coverage over all draws, and width, error and cost of the estimates by size."""
    estimated = [d for d in draws if d.interval is not None]
    yield f"covered overall: {_coverage(estimated)} of {len(estimated)} draws"
    yield f"{len(draws) - len(estimated)} draws without a mention, which have no estimate"
    for n in sizes:
        of_size = [d for d in estimated if d.row.size == n]
        width = fmean(d.interval[2] - d.interval[1] for d in of_size if d.interval)
        error = fmean(abs(d.interval[0] - d.row.f1) for d in of_size if d.interval)
        fit_seconds = sum(d.row.fit_seconds for d in of_size)
        seconds = sum(d.row.estimate_seconds for d in of_size)
        yield (
            f"at {n}: mean width of the interval {width:.2f}, mean error of the estimate {error:.3f}; "
            f"estimating takes {seconds / fit_seconds:.2f} times as long as the fit "
            f"({seconds / len(of_size):.2f} s)"
        )


def _row(name: object, cells: Iterable[str]) -> str:
    return f"| {name} | {' | '.join(cells)} |"


def _group_by(
    draws: Iterable[CalibrationCheck], field: str
) -> Mapping[object, list[CalibrationCheck]]:
    groups: dict[object, list[CalibrationCheck]] = defaultdict(list)
    for draw in draws:
        groups[getattr(draw.row, field)].append(draw)
    return groups


def _coverage(draws: Iterable[CalibrationCheck]) -> str:
    covered = [d.covered for d in draws if d.interval is not None]
    return f"{100 * fmean(covered):.0f}%" if covered else "-"


def _binned(row: Observation, calibration: Calibration) -> tuple[Bin, ...]:
    bins = [Bin()] * BINS
    for index, (found, right) in row.bins.items():
        score = calibration(STEP * index)
        bins[min(int(score * BINS), BINS - 1)] += Bin(found, found * score, right)
    return tuple(bins)
