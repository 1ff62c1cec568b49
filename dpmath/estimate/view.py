"""A day seen from a state: what is expected in each cell, and how much pairs differ from it."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from dpmath.core.occupancy import IntArray, Occupancy
from dpmath.estimate.basis import Basis
from dpmath.estimate.day import Day, FloatArray
from dpmath.estimate.rows import Rows
from dpmath.estimate.state import POINTS, RESIDUAL_CLASSES, State
from dpmath.estimate.strata import Strata
from dpmath.estimate.told import Known

_LASTING_RESIDUAL = 0.12
_ALIKE = 0.5
"""How much of what lasts of a residual a user has everywhere, as supposed: a fast bus is fast in all cells."""
_RECORD_RESIDUAL = 2.0
_RECORD_POWER = 0.8
_LEAST_BINARY = 25.0
_LEAST_MEAN = 1.0
_RELATIVE = (0.4, 2.5)
_LARGE_SHARE = 0.2
_FEW_RECORDS = 3
"""A pair with a larger share of its cell than the first, or with more records than the second, is in other classes."""
_LARGEST_SCALE = 25.0
_STATE_SHARE = 0.25


@dataclass(frozen=True)
class Cells:
    """The cells of a day, whatever is known of coefficients.

    Attributes:
        day: The day.
        basis: The functions.
        rows: The functions' values at the day's cells; those of hexagons are multiplied by ``relative``.
        relative: What is expected of each cell before its place is known, over the mean of all records, within limits,
            shape (G,): large values vary more.
    """

    day: Day
    basis: Basis
    rows: Rows
    relative: FloatArray

    @cached_property
    def strata(self) -> Strata:
        """The strata of the cells' pairs."""
        return Strata.of(self.day, self.rows, self.basis)

    @cached_property
    def share_of_cell(self) -> FloatArray:
        """Share of each pair in the records of its cell, shape (P,)."""
        occupancy = self.day.occupancy
        return occupancy.n_records / occupancy.cell_records[occupancy.cell]

    @cached_property
    def by_size(self) -> FloatArray:
        """Prior variance of each pair's residual by its number of records, for a scale of 1, shape (P,)."""
        return residual_shares(self.day.occupancy.n_records)


