"""Convert between zero-concentrated DP (rho) and approximate DP (epsilon at a delta), rounded to the safe side.

Each order alpha > 1 gives a true bound. So the search for the best alpha decides how tight the result is, and never
whether it holds. All steps are in decimal arithmetic, which gives the same digits on every machine.
"""

from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

from dpmath.core import _check
from dpmath.core._decimals import decimal_of, in_millionths

_SEARCH = Context(prec=30)
_EXACT = Context(prec=80)
_SLACK = Decimal("1e-60")
"""More than the rounding errors of some tens of operations at 80 digits, relative to the largest term."""
_MARGIN = Decimal("1e-20")
"""Taken off a rho, so that converting it back gives no epsilon above the one that was asked for."""
_LEAST_GAP, _STEPS = Decimal("1e-15"), 200


@lru_cache(maxsize=1 << 16)
def epsilon_of_rho(rho: Fraction, delta: Fraction) -> Decimal:
    """Return an epsilon such that every rho-zCDP mechanism is (epsilon, delta)-DP, rounded up to a millionth.

    It is the least one over all orders alpha, up to the search for the best alpha.

    Args:
        rho: The loss, >= 0.
        delta: Above 0 and below 1.

    Returns:
        The epsilon; 0 if rho is 0.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        CKS-P12.
    """
    _check_delta(delta)
    if rho < 0:
        raise ValueError(f"rho={rho} must be at least 0")
    if rho == 0:
        return Decimal(0)
    gap = _best_gap(rho, delta)
    with localcontext(_EXACT):
        total = -decimal_of(delta).ln()
        epsilon = decimal_of(rho) * (1 + gap) + _cost_of_delta(gap, total)
        epsilon += (abs(epsilon) + _largest_term(gap, total)) * _SLACK
        return in_millionths(epsilon)


@lru_cache(maxsize=1 << 10)
def rho_of_epsilon(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest rho such that every rho-zCDP mechanism is (epsilon, delta)-DP, up to rounding down.

    Args:
        epsilon: Above 0.
        delta: Above 0 and below 1.

    Returns:
        The rho, above 0.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        CKS-P12.
    """
    _check_delta(delta)
    _check.positive(epsilon=epsilon)
    with localcontext(_SEARCH):
        wanted, total = decimal_of(epsilon), -decimal_of(delta).ln()
        low, high = _LEAST_GAP, 1 / decimal_of(delta) - 1  # at the best order epsilon falls as the gap grows
        for _ in range(_STEPS):
            middle = (low * high).sqrt()
            best_rho = (total - (1 + middle).ln()) / middle**2
            above = best_rho * (1 + middle) + _cost_of_delta(middle, total) > wanted
            low, high = (middle, high) if above else (low, middle)
    with localcontext(_EXACT):
        total = -decimal_of(delta).ln()
        room = decimal_of(epsilon) - _cost_of_delta(high, total)
        room -= (abs(room) + _largest_term(high, total)) * _SLACK
        return max(Fraction(room / (1 + high) * (1 - _MARGIN)), Fraction(0))


def _best_gap(rho: Fraction, delta: Fraction) -> Decimal:
    """Return alpha - 1 with rho (alpha - 1)^2 = ln(1/delta) - ln(alpha), by Newton's method from above."""
    with localcontext(_SEARCH):
        rate, total = decimal_of(rho), -decimal_of(delta).ln()
        gap = (total / rate).sqrt()
        for _ in range(_STEPS):
            excess = rate * gap**2 - total + (1 + gap).ln()
            after = max(gap - excess / (2 * rate * gap + 1 / (1 + gap)), gap / 2)
            if abs(after - gap) <= gap * Decimal("1e-15"):
                break
            gap = after
        return max(gap, _LEAST_GAP)


def _cost_of_delta(gap: Decimal, total: Decimal) -> Decimal:
    """Return what is added to alpha rho: (total - ln(alpha))/(alpha - 1) + ln(1 - 1/alpha); total is ln(1/delta)."""
    alpha = 1 + gap
    return (total - alpha.ln()) / gap + (gap / alpha).ln()


def _largest_term(gap: Decimal, total: Decimal) -> Decimal:
    return (total + (1 + gap).ln()) / gap + abs((gap / (1 + gap)).ln())


def _check_delta(delta: Fraction) -> None:
    if not 0 < delta < 1:
        raise ValueError(f"delta={delta} must be above 0 and below 1")
