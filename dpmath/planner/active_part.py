"""The active part of a programme: the few cells that are nearly carried, and the few users near their limits.

A step on the part costs a fraction of a step on the whole. A result of the part is always checked on the whole: bounds
by prices of every user and cell, plans by the load of every user. So the choice of the part affects the speed, and
never what is proved about the result.
"""

import numpy as np
from numpy.typing import NDArray

from dpmath.planner.primal_dual import Point, Steps
from dpmath.planner.programme import FloatArray, Programme

_CLOSE_LOAD, _FAR_LOAD = 0.8, 10.0
_CARRIED = 0.01


class Part:
    """Some cells of a programme, and some users. The other users keep their whole width in a cell and have no limit.

    Attributes:
        programme: The instance of the part. Cells and users are renumbered in the same order. If a cell has none of
            the users, all its pairs belong to the part.
    """

    def __init__(self, whole: Programme, cells: NDArray[np.bool_], users: NDArray[np.bool_]) -> None:
        """Take a part.

        Args:
            whole: The instance.
            cells: Which cells, at least one, shape (G,).
            users: Which users, shape (L,).
        """
        inside = cells[whole.cell]
        counted = users[whole.user]
        counted |= ~np.logical_or.reduceat(counted, whole.start)[whole.cell]
        self._whole, self._cells = whole, cells
        self._pairs, self._free = np.flatnonzero(inside & counted), np.flatnonzero(inside & ~counted)
        self._users = np.zeros(users.size, dtype=bool)
        self._users[whole.user[self._pairs]] = True
        free = np.bincount(whole.cell[self._free], whole.records[self._free], minlength=cells.size)
        self.programme = Programme(
            (np.cumsum(cells) - 1)[whole.cell[self._pairs]],
            (np.cumsum(self._users) - 1)[whole.user[self._pairs]],
            whole.records[self._pairs],
            whole.cell_records[cells],
            whole.errors[cells],
            whole.limits[self._users],
            free[cells].astype(np.float64),
            np.broadcast_to(whole.worth, cells.shape)[cells],
        )
        self._unit = self.programme.mean_records / whole.mean_records[cells]

    def narrowed(self, point: Point) -> Point:
        """Return the part of a point of the whole."""
        return Point(
            point.spending[self._pairs],
            point.scale[self._cells] * self._unit,
            point.share[self._cells],
            point.user_price[self._users],
            point.cell_price[self._cells],
            point.pair_price[self._pairs],
        )

    def widened(self, point: Point, costs: FloatArray | float = 0.0) -> Point:
        """Return a point of the part as one of the whole.

        Args:
            point: The point.
            costs: What it costs to carry each cell outside, at about the point's prices, shape (G,).
        """
        whole, zeros = self._whole, np.zeros(self._cells.size)
        scale, share, cell_price = zeros.copy(), zeros.copy(), zeros + costs / 2
        scale[self._cells] = point.scale / self._unit
        share[self._cells] = point.share
        cell_price[self._cells] = point.cell_price
        user_price = np.zeros(whole.limits.size)
        user_price[self._users] = point.user_price
        cell = whole.cell[self._free]
        spending, pair_price = np.zeros(whole.cell.size), np.zeros(whole.cell.size)
        spending[self._free] = whole.records[self._free] * (scale / whole.mean_records)[cell]
        pair_price[self._free] = cell_price[cell]
        spending[self._pairs], pair_price[self._pairs] = point.spending, point.pair_price
        return Point(spending, scale, share, user_price, cell_price, pair_price)


def packed_on(part: Part, point: Point, costs: FloatArray, n_steps: int) -> Point:
    """Return the point after steps on a part that carry as much as they can.

    Args:
        part: The active part.
        point: Where to begin, a point of the whole.
        costs: What it costs to carry each cell of the whole at the point's prices, shape (G,).
        n_steps: How many, a multiple of fifty.

    Returns:
        The point after the last step, as a point of the whole.

    Source:
        HV-L6.
    """
    return part.widened(Steps(part.programme, 1.0, packing=True).last(part.narrowed(point), n_steps), costs)


def nearly_carried(point: Point, costs: FloatArray, most_cost: float) -> NDArray[np.bool_]:
    """Return the cells that are carried in part or cost at most so much, at least the cheapest one, shape (G,).

    At the best prices no cell that costs more than it is worth is carried.

    Args:
        point: A point of the whole.
        costs: What it costs to carry each cell, over what that is worth, shape (G,).
        most_cost: The most such a cost.

    Source:
        HV-L6.
    """
    return (costs <= max(most_cost, costs.min())) | (point.share > _CARRIED)


def deciding(programme: Programme, point: Point, worst: float) -> NDArray[np.bool_]:
    """Return the users whose load is near the worst or has a price, shape (L,).

    Source:
        HV-L5.
    """
    return (point.user_price > 0) | (programme.loads(point.spending) > _CLOSE_LOAD * worst)


def run_away(programme: Programme, point: Point, inside: NDArray[np.bool_], worst: float) -> NDArray[np.bool_]:
    """Return the users outside a part whom steps on it moved far beyond the worst load, shape (L,).

    Steps from there would take long to come back. It is better to begin again at the old point, with these users in
    the part.

    Source:
        HV-L5.
    """
    return ~inside & (programme.loads(point.spending) > _FAR_LOAD * worst)