@dataclass(frozen=True)
class View:
    """A day as a state expects it. All of it is public.

    Attributes:
        cells: The cells of the day.
        state: The state, which has coefficients for all hexagons of the day.
        today: What is known of the day's coefficients: of what lasts and what differs on the day together.
        odd: What the variance of the day's level is times that of other days.
    """

    cells: Cells
    state: State
    today: Known
    odd: float = 1.0

    @classmethod
    def of(cls, day: Day, state: State, covariates: FloatArray) -> "View":
        """Return the view of a day."""
        rows = state.basis.rows(day, covariates, state.numbers_of(day))
        of_city = np.clip(state.centre + rows.common @ state.mean[: rows.common.shape[1]], 0.0, POINTS)
        mean = max(float(np.average(of_city, weights=day.occupancy.cell_records)), _LEAST_MEAN)
        relative = np.clip(of_city / mean, *_RELATIVE)
        rows = replace(rows, own=rows.own * relative[:, None])
        return cls(Cells(day, state.basis, rows, relative), state, state.known_today)

    @property
    def day(self) -> Day:
        """The day."""
        return self.cells.day

    @property
    def rows(self) -> Rows:
        """The functions' values at the day's cells; see ``Cells``."""
        return self.cells.rows

    @property
    def strata(self) -> Strata:
        """The strata of the cells' pairs."""
        return self.cells.strata

    @property
    def share_of_cell(self) -> FloatArray:
        """Share of each pair in the records of its cell, shape (P,)."""
        return self.cells.share_of_cell

    @property
    def of_the_day(self) -> FloatArray:
        """Variance of what each coefficient differs by on this day, in squared points, shape (S,)."""
        variances = self.state.of_the_day.copy()
        variances[0] *= self.odd
        return variances

    @cached_property
    def expected(self) -> FloatArray:
        """Expected mean of each cell, in points, shape (G,)."""
        return np.clip(self.unbounded, 0.0, POINTS)

    @cached_property
    def unbounded(self) -> FloatArray:
        """The same, where the range of the values does not bound it."""
        return self.state.centre + self.rows.times(self.today.mean)

    @cached_property
    def expected_of_strata(self) -> FloatArray:
        """Expected mean of each stratum, in points, shape (R,)."""
        return np.clip(self.strata.values(self.expected, self.today.mean), 0.0, POINTS)

    @cached_property
    def energy(self) -> FloatArray:
        """Standard deviation that residuals give to the sum of each stratum's records, in points, shape (R,)."""
        squares = self.day.occupancy.n_records.astype(np.float64) ** 2 * self.residual_variance
        return np.sqrt(self.strata.pair_sums(squares))

    @cached_property
    def cell_variance(self) -> FloatArray:
        """Variance of what is each cell's own on one day, in squared points, shape (G,)."""
        state, basis = self.state, self.state.basis
        variance = basis.cell_variance(self.day) * state.scale**2 * state.factors["cell"]
        has_none = state.numbers_of(self.day) < 0
        if has_none.any():
            of_hexagon = has_none[:, None] * state.of_hexagons(self.day.remote)
            variance = variance + (basis.own_values(self.day) ** 2 * of_hexagon[self.day.hexagon]).sum(axis=1)
        return np.asarray(variance * self.cells.relative**2, dtype=np.float64)

    @cached_property
    def state_variance(self) -> FloatArray:
        """Variance of each cell's expected value, apart from the residuals of its pairs, shape (G,)."""
        return self.today.variances(self.rows) + self.cell_variance

    @cached_property
    def residual_class(self) -> np.ndarray:
        """Class of each pair's residual, shape (P,): by level of the expected value, share of the cell, and records.

        Where a pair is much of its cell, it tells how good the cell's estimate is, and not only how pairs differ.
        """
        occupancy = self.day.occupancy
        n_levels, n_sizes = RESIDUAL_CLASSES
        order = np.argsort(self.expected, kind="stable")
        share = np.cumsum(occupancy.cell_records[order]) / occupancy.cell_records.sum()
        level = np.zeros(occupancy.n_cells, dtype=np.int64)
        level[order] = np.minimum((share * n_levels).astype(np.int64), n_levels - 1)
        size = 2 * (self.share_of_cell > _LARGE_SHARE) + (occupancy.n_records > _FEW_RECORDS)
        return np.asarray(level[occupancy.cell] * n_sizes + size, dtype=np.int64)

    @cached_property
    def residual_variance(self) -> FloatArray:
        """Variance of each pair's mean about the cell's expected value, in squared points, shape (P,)."""
        return self.state.factors["residual"] * self.apart_variance + self.alike_variance

    @cached_property
    def apart_variance(self) -> FloatArray:
        """Variance of what is each pair's own of it, for a scale of 1, in squared points, shape (P,)."""
        alike, whole = self._supposed_residuals
        return np.asarray(self._of_classes[self.residual_class] * (1 - alike) * whole)

    @cached_property
    def alike_variance(self) -> FloatArray:
        """Variance of what all residuals of a user have in common, in squared points, shape (P,)."""
        alike, whole = self._supposed_residuals
        return np.asarray(self._of_classes[-1] * alike * whole)

    @cached_property
    def users(self) -> csr_array:
        """How each cell moves with what all residuals of each user have in common, shape (G, L)."""
        return self.day.by_user(self.share_of_cell * np.sqrt(self.alike_variance))

    @property
    def _of_classes(self) -> FloatArray:
        return np.asarray(np.exp(self.state.residual + np.diag(self.state.residual_covariance) / 2))

    @cached_property
    def _supposed_residuals(self) -> tuple[FloatArray, FloatArray]:
        """Which share of a pair's residual its user has everywhere, and its variance, as supposed, both (P,)."""
        occupancy, by_size = self.day.occupancy, self.cells.by_size
        expected = self.expected[occupancy.cell]
        most = np.maximum(expected * (POINTS - expected), _LEAST_BINARY)
        of_pair = by_size * self.cells.relative[occupancy.cell] * self.state.scale**2
        return _ALIKE * _LASTING_RESIDUAL / by_size, 1 / (1 / of_pair + 1 / most)


def residual_shares(n_records: IntArray) -> FloatArray:
    """Return the prior variance of pairs' means about their cells' expected values, as a share of the squared scale.

    Source:
        HV-E5.
    """
    return np.asarray(_LASTING_RESIDUAL + _RECORD_RESIDUAL / n_records**_RECORD_POWER, dtype=np.float64)


def scale_of(occupancy: Occupancy, deviation: float) -> float:
    """Return the scale of values whose users deviate so much from their mean.

    Args:
        occupancy: The day's pairs.
        deviation: How far a user's mean in a cell is from the values' centre, in points.

    Source:
        HV-E4.
    """
    of_pairs = residual_shares(occupancy.n_records)
    expected = _STATE_SHARE + float(np.average(of_pairs, weights=occupancy.n_records))
    return float(min(_LARGEST_SCALE, deviation / np.sqrt(expected)))
