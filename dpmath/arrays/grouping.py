"""Pseudo-users: the records of a cell's users laid out in arrays of one length, from the occupancy alone."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpmath.core import _check
from dpmath.core.occupancy import IntArray


@dataclass(frozen=True)
class Grouping:
    """Which user fills how many places of which array; one row per (array, user) that share a place.

    Attributes:
        array: Array of each part, shape (Q,), ascending, 0 <= array < n_arrays.
        user: User of each part, shape (Q,), 0 <= user < n_users.
        n_places: Places that the user fills in the array, shape (Q,), >= 1.
        array_length: Places m_UB of an array, >= 1.
        n_users: Number of users L of the cell, also those without a place.
    """

    array: IntArray
    user: IntArray
    n_places: IntArray
    array_length: int
    n_users: int

    @cached_property
    def n_arrays(self) -> int:
        """Number of arrays K, each of which has a filled place."""
        return int(self.array[-1]) + 1

    @cached_property
    def n_filled(self) -> IntArray:
        """Filled places w of each array, shape (K,)."""
        return self._sums(self.array, self.n_places, self.n_arrays)

    @cached_property
    def n_kept(self) -> IntArray:
        """Places of each user in all arrays together, shape (L,)."""
        return self._sums(self.user, self.n_places, self.n_users)

    @cached_property
    def most_arrays_of_a_user(self) -> int:
        """The largest number of arrays that one user has a place in."""
        return int(np.bincount(self.user).max())

    @staticmethod
    def _sums(index: IntArray, summed: IntArray, size: int) -> IntArray:
        sums = np.zeros(size, dtype=np.int64)
        np.add.at(sums, index, summed)
        return sums


def wrap_around(records: IntArray, array_length: int) -> Grouping:
    """Return the WrapAround grouping: users end to end, most records first, cut into full arrays.

    Every user fills min(m, m_UB) places; there are floor(sum of these / m_UB) arrays, all of them full, and
    the places of the last users that fill no whole array are left out. A user has places in two arrays at most.

    Args:
        records: Records of each user in the cell, shape (L,), >= 1.
        array_length: Places m_UB of an array, from 1 to the largest of ``records``.

    Returns:
        The grouping.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        STI-A1.
    """
    _checked(records, array_length)
    order = np.argsort(-records, kind="stable")
    ends = np.cumsum(np.minimum(records[order], array_length))
    cuts = np.arange(1, int(ends[-1]) // array_length + 1) * array_length
    stops = np.unique(np.concatenate([ends[ends <= cuts[-1]], cuts]))
    starts = np.concatenate([[0], stops[:-1]])
    user = order[np.searchsorted(ends, starts, side="right")]
    return Grouping(starts // array_length, user, stops - starts, array_length, records.size)


def best_fit(records: IntArray, array_length: int) -> Grouping:
    """Return the BestFit grouping: each user, most records first, goes whole into the fullest array with room.

    If arrays are equally full, the first is taken; if none has room, a new one. Every user fills min(m, m_UB)
    places of one array; arrays need not be full.

    Args:
        records: Records of each user in the cell, shape (L,), >= 1.
        array_length: Places m_UB of an array, from 1 to the largest of ``records``.

    Returns:
        The grouping.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        STI-A2.
    """
    _checked(records, array_length)
    order = np.argsort(-records, kind="stable")
    places = np.minimum(records, array_length)
    filled = np.zeros(records.size, dtype=np.int64)
    array = np.zeros(records.size, dtype=np.int64)
    for user in order:
        array[user] = np.argmax(np.where(filled + places[user] <= array_length, filled, -1))
        filled[array[user]] += places[user]
    by_array = np.lexsort((np.argsort(order), array))
    return Grouping(array[by_array], by_array, places[by_array], array_length, records.size)


def _checked(records: IntArray, array_length: int) -> None:
    _check.same_length(records=records)
    _check.all_at_least(1, records=records)
    _check.at_least(1, n_users=records.size, array_length=array_length)
    if array_length > records.max():
        raise ValueError(f"array_length={array_length} must be at most {records.max()}, the most records of a user")
