"""The bins that records are counted in for a day's percentiles, and the public numbers that stand for each."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from dpmath.core import _check
from dpmath.core.occupancy import IntArray
from dpmath.estimate.day import FloatArray

N_BINS = 101
"""Bin 0 holds values at the lower bound, or below; bin b those of more than b - 1 and at most b points."""


@dataclass(frozen=True)
class Bins:
    """The bins of values from 0 to so many ticks: bin 0 for 0 ticks, else 100 ticks / value_range, rounded up.

    Attributes:
        value_range: Largest value of a record, in ticks.

    Raises:
        ValueError: ``value_range`` is below 1.

    Source:
        HV-L55.
    """

    value_range: int

    def __post_init__(self) -> None:
        """Check the range."""
        _check.at_least(1, value_range=self.value_range)

    @cached_property
    def _last(self) -> IntArray:
        """The largest whole tick of each bin or of those below it, shape (N_BINS,)."""
        return np.array([number * self.value_range // (N_BINS - 1) for number in range(N_BINS)], dtype=np.int64)

    @cached_property
    def n_ticks(self) -> IntArray:
        """How many ticks a bin holds, shape (N_BINS,)."""
        return np.append(1, np.diff(self._last))

    @cached_property
    def used(self) -> np.ndarray:
        """Whether a bin holds any tick, shape (N_BINS,): with few ticks, many hold none."""
        return self.n_ticks > 0

    @cached_property
    def ends(self) -> tuple[FloatArray, FloatArray]:
        """The first and the last tick of each bin, in points, shape (N_BINS,) each; the upper edge of an empty one."""
        first = np.append(0, self._last[:-1] + 1)
        point = (N_BINS - 1) / self.value_range
        begin = np.where(self.used, first, self._last) * point
        return np.asarray(begin, dtype=np.float64), np.asarray(self._last * point, dtype=np.float64)

    @cached_property
    def values(self) -> FloatArray:
        """The mean of each bin's ticks, in points, shape (N_BINS,)."""
        first, last = self.ends
        return (first + last) / 2

    def shares_below(self, point: float) -> FloatArray:
        """Return which share of each bin's records counts as at most a point, shape (N_BINS,): linear inside a bin."""
        first, last = self.ends
        width = last - first
        inside = np.clip((point - first) / np.where(width > 0, width, 1.0), 0.0, 1.0)
        return np.where(width > 0, inside, 1.0 * (first <= point))

    def quantile(self, cumulative: FloatArray, share: float) -> FloatArray:
        """Return the points at which cumulative shares reach a share, linear inside a bin, shape (n,).

        Args:
            cumulative: The share of records in each bin or those below it, rising, shape (n, N_BINS).
            share: From 0 to 1.
        """
        reached = cumulative >= share - 1e-12
        number = np.where(reached.any(axis=1), reached.argmax(axis=1), N_BINS - 1)
        rows = np.arange(len(cumulative))
        here = cumulative[rows, number]
        before = np.where(number > 0, cumulative[rows, np.maximum(number - 1, 0)], 0.0)
        part = np.clip((share - before) / np.maximum(here - before, 1e-12), 0.0, 1.0)
        first, last = (one[number] for one in self.ends)
        return np.asarray(first + part * (last - first))


@dataclass(frozen=True)
class BinCounts:
    """How many records of each pair are in each bin. No number in it may be shown, written or logged.

    Attributes:
        pair: Pair of each count, shape (n,).
        number: Bin of each count, shape (n,), 0 to N_BINS - 1.
        count: How many records, shape (n,); those whose value is missing are in no bin.
        n_pairs: Number of pairs P.
    """

    pair: IntArray = field(repr=False)
    number: IntArray = field(repr=False)
    count: IntArray = field(repr=False)
    n_pairs: int

    def totals(self, table: IntArray) -> IntArray:
        """Return the total of each pair in each layer of a table, exact, shape (K, P)."""
        found = np.zeros((len(table), self.n_pairs), dtype=np.int64)
        for layer, numbers in enumerate(table):
            np.add.at(found[layer], self.pair, self.count * numbers[self.number])
        return found
