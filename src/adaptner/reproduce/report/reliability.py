"""Reliability diagram: of the mentions with a score of about p, how many are right?"""

from __future__ import annotations

from collections.abc import Sequence

from adaptner.evaluation.calibration.report import CalibrationCheck, calibration_error, pooled
from adaptner.reproduce.report.svg import QUIET, RULE, Canvas, Scale, style

_SIDE, _LEFT, _TOP = 320, 56, 24


def reliability_diagram(draws: Sequence[CalibrationCheck]) -> str:
    """All draws together: scores as they come from the model, and as they are given."""
    across = Scale(0, 1, _LEFT, _LEFT + _SIDE)
    up = Scale(0, 1, _TOP + _SIDE, _TOP)
    canvas = Canvas(
        _LEFT + _SIDE + 190, _TOP + _SIDE + 56, "How often a mention of a score is right"
    )
    for tick in (0, 0.2, 0.4, 0.6, 0.8, 1):
        canvas.line((across(0), up(tick)), (across(1), up(tick)), RULE)
        canvas.text((across(0) - 8, up(tick) + 4), f"{tick:g}", anchor="end", colour=QUIET)
        canvas.text((across(tick), up(0) + 18), f"{tick:g}", anchor="middle", colour=QUIET)
    canvas.line((across(0), up(0)), (across(1), up(1)), QUIET, dash="2 3")
    canvas.text((across(0.5), up(0) + 40), "score", anchor="middle")
    canvas.text((16, up(0.5)), "share that is right", anchor="middle", upright=False)
    kinds = ("calibrated", [d.bins for d in draws]), ("as it was", [d.raw_bins for d in draws])
    for number, (name, bins) in enumerate(kinds):
        look, every = style(number), pooled(bins)
        points = [
            (across(b.promised / b.found), up(b.right / b.found)) for b in every if b.found >= 20
        ]
        canvas.path(points, look.colour, dash="" if number == 0 else "6 3")
        for point in points:
            canvas.mark(point, look)
        at = (across(1) + 22, _TOP + 20 + 22 * number)
        canvas.mark(at, look)
        said = f"{name}: error {calibration_error(every):.3f}"
        canvas.text((at[0] + 10, at[1] + 4), said)
    return canvas.drawing()
