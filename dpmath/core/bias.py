"""Worst-case errors apart from noise: of dropped records, of rounding, and of a variance computed from two means."""

from fractions import Fraction

from dpmath.core import _check
from dpmath.core.sensitivity import mean_sensitivity, variance_sensitivity


def dropped_mean_bias(n_kept: int, n_total: int, upper: _check.Number) -> Fraction:
    """Return the worst-case bias of a mean after records are dropped, U (1 - n_kept / n_total).

    The largest |mean of all - mean of kept| over every dataset with values in [0, U].

    Args:
        n_kept: Records kept, 1 <= n_kept <= n_total.
        n_total: Records in the cell.
        upper: Upper bound U of a value, > 0.

    Returns:
        The bias, in the unit of ``upper``, exact.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        CPL-T4.1.
    """
    _check.at_least(1, n_kept=n_kept)
    _check.at_least(n_kept, n_total=n_total)
    return mean_sensitivity(n_total - n_kept, n_total, upper)


def dropped_variance_bias(n_kept: int, n_total: int, upper: _check.Number) -> Fraction:
    """Return the worst-case bias of a variance after records are dropped.

    The largest |variance of all - variance of kept| over every dataset with values in [0, U]. It is what changing
    the dropped records can do to the variance of all.

    Args:
        n_kept: Records kept, 1 <= n_kept <= n_total.
        n_total: Records in the cell.
        upper: Upper bound U of a value, > 0.

    Returns:
        The bias, in the square of the unit of ``upper``, exact.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        CPL-T4.2, HV-L20.
    """
    _check.at_least(1, n_kept=n_kept)
    _check.at_least(n_kept, n_total=n_total)
    return variance_sensitivity(n_total - n_kept, n_total, upper)


def rounding_errors(value_range: int) -> tuple[Fraction, Fraction]:
    """Return how far rounding every value to the nearest tick can move a mean and a variance.

    Args:
        value_range: The largest value R, in ticks; the least is 0.

    Returns:
        Half a tick for the mean, and R squared ticks for the variance.

    Source:
        HV-L7.
    """
    return Fraction(1, 2), Fraction(value_range)


def variance_error(square_error: Fraction, mean_error: Fraction, value_range: int | Fraction) -> Fraction:
    """Return how far a variance can be off when it is computed from two means that may be off.

    With values q in [0, R] and d = (2q - R)^2, the variance is mean(d)/4 - (mean(q) - R/2)^2. Both noisy means
    are first cut to the range they can have.

    Args:
        square_error: Error of mean(d), in the square of the value's unit.
        mean_error: Error of mean(q), in the value's unit.
        value_range: R, in the value's unit.

    Returns:
        A bound on the variance's error, in the square of the value's unit.

    Source:
        HV-L4.
    """
    return square_error / 4 + value_range * mean_error
