"""Mechanisms for one cell: a grouping of its users into arrays, integer array means, a clipped sum, exact noise.

All that depends only on the occupancy is public and is computed first. All that reads users' totals is called private.
Noise is drawn last.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from dpmath.arrays.grouping import Grouping
from dpmath.core import _check
from dpmath.core.accounting import ExactIntArray, exact_integers
from dpmath.core.occupancy import IntArray
from dpmath.noise.noisy_cell import NoisyCellSum, noisy_cell_sum
from dpmath.noise.sampling import RandomBytes

Interval = tuple[int, int]


@dataclass(frozen=True)
class ArrayCell:
    """One cell's users in arrays, in integers: array means are counted in ticks / m_UB.

    Attributes:
        grouping: Who fills which places.
        records: Records m of each user, shape (L,), >= 1.
        value_range: Largest value R of a record, in ticks, >= 1; the least is 0.

    Source:
        HV-L42, HV-L43.
    """

    grouping: Grouping
    records: IntArray
    value_range: int

    def __post_init__(self) -> None:
        """Check what every function below relies on."""
        _check.at_least(1, value_range=self.value_range)
        _check.same_length(records=self.records, n_kept=self.grouping.n_kept)
        if np.any(self.grouping.n_kept > self.records):
            raise ValueError("records must be at least the places that the grouping gives a user")

    @property
    def largest(self) -> int:
        """Largest possible array mean, in ticks / m_UB."""
        return self.value_range * self.grouping.array_length

    @property
    def divisor(self) -> int:
        """What a sum of array means is divided by to give a mean in ticks."""
        return self.grouping.n_arrays * self.grouping.array_length

    @cached_property
    def shifts(self) -> ExactIntArray:
        """The most by which each part's user can move that array's mean, shape (Q,): ceil(m_UB n R / w)."""
        filled = exact_integers(self.grouping.n_filled)[self.grouping.array]
        return -(-self.largest * exact_integers(self.grouping.n_places) // filled)

    def private_means(self, private_totals: Sequence[int]) -> ExactIntArray:
        """Return each array's mean, in ticks / m_UB, shape (K,).

        A user's n places in an array hold the user's mean S/m; their sum n S/m is rounded to a tick, and the
        mean of the array to a tick / m_UB, which does not change it if the array is full.

        Args:
            private_totals: Total S of each user's values, in ticks, from 0 to R m.

        Raises:
            ValueError: A total is outside its range.
        """
        totals = np.array(_check.user_totals(self.records, private_totals, self.value_range), dtype=object)
        records = exact_integers(self.records)
        user, places = self.grouping.user, exact_integers(self.grouping.n_places)
        sums = np.zeros(self.grouping.n_arrays, dtype=object)
        np.add.at(sums, self.grouping.array, _rounded(places * totals[user], records[user]))
        return _rounded(self.grouping.array_length * sums, exact_integers(self.grouping.n_filled))


def _rounded(numerator: ExactIntArray, denominator: ExactIntArray) -> ExactIntArray:
    """Return the nearest whole numbers, halves upwards."""
    return (2 * numerator + denominator) // (2 * denominator)


def array_sensitivities(cell: ArrayCell, width: int) -> ExactIntArray:
    """Return the most by which each user can move the sum of the array means, in ticks / m_UB.

    Args:
        cell: The cell in arrays.
        width: Width of the interval that every array mean is clipped to, in ticks / m_UB, >= 0;
            ``cell.largest`` clips nothing.

    Returns:
        sum over the user's arrays of min(width, shift), shape (L,): for BestFit at most ``width``, which the
        user with the most records reaches, and for WrapAround at most min(2 width, R n_kept).

    Raises:
        ValueError: ``width`` is below 0.

    Source:
        HV-L42, HV-L43.
    """
    _check.at_least(0, width=width)
    sensitivities = np.zeros(cell.grouping.n_users, dtype=object)
    np.add.at(sensitivities, cell.grouping.user, np.minimum(cell.shifts, width))
    return sensitivities


def array_bias(cell: ArrayCell, n_records: int | None = None) -> Fraction:
    """Return the largest difference of the mean of array means from the mean of all records, in ticks.

    A user has the share p of the mean of array means and m/N of the mean of records, and both sum to 1. The
    difference is largest if the users with p > m/N have the value R and all others 0. What rounding can add,
    1/2 tick for each part over its array and 1/(2 m_UB) ticks for each array, is also counted.

    Args:
        cell: The cell in arrays.
        n_records: Number of all records N; None if no user was left out. A user who was has the share p = 0.

    Returns:
        R sum(max(p - m/N, 0)) and the rounding, exact.

    Raises:
        ValueError: ``n_records`` is below the records of the users in arrays.

    Source:
        HV-L46.
    """
    _check.at_least(int(cell.records.sum()), n_records=cell.records.sum() if n_records is None else n_records)
    n_arrays, n_total = cell.grouping.n_arrays, int(cell.records.sum()) if n_records is None else n_records
    common = math.lcm(*np.unique(cell.grouping.n_filled).tolist())
    per_place = common // exact_integers(cell.grouping.n_filled)[cell.grouping.array]
    shares = np.zeros(cell.grouping.n_users, dtype=object)
    np.add.at(shares, cell.grouping.user, per_place * cell.grouping.n_places)
    over = shares * n_total - exact_integers(cell.records) * (common * n_arrays)
    weighing = Fraction(cell.value_range * int(over[over > 0].sum()), common * n_arrays * n_total)
    rounding = Fraction(int(per_place.sum()), 2 * common * n_arrays) + Fraction(1, 2 * cell.grouping.array_length)
    return weighing + rounding


def array_averaging(
    cell: ArrayCell, private_totals: Sequence[int], epsilon: Fraction, random_bytes: RandomBytes
) -> NoisyCellSum:
    """Return the noisy sum of the array means, none of them clipped.

    Args:
        cell: The cell in arrays; with ``minimax_length`` this is OPT-Array-Averaging.
        private_totals: Total of each user's values, in ticks, shape (L,).
        epsilon: Privacy loss, > 0.
        random_bytes: Returns that many independent uniform bytes.

    Returns:
        The release, at a loss of at most ``epsilon`` for any user.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        STI-S3.3, HV-L42, HV-L43.
    """
    return clipped_array_sum(cell, cell.private_means(private_totals), (0, cell.largest), epsilon, random_bytes)


def clipped_array_sum(
    cell: ArrayCell,
    private_means: ExactIntArray,
    interval: Interval,
    epsilon: Fraction,
    random_bytes: RandomBytes,
) -> NoisyCellSum:
    """Return the noisy sum of the array means, each projected to an interval.

    Args:
        cell: The cell in arrays.
        private_means: The array means, in ticks / m_UB, shape (K,).
        interval: Ends a <= b, in ticks / m_UB, from 0 to ``cell.largest``: public, or paid for.
        epsilon: Privacy loss of the sum alone, > 0.
        random_bytes: Returns that many independent uniform bytes.

    Returns:
        The release. If a = b it is a constant without noise.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        STI-S3.4, HV-L42, HV-L43.
    """
    low, high = interval
    if not 0 <= low <= high <= cell.largest:
        raise ValueError(f"interval={interval} must be ascending, from 0 to {cell.largest}")
    private_sum = int(sum(min(max(mean, low), high) for mean in private_means))
    sensitivity = int(max(array_sensitivities(cell, high - low)))
    return noisy_cell_sum(private_sum, cell.divisor, interval, sensitivity, epsilon, random_bytes)
