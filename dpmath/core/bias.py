"""Worst-case errors apart from noise: of rounding, and of a variance computed from two means."""

from fractions import Fraction


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
