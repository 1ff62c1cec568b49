"""The primal-dual hybrid gradient method for the planner's linear programmes."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpmath.programme import FloatArray, Programme

CHECK_EVERY = 50
"""Steps from one look at the bounds to the next."""

RESTART_EVERY = 400
"""Steps from one restart at the average to the next."""


@dataclass(frozen=True)
class Start:
    """Where to begin: spending (P,), inverse scales (G,) and prices of the users' loads (L,)."""

    spending: FloatArray
    scale: FloatArray
    prices: FloatArray


@dataclass
class Point:
    """Where the iterations are.

    Attributes:
        spending: Spending of each pair, shape (P,).
        scale: Inverse scale of each cell times the mean records of its pairs, shape (G,).
        share: How much of each cell is carried, from 0 to 1, shape (G,).
        user_price: Price of each user's load, shape (L,).
        cell_price: Price of each cell's promise, shape (G,).
        pair_price: Price of each pair's limit on its width, shape (P,).
    """

    spending: FloatArray
    scale: FloatArray
    share: FloatArray
    user_price: FloatArray
    cell_price: FloatArray
    pair_price: FloatArray

    def restricted(self, programme: Programme, cells: NDArray[np.bool_]) -> "Point":
        """Return the part of some of the programme's cells."""
        pairs = cells[programme.cell]
        return Point(
            self.spending[pairs],
            self.scale[cells],
            self.share[cells],
            self.user_price,
            self.cell_price[cells],
            self.pair_price[pairs],
        )

    def start(self, programme: Programme) -> Start:
        """Return the point in the programme's own units."""
        return Start(self.spending, self.scale / programme.mean_records, self.user_price)

    def times(self, factor: float) -> "Point":
        """Return a multiple of the point."""
        return Point(*(factor * mine for mine in vars(self).values()))

    def add(self, other: "Point") -> None:
        """Add another point to this one, in place."""
        for mine, theirs in zip(vars(self).values(), vars(other).values(), strict=True):
            np.add(mine, theirs, out=mine)


class Steps:
    """Diagonal steps and restarts at the average, for one programme."""

    def __init__(self, programme: Programme, weight: float, packing: bool) -> None:
        """Prepare the step sizes.

        Args:
            programme: The instance.
            weight: How long dual steps are relative to primal ones.
            packing: Whether to carry as many cells as the limits allow; else all at the least worst load.
        """
        self._p, self._packing = programme, packing
        self._slope = programme.records / programme.mean_records[programme.cell]
        self._need = programme.need / programme.mean_records
        self._price_per_load = 1 / np.where(programme.limits > 0, programme.limits, 1)
        n_pairs = np.diff(np.append(programme.start, programme.cell.size))
        busiest = np.bincount(programme.user, programme.per_limit, minlength=programme.limits.size)
        self._spending_step = 1 / (2 + programme.per_limit) / weight
        self._scale_step = 1 / (np.abs(self._need) + n_pairs) / weight
        self._share_step = 0.5 / weight
        self._user_step = weight / np.maximum(busiest, 1e-12) if packing else weight / busiest.max()
        self._cell_step = weight / (n_pairs + np.abs(self._need) + 2 * packing)
        self._pair_step = weight / (1 + self._slope)

    def checkpoints(self, point: Point, n_steps: int) -> Iterator[Point]:
        """Yield the current point and the average since the last restart, every fifty steps."""
        total, n_added = point.times(0), 0
        for number in range(1, n_steps + 1):
            point = self._next(point)
            total.add(point)
            n_added += 1
            if number % CHECK_EVERY == 0:
                yield point
                yield total.times(1 / n_added)
            if n_added == RESTART_EVERY:
                point = total.times(1 / n_added)
                total, n_added = point.times(0), 0

    def average(self, point: Point, n_steps: int) -> Point:
        """Return the average since the last restart, after a multiple of fifty steps."""
        return deque(self.checkpoints(point, n_steps), maxlen=1).pop()

    def _next(self, at: Point) -> Point:
        """Return the next point; arrays of a number per pair are changed in place where that saves one."""
        cell, sums = self._p.cell, self._p.sums
        spending = (at.user_price * self._price_per_load)[self._p.user]
        spending -= at.cell_price[cell]
        spending += at.pair_price
        spending *= -self._spending_step
        spending += at.spending
        np.maximum(spending, 0, out=spending)
        pull = self._need * at.cell_price - sums(self._slope * at.pair_price)
        scale = np.maximum(at.scale - self._scale_step * pull, 0)
        share = np.clip(at.share - self._share_step * (2 * at.cell_price - 1), 0, 1) if self._packing else at.share
        ahead, ahead_scale, ahead_share = 2 * spending, 2 * scale - at.scale, 2 * share - at.share
        ahead -= at.spending
        lacking = 2 * ahead_share + self._need * ahead_scale - sums(ahead)
        cell_price = np.maximum(at.cell_price + self._cell_step * lacking, 0)
        user_price = self._next_user_price(at.user_price, self._p.loads(ahead))
        ahead -= self._slope * ahead_scale[cell]
        ahead *= self._pair_step
        ahead += at.pair_price
        pair_price = np.maximum(ahead, 0, out=ahead)
        return Point(spending, scale, share, user_price, cell_price, pair_price)

    def _next_user_price(self, price: FloatArray, loads: FloatArray) -> FloatArray:
        if self._packing:
            return np.maximum(price + self._user_step * (loads - 1), 0)
        return _on_simplex(price + self._user_step * loads)


def _on_simplex(point: FloatArray) -> FloatArray:
    """Return the nearest point with elements of at least 0 that sum to 1."""
    descending = np.sort(point)[::-1]
    excess = (np.cumsum(descending) - 1) / np.arange(1, point.size + 1)
    return np.maximum(point - excess[np.flatnonzero(descending > excess)[-1]], 0)
