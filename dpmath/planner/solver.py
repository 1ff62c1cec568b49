"""Solve the planner's linear programmes by first-order steps, with bounds that do not rely on their convergence."""

from dataclasses import dataclass

import numpy as np

from dpmath.planner.active_part import Part, deciding, nearly_carried, packed_on, run_away
from dpmath.planner.primal_dual import CHECK_EVERY, Point, Start, Steps, run_lengths
from dpmath.planner.programme import FloatArray, Programme

_WARM_UP = 60
_CLOSE, _FITS = 1e-3, 1.02  # relative to the bound and to every limit: here the search for a bound ends
_BAND, _LEAST_BAND = 2.0, 0.03  # cells in the part may cost so much more than 1, at first and at least
_WIDER, _NARROWER = 2.0, 0.4
_MISSED = 0.01  # if cells outside are a larger share of the bound than this, the band was too narrow
SAFETY = 1e-9
"""What is subtracted from a lower bound, and added to an upper one, for floating-point rounding."""


@dataclass(frozen=True)
class Cover:
    """All cells carried.

    Attributes:
        widths: Width of each pair, shape (P,).
        scale: Inverse scale of each cell, shape (G,).
        worst_load: The largest load of a user.
        lower_bound: No plan has a worst load below this.
        prices: Prices of the users' loads that prove it, shape (L,).
        spending: Spending of each pair, width times inverse scale, shape (P,).
        n_steps: Steps that it took.
    """

    widths: FloatArray
    scale: FloatArray
    worst_load: float
    lower_bound: float
    prices: FloatArray
    spending: FloatArray
    n_steps: int

    @property
    def start(self) -> Start:
        """The same plan and prices, as a start."""
        return Start(self.spending, self.scale, self.prices)


@dataclass(frozen=True)
class Packing:
    """As much as the limits allow, some cells only in part.

    Attributes:
        bound: No plan within every user's limit carries cells that are worth more than this.
        point: Where the steps ended; its shares are worth about the bound.
    """

    bound: float
    point: Point


def least_worst_load(
    programme: Programme,
    gap: float,
    decide_at: float | None = None,
    at_most: float = np.inf,
    n_steps: int = 20_000,
    start: Start | None = None,
) -> Cover:
    """Return a plan for all cells whose worst load is within ``gap`` of the least possible.

    First there is a warm-up by conditional gradients: each step moves to the cheapest responses to soft-max prices.
    Then comes the primal-dual hybrid gradient method, only on users whose load is near the best plan's worst. Every
    fifty steps the point is repaired into a plan, whose worst load over all users is an upper bound. Its prices give a
    lower bound in closed form. Nothing relies on the method's own convergence.

    Args:
        programme: The instance, P pairs; memory and each step are linear in P, except for one sort.
        gap: Relative gap at which to stop, > 0.
        decide_at: Stop once it is certain on which side of this load the least one is; None to close the gap.
        n_steps: The most steps to take.
        at_most: Do not stop before the plan's worst load is at most this, or it is certain that none can be.
        start: Where to begin instead of the warm-up, if its prices exclude anything.

    Returns:
        The best plan and bound found.

    Source:
        HV-L5.
    """
    search = _Search(programme, gap, decide_at, at_most)
    if start is not None and start.spending.any():
        search.try_start(start)
    if not search.has_bound:
        search.warm_up()
    point = search.point
    dual = np.sqrt(sum((one**2).sum() for one in (point.user_price, point.cell_price, point.pair_price)))
    primal = np.sqrt((point.spending**2).sum() + (point.scale**2).sum())
    weight, n_taken = float(dual / primal), 0
    everywhere = np.ones(programme.cell_records.size, dtype=bool)
    strays = np.zeros(programme.limits.size, dtype=bool)
    for length in run_lengths(n_steps):
        if search.done:
            break
        users = deciding(programme, point, search.upper) | strays
        part, begin = Part(programme, everywhere, users), point
        for current in Steps(part.programme, weight, packing=False).checkpoints(part.narrowed(begin), length):
            n_taken += CHECK_EVERY
            point = part.widened(current)
            search.try_start(point.start(programme))
            if search.done:
                break
        astray = run_away(programme, point, users, search.upper)
        if astray.any():
            point, strays = begin, strays | astray
    return search.result(n_taken)


def most_shares(programme: Programme, n_steps: int = 4_000) -> Packing:
    """Return what any plan can carry at most, and the relaxed optimum in which cells are carried in part.

    Args:
        programme: The instance, G cells.
        n_steps: The most steps to improve the bound. It ends once the bound is within 0.1 % of what is carried about
            within the limits.

    Returns:
        The bound and the point, whose shares are from 0 to 1.

    Source:
        HV-L6.
    """
    none, zero = np.zeros(programme.cell_records.size), np.zeros(programme.cell.size)
    worth = np.broadcast_to(programme.worth, none.shape)
    prices = _first_prices(programme)
    costs = programme.costs(prices)
    multiple, bound = _best_multiple(prices, costs, worth)
    point, costs = Point(zero, none, none, multiple * prices, none, zero), multiple * costs
    earlier, band = bound, _BAND
    strays = np.zeros(programme.limits.size, dtype=bool)
    for length in run_lengths(n_steps):
        near, users = nearly_carried(point, costs / worth, 1 + band), deciding(programme, point, 1.0) | strays
        led_to = packed_on(Part(programme, near, users), point, costs, length)
        astray = run_away(programme, led_to, users, 1.0)
        if astray.any():
            strays |= astray
            continue
        point = led_to
        costs = programme.costs(point.user_price)
        now = _best_multiple(point.user_price, costs, worth)[1]
        bound = min(bound, now)
        fits = programme.loads(point.spending).max() < _FITS
        if fits and max(abs(now - point.share @ worth), abs(now - earlier)) < _CLOSE * now:
            break
        missed = float(np.maximum(worth - costs, 0)[~near].sum())
        band = band * _WIDER if missed > _MISSED * now else max(band * _NARROWER, _LEAST_BAND)
        earlier = now
    return Packing(bound * (1 + SAFETY), point)


