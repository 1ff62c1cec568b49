"""CLIP-USER: which users are suppressed in which cells, so that no user is in too many of them."""

import numpy as np
from numpy.typing import NDArray

from dpmath import _check
from dpmath.occupancy import IntArray, Occupancy


def clip_user(
    occupancy: Occupancy,
    kept: NDArray[np.bool_],
    epsilon: float,
    error_bound: float,
    min_users: int = 1,
    dropped: bool = False,
) -> NDArray[np.bool_]:
    """Return which pairs are still kept after CLIP-USER.

    In rounds, each user who is kept in the largest number of cells is suppressed in the one cell whose error
    after that is least, as long as this error is at most ``error_bound``; the first user for whom it is not
    ends it. The error of a cell is half of the suppressed records (a suppressed user counts as the midpoint)
    plus the mean absolute Laplace noise for its largest kept user, over all of its records.

    Args:
        occupancy: The occupancy array, P pairs.
        kept: False for the pairs of withheld cells, which are left out, shape (P,).
        epsilon: Privacy loss of one cell, > 0.
        error_bound: Bound E on every cell's error, as a share of the range of one value, > 0.
        min_users: Users that no cell may fall below, >= 1.
        dropped: Take the error as the paper does, who drops the suppressed records: the whole of them is bias,
            and what is kept is the denominator of the noise.

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
    rounds = _Rounds(occupancy, kept.copy(), epsilon, min_users, dropped)
    while True:
        users = rounds.busiest_users()
        if not users.size or not all(rounds.suppress_once(user, error_bound) for user in users):
            return rounds.kept


class _Rounds:
    """The state of CLIP-USER: each suppression costs the user's own cells, not the whole array."""

    def __init__(
        self, occupancy: Occupancy, kept: NDArray[np.bool_], epsilon: float, min_users: int, dropped: bool
    ) -> None:
        self.kept = kept
        self._cell, self._records = occupancy.cell, occupancy.n_records
        self._epsilon, self._min_users, self._dropped = epsilon, min_users, dropped
        self._cell_records = occupancy.cell_records
        self._pairs = np.lexsort((occupancy.cell, occupancy.user))
        self._user_start = np.searchsorted(occupancy.user[self._pairs], np.arange(occupancy.n_users + 1))
        self._n_cells_of_user = np.bincount(occupancy.user[kept], minlength=occupancy.n_users)
        self._n_users_of_cell = np.bincount(occupancy.cell[kept], minlength=occupancy.n_cells)
        self._suppressed_records = np.zeros(occupancy.n_cells, dtype=np.int64)
        self._order = occupancy.by_size()
        self._cell_end = occupancy.cell_start[1:]
        self._first = occupancy.cell_start[:-1].copy()
        self._second = self._first + 1
        self._first_pair = np.full(occupancy.n_cells, -1)
        self._first_records = np.zeros(occupancy.n_cells, dtype=np.int64)
        self._second_records = np.zeros(occupancy.n_cells, dtype=np.int64)
        self._second_pair = np.full(occupancy.n_cells, -1)
        for cell in range(occupancy.n_cells):
            self._find_largest(cell)

    def busiest_users(self) -> IntArray:
        """Return the users kept in the largest number of cells, in the order of their index."""
        most = self._n_cells_of_user.max(initial=0)
        return np.flatnonzero(self._n_cells_of_user == most) if most else np.empty(0, dtype=np.int64)

    def suppress_once(self, user: int, error_bound: float) -> bool:
        """Suppress the user in the cell where it costs least; return False where no cell can bear it."""
        pairs = self._pairs[self._user_start[user] : self._user_start[user + 1]]
        pairs = pairs[self.kept[pairs]]
        errors = self._errors_without(pairs)
        best = errors.argmin()
        if errors[best] > error_bound:
            return False
        self._suppress(pairs[best], user)
        return True

    def _errors_without(self, pairs: IntArray) -> NDArray[np.float64]:
        """Return, for each pair, its cell's error if that pair alone were suppressed next."""
        cell, records = self._cell[pairs], self._records[pairs]
        is_largest = self._first_pair[cell] == pairs
        largest = np.where(is_largest, self._second_records[cell], self._first_records[cell])
        suppressed, total = self._suppressed_records[cell] + records, self._cell_records[cell]
        if self._dropped:
            errors = suppressed / total + largest / self._epsilon / np.maximum(total - suppressed, 1)
        else:
            errors = (suppressed / 2 + largest / self._epsilon) / total
        return np.where(self._n_users_of_cell[cell] > self._min_users, errors, np.inf)

    def _suppress(self, pair: int, user: int) -> None:
        cell = self._cell[pair]
        self.kept[pair] = False
        self._n_cells_of_user[user] -= 1
        self._n_users_of_cell[cell] -= 1
        self._suppressed_records[cell] += self._records[pair]
        if pair in (self._first_pair[cell], self._second_pair[cell]):
            self._find_largest(cell)

    def _find_largest(self, cell: int) -> None:
        """Move the cell's two marks to its two largest kept pairs; they only ever move forward."""
        self._first[cell] = self._next_kept(self._first[cell], cell)
        self._second[cell] = self._next_kept(max(self._second[cell], self._first[cell] + 1), cell)
        self._first_pair[cell], self._first_records[cell] = self._at(self._first[cell], cell)
        self._second_pair[cell], self._second_records[cell] = self._at(self._second[cell], cell)

    def _next_kept(self, position: int, cell: int) -> int:
        while position < self._cell_end[cell] and not self.kept[self._order[position]]:
            position += 1
        return position

    def _at(self, position: int, cell: int) -> tuple[int, int]:
        """Return the pair at a position of the sorted order, and its records; none past the cell's end."""
        if position >= self._cell_end[cell]:
            return -1, 0
        pair = self._order[position]
        return int(pair), int(self._records[pair])
