"""The AKMV mechanism: user totals clipped at a threshold that half of epsilon buys."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from dpmath.cells.thresholds import threshold_rank
from dpmath.core import _check
from dpmath.core.occupancy import IntArray
from dpmath.noise.noisy_cell import NoisyCellSum, noisy_cell_sum
from dpmath.noise.private_quantiles import PrivateQuantile, private_quantile
from dpmath.noise.sampling import RandomBytes


def private_threshold(
    records: IntArray, private_totals: Sequence[int], value_range: int, epsilon: Fraction
) -> PrivateQuantile:
    """Return the mechanism that draws about the ceil(2/epsilon)-th largest user total.

    Args:
        records: Records m of each user, shape (L,), >= 1.
        private_totals: Total of each user's values, in ticks, from 0 to R m.
        value_range: Largest value R of a record, in ticks, >= 1.
        epsilon: Privacy loss of the whole mechanism, > 0.

    Returns:
        The mechanism, each draw of which costs epsilon / 2. Where there are fewer users than the rank, it aims
        at the smallest total.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        BUCs-S4.1, HV-L41, HV-L44.
    """
    _check.positive(epsilon=epsilon)
    totals = _check.user_totals(records, private_totals, value_range)
    below = max(len(totals) - threshold_rank(epsilon), 0)
    return private_quantile(totals, value_range * int(records.max()), below, Fraction(epsilon) / 4)


def privately_thresholded_sum(
    records: IntArray, private_totals: Sequence[int], value_range: int, epsilon: Fraction, random_bytes: RandomBytes
) -> NoisyCellSum:
    """Return the noisy sum of user totals, clipped to [0, T] for a T that half of epsilon buys (AKMV).

    Args:
        records: Records m of each user, shape (L,), >= 1.
        private_totals: Total of each user's values, in ticks, from 0 to R m.
        value_range: Largest value R of a record, in ticks, >= 1.
        epsilon: Privacy loss, > 0.
        random_bytes: Returns that many independent uniform bytes.

    Returns:
        The release, including the threshold, at a loss of at most ``epsilon`` for any user. The sum has sensitivity T.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        BUCs-S4.1, HV-L45.
    """
    threshold = private_threshold(records, private_totals, value_range, epsilon).draw(random_bytes)
    private_sum = sum(min(int(total), threshold) for total in private_totals)
    half = Fraction(epsilon) / 2
    return noisy_cell_sum(private_sum, int(records.sum()), (0, threshold), threshold, half, random_bytes)


def threshold_error(records: IntArray, value_range: int, epsilon: Fraction) -> float:
    """Return the error of AKMV on the dataset whose every value is R, as the paper counts it, in ticks.

    (1/N)[sum E max(R m - T, 0) + 2 E T / epsilon]: what clipping takes off plus the mean absolute noise, over
    the distribution of the private T. The paper averages draws. This is exact except for floating point: both
    parts are linear in T along a run of equally likely points, so a run counts by its middle.

    Args:
        records: Records m of each user, shape (L,), >= 1.
        value_range: Largest value R of a record, in ticks, >= 1.
        epsilon: Privacy loss, > 0.

    Returns:
        The error of the mean, in ticks.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        BUCs-S4.1.
    """
    totals = value_range * records
    drawn = private_threshold(records, totals.tolist(), value_range, epsilon)
    sizes = np.array(drawn.mechanism.sizes)
    middles = np.array(drawn.starts) + (sizes - 1) / 2
    errors = np.array([np.maximum(totals - middle, 0).sum() for middle in middles]) + 2 * middles / float(epsilon)
    return float((drawn.mechanism.probabilities() * errors)[sizes > 0].sum() / records.sum())
