"""The law of a cell: the city's law, tilted so that it has the cell's mean and shape. All of it is post-processing."""

from dataclasses import dataclass

import numpy as np

from dpmath.core.occupancy import IntArray
from dpmath.estimate.day import FloatArray
from dpmath.estimate.law_bins import N_BINS

N_TABLES = 6
N_MEANS = 2 * N_BINS - 1
"""Half points from one end of the range to the other: means that are nearer have about the same law."""
FARTHEST = 6.0
"""Tables are cut to it, on both sides."""
_STEPS = 60
_NEAR = 1e-7
"""How far a law's mean may be from what is wanted, in points."""
_STEEPEST = 1e3
"""The largest tilt that is tried, a point."""
_LEAST_LENGTH = 1e-3
_ROUNDING = 1e-9
_EDGE = 0.02
"""A mean is taken to be so many points inside the values that its law can have."""


@dataclass(frozen=True)
class Laws:
    """The laws of cells with some means and shapes: p(b) ~ exp(base(b) + l v(b) + sum over r of shape_r T_r(b)).

    Attributes:
        base: Logarithm of the city's law before it is tilted, shape (N_BINS,); -inf for bins without a tick.
        values: The value of each bin, in points, shape (N_BINS,).
        tables: The functions T, shape (R, N_BINS).
    """

    base: FloatArray
    values: FloatArray
    tables: FloatArray

    def tilted(self, mean: FloatArray, shape: FloatArray) -> FloatArray:
        """Return the laws of cells, shape (G, N_BINS): each has the mean as nearly as values allow.

        Args:
            mean: Mean of each cell's values, in points, shape (G,).
            shape: Shape of each cell, shape (G, R).

        Source:
            HV-E10.
        """
        inside = np.flatnonzero(np.isfinite(self.base))
        values, log = self.values[inside], self.base[inside] + shape @ self.tables[:, inside]
        found = np.zeros((mean.size, N_BINS))
        if inside.size == 1:
            found[:, inside] = 1.0
            return found
        gap = min(_EDGE, 0.25 * float(np.diff(values).min()))
        target = np.clip(mean, values[0] + gap, values[-1] - gap)
        low, high, tilt = np.full(mean.size, -_STEEPEST), np.full(mean.size, _STEEPEST), np.zeros(mean.size)
        law, left = np.zeros((mean.size, inside.size)), np.arange(mean.size)
        for _ in range(_STEPS):
            law[left] = _normal(log[left] + tilt[left, None] * values)
            reached = law[left] @ values
            off = reached - target[left]
            low[left], high[left] = np.where(off < 0, tilt[left], low[left]), np.where(off > 0, tilt[left], high[left])
            variance = law[left] @ values**2 - reached**2
            step = tilt[left] - off / np.maximum(variance, 1e-9)
            inner = (step > low[left]) & (step < high[left])
            tilt[left] = np.where(inner, step, (low[left] + high[left]) / 2)
            left = left[np.abs(off) > _NEAR]
            if not left.size:
                break
        found[:, inside] = law
        return found


def _normal(log: FloatArray) -> FloatArray:
    law = np.exp(log - log.max(axis=1, keepdims=True))
    return np.asarray(law / law.sum(axis=1, keepdims=True))


def tables_of(law: FloatArray, values: FloatArray) -> FloatArray:
    """Return the functions by which laws differ, shape (R, N_BINS): powers of the mid-rank under the city's law.

    They are of mean 0 and variance 1 under that law, and neither go with the value nor with each other. With few
    different values there are fewer of them: for two there is none, as the mean then says all.

    Source:
        HV-E10.
    """
    rank = 2 * (np.cumsum(law) - law / 2) - 1
    known, found = [np.ones(N_BINS)], []
    for number in range(N_TABLES + 1):
        column = values if number == 0 else rank**number
        for _ in range(2):  # twice, for what rounding leaves
            for one in known:
                column = column - (law @ (column * one)) * one
        length = float(np.sqrt(law @ column**2))
        if length < _LEAST_LENGTH * (np.ptp(values) if number == 0 else 1.0) or (law > 0).sum() <= len(known):
            continue
        known.append(column / length)
        if number:
            found.append(np.clip(known[-1], -FARTHEST, FARTHEST))
    return np.array(found).reshape(-1, N_BINS)


@dataclass(frozen=True)
class Moments:
    """What the laws of cells say of their values and tables.

    Attributes:
        law: The laws, shape (G, N_BINS).
        variance: Variance of the value, in squared points, shape (G,).
        table: Mean of each table, shape (G, R).
        slope: What each table rises by with the value, a point, shape (G, R).
        own: Variance of each table apart from that, shape (G, R).
    """

    law: FloatArray
    variance: FloatArray
    table: FloatArray
    slope: FloatArray
    own: FloatArray

    @classmethod
    def of(cls, law: FloatArray, laws: Laws) -> "Moments":
        """Return the moments of some laws."""
        mean = law @ laws.values
        variance = np.maximum(law @ laws.values**2 - mean**2, 1e-9)
        table = law @ laws.tables.T
        together = law @ (laws.tables * laws.values).T - table * mean[:, None]
        slope = together / variance[:, None]
        square = law @ (laws.tables**2).T
        own = square - table**2 - slope * together
        own = np.where(own > _ROUNDING * square, own, 0.0)  # of two values, a table says nothing that the mean does not
        return cls(law, variance, table, slope, own)


def plain_laws(base: FloatArray, values: FloatArray) -> FloatArray:
    """Return the laws that have each half point as their mean, shape (N_MEANS, N_BINS).

    Args:
        base: Logarithm of the law that is tilted, shape (N_BINS,).
        values: The value of each bin, in points.

    Source:
        HV-E10.
    """
    return tilted(base, values, np.arange(N_MEANS) / 2)


def tilted(base: FloatArray, values: FloatArray, mean: FloatArray) -> FloatArray:
    """Return a law tilted to some means and to no shape, shape (G, N_BINS).

    Args:
        base: Its logarithm, shape (N_BINS,).
        values: The value of each bin, in points.
        mean: The means, in points, shape (G,).

    Source:
        HV-E10.
    """
    return Laws(base, values, np.zeros((0, N_BINS))).tilted(mean, np.zeros((mean.size, 0)))


def half_points(mean: FloatArray, deviation: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return which of ``plain_laws`` cells may have, shape (G, 3), and how likely each of the three is, shape (3,).

    Args:
        mean: Mean of each cell, in points, shape (G,).
        deviation: How far that may be off, shape (G,).

    Source:
        HV-E10.
    """
    nodes = mean[:, None] + np.sqrt(3) * deviation[:, None] * (-1, 0, 1)
    return np.clip(np.rint(2 * nodes), 0, N_MEANS - 1).astype(np.int64), np.array([1, 4, 1]) / 6
