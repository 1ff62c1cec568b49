"""Intervals that array means are projected to, chosen from the means themselves for half of epsilon."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpmath.arrays.cell import ArrayCell, Interval, clipped_array_sum
from dpmath.cells.thresholds import threshold_rank
from dpmath.core import _check
from dpmath.core.accounting import ExactIntArray
from dpmath.noise.noisy_cell import NoisyCellSum
from dpmath.noise.private_quantiles import PrivateQuantile, private_quantile
from dpmath.noise.sampling import RandomBytes
from dpmath.noise.selection import ExponentialMechanism


def concentration_radius(cell: ArrayCell, gamma: float) -> int:
    """Return the bin width tau of Levy, in ticks / m_UB, rounded up: U sqrt(log(2K/gamma)/(2 m_UB)).

    Args:
        cell: The cell in arrays.
        gamma: Probability of a mean that is further than tau from the common one, if the values of an
            array were independent; above 0 and below 1.

    Returns:
        tau, >= 1.

    Raises:
        ValueError: ``gamma`` is outside its range.

    Source:
        STI-E7.
    """
    if not 0 < gamma < 1:
        raise ValueError(f"gamma={gamma} must be above 0 and below 1")
    grouping = cell.grouping
    return math.ceil(cell.largest * math.sqrt(math.log(2 * grouping.n_arrays / gamma) / (2 * grouping.array_length)))


@dataclass(frozen=True)
class LevyInterval:
    """Draws a bin of width tau, and returns it with the bins on either side.

    Attributes:
        mechanism: The exponential mechanism over the bins.
        tau: Width of a bin, in ticks / m_UB.
        largest: Largest possible array mean, in ticks / m_UB.
    """

    mechanism: ExponentialMechanism
    tau: int
    largest: int

    def around(self, chosen: int) -> Interval:
        """Return the interval from 3 tau / 2 below the middle of a bin to 3 tau / 2 above it, within the range."""
        return max(0, (chosen - 1) * self.tau), min((chosen + 2) * self.tau, self.largest)

    def draw(self, random_bytes: RandomBytes) -> Interval:
        """Return an interval."""
        return self.around(self.mechanism.draw(random_bytes)[0])


def levy_interval(cell: ArrayCell, private_means: ExactIntArray, epsilon: Fraction, gamma: float) -> LevyInterval:
    """Return the mechanism that draws an interval about the median bin of the array means.

    The cost c of a bin is the larger of the numbers of means in lower and in higher bins, and its probability
    is proportional to exp(-epsilon c / (2 k)), k the most arrays that a user is in: 1 for BestFit.

    Args:
        cell: The cell in arrays.
        private_means: The array means, in ticks / m_UB, shape (K,).
        epsilon: Privacy loss of the interval, > 0; half of that of the whole mechanism.
        gamma: See ``concentration_radius``.

    Returns:
        The mechanism, each draw of which costs ``epsilon``.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        STI-A3, HV-L41.
    """
    _check.positive(epsilon=epsilon)
    tau = concentration_radius(cell, gamma)
    n_bins = -(-cell.largest // tau)
    counts = np.bincount([min(int(mean) // tau, n_bins - 1) for mean in private_means], minlength=n_bins)
    below = np.cumsum(counts) - counts
    costs = np.maximum(below, len(private_means) - below - counts)
    rate = Fraction(epsilon) / (2 * cell.grouping.most_arrays_of_a_user)
    return LevyInterval(ExponentialMechanism([1] * n_bins, costs.tolist(), rate), tau, cell.largest)


def levy(
    cell: ArrayCell, private_totals: Sequence[int], epsilon: Fraction, random_bytes: RandomBytes, gamma: float = 0.2
) -> NoisyCellSum:
    """Return the noisy sum of the array means, projected to an interval that half of epsilon buys.

    Args:
        cell: The cell in arrays, best with ``interval_length`` and BestFit.
        private_totals: Total of each user's values, in ticks, shape (L,).
        epsilon: Privacy loss, > 0.
        random_bytes: Returns that many independent uniform bytes.
        gamma: See ``concentration_radius``.

    Returns:
        The release, including the interval, at a loss of at most ``epsilon`` for any user.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        STI-S3.4, STI-A3.
    """
    half, means = Fraction(epsilon) / 2, cell.private_means(private_totals)
    interval = levy_interval(cell, means, half, gamma).draw(random_bytes)
    return clipped_array_sum(cell, means, interval, half, random_bytes)


@dataclass(frozen=True)
class QuantileInterval:
    """Draws the two ends of an interval, independently.

    Attributes:
        ends: One mechanism for each end.
    """

    ends: tuple[PrivateQuantile, PrivateQuantile]

    def draw(self, random_bytes: RandomBytes) -> Interval:
        """Return an interval. Ends that were drawn in the wrong order are swapped."""
        low, high = sorted(end.draw(random_bytes) for end in self.ends)
        return low, high


def quantile_interval(
    cell: ArrayCell, private_means: ExactIntArray, epsilon: Fraction, outside: Fraction
) -> QuantileInterval:
    """Return the mechanism that draws the interval between two quantiles of the array means.

    Args:
        cell: The cell in arrays.
        private_means: The array means, in ticks / m_UB, shape (K,).
        epsilon: Privacy loss of the interval, > 0; half of that of the whole mechanism.
        outside: Share of the means to leave on each side, from 0 to 1/2.

    Returns:
        The mechanism, each draw of which costs ``epsilon``, half for each end.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        STI-S3.5, HV-L41, HV-L44.
    """
    _check.positive(epsilon=epsilon)
    if not 0 <= outside <= Fraction(1, 2):
        raise ValueError(f"outside={outside} must be from 0 to 1/2")
    rate = Fraction(epsilon) / (4 * cell.grouping.most_arrays_of_a_user)
    n_arrays, means = cell.grouping.n_arrays, private_means.tolist()
    low, high = (
        private_quantile(means, cell.largest, share * n_arrays, rate) for share in (Fraction(outside), 1 - outside)
    )
    return QuantileInterval((low, high))


def optimized_share(n_arrays: int, epsilon: Fraction) -> Fraction:
    """Return the share of array means that OptimizedQuantile leaves on each side: ceil(2/epsilon)/K, at most 1/2.

    Args:
        n_arrays: Number of arrays K, >= 1.
        epsilon: Privacy loss of the whole mechanism, > 0.

    Returns:
        The share, from 0 to 1/2.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        STI-S3.5.
    """
    _check.at_least(1, n_arrays=n_arrays)
    return min(Fraction(threshold_rank(epsilon), n_arrays), Fraction(1, 2))


def quantile(
    cell: ArrayCell,
    private_totals: Sequence[int],
    epsilon: Fraction,
    random_bytes: RandomBytes,
    outside: Fraction | None = None,
) -> NoisyCellSum:
    """Return the noisy sum of the array means, projected to an interval of quantiles that half of epsilon buys.

    Args:
        cell: The cell in arrays, best with ``interval_length`` and BestFit.
        private_totals: Total of each user's values, in ticks, shape (L,).
        epsilon: Privacy loss, > 0.
        random_bytes: Returns that many independent uniform bytes.
        outside: Share of the means to leave on each side: 1/10 for FixedQuantile; None for OptimizedQuantile.

    Returns:
        The release, including the interval, at a loss of at most ``epsilon`` for any user.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        STI-S3.5.
    """
    _check.positive(epsilon=epsilon)
    half, means = Fraction(epsilon) / 2, cell.private_means(private_totals)
    share = optimized_share(cell.grouping.n_arrays, epsilon) if outside is None else outside
    interval = quantile_interval(cell, means, half, share).draw(random_bytes)
    return clipped_array_sum(cell, means, interval, half, random_bytes)
