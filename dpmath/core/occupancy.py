"""The occupancy array: how often each user was in each cell. It is public, and the only data that decisions read."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmath.core import _check

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Occupancy:
    """One row per (cell, user) pair that has records, sorted by cell, then user.

    Attributes:
        cell: Cell of each pair, shape (P,), 0 <= cell < n_cells.
        user: User of each pair, shape (P,), 0 <= user < n_users.
        n_records: Records m[g,l] of each pair, shape (P,), >= 1.
        n_cells: Number of cells G.
        n_users: Number of users L.

    Raises:
        ValueError: Shapes differ, an index is out of range, a count is below 1, a cell has no pair, or a
            pair is repeated or out of order.
    """

    cell: IntArray
    user: IntArray
    n_records: IntArray
    n_cells: int
    n_users: int

    def __post_init__(self) -> None:
        """Check what every function below relies on."""
        _check.same_length(cell=self.cell, user=self.user, n_records=self.n_records)
        _check.all_at_least(0, cell=self.cell, user=self.user)
        _check.all_at_least(1, n_records=self.n_records)
        for name, index, size in (("cell", self.cell, self.n_cells), ("user", self.user, self.n_users)):
            if index.size and index.max() >= size:
                raise ValueError(f"{name}={index.max()} must be below {size}")
        position = self.cell * self.n_users + self.user
        if np.any(np.diff(position) <= 0):
            raise ValueError("pairs must be sorted by cell, then user, each pair once")
        if np.unique(self.cell).size != self.n_cells:
            raise ValueError(f"n_cells={self.n_cells} must be the number of cells that have a pair")

    @cached_property
    def cell_start(self) -> IntArray:
        """First pair of each cell, and P at the end, shape (G + 1,)."""
        return np.searchsorted(self.cell, np.arange(self.n_cells + 1)).astype(np.int64)

    @cached_property
    def cell_records(self) -> IntArray:
        """Records N_g of each cell, shape (G,)."""
        return self.cell_sums(self.n_records)

    @cached_property
    def user_records(self) -> IntArray:
        """Records of each user, shape (L,)."""
        return self.user_sums(self.n_records)

    @cached_property
    def cell_largest(self) -> IntArray:
        """Largest number of records that one user has in each cell, shape (G,)."""
        return np.maximum.reduceat(self.n_records, self.cell_start[:-1])

    def of_cells(self, cells: NDArray[np.bool_]) -> "Occupancy":
        """Return the pairs of some cells, shape (G,). Cells are renumbered in the same order; users are not."""
        inside = cells[self.cell]
        number = np.cumsum(cells) - 1
        return Occupancy(
            number[self.cell[inside]], self.user[inside], self.n_records[inside], int(cells.sum()), self.n_users
        )

    def cell_sums(self, per_pair: NDArray[Any]) -> NDArray[Any]:
        """Return the exact sum of an integer per pair over each cell, in the same type, shape (G,)."""
        return self._sums(per_pair, self.cell, self.n_cells)

    def user_sums(self, per_pair: NDArray[Any]) -> NDArray[Any]:
        """Return the exact sum of an integer per pair over each user, in the same type, shape (L,)."""
        return self._sums(per_pair, self.user, self.n_users)

    @staticmethod
    def _sums(per_pair: NDArray[Any], place: IntArray, size: int) -> NDArray[Any]:
        sums = np.zeros(size, dtype=per_pair.dtype)
        np.add.at(sums, place, per_pair)
        return sums

    def by_size(self) -> IntArray:
        """Return the pairs sorted by cell, and within a cell by records, most first; ties by user."""
        # a cell's pairs are already in the order of users, and the sort is stable
        key = self.cell * (int(self.n_records.max(initial=0)) + 1) - self.n_records
        return np.argsort(key, kind="stable").astype(np.int64)
