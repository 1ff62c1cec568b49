"""The pairs of each cell by how many records they and their users have: what is measured are a cell's strata."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from dpmath.core.occupancy import IntArray
from dpmath.estimate.basis import N_STAY, Basis
from dpmath.estimate.day import Day, FloatArray
from dpmath.estimate.rows import Rows
from dpmath.estimate.told import Known

_AT_ONCE = 256
"""So many cells are looked at together: fresh memory for all strata costs more than the numbers in it."""
_MOST = 64
"""A number of records has fewer bits."""


@dataclass(frozen=True)
class Strata:
    """The strata of a day, R in all: the pairs of one cell with as many binary digits of records, of like users.

    Users are heavy or light: light users, those with fewest records, have half of the day's. Where values go with how
    long users stay, or with how many records they have elsewhere, the strata of a cell differ. What the cell's value is
    said to be, the mean over its records, is the mean of its strata over their records.

    Attributes:
        rows: The functions' values at the cells.
        of_stay: Which coefficients are those of the functions of how long a user stays, here and on the whole day.
        of_pair: Stratum of each pair, shape (P,).
        cell: Cell of each stratum, shape (R,), in order.
        records: Number of records of each stratum, shape (R,).
        of_pairs: These functions at each pair, less their mean over the cell's records, shape (P, N_STAY).
        stay: Their mean over each stratum, shape (R, N_STAY): over its records, or by other weights of its pairs.
    """

    rows: Rows
    of_stay: slice
    of_pair: IntArray
    cell: IntArray
    records: FloatArray
    of_pairs: FloatArray
    stay: FloatArray

    @classmethod
    def of(cls, day: Day, rows: Rows, basis: Basis) -> "Strata":
        """Return the strata of a day.

        Args:
            day: The day.
            rows: The functions' values at the cells.
            basis: The functions.

        Source:
            HV-E1.
        """
        occupancy, n_records = day.occupancy, day.occupancy.n_records.astype(np.float64)
        _, n_digits = np.frexp(n_records)
        of_users = occupancy.user_records.astype(np.float64)
        of_user = of_users[occupancy.user]
        is_heavy = of_user > _half(of_users)
        keys, of_pair = np.unique((occupancy.cell * 2 + is_heavy) * _MOST + n_digits, return_inverse=True)
        records, log = np.bincount(of_pair, n_records).astype(np.float64), np.log(n_records)
        of_pairs = np.zeros((log.size, N_STAY))
        # the square is as large, up to some hundred records
        for number, function in enumerate((log, log**2 / 4, np.log(of_user))):
            of_pairs[:, number] = function - day.cell_means(function)[occupancy.cell]
        stay = np.zeros((keys.size, N_STAY))
        strata = cls(rows, basis.of_stay, of_pair.astype(np.int64), keys // (2 * _MOST), records, of_pairs, stay)
        return strata.weighed(n_records)

    def weighed(self, weight: FloatArray) -> "Strata":
        """Return the same strata, with the functions' means by a weight of each pair, shape (P,).

        A sum in which pairs do not count by their records alone tells of other means than those over records. A stratum
        in which nothing counts keeps its means.
        """
        total = self.pair_sums(weight)
        sums = np.column_stack([self.pair_sums(weight * function) for function in self.of_pairs.T])
        counts = (total > 0)[:, None]
        return replace(self, stay=np.where(counts, sums / np.where(counts, total[:, None], 1.0), self.stay))

    @cached_property
    def _of_cells(self) -> csr_array:
        """Which strata each cell has, shape (G, R)."""
        first = np.append(np.flatnonzero(np.diff(self.cell, prepend=-1)), self.cell.size)
        ones, number = np.ones(self.cell.size), np.arange(self.cell.size)
        return csr_array((ones, number, first), shape=(first.size - 1, self.cell.size))

    def cell_sums(self, of_strata: FloatArray) -> FloatArray:
        """Return the sums over each cell's strata, shape (R, n) to (G, n)."""
        return np.asarray(self._of_cells @ of_strata)

    def weighted_sums(self, of_strata: FloatArray, weight: FloatArray) -> FloatArray:
        """Return the sums over each cell's strata times a weight of each, shapes (R, n) and (R,) to (G, n)."""
        of_cells, parts = self._of_cells, []
        for first in range(0, len(self.rows.common), _AT_ONCE):
            here = slice(*np.searchsorted(self.cell, (first, first + _AT_ONCE)))
            parts.append(of_cells[first : first + _AT_ONCE, here] @ (of_strata[here] * weight[here, None]))
        return np.concatenate(parts) if parts else self.cell_sums(of_strata)

    def cell_means(self, of_strata: FloatArray) -> FloatArray:
        """Return the means over each cell's strata, weighted by records, shape (R, n) to (G, n)."""
        return self.cell_sums(of_strata * self.records[:, None]) / self.cell_sums(self.records)[:, None]

    def pair_sums(self, of_pairs: FloatArray) -> FloatArray:
        """Return the sum over each stratum's pairs, shape (R,)."""
        return np.bincount(self.of_pair, of_pairs, self.cell.size).astype(np.float64)

    def values(self, of_cells: FloatArray, coefficients: FloatArray) -> FloatArray:
        """Return the strata's values, shape (R, ...), from their cells' and all coefficients, shape (S, ...)."""
        return np.asarray(of_cells[self.cell] + self.stay @ coefficients[self.of_stay])

    def times(self, coefficients: FloatArray) -> FloatArray:
        """Return the values of sums of the functions at the strata: shape (S, n) of coefficients to (R, n)."""
        return self.values(self.rows.times(coefficients), coefficients)

    def transposed_times(self, values: FloatArray, n_hexagons: int) -> FloatArray:
        """Return the transposed product: shape (R, n) of values to (S, n) of coefficients."""
        return self.seen_by(values, np.ones(self.cell.size), self.cell_sums(values), n_hexagons)

    def seen_by(self, values: FloatArray, weight: FloatArray, of_cells: FloatArray, n_hexagons: int) -> FloatArray:
        """Return the same of values times a weight of each stratum, shape (R,), whose sums over cells are known."""
        found = self.rows.transposed_times(of_cells, n_hexagons)
        found[self.of_stay] += (self.stay * weight[:, None]).T @ values
        return found

    def stay_variance(self, known: Known) -> FloatArray:
        """Return the variance of what strata differ by from their cells, shape (R,)."""
        return ((self.stay @ known.block(self.of_stay)) * self.stay).sum(axis=1)


def _half(of_users: FloatArray) -> float:
    """Return how many records users have at most who, taken from the least on, have half of all records together."""
    least_first = np.sort(of_users)
    sums = np.cumsum(least_first)
    return float(least_first[np.searchsorted(sums, sums[-1] / 2)]) if sums.size else 0.0
