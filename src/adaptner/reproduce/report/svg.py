"""Just enough drawing for our plots: SVG that stands alone, dark on white, fit for print.

Colours are those of Okabe and Ito, told apart by people with colour blindness; dashes and marks
repeat what the colours say, so that a grey copy can be read too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

INK, QUIET, RULE, PAPER = "#1a1a1a", "#555555", "#dddddd", "#ffffff"
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#a8478a", "#5a5a5a", "#b07a00", "#3d9bd1", "#000000")
_DASHES = ("", "6 3", "2 3", "8 3 2 3")
_MARKS = ("circle", "square", "triangle", "diamond")

Point = tuple[float, float]


@dataclass(frozen=True)
class Style:
    colour: str
    dash: str
    mark: str


def style(number: int) -> Style:
    """The look of the n-th series."""
    return Style(
        _COLOURS[number % len(_COLOURS)],
        _DASHES[number // len(_COLOURS) % len(_DASHES)],
        _MARKS[number % len(_MARKS)],
    )


@dataclass(frozen=True)
class Scale:
    """From values to pixels; on a logarithmic one all values must be above 0."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def __call__(self, value: float) -> float:
        low, high = self.low, self.high
        if self.logarithmic:
            value, low, high = math.log(value), math.log(low), math.log(high)
        if high == low:
            return (self.start + self.end) / 2
        share = min(1.0, max(0.0, (value - low) / (high - low)))
        return self.start + share * (self.end - self.start)


def nice_ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers from ``low`` up to ``high``, about so many."""
    if not high > low:
        return [low]
    raw = (high - low) / max(1, about)
    power = 10 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= raw * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(k * step, 12) for k in range(first, last + 1)]


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Places as near as can be to the ``wanted`` ones, ``gap`` apart, between ``low`` and ``high``
    (closer together where there is no room)."""
    if not wanted:
        return []
    if len(wanted) > 1:
        gap = min(gap, (high - low) / (len(wanted) - 1))
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    placed = [0.0] * len(wanted)
    at = low - gap
    for i in order:
        at = max(at + gap, min(high, max(low, wanted[i])))
        placed[i] = at
    limit = high
    for i in reversed(order):
        placed[i] = min(placed[i], limit)
        limit = placed[i] - gap
    return placed


def shortened(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


@dataclass
class Canvas:
    """Collects shapes; ``drawing`` is the whole. There are no ids in it, so that several drawings
    can stand in one page."""

    width: int
    height: int
    title: str
    parts: list[str] = field(default_factory=list)

    def line(self, a: Point, b: Point, colour: str = INK, width: float = 1, dash: str = "") -> None:
        self.parts.append(
            f'<line x1="{a[0]:.1f}" y1="{a[1]:.1f}" x2="{b[0]:.1f}" y2="{b[1]:.1f}" '
            f'stroke="{colour}" stroke-width="{width:g}"{_dashed(dash)}/>'
        )

    def path(self, points: Sequence[Point], colour: str, width: float = 2, dash: str = "") -> None:
        self.parts.append(
            f'<polyline points="{_points(points)}" fill="none" stroke="{colour}" '
            f'stroke-width="{width:g}" stroke-linejoin="round"{_dashed(dash)}/>'
        )

    def area(self, points: Sequence[Point], colour: str, opacity: float) -> None:
        self.parts.append(
            f'<polygon points="{_points(points)}" fill="{colour}" fill-opacity="{opacity:g}"/>'
        )

    def mark(self, at: Point, look: Style, size: float = 4, hollow: bool = False) -> None:
        fill = PAPER if hollow else look.colour
        paint = f'fill="{fill}" stroke="{look.colour}" stroke-width="1.5"'
        x, y = at
        if look.mark == "circle":
            self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size:g}" {paint}/>')
            return
        corners: dict[str, list[Point]] = {
            "square": [(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
            "triangle": [(0, -1.15), (1.1, 0.85), (-1.1, 0.85)],
            "diamond": [(0, -1.25), (1.25, 0), (0, 1.25), (-1.25, 0)],
        }
        shape = [(x + size * dx, y + size * dy) for dx, dy in corners[look.mark]]
        self.parts.append(f'<polygon points="{_points(shape)}" {paint}/>')

    def text(
        self,
        at: Point,
        words: str,
        *,
        anchor: str = "start",
        colour: str = INK,
        size: float = 12,
        bold: bool = False,
        upright: bool = True,
    ) -> None:
        turn = "" if upright else f' transform="rotate(-90 {at[0]:.1f} {at[1]:.1f})"'
        weight = ' font-weight="600"' if bold else ""
        self.parts.append(
            f'<text x="{at[0]:.1f}" y="{at[1]:.1f}" text-anchor="{anchor}" fill="{colour}" '
            f'font-size="{size:g}"{weight}{turn}>{escape(_printable(words))}</text>'
        )

    def drawing(self) -> str:
        name = escape(_printable(self.title))
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
            f'role="img" font-family="system-ui, -apple-system, Helvetica, Arial, sans-serif">'
            f"<title>{name}</title>"
            f'<rect x="0" y="0" width="{self.width}" height="{self.height}" fill="{PAPER}"/>'
            + "".join(self.parts)
            + "</svg>"
        )


def _points(points: Sequence[Point]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _dashed(dash: str) -> str:
    return f' stroke-dasharray="{dash}"' if dash else ""


def _printable(text: str) -> str:
    """XML has no way to write control characters."""
    return "".join(c if c.isprintable() else " " for c in text)
