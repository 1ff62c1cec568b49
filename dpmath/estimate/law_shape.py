"""The shapes of cells' laws: what is known of them, what to ask, and what the noisy answers tell.

A cell's law differs from the city's by its mean, which the map estimates, and by its shape: a few numbers, one for each
table of ``Laws``. A shape is a sum of what all cells have in common (by their mean), the hour's part and the
hexagon's. No privacy rests on any of it.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from dpmath.core.occupancy import IntArray
from dpmath.estimate.day import Day, FloatArray
from dpmath.estimate.law_tilt import Laws

N_COMMON = 3
N_HOURS = 24
N_LOCAL = 3
"""How many tables have parts of hours and hexagons."""
MOST_HEXAGONS = 250
_UNIT = 0.15**2
_OF_COMMON = (16.0, 2.0, 0.5)
_OF_HOUR, _OF_HEXAGON, _OF_PLACE = 0.15, 0.6, 0.4
"""A hexagon has a part of its own, and one that is alike in places near it."""
_NEAR = 3.0
"""How far that reaches, in distances between neighbours."""
_OF_CELL = 0.4
_DRIFT = 0.003
"""Of the prior variance, that is added a day."""
_SCALES = 2.0 ** np.arange(-2, 6)
"""What variances of hours, hexagons and cells may be times, of which the likely ones are averaged."""
_SCALE, _LOG_SCALE_DEVIATION = 2.0, 1.0
"""What they usually are times, and how far the logarithm of that may be off."""
_FARTHEST_LEVEL = 1.2
"""A mean farther from the city's, in standard deviations of the cells' means, counts as so far."""


@dataclass(frozen=True)
class Shapes:
    """What releases have told of shapes, and nothing else.

    Attributes:
        laws: The city's law and the tables.
        law_off: Covariance of what its cumulative shares may be off by, shape (N_BINS, N_BINS).
        centre: Mean of the cells' means on the first day, in points.
        spread: Their standard deviation.
        names: Each hexagon that has a part of its own, shape (H,).
        position: Where these are, in distances between neighbours, shape (H, 3).
        mean: Mean of each part for each table, shape (R, S), S = N_COMMON + N_HOURS + H.
        covariance: Its covariance, shape (R, S, S): tables are independent.
        scale: What the prior variances of each table are times, shape (R,): as the answers so far make likely.
        shrink: Mean and variance of log(true length of a user's vector / expected length).
    """

    laws: Laws
    law_off: FloatArray
    centre: float
    spread: float
    names: NDArray[Any]
    position: FloatArray
    mean: FloatArray
    covariance: FloatArray
    scale: FloatArray
    shrink: tuple[float, float] = (0.0, 0.25)

    @property
    def n_tables(self) -> int:
        """Number of tables R."""
        return len(self.laws.tables)

    def later(self, n_days: int) -> "Shapes":
        """Return the shapes after some days, in which they have become less sure."""
        prior = [self._prior(number, self.position) for number in range(self.n_tables)]
        drift = n_days * _DRIFT * np.array(prior).reshape(self.covariance.shape)
        return replace(self, covariance=self.covariance + drift)

    def with_hexagons(self, day: Day) -> "Shapes":
        """Return the shapes with parts for a day's hexagons with most records, as far as there is room."""
        here = np.argsort(-day.hexagon_records, kind="stable")
        new = here[~np.isin(day.names[here], self.names)][: max(0, MOST_HEXAGONS - self.names.size)]
        if not new.size or not self.n_tables:
            return self
        position = np.concatenate([self.position, day.position[new] / day.spacing])
        return replace(self._told_with(position), names=np.append(self.names, day.names[new]), position=position)

    def rescaled(self) -> "Shapes":
        """Return the shapes with local variances as likely as the answers so far make them."""
        return self._told_with(self.position, by_likelihood=True)

    def _told_with(self, position: FloatArray, *, by_likelihood: bool = False) -> "Shapes":
        """Return the shapes as the same answers tell of them with another prior.

        What was told is what a covariance has beside its prior. So no answer is kept, and what drift has forgotten of
        them is left out.
        """
        n_parts = N_COMMON + N_HOURS + len(position)
        mean, covariance = np.zeros((self.n_tables, n_parts)), np.zeros((self.n_tables, n_parts, n_parts))
        scales = self.scale.copy()
        for table in range(self.n_tables):
            before = _prior(table, self.position, self.scale[table])
            used = np.flatnonzero(np.diag(before) > 0)
            there = np.flatnonzero(np.diag(_prior(table, position, 1.0)) > 0)
            precision, new = np.linalg.inv(self.covariance[table][np.ix_(used, used)]), there.size - used.size
            inverse = np.linalg.inv(before[np.ix_(used, used)])
            known, turned = np.linalg.eigh(precision - inverse)
            told = (turned * np.maximum(known, 0.0)) @ turned.T
            # with the same prior the mean stays, though what drift forgot is left out
            seen = np.pad((told + inverse) @ self.mean[table][used], (0, new))
            told = np.pad(told, (0, new))
            block = np.ix_(there, there)
            if by_likelihood and table < N_LOCAL:
                scales[table] = _likely_scale(told, seen, [_prior(table, position, one)[block] for one in _SCALES])
            after = np.linalg.inv(told + np.linalg.inv(_prior(table, position, scales[table])[block]))
            mean[table, there], covariance[table][block] = after @ seen, (after + after.T) / 2
        return replace(self, mean=mean, covariance=covariance, scale=scales)

    def own_variance(self, table: int) -> float:
        """Return the variance of what is a cell's own on one day in a table's shapes."""
        return float(self.scale[table]) * _OF_CELL * _unit(table)

    def _prior(self, table: int, position: FloatArray) -> FloatArray:
        return _prior(table, position, self.scale[table])

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


def first_shapes(laws: Laws, law_off: FloatArray, mean: FloatArray, records: IntArray) -> Shapes:
    """Return the shapes before anything is asked of them.

    Args:
        laws: The city's law and the tables.
        law_off: Covariance of what its cumulative shares may be off by, shape (N_BINS, N_BINS).
        mean: Mean of each cell, in points, shape (G,).
        records: Records of each cell, shape (G,).

    Source:
        HV-E10.
    """
    centre = float(np.average(mean, weights=records))
    spread = max(float(np.sqrt(np.average((mean - centre) ** 2, weights=records))), 1.0)
    n_tables = len(laws.tables)
    nowhere = np.zeros((0, 3))
    covariance = np.array([_prior(number, nowhere, _SCALE) for number in range(n_tables)])
    n_parts = N_COMMON + N_HOURS
    empty = np.zeros((n_tables, n_parts))
    nobody, covariance = np.array([], dtype=np.uint64), covariance.reshape(-1, n_parts, n_parts)
    return Shapes(laws, law_off, centre, spread, nobody, nowhere, empty, covariance, np.full(n_tables, _SCALE))


def _prior(table: int, position: FloatArray, scale: float) -> FloatArray:
    """Return the prior covariance of the parts of a table's shapes, shape (S, S).

    Args:
        table: The table.
        position: Where the hexagons are, in distances between neighbours, shape (H, 3).
        scale: What variances of hours and hexagons are times.
    """
    local = scale * (table < N_LOCAL)
    common = np.array([*_OF_COMMON, *(N_HOURS * [local * _OF_HOUR])])
    apart = np.sqrt(((position[:, None] - position) ** 2).sum(axis=2))
    places = local * (_OF_HEXAGON * np.eye(len(position)) + _OF_PLACE * np.exp(-apart / _NEAR))
    return _unit(table) * np.asarray(block_diag(np.diag(common), places))


def _likely_scale(told: FloatArray, seen: FloatArray, priors: list[FloatArray]) -> float:
    """Return what local variances are times: a geometric mean of ``_SCALES`` by likelihood.

    Args:
        told: What is told of the parts, as precisions, shape (S, S).
        seen: The same times what they are told to be, shape (S,).
        priors: The prior covariance for each scale.
    """
    log = -((np.log(_SCALES / _SCALE) / _LOG_SCALE_DEVIATION) ** 2) / 2
    for number, prior in enumerate(priors):
        root = np.linalg.cholesky(prior)
        inner = np.eye(seen.size) + root.T @ told @ root
        here = root.T @ seen
        log[number] += (here @ np.linalg.solve(inner, here) - np.linalg.slogdet(inner)[1]) / 2
    weight = np.exp(log - log.max())
    return float(np.exp(weight @ np.log(_SCALES) / weight.sum()))


def local_variance(table: int) -> float:
    """Return the variance of a hexagon's part in a table's shapes where it is not told of: 0 where it is.

    Source:
        HV-E10.
    """
    return 0.0 if table < N_LOCAL else _SCALE * (_OF_HEXAGON + _OF_PLACE) * _unit(table)


def _unit(table: int) -> float:
    """Return what the variances of a table's shapes are counted in: later tables vary less."""
    return _UNIT * 0.5 ** max(0, table + 1 - N_LOCAL)
