"""CLIP-USER: which users are suppressed in which cells, so that no user is in too many of them."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dpmath.core import _check
from dpmath.core.occupancy import Occupancy

FloatArray = NDArray[np.float64]
CellErrors = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
"""Worst-case errors of cells from their records, the records kept, and the most records kept of one user."""

_ROUNDING = 1 + 1e-12
"""Errors this close are equal except for rounding. The first of equal cells is taken; a bound may be met exactly."""


def clip_user(
    occupancy: Occupancy, kept: NDArray[np.bool_], epsilon: float, error_bound: float, min_users: int = 1
) -> NDArray[np.bool_]:
    """Return which pairs CLIP-USER keeps. A suppressed user counts as the midpoint.

    In rounds, each user who is kept in the largest number of cells is suppressed in the one cell whose error
    after that is least. This ends at the first user for whom that error is above ``error_bound``. The error of a
    cell is half of the suppressed records (a suppressed user counts as the midpoint) plus the mean absolute
    Laplace noise for its largest kept user, over all of its records.

    Args:
        occupancy: The occupancy array, P pairs.
        kept: False for the pairs of withheld cells, which are left out, shape (P,).
        epsilon: Privacy loss of one cell, > 0.
        error_bound: Bound E on every cell's error, as a share of the range of one value, > 0.
        min_users: The least number of users to keep in a cell, >= 1.

    Returns:
        ``kept`` without the suppressed pairs, a new array, shape (P,).

    Raises:
        ValueError: An argument is outside its range.

    Source:
        CPL-A1, with argmin in (14), line 6 read as the users in the most cells, suppressed users at their
        midpoint, and no cell ever emptied.
    """
    _check.positive(epsilon=epsilon, error_bound=error_bound)
    _check.at_least(1, min_users=min_users)
    _check.same_length(kept=kept, n_records=occupancy.n_records)

    def errors(cell_records: FloatArray, kept_records: FloatArray, largest: FloatArray) -> FloatArray:
        return ((cell_records - kept_records) / 2 + largest / epsilon) / cell_records

    return suppressed(occupancy, kept, errors, error_bound, min_users, spared=None)


def first_least(errors: FloatArray) -> int:
    """Return the first of the cells of least error, but for rounding.

    Source:
        CPL-A1.
    """
    return int((errors <= errors[errors.argmin()] * _ROUNDING).argmax())


def suppressed(
    occupancy: Occupancy,
    kept: NDArray[np.bool_],
    errors: CellErrors,
    error_bound: float,
    min_users: int,
    spared: int | None,
) -> NDArray[np.bool_]:
    """Return which pairs are left after the rounds of CLIP-USER, by any error of cells.

    Args:
        occupancy: The occupancy array, P pairs.
        kept: False for the pairs that are left out from the start, shape (P,).
        errors: The errors of cells.
        error_bound: Bound on the error of a cell in which a user is suppressed.
        min_users: The least number of users to keep in a cell.
        spared: A cell in which nobody is suppressed; None if there is none.

    Source:
        CPL-A1.
    """
    rounds = _Rounds(occupancy, kept, errors, min_users)
    if spared is not None:
        rounds.close(spared)
    while True:
        users = rounds.busiest_users()
        if not users or not all(rounds.suppress_once(user, error_bound) for user in users):
            return rounds.kept


class _Rounds:
    """The state of CLIP-USER. Each suppression takes time for the user's own cells, not for the whole array.

    Pairs are numbered by user, then cell, so that a user's pairs are next to each other. Data that is read and
    written one by one is in lists, which are faster than arrays.
    """

    def __init__(self, occupancy: Occupancy, kept: NDArray[np.bool_], errors: CellErrors, min_users: int) -> None:
        self._errors, self._min_users = errors, min_users
        self._pairs = np.lexsort((occupancy.cell, occupancy.user))
        self._user_start = np.searchsorted(occupancy.user[self._pairs], np.arange(occupancy.n_users + 1)).tolist()
        self._cell = occupancy.cell[self._pairs]
        self._records = occupancy.n_records[self._pairs].astype(float)
        self._is_kept = kept[self._pairs].tolist()
        self._shut_pair = np.where(kept[self._pairs], 0, np.inf)
        self._n_cells_of_user = np.bincount(occupancy.user[kept], minlength=occupancy.n_users)
        self._n_users_of_cell = np.bincount(occupancy.cell[kept], minlength=occupancy.n_cells).tolist()
        self._find_first_marks(occupancy)
        self._cells = np.zeros((5, occupancy.n_cells))
        self._all, self._kept_records, self._first, self._second, self._shut_cell = self._cells
        self._all[:] = self._kept_records[:] = occupancy.cell_records
        for cell in range(occupancy.n_cells):
            self._find_largest(cell)
            self._close_if_few(cell)

    def _find_first_marks(self, occupancy: Occupancy) -> None:
        """Put two marks in each cell, on its two pairs with the most records."""
        number = np.empty_like(self._pairs)
        number[self._pairs] = np.arange(number.size)
        self._by_size = number[occupancy.by_size()].tolist()
        self._cell_end = occupancy.cell_start[1:].tolist()
        self._marks = [[start, start + 1] for start in occupancy.cell_start[:-1].tolist()]

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Which pairs are kept, in the order of the occupancy."""
        kept = np.empty(self._pairs.size, dtype=bool)
        kept[self._pairs] = self._is_kept
        return kept

    def close(self, cell: int) -> None:
        """Suppress no further user in the cell."""
        self._shut_cell[cell] = np.inf

    def busiest_users(self) -> list[int]:
        """Return the users kept in the largest number of cells, in the order of their index."""
        most = self._n_cells_of_user.max(initial=0)
        return np.flatnonzero(self._n_cells_of_user == most).tolist() if most else []

    def suppress_once(self, user: int, error_bound: float) -> bool:
        """Suppress the user in the cell with the least resulting error; return False if that is above the bound."""
        start, end = self._user_start[user], self._user_start[user + 1]
        records = self._records[start:end]
        total, kept, first, second, shut = self._cells.take(self._cell[start:end], axis=1)
        largest = np.where(records == first, second, first)
        errors = self._errors(total, kept - records, largest) + shut + self._shut_pair[start:end]
        best = first_least(errors)
        if errors[best] > error_bound * _ROUNDING**2:
            return False
        self._suppress(start + best)
        self._n_cells_of_user[user] -= 1
        return True

    def _suppress(self, pair: int) -> None:
        cell = int(self._cell[pair])
        self._is_kept[pair], self._shut_pair[pair] = False, np.inf
        self._kept_records[cell] -= self._records[pair]
        self._n_users_of_cell[cell] -= 1
        self._close_if_few(cell)
        if self._records[pair] >= self._second[cell]:
            self._find_largest(cell)

    def _close_if_few(self, cell: int) -> None:
        if self._n_users_of_cell[cell] <= self._min_users:
            self.close(cell)

    def _find_largest(self, cell: int) -> None:
        """Move the cell's two marks to its two largest kept pairs; they only ever move forward."""
        first, second = self._marks[cell]
        first = self._next_kept(first, cell)
        second = self._next_kept(max(second, first + 1), cell)
        self._marks[cell] = [first, second]
        self._first[cell], self._second[cell] = self._records_at(first, cell), self._records_at(second, cell)

    def _next_kept(self, position: int, cell: int) -> int:
        while position < self._cell_end[cell] and not self._is_kept[self._by_size[position]]:
            position += 1
        return position

    def _records_at(self, position: int, cell: int) -> float:
        """Return the records of the pair at a position of the sorted order; none past the cell's end."""
        return float(self._records[self._by_size[position]]) if position < self._cell_end[cell] else 0.0
