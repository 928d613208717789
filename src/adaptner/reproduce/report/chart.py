"""Draws one line chart as SVG with matplotlib.

The colours are those of Okabe and Ito, which people with colour blindness can tell apart. Dashes
and markers repeat them, so that a grey copy can be read too.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from adaptner.errors import ExtraMissing
from adaptner.reproduce.report.page import printable

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#a8478a", "#5a5a5a", "#b07a00", "#3d9bd1", "#000000")
_DASHES = ("-", (0, (6, 3)), (0, (2, 2)), (0, (8, 3, 2, 3)))
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_GREY = "#555555"
_SIZE = (7.6, 3.7)  # inches
_SETTINGS: Any = {
    "svg.hashsalt": "adaptner",  # the same ids in each run
    "svg.fonttype": "none",  # text stays text
    "text.parse_math": False,  # a dollar sign in a name is a dollar sign
    "font.size": 9,
    "font.family": ["DejaVu Sans"],
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
}
_OVERLAP = 3.0  # points between the markers of two series at the same x
_MAX_LABEL, _MAX_TITLE = 24, 60


class Style(NamedTuple):
    colour: str
    dash: Any
    marker: str


def series_style(number: int) -> Style:
    """Returns the style of the n-th series; styles repeat after 224."""
    return Style(
        COLOURS[number % len(COLOURS)],
        _DASHES[number // len(COLOURS) % len(_DASHES)],
        _MARKERS[number % len(_MARKERS)],
    )


class Point(NamedTuple):
    """``low`` and ``high`` are the ends of an interval around ``y``."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Series:
    """``published`` are figures (x, y) of the paper, drawn as hollow markers."""

    label: str
    style: Style
    points: Sequence[Point]
    published: Sequence[tuple[float, float]] = ()


@dataclass(frozen=True)
class Axis:
    """``ticks`` are the labelled values; without them matplotlib chooses round ones."""

    label: str
    low: float
    high: float
    ticks: Sequence[float] = ()
    logarithmic: bool = False


@dataclass(frozen=True)
class Crossing:
    """A vertical line from a triangle on the axis up to ``height``."""

    x: float
    height: float
    colour: str
    label: str
    published: bool = False


@dataclass(frozen=True)
class Chart:
    """``level`` is a horizontal dashed line with its label. ``bands`` shows intervals as bands along
    the lines instead of bars."""

    title: str
    x: Axis
    y: Axis
    series: Sequence[Series]
    level: tuple[float, str] | None = None
    crossings: Sequence[Crossing] = ()
    markers: bool = True
    bands: bool = False

    def svg(self) -> str:
        """Returns the drawing; the same chart gives the same bytes."""
        try:
            import matplotlib
            from matplotlib.figure import Figure
        except ImportError as error:
            raise ExtraMissing(what="a plot", package="matplotlib", extra="reproduce") from error
        with matplotlib.rc_context(_SETTINGS), warnings.catch_warnings():
            # The viewer chooses the font, so that a glyph missing from ours does no harm.
            warnings.filterwarnings("ignore", message="Glyph")
            figure = Figure(figsize=_SIZE)
            figure.subplots_adjust(left=0.085, right=0.66, top=0.9, bottom=0.14)
            self._draw(figure.add_subplot())
            file = io.StringIO()
            title = printable(self.title)
            keys = dict.fromkeys(("Creator", "Date", "Format", "Type"))
            figure.savefig(file, format="svg", metadata={**keys, "Title": title})
        return file.getvalue()

    def _draw(self, axes: Any) -> None:
        axes.set_title(_shortened(self.title, _MAX_TITLE), x=0)
        self._draw_axes(axes)
        if self.level is not None:
            value, label = self.level
            axes.axhline(value, color=_GREY, linewidth=1.2, linestyle=(0, (5, 3)), label=label)
        gap = 0 if self.bands else min(_OVERLAP, 16 / max(1, len(self.series) - 1))
        for number, series in enumerate(self.series):
            self._draw_series(axes, series, gap * (number - (len(self.series) - 1) / 2))
        for crossing in self.crossings:
            fill = "white" if crossing.published else crossing.colour
            axes.vlines(crossing.x, self.y.low, crossing.height, crossing.colour, "dotted", lw=1)
            axes.plot(
                *([crossing.x], [self.y.low], "^"), color=crossing.colour, markerfacecolor=fill,
                clip_on=False, markersize=7, label=crossing.label, zorder=4,
            )  # fmt: skip
        if any(series.published for series in self.series):
            axes.plot([], [], "o", color=_GREY, markerfacecolor="white", label="published")
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)

    def _draw_axes(self, axes: Any) -> None:
        from matplotlib.ticker import NullLocator

        axes.set_xlabel(self.x.label)
        axes.set_ylabel(self.y.label)
        axes.grid(axis="y", color="#dddddd", linewidth=0.7)
        axes.set_axisbelow(True)
        axes.set_ylim(self.y.low, self.y.high)
        if self.x.logarithmic:
            axes.set_xscale("log")
            axes.set_xlim(self.x.low / 1.2, self.x.high * 1.2)
        else:
            margin = 0.04 * (self.x.high - self.x.low)
            axes.set_xlim(self.x.low - margin, self.x.high + margin)
        if self.x.ticks:
            axes.set_xticks(self.x.ticks, [f"{tick:,g}" for tick in self.x.ticks])
        axes.xaxis.set_minor_locator(NullLocator())

    def _draw_series(self, axes: Any, series: Series, shift: float) -> None:
        """Draws a series ``shift`` points to the right of its place."""
        from matplotlib.transforms import ScaledTranslation

        colour, dash, marker = series.style
        moved = ScaledTranslation(shift / 72, 0, axes.figure.dpi_scale_trans)
        place = {"transform": axes.transData + moved, "color": colour}
        points = series.points
        intervals = [p for p in points if p.low is not None and p.high is not None]
        xs = [p.x for p in intervals]
        ends = [p.low for p in intervals], [p.high for p in intervals]
        if self.bands and len(intervals) > 1:
            axes.fill_between(xs, *ends, color=colour, alpha=0.12, linewidth=0)
        elif intervals:
            axes.vlines(xs, *ends, linewidth=1.2, alpha=0.8, **place)
        # A single point needs a marker, because it has no line.
        shown = marker if self.markers or len(points) == 1 else "none"
        axes.plot(
            *([p.x for p in points], [p.y for p in points]), linestyle=dash, marker=shown,
            markersize=5, linewidth=1.6, label=_shortened(series.label, _MAX_LABEL), **place,
        )  # fmt: skip
        if series.published:
            published_xs, published_ys = zip(*series.published, strict=True)
            axes.plot(
                *(published_xs, published_ys, marker), markersize=7, markerfacecolor="white", markeredgewidth=1.4,
                zorder=1.8, **place,
            )  # fmt: skip


def _shortened(text: str, most: int) -> str:
    text = printable(text)
    return text if len(text) <= most else text[: most - 1] + "…"
