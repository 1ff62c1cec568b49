"""Convert what discrete Gaussian noise alone costs (rho) into approximate DP, rounded to the safe side.

Such noise has less than zCDP allows: its whole curve is that of one continuous Gaussian. Bounds of the normal tail are
convergents of Laplace's continued fraction, which lie above and below it in turn. So the search decides how tight a
result is, and never whether it holds. All steps are in decimal arithmetic, as in ``dpmath.core.conversion``.
"""

from collections.abc import Callable
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

from dpmath.core import _check
from dpmath.core._decimals import decimal_of, in_millionths

LEAST_SIGMA = 32
"""Of finer noise in whole numbers nothing is said here."""
_LEFT = Fraction(LEAST_SIGMA**2 - 2**2, LEAST_SIGMA**2)
"""The share of sigma^2 that is left to a continuous Gaussian, if discrete noise of deviation 2 rounds it."""
_ROUNDING = Decimal("1e-18")
"""More than rounding changes a logarithm of a probability, added over 2^40 sums and doubled."""
_EXACT = Context(prec=60)
_SLACK = Decimal("1e-40")
"""More than the rounding errors of some hundreds of operations at 60 digits, relative to the largest term."""
_ROOT_OF_TWO_PI = Decimal("2.506628274631000502415765284811045253")
"""Below it."""
_MARGIN = Decimal("1e-18")
"""Taken off a rho, so that converting it back gives no epsilon above the one that was asked for."""
_LEAST_TAIL, _N_TERMS, _STEPS = Decimal("0.25"), 100, 80


@lru_cache(maxsize=1 << 16)
def epsilon_of_gaussian(rho: Fraction, delta: Fraction) -> Decimal:
    """Return an epsilon such that discrete Gaussian noise of a rho is (epsilon, delta)-DP, rounded up to a millionth.

    Args:
        rho: The sum of w^2/(2 sigma^2) over all sums, each with sigma >= LEAST_SIGMA, >= 0.
        delta: Above 0 and at most 0.01.

    Returns:
        The epsilon; 0 if rho is 0.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        HV-L73.
    """
    _check_delta(delta)
    if rho < 0:
        raise ValueError(f"rho={rho} must be at least 0")
    if rho == 0:
        return Decimal(0)
    with localcontext(_EXACT):
        root = _root(rho)
        high = root * root / 2 + root * (2 * -decimal_of(delta).ln()).sqrt() + root  # the tail is below exp(-t^2/2)
        epsilon = _least(Decimal(0), high, lambda one: _holds(one, root, decimal_of(delta)))
        return in_millionths(epsilon)


@lru_cache(maxsize=1 << 10)
def rho_of_gaussian(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest rho such that discrete Gaussian noise of it is (epsilon, delta)-DP, up to rounding down.

    Args:
        epsilon: Above 0.
        delta: Above 0 and at most 0.01.

    Returns:
        The rho, above 0.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        HV-L73.
    """
    _check_delta(delta)
    _check.positive(epsilon=epsilon)
    with localcontext(_EXACT):
        wanted, most = decimal_of(epsilon), decimal_of(delta)
        high = (2 * wanted).sqrt()  # its tail is at 0
        root = -_least(-high, Decimal(0), lambda one: one == 0 or _holds(wanted, -one, most))
        return Fraction(root * root * (1 - _MARGIN)) / 2 * _LEFT


def _least(low: Decimal, high: Decimal, holds: Callable[[Decimal], bool]) -> Decimal:
    """Return a number for which something holds that holds from some number on, near the least one."""
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _root(rho: Fraction) -> Decimal:
    """Return mu of the continuous Gaussian, from above: the root of twice the rho over the share that is left."""
    return decimal_of(2 * rho / _LEFT).sqrt() * (1 + _SLACK)


def _holds(epsilon: Decimal, mu: Decimal, delta: Decimal) -> bool:
    """Return whether noise of a mu is surely (epsilon, delta)-DP: delta of mu is phi(t) (R(t) - R(t + mu)).

    Here t = epsilon/mu - mu/2, phi is the normal density, and R(t) the tail beyond t over the density there.
    """
    tail = (epsilon - _ROUNDING) / mu - mu / 2
    if tail < _LEAST_TAIL:
        return False
    ratio = _ratio(tail, _N_TERMS)
    found = (-tail * tail / 2).exp() / _ROOT_OF_TWO_PI * (ratio - _ratio(tail + mu, _N_TERMS + 1) + ratio * _SLACK)
    return found * (1 + _ROUNDING) <= delta


def _ratio(tail: Decimal, n_terms: int) -> Decimal:
    """Return a bound of the tail over the density: from above if the number of terms is even, else from below."""
    below = tail
    for number in range(n_terms, 0, -1):
        below = tail + number / below
    return 1 / below


def _check_delta(delta: Fraction) -> None:
    if not 0 < delta <= Fraction(1, 100):
        raise ValueError(f"delta={delta} must be above 0 and at most 0.01")
