"""The linear programme over clipping widths and noise scales of all cells together.

Everything is in shares of the range R of one value: a user with m records in a cell has a total in [0, m], a width
v in [0, m], and for s = 1/scale the loss v s. Cell g promises an error e_g if its spending rho = v s satisfies
sum_l rho[g,l] >= 2 x_g + s_g N_g (1 - 2 e_g) with x_g = 1; x_g = 0 withholds it.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpmath.core.occupancy import IntArray

FloatArray = NDArray[np.float64]

_ROUNDING = 4 * float(np.finfo(np.float64).eps)
"""The rounding error of the sum over a cell, for each of its pairs. Costs are rounded down, so that bounds hold."""


@dataclass(frozen=True)
class Programme:
    """One instance.

    Attributes:
        cell: Cell of each pair that may spend, sorted, every cell at least once, shape (P,).
        user: User of each such pair, shape (P,).
        records: Records of each such pair, shape (P,).
        cell_records: Records N_g of each cell, those of users who may not spend included, shape (G,).
        errors: Promised error of each cell as a share of R, below 1/2, shape (G,).
        limits: What each user may lose, > 0 if the user has a pair, shape (L,).
        free_width: Width that clipping leaves of other users, who have no pair here and no limit, shape (G,) or a
            number.
        worth: What carrying each cell is worth where not all can be carried, > 0, shape (G,); about 1, so that steps
            are well scaled.
    """

    cell: IntArray
    user: IntArray
    records: FloatArray
    cell_records: FloatArray
    errors: FloatArray
    limits: FloatArray
    free_width: FloatArray | float = 0.0
    worth: FloatArray | float = 1.0

    @cached_property
    def need(self) -> FloatArray:
        """The width that clipping must leave over all users of a cell's pairs before noise can keep its promise."""
        return self.cell_records * (1 - 2 * self.errors) - self.free_width

    @cached_property
    def start(self) -> IntArray:
        """First pair of each cell."""
        return np.searchsorted(self.cell, np.arange(self.cell_records.size)).astype(np.int64)

    @cached_property
    def n_pairs(self) -> IntArray:
        """How many pairs each cell has."""
        return np.diff(np.append(self.start, self.cell.size))

    @cached_property
    def per_limit(self) -> FloatArray:
        """One over the limit of each pair's user."""
        return 1 / self.limits[self.user]

    @cached_property
    def mean_records(self) -> FloatArray:
        """Mean of the records of a cell's pairs: the unit that keeps the steps below well scaled."""
        return self.sums(self.records) / self.n_pairs

    def loads(self, spending: FloatArray) -> FloatArray:
        """Return each user's loss as a share of the user's limit."""
        return np.bincount(self.user, spending * self.per_limit, minlength=self.limits.size).astype(
            np.float64, copy=False
        )

    def sums(self, per_pair: FloatArray) -> FloatArray:
        """Return the sum over each cell."""
        return np.add.reduceat(per_pair, self.start)

    def restricted(self, cells: NDArray[np.bool_]) -> "Programme":
        """Return the programme of some of the cells, renumbered in the same order; itself if these are all cells."""
        if cells.all():
            return self
        keep = np.flatnonzero(cells[self.cell])
        number = np.cumsum(cells) - 1
        return Programme(
            number[self.cell[keep]],
            self.user[keep],
            self.records[keep],
            self.cell_records[cells],
            self.errors[cells],
            self.limits,
            np.broadcast_to(self.free_width, cells.shape)[cells],
            np.broadcast_to(self.worth, cells.shape)[cells],
        )

    def with_error(self, error: float) -> "Programme":
        """Return the same programme with one promised error for every cell."""
        return replace(self, errors=np.full(self.cell_records.size, error))

    def costs(self, prices: FloatArray) -> FloatArray:
        """Return what it costs to carry each cell at given prices of the users' loads, shape (G,), as ``cheapest``.

        Source:
            HV-L5.
        """
        return 2 * self._prefixes(prices).ratio

    def cheapest(self, prices: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the cheapest way to carry each cell at given prices of the users' loads.

        The cost 2 (sum of price m) / (sum of m - need) is least for a prefix of the cell's users in the order of
        price, each with the full width m.

        Args:
            prices: Price of each user's load, >= 0, shape (L,).

        Returns:
            Cost (G,), spending (P,) and inverse scale (G,).

        Source:
            HV-L5.
        """
        best = self._prefixes(prices)
        scale = 2 / best.over
        spending = np.where(best.rank[self.user] <= best.last[self.cell], self.records * scale[self.cell], 0)
        return 2 * best.ratio, spending, scale

    def _prefixes(self, prices: FloatArray) -> "_Prefixes":
        """Return the prefix of each cell's users with the least ratio, the shortest of equal ones."""
        price = prices / np.where(self.limits > 0, self.limits, 1)
        by_price = np.argsort(price, kind="stable")
        n_users, n_cells = price.size, self.cell_records.size
        n_free = int(np.searchsorted(price[by_price], 0, side="right"))
        rank = np.zeros(n_users, dtype=np.int64)  # users without a price are all first
        rank[by_price[n_free:]] = np.arange(1, n_users - n_free + 1)
        pair_rank = rank[self.user]
        is_priced = pair_rank > 0
        priced = np.flatnonzero(is_priced)
        # in each cell the users without a price are one entry, with a rank of 0 and all their records
        cell = np.append(np.arange(n_cells), self.cell[priced])
        ranks = np.append(np.zeros(n_cells, dtype=np.int64), pair_rank[priced])
        share = np.append(self.sums(np.where(is_priced, 0, self._share)), self._share[priced])
        paid = np.append(np.zeros(n_cells), price[self.user[priced]] * self._share[priced])
        order = np.argsort(cell * (n_users + 1) + ranks)
        cell, start = cell[order], np.arange(n_cells) + np.searchsorted(self.cell[priced], np.arange(n_cells))
        over = _prefix_sums(share[order], cell, start) - (self.need / self.cell_records)[cell]
        with np.errstate(divide="ignore", invalid="ignore"):
            slack = (_ROUNDING * self.n_pairs)[cell]
            ratio = np.where(over > 1e-12, _prefix_sums(paid[order], cell, start) / (over + slack), np.inf)
        least = np.minimum.reduceat(ratio, start)
        position = np.arange(cell.size)
        last = np.minimum.reduceat(np.where(ratio <= least[cell], position, cell.size), start)
        return _Prefixes(least, over[last] * self.cell_records, ranks[order][last], rank)

    @cached_property
    def _share(self) -> FloatArray:
        """Each pair's share of its cell's records. Sums of them are as exact in a small cell as in a large one."""
        return self.records / self.cell_records[self.cell]

    @cached_property
    def alone(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The least worst load of each cell carried alone, and how.

        At inverse scale s the users can spend sum of min(limit, m s), and 2 + s need is needed: the most is left over
        where s is some user's limit / m.

        Returns:
            Load (G,), infinite if no width is enough, spending (P,) and inverse scale (G,) at load 1.

        Source:
            HV-L5.
        """
        limit = self.limits[self.user]
        knee = limit / self.records
        order = np.lexsort((knee, self.cell))
        capped, records = (_prefix_sums(one[order], self.cell, self.start) for one in (limit, self.records))
        rest = self.sums(self.records)[self.cell] - records
        left = capped + knee[order] * (rest - self.need[self.cell])
        best = np.maximum.reduceat(left, self.start)
        position = np.arange(self.cell.size)
        at = np.minimum.reduceat(np.where(left >= best[self.cell], position, self.cell.size), self.start)
        scale = knee[order][at]
        with np.errstate(divide="ignore"):
            load = np.where(best > 0, 2 / np.maximum(best, 0), np.inf)
        return load, np.minimum(limit, self.records * scale[self.cell]), scale

    def repaired(self, spending: FloatArray, scale: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return widths and the inverse scales that make them keep every promise, near a point that may not."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(scale[self.cell] > 0, spending / scale[self.cell], np.inf)
        widths = np.minimum(ratio, self.records)
        over, most = self.sums(widths) - self.need, self.sums(self.records) - self.need
        hopeless = over < 1e-3 * most
        widths = np.where(hopeless[self.cell], self.records, widths)
        return widths, 2 / np.where(hopeless, most, over)


@dataclass(frozen=True)
class _Prefixes:
    """The prefix of each cell with the least ratio.

    Attributes:
        ratio: Sum of price m over the width beyond what the cell needs, shape (G,).
        over: That width, shape (G,).
        last: Rank of the last user of the prefix, shape (G,).
        rank: Each user's rank by price, 0 for all users without a price, shape (L,).
    """

    ratio: FloatArray
    over: FloatArray
    last: IntArray
    rank: IntArray


def _prefix_sums(values: FloatArray, cell: IntArray, start: IntArray) -> FloatArray:
    """Return the sum up to each value within its cell, for values sorted by cell.

    The sum of each cell is subtracted where the next cell begins. Otherwise the digits of later cells would be lost in
    a growing total.
    """
    values, before = values.copy(), np.add.reduceat(values, start)[:-1]
    values[start[1:]] -= before
    sums = np.cumsum(values)
    return sums - np.append(0, sums[start[1:] - 1] - before)[cell]
