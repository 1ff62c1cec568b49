"""The law of a cell: the city's law, tilted so that it has the cell's mean and shape. All of it is post-processing."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpmath.estimate.day import FloatArray
from dpmath.estimate.law_bins import N_BINS

N_TABLES = 6
FARTHEST = 6.0
"""Tables are cut to it, on both sides."""
_STEPS = 60
_NEAR = 1e-7
"""How far a law's mean may be from what is wanted, in points."""
_STEEPEST = 1e3
"""The largest tilt that is tried, a point."""
_LEAST_MASS = 1e-12
_LEAST_LENGTH = 1e-3
_EDGE = 0.02
"""A mean is taken to be so many points inside the values that its law can have."""


@dataclass(frozen=True)
class Laws:
    """The laws of cells with some means and shapes: p(b) ~ base(b) exp(l v(b) + sum over r of shape_r T_r(b)).

    Attributes:
        base: The city's law, before it is tilted, shape (N_BINS,); 0 for bins without a tick.
        values: The value of each bin, in points, shape (N_BINS,).
        tables: The functions T, shape (R, N_BINS).
    """

    base: FloatArray
    values: FloatArray
    tables: FloatArray

    @cached_property
    def _log_base(self) -> FloatArray:
        return np.where(self.base > 0, np.log(np.maximum(self.base, 1e-300)), -np.inf)

    def tilted(self, mean: FloatArray, shape: FloatArray) -> FloatArray:
        """Return the laws of cells, shape (G, N_BINS): each has the mean as nearly as values allow.

        Args:
            mean: Mean of each cell's values, in points, shape (G,).
            shape: Shape of each cell, shape (G, R).

        Source:
            HV-E10.
        """
        inside = np.flatnonzero(self.base > 0)
        values, log = self.values[inside], self._log_base[inside] + shape @ self.tables[:, inside]
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
        own = np.maximum(law @ (laws.tables**2).T - table**2 - slope * together, 0.0)
        return cls(law, variance, table, slope, own)


def city_base(
    target: FloatArray, weight: FloatArray, mean: FloatArray, deviation: FloatArray, values: FloatArray
) -> FloatArray:
    """Return the base law with which the cells' laws add up to the city's, by iterative scaling.

    Args:
        target: The city's law, shape (N_BINS,).
        weight: What each cell counts for in it, shape (G,).
        mean: Mean of each cell, in points, shape (G,).
        deviation: How far that may be off, shape (G,).
        values: The value of each bin, in points.

    Source:
        HV-E10.
    """
    nodes = np.concatenate([mean + side * np.sqrt(3) * deviation for side in (-1, 0, 1)])
    weights = np.concatenate([weight * part for part in (1 / 6, 4 / 6, 1 / 6)])
    among = np.clip(np.rint(nodes * 2).astype(np.int64), 0, 200)  # means half a point apart have about the same law
    weights = np.bincount(among, weights, 201) / weights.sum()
    used = np.flatnonzero(weights)
    base, nothing = target / target.sum(), np.zeros((used.size, 0))
    for _ in range(_STEPS):
        law = Laws(base, values, np.zeros((0, N_BINS))).tilted(used / 2, nothing)
        base = base * np.where(target > 0, target / np.maximum(weights[used] @ law, _LEAST_MASS), 0.0)
        base = base / base.sum()
    return base
