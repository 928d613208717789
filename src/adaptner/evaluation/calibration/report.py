"""Calibration and coverage from observed draws; each domain with constants of the others alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from adaptner.adaptation.confidence.calibration import CalibrationConstants
from adaptner.evaluation.calibration.fit import STEP, Observation, fit_calibration
from adaptner.nn.decoders.calibration import Calibration

BINS = 10  # of probabilities, equally wide


@dataclass(frozen=True)
class Bin:
    """Mentions of about one score: how many, what they promised together, how many were right."""

    found: int = 0
    promised: float = 0.0
    right: int = 0

    def __add__(self, other: Bin) -> Bin:
        return Bin(
            self.found + other.found, self.promised + other.promised, self.right + other.right
        )


@dataclass(frozen=True)
class CalibrationCheck:
    """A draw, and what the constants of other domains make of it."""

    row: Observation
    bins: tuple[Bin, ...]
    raw_bins: tuple[Bin, ...]  # with scores as the model gives them
    interval: tuple[float, float, float] | None  # None: no mention, nothing is claimed

    @property
    def covered(self) -> bool:
        assert self.interval is not None
        return self.interval[1] <= self.row.f1 <= self.interval[2]


def check_calibration(rows: Sequence[Observation]) -> list[CalibrationCheck]:
    """Leave one domain out: what is said of a draw was learnt from other domains."""
    trusts = {
        domain: fit_calibration([row for row in rows if row.domain != domain])
        for domain in {row.domain for row in rows}
    }
    return [judge_draw(row, trusts[row.domain]) for row in rows]


def judge_draw(row: Observation, trust: CalibrationConstants) -> CalibrationCheck:
    calibration = trust.calibration(row.mentions, row.as_left_out())
    interval = trust.interval(row.cross_validated, row.mentions) if row.mentions else None
    return CalibrationCheck(row, _binned(row, calibration), _binned(row, Calibration()), interval)


def calibration_error(bins: Iterable[Bin]) -> float:
    """Expected calibration error: over bins, |promised - right| in all, by the mentions found."""
    every = list(bins)
    found = sum(b.found for b in every)
    return sum(abs(b.promised - b.right) for b in every) / found if found else 0.0


def pooled(draws: Iterable[tuple[Bin, ...]]) -> tuple[Bin, ...]:
    return tuple(sum(column, Bin()) for column in zip(*draws, strict=True))


def report(draws: Sequence[CalibrationCheck]) -> str:
    """Tables in Markdown."""
    sizes = sorted({d.row.size for d in draws})
    lines = [
        "| corpus | ECE at "
        + " | ".join(map(str, sizes))
        + " | covered at "
        + " | ".join(map(str, sizes))
        + " |",
        "|---" * (2 * len(sizes) + 1) + "|",
    ]
    by_corpus = _by(draws, "corpus")
    for corpus, own in sorted(by_corpus.items()):
        by_size = _by(own, "size")
        errors = [f"{calibration_error(pooled(d.bins for d in by_size[n])):.3f}" for n in sizes]
        held = [_share(by_size[n]) for n in sizes]
        lines.append(f"| {corpus} | " + " | ".join([*errors, *held]) + " |")
    means, raw, single = [], [], []
    for n in sizes:
        of_size = [[d for d in own if d.row.size == n] for own in by_corpus.values()]
        some = [own for own in of_size if own]
        means.append(fmean(calibration_error(pooled(d.bins for d in own)) for own in some))
        raw.append(fmean(calibration_error(pooled(d.raw_bins for d in own)) for own in some))
        single.append(fmean(fmean(calibration_error(d.bins) for d in own) for own in some))
    covered = [_share([d for d in draws if d.row.size == n]) for n in sizes]
    empty = " | " * len(sizes)
    lines.append(f"| **mean** | {' | '.join(f'{v:.3f}' for v in means)} | {' | '.join(covered)} |")
    lines.append(f"| mean of single draws | {' | '.join(f'{v:.3f}' for v in single)}{empty} |")
    lines.append(f"| as the model gives them | {' | '.join(f'{v:.3f}' for v in raw)}{empty} |")
    told = [d for d in draws if d.interval is not None]
    lines += ["", f"covered in all: {_share(told)} of {len(told)} draws"]
    lines.append(f"{len(draws) - len(told)} draws without a mention, of which nothing is claimed")
    for n in sizes:
        own = [d for d in told if d.row.size == n]
        widths = fmean(d.interval[2] - d.interval[1] for d in own if d.interval)
        off = fmean(abs(d.interval[0] - d.row.f1) for d in own if d.interval)
        fit = sum(d.row.fit_seconds for d in own)
        took = sum(d.row.estimate_seconds for d in own)
        lines.append(
            f"at {n}: the interval is {widths:.2f} wide, the estimate off by {off:.3f}; it takes "
            f"{took / fit:.2f} times as long as the fit ({took / len(own):.2f} s)"
        )
    return "\n".join(lines)


def _by(draws: Iterable[CalibrationCheck], field: str) -> Mapping[object, list[CalibrationCheck]]:
    found: dict[object, list[CalibrationCheck]] = defaultdict(list)
    for draw in draws:
        found[getattr(draw.row, field)].append(draw)
    return found


def _share(draws: Iterable[CalibrationCheck]) -> str:
    held = [d.covered for d in draws if d.interval is not None]
    return f"{100 * fmean(held):.0f}%" if held else "-"


def _binned(row: Observation, calibration: Calibration) -> tuple[Bin, ...]:
    bins = [Bin()] * BINS
    for place, (found, right) in row.bins.items():
        chance = calibration(STEP * place)
        bins[min(int(chance * BINS), BINS - 1)] += Bin(found, found * chance, right)
    return tuple(bins)
