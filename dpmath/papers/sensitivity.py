"""Sensitivities of a mean and a variance: how far the values of one user can move them."""

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmath.core import _check

FloatArray = NDArray[np.float64]


def mean_sensitivity(n_changed: int, n_total: int, upper: _check.Number) -> Fraction:
    """Return how far a mean can move when some of its records change, U n_changed / n_total.

    For the sensitivity of a cell ``n_changed`` is the largest number of records of one user. For the effect of one
    user it is that user's own number. After clipping both numbers count the records kept.

    Args:
        n_changed: Records that may change, 0 <= n_changed <= n_total.
        n_total: Records that the mean is of, >= 1.
        upper: Upper bound U of a value, > 0; the lower is 0.

    Returns:
        The sensitivity, in the unit of ``upper``, exact.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        CPL-E5, CPL-E9.
    """
    _check_counts(n_changed, n_total, upper)
    return Fraction(upper) * Fraction(n_changed, n_total)


def variance_sensitivity(n_changed: int, n_total: int, upper: _check.Number) -> Fraction:
    """Return how far a variance can move when some of its records change, U^2 k (N - k) / N^2.

    N is ``n_total`` and k the lesser of ``n_changed`` and floor(N/2). The variance moves most if all records are at
    one end of the range and k of them move to the other.

    Args:
        n_changed: Records that may change, 0 <= n_changed <= n_total: those of the largest user for a cell's
            sensitivity, those of one user for that user's effect.
        n_total: Records N that the variance is of, >= 1.
        upper: Upper bound U of a value, > 0; the lower is 0.

    Returns:
        The sensitivity, in the square of the unit of ``upper``, exact.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        CPL-P3.1, CPL-L3.3, HV-L20.
    """
    _check_counts(n_changed, n_total, upper)
    k = min(n_changed, n_total // 2)
    return Fraction(upper) ** 2 * Fraction(k * (n_total - k), n_total**2)


def variance_shares(n_changed: NDArray[Any], n_total: NDArray[Any]) -> FloatArray:
    """Return variance sensitivities for arrays of counts, as shares of U^2.

    It is called for every suppression, so the counts are not checked.

    Args:
        n_changed: Records that may change, shape (n,), 0 <= n_changed <= n_total.
        n_total: Records N that each variance is of, shape (n,), >= 1.

    Returns:
        ``variance_sensitivity`` over U^2, shape (n,).

    Source:
        CPL-P3.1, HV-L20.
    """
    share = np.minimum(n_changed, np.floor(n_total * 0.5)) / n_total
    return share * (1 - share)


def _check_counts(n_changed: int, n_total: int, upper: _check.Number) -> None:
    _check.at_least(0, n_changed=n_changed)
    _check.at_least(max(n_changed, 1), n_total=n_total)
    _check.positive(upper=upper)
