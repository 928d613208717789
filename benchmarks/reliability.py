"""Draws a reliability diagram: the share of correct mentions by score, raw and calibrated.

    .venv/bin/python benchmarks/reliability.py docs/results/trust.jsonl docs/results/reliability.svg

The input is what `adaptner calibrate` wrote, the output an SVG. A calibrated curve lies on the diagonal.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from adaptner.evaluation.calibration.fit import Observation
from adaptner.evaluation.calibration.report import (
    CalibrationCheck,
    calibration_error,
    check_calibration,
    pooled,
)
from adaptner.reproduce.report.chart import Axis, Chart, Point, Series, Style, series_style


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("rows", type=Path, help="JSON lines of `adaptner calibrate`")
    parser.add_argument("output", type=Path, help="SVG file")
    options = parser.parse_args()
    rows = [Observation.model_validate_json(x) for x in options.rows.read_text().splitlines()]
    options.output.write_text(reliability_diagram(check_calibration(rows)), encoding="utf-8")


def reliability_diagram(draws: list[CalibrationCheck]) -> str:
    """Returns the share of correct mentions against their score, raw and calibrated, as SVG."""
    series = [Series("ideal", Style("#555555", (0, (2, 3)), "none"), [Point(0, 0), Point(1, 1)])]
    kinds = ("calibrated", [d.bins for d in draws]), ("raw", [d.raw_bins for d in draws])
    for number, (name, bins) in enumerate(kinds):
        total = pooled(bins)
        points = [Point(b.promised / b.found, b.right / b.found) for b in total if b.found >= 20]
        label = f"{name}: error {calibration_error(total):.3f}"
        series.append(Series(label, series_style(number), points))
    ticks = (0, 0.2, 0.4, 0.6, 0.8, 1)
    score, correct = Axis("score", 0, 1, ticks), Axis("share that is correct", 0, 1, ticks)
    title = "Share of correct mentions by score"
    return Chart(title, score, correct, series, bands=True).svg()


if __name__ == "__main__":
    main()