def _first_prices(programme: Programme) -> FloatArray:
    """Return prices for the users who would have more than the mean load if every cell were carried."""
    equal = np.full(programme.limits.size, 1 / programme.limits.size)
    loads = programme.loads(programme.cheapest(equal)[1])
    prices = np.maximum(loads - loads.mean(), 0)
    return prices if prices.any() else equal


def _best_multiple(prices: FloatArray, costs: FloatArray, worth: FloatArray) -> tuple[float, float]:
    """Return the multiple k of prices with the least bound, k sum of prices + sum of max(0, worth - k cost)."""
    order = np.argsort(costs / worth, kind="stable")
    costs, worth = costs[order], worth[order]
    ratio = costs / worth
    multiples = np.append(0, 1 / ratio[ratio > 0])  # the bound is convex in k, with these corners
    n_below = np.append(costs.size, np.searchsorted(ratio, ratio[ratio > 0]))
    paid, kept = (np.append(0, np.cumsum(one))[n_below] for one in (costs, worth))
    best = multiples[(multiples * (prices.sum() - paid) + kept).argmin()]
    return float(best), float(best * prices.sum() + np.maximum(worth - best * costs, 0).sum())


class _Search:
    """The best plan and the best bound so far."""

    def __init__(self, programme: Programme, gap: float, decide_at: float | None, at_most: float) -> None:
        self._programme, self._gap, self._decide_at, self._at_most = programme, gap, decide_at, at_most
        self._upper, self._lower = np.inf, 0.0
        self._plan = self._tried = (np.zeros(0), np.zeros(0))
        self._prices = np.zeros(programme.limits.size)

    @property
    def done(self) -> bool:
        decided = self._decide_at is not None and (self._upper <= self._decide_at or self._lower > self._decide_at)
        if self._lower > self._at_most:
            return True
        return decided or self._upper <= min(self._lower * (1 + self._gap), self._at_most)

    def result(self, n_steps: int) -> Cover:
        widths, scale = self._plan
        lower, spending = float(self._lower) * (1 - SAFETY), widths * scale[self._programme.cell]
        return Cover(widths, scale, float(self._upper), lower, self._prices, spending, n_steps)

    @property
    def upper(self) -> float:
        """The worst load of the best plan."""
        return float(self._upper)

    @property
    def has_bound(self) -> bool:
        """Whether any prices tried exclude anything."""
        return self._lower > 0

    @property
    def point(self) -> Point:
        """The plan tried last and the best prices, with the prices of cells and pairs that follow from them."""
        programme, (spending, scale), prices = self._programme, self._tried, self._prices
        cell_price = programme.costs(prices) / 2
        pair_price = np.maximum(cell_price[programme.cell] - prices[programme.user] * programme.per_limit, 0)
        share = np.ones(cell_price.size)
        return Point(spending, scale * programme.mean_records, share, prices, cell_price, pair_price)

    def try_start(self, start: Start) -> None:
        """Keep the plan that a start can be repaired into and the bound of its prices, if they are better."""
        self._try_plan(start.spending, start.scale)
        total = start.prices.sum()
        if total > 0:
            prices = start.prices / total
            self._try_prices(prices, float(self._programme.costs(prices).sum()))

    def _try_plan(self, spending: FloatArray, scale: FloatArray) -> None:
        self._tried = spending, scale
        widths, scale = self._programme.repaired(spending, scale)
        worst = self._programme.loads(widths * scale[self._programme.cell]).max()
        if worst < self._upper:
            self._upper, self._plan = worst, (widths, scale)

    def _try_prices(self, prices: FloatArray, bound: float) -> None:
        if bound > self._lower:
            self._lower, self._prices = bound, prices

    def warm_up(self) -> None:
        """Try the plan and the prices after some conditional gradient steps."""
        programme = self._programme
        prices = np.full(programme.limits.size, 1 / programme.limits.size)
        _, spending, scale = programme.cheapest(prices)
        loads = programme.loads(spending)
        temperature = loads.max() / 5
        for _ in range(_WARM_UP):
            prices = _soft_max(loads, temperature)
            costs, to_spending, to_scale = programme.cheapest(prices)
            self._try_prices(prices, float(costs.sum()))
            direction = programme.loads(to_spending) - loads
            step = _line_search(loads, direction, temperature)
            spending, scale = spending + step * (to_spending - spending), scale + step * (to_scale - scale)
            loads = loads + step * direction
            if -(prices @ direction) < 0.5 * temperature * np.log(loads.size + 1):
                temperature *= 0.7
        self._try_plan(spending, scale)


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
