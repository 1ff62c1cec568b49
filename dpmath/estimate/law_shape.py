"""The shapes of cells' laws: what is known of them, what to ask, and what the noisy answers tell.

A cell's law differs from the city's by its mean, which the map estimates, and by its shape: a few numbers, one for each
table of ``Laws``. A shape is a sum of what all cells have in common (by their mean), the hour's part and the
hexagon's. No privacy rests on any of it.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmath.core.occupancy import IntArray
from dpmath.estimate.day import Day, FloatArray
from dpmath.estimate.law_tilt import Laws

N_COMMON = 3
N_HOURS = 24
N_LOCAL = 3
"""How many tables have parts of hours and hexagons."""
MOST_HEXAGONS = 250
_UNIT = 0.15**2
_OF_COMMON = (4.0, 1.0, 0.5)
_OF_HOUR, _OF_HEXAGON = 0.15, 1.0
_OF_CELL = 0.4
_DRIFT = 0.003
"""Of the prior variance, that is added a day."""
_FARTHEST_LEVEL = 1.2
"""A mean farther from the city's, in standard deviations of the cells' means, counts as so far."""


@dataclass(frozen=True)
class Shapes:
    """What releases have told of shapes, and nothing else.

    Attributes:
        laws: The city's law and the tables.
        centre: Mean of the cells' means on the first day, in points.
        spread: Their standard deviation.
        names: Each hexagon that has a part of its own, shape (H,).
        mean: Mean of each part for each table, shape (R, S), S = N_COMMON + N_HOURS + H.
        covariance: Its covariance, shape (R, S, S): tables are independent.
        shrink: Mean and variance of log(true length of a user's vector / expected length).
    """

    laws: Laws
    centre: float
    spread: float
    names: NDArray[Any]
    mean: FloatArray
    covariance: FloatArray
    shrink: tuple[float, float] = (0.0, 0.25)

    @property
    def n_tables(self) -> int:
        """Number of tables R."""
        return len(self.laws.tables)

    def later(self, n_days: int) -> "Shapes":
        """Return the shapes after some days, in which they have become less sure."""
        covariance = self.covariance.copy()
        for number, one in enumerate(covariance):
            one[np.diag_indices_from(one)] += n_days * _DRIFT * _prior(number, self.names.size)
        return replace(self, covariance=covariance)

    def with_hexagons(self, day: Day) -> "Shapes":
        """Return the shapes with parts for a day's hexagons with most records, as far as there is room."""
        records = np.bincount(day.hexagon, day.occupancy.cell_records, day.names.size)
        here = day.names[np.argsort(-records, kind="stable")]
        new = here[~np.isin(here, self.names)][: max(0, MOST_HEXAGONS - self.names.size)]
        if not new.size or not self.n_tables:
            return self
        mean = np.pad(self.mean, ((0, 0), (0, new.size)))
        covariance = np.pad(self.covariance, ((0, 0), (0, new.size), (0, new.size)))
        own = np.arange(mean.shape[1] - new.size, mean.shape[1])
        for number in range(self.n_tables):
            covariance[number, own, own] = _prior(number, self.names.size + new.size)[own]
        return replace(self, names=np.append(self.names, new), mean=mean, covariance=covariance)

    def rows(self, day: Day, mean: FloatArray) -> FloatArray:
        """Return what each cell has of each part, shape (G, S).

        Args:
            day: The day.
            mean: Mean of each cell, in points, shape (G,).
        """
        level = np.clip((mean - self.centre) / self.spread, -_FARTHEST_LEVEL, _FARTHEST_LEVEL)
        hour = np.eye(N_HOURS)[day.slot * N_HOURS // day.n_slots]
        hexagon = (day.names[day.hexagon][:, None] == self.names).astype(np.float64)
        return np.column_stack([np.ones(level.size), level, level**2, hour, hexagon])


def first_shapes(laws: Laws, mean: FloatArray, records: IntArray) -> Shapes:
    """Return the shapes before anything is asked of them.

    Args:
        laws: The city's law and the tables.
        mean: Mean of each cell, in points, shape (G,).
        records: Records of each cell, shape (G,).

    Source:
        HV-E10.
    """
    centre = float(np.average(mean, weights=records))
    spread = max(float(np.sqrt(np.average((mean - centre) ** 2, weights=records))), 1.0)
    n_tables = len(laws.tables)
    covariance = np.array([np.diag(_prior(number, 0)) for number in range(n_tables)])
    n_parts = N_COMMON + N_HOURS
    empty = np.zeros((n_tables, n_parts))
    return Shapes(laws, centre, spread, np.array([], dtype=np.uint64), empty, covariance.reshape(-1, n_parts, n_parts))


def _prior(table: int, n_hexagons: int) -> FloatArray:
    """Return the prior variance of each part of a table's shapes, shape (S,)."""
    local = float(table < N_LOCAL)
    parts = [*_OF_COMMON, *(N_HOURS * [local * _OF_HOUR]), *(n_hexagons * [local * _OF_HEXAGON])]
    return np.array(parts) * _unit(table)


def own_variance(table: int) -> float:
    """Return the variance of what is a cell's own on one day in a table's shapes.

    Source:
        HV-E10.
    """
    return _OF_CELL * _unit(table)


def _unit(table: int) -> float:
    """Return what the variances of a table's shapes are counted in: later tables vary less."""
    return _UNIT * 0.5 ** max(0, table + 1 - N_LOCAL)
