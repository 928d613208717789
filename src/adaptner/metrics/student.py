"""Student's t distribution in plain Python, so that the core needs no scipy."""

from __future__ import annotations

import math

_TINY = 1e-300
_PRECISION = 1e-15
_MAX_TERMS = 10_000


def two_sided_p(t: float, degrees: float) -> float:
    """P(|T| >= |t|): the regularised incomplete beta function I_x(df/2, 1/2), x = df/(df + t^2)."""
    if math.isinf(t):
        return 0.0
    total = degrees + t * t
    if t * t < degrees:
        # x is near 1, where 1 - x has lost its digits: take the complement from t^2 itself.
        return 1 - incomplete_beta(0.5, degrees / 2, t * t / total)
    return incomplete_beta(degrees / 2, 0.5, degrees / total)


def critical_value(confidence: float, degrees: float) -> float:
    """The t for which P(|T| <= t) is ``confidence``, by bisection."""
    tail = 1 - confidence
    high = 1.0
    while two_sided_p(high, degrees) > tail:
        high *= 2
    low = 0.0
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        if two_sided_p(middle, degrees) > tail:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def incomplete_beta(a: float, b: float, x: float) -> float:
    """I_x(a, b), by its continued fraction on the side where that converges fast."""
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    log_front = (
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    front = math.exp(log_front)
    if x < (a + 1) / (a + b + 2):
        return front * _continued_fraction(a, b, x) / a
    return 1 - front * _continued_fraction(b, a, 1 - x) / b


def _continued_fraction(a: float, b: float, x: float) -> float:
    """DLMF 8.17.22, evaluated by the modified Lentz method."""

    def away_from_zero(value: float) -> float:
        return value if abs(value) > _TINY else _TINY

    c = 1.0
    d = 1 / away_from_zero(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, _MAX_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / away_from_zero(1 + term * d)
            c = away_from_zero(1 + term / c)
            value *= c * d
        if abs(c * d - 1) < _PRECISION:
            return value
    raise ArithmeticError(f"incomplete beta did not converge for a={a}, b={b}, x={x}")
