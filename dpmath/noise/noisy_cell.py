"""One cell's noisy sum: an integer with exact noise, its divisor, and its cost."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpmath.core import _check
from dpmath.core.accounting import LARGEST_INVERSE_SCALE, LOSS_UNITS
from dpmath.core.occupancy import IntArray
from dpmath.noise.sampling import RandomBytes, discrete_laplace


@dataclass(frozen=True)
class NoisyCellSum:
    """What one cell publishes. Every part of it is public.

    Attributes:
        noisy_sum: The clipped sum with its noise, an integer.
        divisor: What ``noisy_sum`` is divided by to give a mean in ticks.
        interval: Ends of the interval that each of its terms was clipped to.
        inverse_scale: LOSS_UNITS over the scale of the noise; 0 if the sum is a constant without noise.
    """

    noisy_sum: int
    divisor: int
    interval: tuple[int, int]
    inverse_scale: int

    @property
    def mean(self) -> Fraction:
        """The mean, in ticks. Noise may move it out of the range of a value."""
        return Fraction(self.noisy_sum, self.divisor)


def noise_inverse_scale(sensitivity: int, epsilon: Fraction) -> int:
    """Return LOSS_UNITS over the least noise scale that keeps a loss, cut to what can be drawn.

    Args:
        sensitivity: The most by which one user can move the sum, >= 0.
        epsilon: Privacy loss, > 0.

    Returns:
        floor(LOSS_UNITS epsilon / sensitivity), so that the loss is at most ``epsilon``; 0 for a sensitivity of 0.

    Raises:
        ValueError: An argument is outside its range, or the noise would be wider than 2^50.

    Source:
        HV-L47.
    """
    _check.at_least(0, sensitivity=sensitivity)
    _check.positive(epsilon=epsilon)
    if sensitivity == 0:
        return 0
    inverse_scale = min(int(LOSS_UNITS * Fraction(epsilon) / sensitivity), LARGEST_INVERSE_SCALE)
    if inverse_scale == 0:
        raise ValueError(f"epsilon={epsilon} must be at least {Fraction(sensitivity, LOSS_UNITS)} for such a sum")
    return inverse_scale


def noisy_cell_sum(
    private_sum: int,
    divisor: int,
    interval: tuple[int, int],
    sensitivity: int,
    epsilon: Fraction,
    random_bytes: RandomBytes,
) -> NoisyCellSum:
    """Return a sum with exact discrete Laplace noise of the least scale that keeps a loss.

    Args:
        private_sum: The sum before noise.
        divisor: What it is divided by to give a mean, >= 1.
        interval: Ends of the interval that each term was clipped to.
        sensitivity: The most by which one user can move the sum, >= 0; 0 only for a constant.
        epsilon: Privacy loss, > 0.
        random_bytes: Returns that many independent uniform bytes.

    Returns:
        The release.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        HV-L47.
    """
    _check.at_least(1, divisor=divisor)
    inverse_scale = noise_inverse_scale(sensitivity, epsilon)
    noise = 0
    if inverse_scale:
        noise = int(discrete_laplace(np.array([inverse_scale], dtype=object), random_bytes)[0])
    return NoisyCellSum(private_sum + noise, divisor, interval, inverse_scale)


def baseline(
    records: IntArray, private_totals: Sequence[int], value_range: int, epsilon: Fraction, random_bytes: RandomBytes
) -> NoisyCellSum:
    """Return the noisy sum of all values of a cell.

    Args:
        records: Records m of each user, shape (L,), >= 1.
        private_totals: Total of each user's values, in ticks, from 0 to R m.
        value_range: Largest value R of a record, in ticks, >= 1.
        epsilon: Privacy loss, > 0.
        random_bytes: Returns that many independent uniform bytes.

    Returns:
        The release, of sensitivity R m*.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        STI-S3.2.
    """
    totals = _check.user_totals(records, private_totals, value_range)
    widest = value_range * int(records.max())
    return noisy_cell_sum(sum(totals), int(records.sum()), (0, widest), widest, epsilon, random_bytes)


def baseline_error(records: IntArray, epsilon: Fraction) -> Fraction:
    """Return the mean absolute noise of the baseline, which is all of its error, as a share of U: m*/(epsilon N).

    Args:
        records: Records m of each user, shape (L,), >= 1.
        epsilon: Privacy loss, > 0.

    Returns:
        The error divided by the range U of one value; that of discrete noise is less.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        STI-S3.2.
    """
    _check.same_length(records=records)
    _check.at_least(1, n_users=records.size)
    _check.all_at_least(1, records=records)
    _check.positive(epsilon=epsilon)
    return Fraction(int(records.max()), int(records.sum())) / Fraction(epsilon)
