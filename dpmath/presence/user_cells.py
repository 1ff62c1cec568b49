"""What the users of a day bring: private from the first number to the last, their number too."""

from dataclasses import dataclass, field

import numpy as np

from dpmath.core import _check
from dpmath.core.occupancy import IntArray

_LARGEST_SUM = 1 << 62
MOST_CELLS = 1 << 17
"""So that squares of a user's means, added up, fit in 64 bits."""


@dataclass(frozen=True)
class UserCells:
    """A day's records by user and cell, each user's part capped. All of it is private but the three limits.

    Two such days are neighbours if one has one user more, with any cells, records and values.

    Attributes:
        user: A number of each pair's user, shape (P,); only whether two are equal matters.
        cell: Each pair's cell, shape (P,), 0 <= cell < n_cells; a user has a cell once at most.
        n_records: The pair's records, at most the cap, shape (P,).
        total: The sum of the pair's values in ticks, shape (P,), 0 to n_records value_range.
        n_cells: Number of cells of the public area; public.
        cap: The most records of a user in a cell; public.
        value_range: Largest value of a record, in ticks; public.

    Raises:
        ValueError: A number is out of range. The message names no number of the data.
    """

    user: IntArray = field(repr=False)
    cell: IntArray = field(repr=False)
    n_records: IntArray = field(repr=False)
    total: IntArray = field(repr=False)
    n_cells: int
    cap: int
    value_range: int

    def __post_init__(self) -> None:
        """Check the ranges, number the users from 0 on, and put the pairs in order of user and cell."""
        _check.at_least(1, n_cells=self.n_cells, cap=self.cap, value_range=self.value_range)
        if self.n_cells > MOST_CELLS:
            raise ValueError(f"n_cells must be at most {MOST_CELLS}")
        if self.n_cells * self.cap * max(self.cap, self.value_range) >= _LARGEST_SUM:
            raise ValueError("cap and value_range must leave a user's sums over all cells below 2^62")
        if (
            len({array.shape for array in (self.user, self.cell, self.n_records, self.total)}) > 1
            or self.user.ndim != 1
        ):
            raise ValueError("user, cell, n_records and total must be one-dimensional and of one length")
        inside = (self.cell >= 0) & (self.cell < self.n_cells) & (self.n_records >= 1) & (self.n_records <= self.cap)
        if not np.all(inside & (self.total >= 0) & (self.total <= self.n_records * self.value_range)):
            raise ValueError("cell, n_records and total must be within n_cells, cap and n_records value_range")
        user = np.unique(self.user, return_inverse=True)[1].astype(np.int64)
        pairs = user * self.n_cells + self.cell
        order = np.argsort(pairs)
        if (pairs[order[1:]] == pairs[order[:-1]]).any():
            raise ValueError("a user must have a cell once at most")
        for name, array in (("user", user), *((one, getattr(self, one)) for one in ("cell", "n_records", "total"))):
            object.__setattr__(self, name, array[order])

    @property
    def n_users(self) -> int:
        """Number of users; private."""
        return int(self.user.max(initial=-1)) + 1

    @property
    def cells_of_users(self) -> IntArray:
        """Number of each user's cells; private, shape (L,)."""
        return np.bincount(self.user, minlength=self.n_users)

    @property
    def first_pairs(self) -> IntArray:
        """The number of each user's first pair, and the number of all pairs; private, shape (L + 1,)."""
        return np.concatenate([[0], np.cumsum(self.cells_of_users)])

    def sums(self, numbers: IntArray) -> IntArray:
        """Return the sum over each user's pairs of a number per pair, shape (L,)."""
        sums = np.zeros(self.n_users, dtype=np.int64)
        np.add.at(sums, self.user, numbers)
        return sums


def capped(
    user: IntArray, cell: IntArray, n_records: IntArray, total: IntArray, n_cells: int, cap: int, value_range: int
) -> UserCells:
    """Return a day with at most ``cap`` records of a user in a cell: a longer stay counts as its mean, ``cap`` times.

    What is outside the area, 0 <= cell < n_cells, is left out. Everything is decided within a user and a cell.

    Args:
        user: Each pair's user, shape (P,).
        cell: Each pair's cell, shape (P,).
        n_records: Each pair's records, at least 1, shape (P,).
        total: The sum of the pair's values in ticks, shape (P,), 0 to n_records value_range.
        n_cells: Number of cells of the public area.
        cap: The most records of a user in a cell.
        value_range: Largest value of a record, in ticks.

    Source:
        HV-L71.
    """
    inside = (cell >= 0) & (cell < n_cells)
    records, sums = n_records[inside], total[inside]
    kept = np.minimum(records, cap)
    mean, rest = np.divmod(sums, records)  # floor(total kept / records), in parts that fit in 64 bits
    return UserCells(user[inside], cell[inside], kept, mean * kept + rest * kept // records, n_cells, cap, value_range)
