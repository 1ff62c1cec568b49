"""The primal-dual hybrid gradient method, reflected and restarted, for the planner's linear programmes."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from dpmath.planner.programme import FloatArray, Programme

CHECK_EVERY = 50
"""Steps between two checks of the bounds."""

_LONGER_EVERY = 200


@dataclass(frozen=True)
class Start:
    """Where to begin: spending (P,), inverse scales (G,) and prices of the users' loads (L,)."""

    spending: FloatArray
    scale: FloatArray
    prices: FloatArray


@dataclass
class Point:
    """The state of the iterations.

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
        pairs = np.flatnonzero(cells[programme.cell])
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


def run_lengths(n_steps: int) -> Iterator[int]:
    """Yield the numbers of steps between restarts: growing multiples of fifty, at most ``n_steps`` in total."""
    n_left = n_steps // CHECK_EVERY * CHECK_EVERY
    n_taken = 0
    while n_taken < n_left:
        length = min(CHECK_EVERY * (1 + n_taken // _LONGER_EVERY), n_left - n_taken)
        yield length
        n_taken += length


class Steps:
    """Reflected steps for one programme, with a step size for every variable."""

    def __init__(self, programme: Programme, weight: float, packing: bool) -> None:
        """Prepare the step sizes.

        Args:
            programme: The instance.
            weight: How long dual steps are relative to primal ones.
            packing: Whether to carry as much as the limits allow; otherwise all, at the least worst load.
        """
        self._p, self._packing = programme, packing
        worth = np.broadcast_to(programme.worth if packing else 1.0, programme.n_pairs.shape)
        self._slope = programme.records / programme.mean_records[programme.cell]
        self._need = programme.need / programme.mean_records
        self._price_per_load = 1 / np.where(programme.limits > 0, programme.limits, 1)
        busiest = np.bincount(programme.user, programme.per_limit, minlength=programme.limits.size)
        self._zero = _Flat(programme)
        self._half, self._whole = worth / 2, np.ones(programme.n_pairs.size)
        self._limit, self._numbers = np.ones(programme.limits.size), np.arange(1.0, programme.limits.size + 1)
        steps = self._steps = _Flat(programme)  # with the rows of a cell times its worth: so large are their prices
        steps.spending[:] = -1 / (2 * worth[programme.cell] + programme.per_limit) / weight
        steps.scale[:] = -1 / (np.abs(self._need) + programme.n_pairs) / worth / weight
        steps.share[:] = -1 / worth / weight if packing else 0
        steps.cell_price[:] = weight / (programme.n_pairs + np.abs(self._need) + 2 * packing) * worth
        steps.user_price[:] = weight / np.maximum(busiest, 1e-12) if packing else weight / busiest.max()
        steps.pair_price[:] = weight / (1 + self._slope) * worth[programme.cell]

    def checkpoints(self, point: Point, n_steps: int) -> Iterator[Point]:
        """Yield the point after every fifty steps.

        The next step starts from the last point reflected at the new one, pulled back to the first point by less and
        less (Halpern's iteration, Lu and Yang 2024).
        """
        begin, at, to, ahead, change = (_Flat(self._p) for _ in range(5))
        for name, values in vars(point).items():
            getattr(begin, name)[:] = values
        at.all[:] = begin.all
        for number in range(1, n_steps + 1):
            self._step(at, to, ahead, change)
            if number % CHECK_EVERY == 0:
                yield Point(**{name: getattr(to, name).copy() for name in vars(point)})
            np.subtract(ahead.all, begin.all, out=at.all)
            at.all *= number / (number + 1)
            at.all += begin.all

    def last(self, point: Point, n_steps: int) -> Point:
        """Return the point after ``n_steps``, a multiple of fifty."""
        return deque(self.checkpoints(point, n_steps), maxlen=1).pop()

    def _step(self, at: "_Flat", to: "_Flat", ahead: "_Flat", change: "_Flat") -> None:
        """Write the point after a step into ``to``, and ``at`` reflected at it into ``ahead``; ``change`` is scratch.

        The calls are few and in place, because on the active part of a programme the calls take most of the time.
        """
        sums, steps, zero = self._p.sums, self._steps, self._zero
        (at.user_price * self._price_per_load).take(self._p.user, out=change.spending, mode="clip")
        change.spending -= at.cell_price.repeat(self._p.n_pairs)
        change.spending += at.pair_price
        np.multiply(self._need, at.cell_price, out=change.scale)
        change.scale -= sums(self._slope * at.pair_price)
        np.subtract(at.cell_price, self._half, out=change.share)
        change.primal *= steps.primal
        np.add(at.primal, change.primal, out=to.primal)
        np.maximum(to.primal, zero.primal, out=to.primal)  # with a scalar, numpy takes twice as long
        if self._packing:
            np.minimum(to.share, self._whole, out=to.share)
        np.add(to.primal, to.primal, out=ahead.primal)
        ahead.primal -= at.primal

        np.multiply(self._need, ahead.scale, out=change.cell_price)
        change.cell_price -= sums(ahead.spending)
        change.cell_price += 2 * ahead.share
        loads = np.bincount(self._p.user, ahead.spending, minlength=change.user_price.size)
        np.multiply(loads, self._price_per_load, out=change.user_price)
        if self._packing:
            change.user_price -= self._limit
        np.subtract(ahead.spending, self._slope * ahead.scale.repeat(self._p.n_pairs), out=change.pair_price)
        change.dual *= steps.dual
        np.add(at.dual, change.dual, out=to.dual)
        if not self._packing:
            to.user_price -= _excess(to.user_price, self._numbers)
        np.maximum(to.dual, zero.dual, out=to.dual)
        np.add(to.dual, to.dual, out=ahead.dual)
        ahead.dual -= at.dual


class _Flat:
    """A point in one array, and views of its parts."""

    def __init__(self, programme: Programme) -> None:
        n_pairs, n_cells, n_users = programme.cell.size, programme.cell_records.size, programme.limits.size
        ends = [0, *accumulate((n_pairs, n_cells, n_cells, n_cells, n_users, n_pairs))]
        self.all = np.zeros(ends[-1])
        self.primal, self.dual = self.all[: ends[3]], self.all[ends[3] :]
        parts = [self.all[begin:end] for begin, end in pairwise(ends)]
        self.spending, self.scale, self.share, self.cell_price, self.user_price, self.pair_price = parts


def _excess(prices: FloatArray, numbers: FloatArray) -> float:
    """Return what to subtract from prices, so that those above 0 sum to 1: the nearest point of the simplex.

    Args:
        prices: Shape (L,).
        numbers: 1 to L.
    """
    descending = prices.copy()
    descending.sort()
    descending = descending[::-1]
    excess = descending.cumsum()
    excess -= 1
    excess /= numbers
    return float(excess[(descending > excess).nonzero()[0][-1]])
