"""A line chart: axes with units, bands, marks, and labels at the ends of the lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from adaptner.reproduce.report.svg import (
    INK,
    QUIET,
    RULE,
    Canvas,
    Point,
    Scale,
    Style,
    nice_ticks,
    shortened,
    spread,
)

WIDTH, HEIGHT = 480, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 54, 118, 40, 46
_INSET = 10  # of the first and last place, where series stand beside one another
_LABEL_GAP, _LABEL_LENGTH, _TITLE_LENGTH = 14, 16, 58


@dataclass(frozen=True)
class Series:
    """``points`` are (x, mean, deviation or None); ``reference`` (x, published value)."""

    label: str
    style: Style
    points: Sequence[tuple[float, float, float | None]]
    reference: Sequence[Point] = ()


@dataclass(frozen=True)
class Axis:
    """``ticks`` fix the labelled places; without them round numbers are taken."""

    label: str
    low: float
    high: float
    ticks: Sequence[float] = ()
    logarithmic: bool = False

    def places(self) -> Sequence[float]:
        return self.ticks or nice_ticks(self.low, self.high)


@dataclass
class Chart:
    """Draws in the order it is told, series last, so that they lie on top."""

    title: str
    x: Axis
    y: Axis
    marked: bool = True  # whether points get marks
    beside: float = 0.0  # pixels between the marks of two series at the same place
    canvas: Canvas = field(init=False)
    bounds: list[tuple[str, float]] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.canvas = Canvas(WIDTH, HEIGHT, self.title)
        inset = _INSET if self.beside else 0
        self.across = Scale(
            self.x.low, self.x.high, _LEFT + inset, WIDTH - _RIGHT - inset, self.x.logarithmic
        )
        self.up = Scale(self.y.low, self.y.high, HEIGHT - _BOTTOM, _TOP)
        self._frame()

    def bound(self, value: float, label: str) -> None:
        """A level to be reached, across the whole chart."""
        y = self.up(value)
        self.canvas.line((_LEFT, y), (WIDTH - _RIGHT, y), QUIET, 1.2, "5 3")
        self.bounds.append((label, y))

    def drop(self, x: float, top: float, style: Style, hollow: bool) -> None:
        """A line from a point down to the axis, where a share is read off."""
        foot = self.up(self.y.low)
        at = self.across(x)
        self.canvas.line((at, self.up(top)), (at, foot), style.colour, 1, "2 2")
        self.canvas.mark((at, foot), Style(style.colour, "", "triangle"), 5, hollow)

    def draw(self, series: Sequence[Series]) -> str:
        # Never so far that a series leaves the inset of a logarithmic axis.
        apart = min(self.beside, 2 * _INSET / max(1, len(series) - 1))
        shifts = [(i - (len(series) - 1) / 2) * apart for i in range(len(series))]
        for one, shift in zip(series, shifts, strict=True):
            self._band(one, shift)
        for one, shift in zip(series, shifts, strict=True):
            self._lines(one, shift)
        self._labels(series, shifts)
        return self.canvas.drawing()

    def _frame(self) -> None:
        canvas, right, foot = self.canvas, WIDTH - _RIGHT, HEIGHT - _BOTTOM
        canvas.text((_LEFT, 20), shortened(self.title, _TITLE_LENGTH), size=13, bold=True)
        for tick in self.y.places():
            y = self.up(tick)
            canvas.line((_LEFT, y), (right, y), RULE)
            canvas.text((_LEFT - 6, y + 4), f"{tick:g}", anchor="end", size=11)
        for tick in self.x.places():
            x = self.across(tick)
            canvas.line((x, foot), (x, foot + 4))
            canvas.text((x, foot + 17), f"{tick:,g}", anchor="middle", size=11)
        canvas.line((_LEFT, foot), (right, foot))
        canvas.text(((_LEFT + right) / 2, HEIGHT - 10), self.x.label, anchor="middle", colour=QUIET)
        canvas.text(
            (14, (_TOP + foot) / 2), self.y.label, anchor="middle", colour=QUIET, upright=False
        )

    def _band(self, series: Series, shift: float) -> None:
        spreads = [(x, mean, sd) for x, mean, sd in series.points if sd is not None]
        if len(spreads) > 1:
            over = [(self.across(x) + shift, self.up(m + sd)) for x, m, sd in spreads]
            under = [(self.across(x) + shift, self.up(m - sd)) for x, m, sd in spreads]
            self.canvas.area([*over, *reversed(under)], series.style.colour, 0.10)
        elif spreads:  # one point has no band, but its deviation is there to be seen
            x, mean, sd = spreads[0]
            at = self.across(x) + shift
            ends = (at, self.up(mean + sd)), (at, self.up(mean - sd))
            self.canvas.line(*ends, series.style.colour, 1.2)

    def _lines(self, series: Series, shift: float) -> None:
        places = [(self.across(x) + shift, self.up(mean)) for x, mean, _ in series.points]
        if len(places) > 1:
            self.canvas.path(places, series.style.colour, 2, series.style.dash)
        for x, value in series.reference:
            at = self.across(x) + shift, self.up(value)
            self.canvas.mark(at, series.style, 4.2, hollow=True)
        if self.marked or len(places) == 1:
            for place in places:
                self.canvas.mark(place, series.style, 3.4)

    def _labels(self, series: Sequence[Series], shifts: Sequence[float]) -> None:
        """At the end of each line, moved apart, with the series' mark before the name."""
        ends: list[tuple[str, Style | None, Point]] = [
            (s.label, s.style, (self.across(s.points[-1][0]) + shift + 5, self.up(s.points[-1][1])))
            for s, shift in zip(series, shifts, strict=True)
            if s.points
        ]
        ends += [(label, None, (WIDTH - _RIGHT + 2, y)) for label, y in self.bounds]
        heights = spread([y for _, _, (_, y) in ends], _LABEL_GAP, _TOP, HEIGHT - _BOTTOM)
        left = WIDTH - _RIGHT + 14
        for (label, look, end), height in zip(ends, heights, strict=True):
            colour = QUIET if look is None else look.colour
            self.canvas.line(end, (left - 6, height), colour, 0.7)
            if look is None:
                self.canvas.line((left - 5, height), (left + 4, height), QUIET, 1.2, "3 2")
            else:
                self.canvas.mark((left, height), look, 3.4)
            words = shortened(label, _LABEL_LENGTH)
            self.canvas.text((left + 7, height + 4), words, size=11, colour=INK)
