"""The planner's linear programmes solved by first-order steps, with bounds that do not trust the steps."""

from dataclasses import dataclass

import numpy as np

from dpmath.programme import FloatArray, Programme

_WARM_UP = 60
_CHECK_EVERY = 50
_RESTART_EVERY = 400
_SAFETY = 1e-9


@dataclass(frozen=True)
class Cover:
    """All cells carried: widths, inverse scales, the worst load, and what no plan's worst load can be below."""

    widths: FloatArray
    scale: FloatArray
    worst_load: float
    lower_bound: float


@dataclass
class _Point:
    """Where the iterations are: spending, scaled inverse scales and shares; prices of users, cells and pairs."""

    spending: FloatArray
    scale: FloatArray
    share: FloatArray
    user_price: FloatArray
    cell_price: FloatArray
    pair_price: FloatArray

    def moved(self, other: "_Point", step: float) -> "_Point":
        """Return the point a step of the way to another."""
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return _Point(*(mine + step * (theirs - mine) for mine, theirs in pairs))


def least_worst_load(
    programme: Programme,
    gap: float,
    decide_at: float | None = None,
    at_most: float = np.inf,
    n_steps: int = 20_000,
) -> Cover:
    """Return a plan for all cells whose worst load is within ``gap`` of the least possible.

    A warm-up by conditional gradients (each step moves to the cheapest responses to soft-max prices) is followed by
    the primal-dual hybrid gradient method. Every fifty steps the point is repaired into a plan, whose worst load is
    an upper bound, and its prices give a lower bound in closed form; the method's own convergence is never trusted.

    Args:
        programme: The instance, P pairs; memory and each step are linear in P, but for one sort.
        gap: Relative gap at which to stop, > 0.
        decide_at: Stop as soon as it is certain on which side of this load the least one is; None to close the gap.
        n_steps: Steps after which to give up.
        at_most: Do not stop before the plan's worst load is at most this, where it is known that it can be.

    Returns:
        The best plan and bound found.

    Source:
        HV-L5.
    """
    search = _Search(programme, gap, decide_at, at_most)
    spending, scale, prices = search.warm_up()
    cell_price = programme.cheapest(prices)[0] / 2
    pair_price = np.maximum(cell_price[programme.cell] - prices[programme.user] * programme.per_limit, 0)
    point = _Point(spending, scale * programme.mean_records, np.ones(cell_price.size), prices, cell_price, pair_price)
    dual = np.sqrt(sum((one**2).sum() for one in (prices, cell_price, pair_price)))
    primal = np.sqrt((point.spending**2).sum() + (point.scale**2).sum())
    steps = _Steps(programme, float(dual / primal), packing=False)
    for current in () if search.done else steps.checkpoints(point, n_steps):
        search.try_plan(current.spending, current.scale / programme.mean_records)
        search.try_prices(current.user_price)
        if search.done:
            break
    return search.result()


def most_shares(programme: Programme, n_steps: int = 4_000) -> tuple[float, FloatArray]:
    """Return how many cells any plan can carry at most, and the share of each in the relaxed optimum.

    Args:
        programme: The instance, G cells.
        n_steps: How long to improve the bound at most; it ends when 400 steps improve it by less than 0.05 %.

    Returns:
        An upper bound on the number of cells carried within every user's limit, and shares from 0 to 1 (G,).

    Source:
        HV-L6.
    """
    n_cells, n_users = programme.cell_records.size, programme.limits.size
    none = np.zeros(n_cells)
    zero = np.zeros(programme.cell.size)
    point = _Point(zero, none, none, np.full(n_users, 1 / n_users), none, zero)
    bound, shares = float(n_cells), np.ones(n_cells)
    earlier = bound
    for number, current in enumerate(_Steps(programme, 1.0, packing=True).checkpoints(point, n_steps), start=1):
        bound = min(bound, _packing_bound(programme, current.user_price))
        shares = current.share
        if number % (2 * _RESTART_EVERY // _CHECK_EVERY) == 0:
            if bound > earlier * 0.9995:
                break
            earlier = bound
    return bound * (1 + _SAFETY), shares


def _packing_bound(programme: Programme, prices: FloatArray) -> float:
    """Return sum of prices + sum of max(0, 1 - cost), at the best multiple of the prices."""
    costs, total = programme.cheapest(prices)[0], prices.sum()
    return min(float(k * total + np.maximum(0, 1 - k * costs).sum()) for k in np.geomspace(0.7, 1.4, 21))


class _Search:
    """The best plan and the best bound so far."""

    def __init__(self, programme: Programme, gap: float, decide_at: float | None, at_most: float) -> None:
        self._programme, self._gap, self._decide_at, self._at_most = programme, gap, decide_at, at_most
        self._upper, self._lower = np.inf, 0.0
        self._plan = (np.zeros(0), np.zeros(0))

    @property
    def done(self) -> bool:
        decided = self._decide_at is not None and (self._upper <= self._decide_at or self._lower > self._decide_at)
        return decided or self._upper <= min(self._lower * (1 + self._gap), self._at_most)

    def result(self) -> Cover:
        widths, scale = self._plan
        return Cover(widths, scale, float(self._upper), float(self._lower) * (1 - _SAFETY))

    def try_plan(self, spending: FloatArray, scale: FloatArray) -> None:
        widths, scale = self._programme.repaired(spending, scale)
        worst = self._programme.loads(widths * scale[self._programme.cell]).max()
        if worst < self._upper:
            self._upper, self._plan = worst, (widths, scale)

    def try_prices(self, prices: FloatArray) -> None:
        total = prices.sum()
        if total > 0:
            self._lower = max(self._lower, self._programme.cheapest(prices)[0].sum() / total)

    def warm_up(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return spending and inverse scales of a plan, and prices, after some conditional gradient steps."""
        programme = self._programme
        prices = np.full(programme.limits.size, 1 / programme.limits.size)
        best_prices = prices
        _, spending, scale = programme.cheapest(prices)
        loads = programme.loads(spending)
        temperature = loads.max() / 5
        for _ in range(_WARM_UP):
            prices = _soft_max(loads, temperature)
            costs, to_spending, to_scale = programme.cheapest(prices)
            if costs.sum() > self._lower:
                self._lower, best_prices = float(costs.sum()), prices
            direction = programme.loads(to_spending) - loads
            step = _line_search(loads, direction, temperature)
            spending, scale = spending + step * (to_spending - spending), scale + step * (to_scale - scale)
            loads = loads + step * direction
            if -(prices @ direction) < 0.5 * temperature * np.log(loads.size + 1):
                temperature *= 0.7
        self.try_plan(spending, scale)
        return spending, scale, best_prices


def _soft_max(loads: FloatArray, temperature: float) -> FloatArray:
    weights = np.exp((loads - loads.max()) / temperature)
    return weights / weights.sum()


def _line_search(loads: FloatArray, direction: FloatArray, temperature: float) -> float:
    """Return the step in [0, 1] with the least soft maximum, by bisection on its slope."""
    low, high = 0.0, 1.0
    for _ in range(20):
        middle = (low + high) / 2
        if _soft_max(loads + middle * direction, temperature) @ direction > 0:
            high = middle
        else:
            low = middle
    return low


class _Steps:
    """The primal-dual hybrid gradient method with diagonal steps and restarts at the average."""

    def __init__(self, programme: Programme, weight: float, packing: bool) -> None:
        self._p, self._packing = programme, packing
        self._slope = programme.records / programme.mean_records[programme.cell]
        self._need = programme.need / programme.mean_records
        n_pairs = np.diff(np.append(programme.start, programme.cell.size))
        busiest = np.bincount(programme.user, programme.per_limit, minlength=programme.limits.size)
        self._spending_step = 1 / (2 + programme.per_limit) / weight
        self._scale_step = 1 / (np.abs(self._need) + n_pairs) / weight
        self._share_step = 0.5 / weight
        self._user_step = weight / np.maximum(busiest, 1e-12) if packing else weight / busiest.max()
        self._cell_step = weight / (n_pairs + np.abs(self._need) + 2 * packing)
        self._pair_step = weight / (1 + self._slope)

    def checkpoints(self, point: _Point, n_steps: int):
        """Yield the current point and the average since the last restart, every fifty steps."""
        average, n_averaged = point, 0
        for number in range(1, n_steps + 1):
            point = self._next(point)
            n_averaged += 1
            average = average.moved(point, 1 / n_averaged)
            if number % _CHECK_EVERY == 0:
                yield point
                yield average
            if n_averaged == _RESTART_EVERY:
                point, n_averaged = average, 0

    def _next(self, at: _Point) -> _Point:
        p, cell, user = self._p, self._p.cell, self._p.user
        pull = at.user_price[user] * p.per_limit - at.cell_price[cell] + at.pair_price
        spending = np.maximum(at.spending - self._spending_step * pull, 0)
        pull = self._need * at.cell_price - p.sums(self._slope * at.pair_price)
        scale = np.maximum(at.scale - self._scale_step * pull, 0)
        share = np.clip(at.share - self._share_step * (2 * at.cell_price - 1), 0, 1) if self._packing else at.share
        ahead, ahead_scale, ahead_share = 2 * spending - at.spending, 2 * scale - at.scale, 2 * share - at.share
        loads = p.loads(ahead)
        if self._packing:
            user_price = np.maximum(at.user_price + self._user_step * (loads - 1), 0)
        else:
            user_price = _on_simplex(at.user_price + self._user_step * loads)
        lacking = 2 * ahead_share + self._need * ahead_scale - p.sums(ahead)
        cell_price = np.maximum(at.cell_price + self._cell_step * lacking, 0)
        beyond = ahead - self._slope * ahead_scale[cell]
        pair_price = np.maximum(at.pair_price + self._pair_step * beyond, 0)
        return _Point(spending, scale, share, user_price, cell_price, pair_price)


def _on_simplex(point: FloatArray) -> FloatArray:
    """Return the nearest point with elements of at least 0 that sum to 1."""
    descending = np.sort(point)[::-1]
    excess = (np.cumsum(descending) - 1) / np.arange(1, point.size + 1)
    return np.maximum(point - excess[np.flatnonzero(descending > excess)[-1]], 0)
