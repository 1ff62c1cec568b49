"""Choose which cells to carry if not all can be carried."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpmath.planner.active_part import Part, deciding, nearly_carried, packed_on
from dpmath.planner.primal_dual import Point, Start
from dpmath.planner.programme import Programme
from dpmath.planner.solver import Cover, Packing, least_worst_load

GAP = 0.008
"""The gap at which the search stops. With what rounding to integers adds, the certified gap is still below 1 %."""

FITS = 0.999
"""The worst load at which cells fit their limits, with room for rounding to integers."""

_HEADROOM = 0.997
_NEGLIGIBLE = 0.01
_WHOLE = 0.3
_DROPS = (0.35, 0.1, 0.2, 0.3, 0.4, 0.6, 0.05, 0.15)
_DROP_WORK = 200_000
_STAGE_STEPS = 50
_MOST_COST = 1.1
_ADD_TRIES = 30
_ADD_WORK = 300_000
_SHARE_OF_ALL = 0.25  # the cost of checking every cell, relative to steps on the carried ones
_FIT_STEPS = 2_000
_SMALL = 2_000
_ALONE_WORK = 600


@dataclass(frozen=True)
class Choice:
    """Cells to carry, shape (G,), and a plan for them within every limit; None if there are no cells."""

    cells: NDArray[np.bool_]
    cover: Cover | None


def cells_that_fit(programme: Programme, packing: Packing) -> Choice:
    """Return a choice of cells that fits every limit.

    This is a heuristic, because the best choice is an integer programme. The cells that the relaxed optimum carries
    least are dropped and its steps continue, until the remaining cells are carried whole. Then cells are added again
    while the prices do not exclude it. Of several choices the one that is worth most is taken. Small instances try this
    at several speeds and from single cells up. Large ones try one speed. The work limit counts steps times pairs, not
    time, so that the choice is always the same.

    Args:
        programme: The instance, G cells.
        packing: Its relaxed optimum.

    Returns:
        Which cells to carry, and a plan for them.

    Source:
        HV-L6.
    """
    alone = programme.alone[0] <= FITS
    cells = np.zeros(alone.size, dtype=bool)
    if not alone.any():
        return Choice(cells, None)
    choice = _chosen(programme.restricted(alone), packing.point.restricted(programme, alone))
    cells[alone] = choice.cells
    return Choice(cells, choice.cover)


def _chosen(programme: Programme, relaxed: Point) -> Choice:
    """Return a choice among the cells that each fit alone."""
    n_drops = int(np.clip(_DROP_WORK // programme.cell.size, 1, len(_DROPS)))
    choices = [_carried_whole(programme, relaxed, drop) for drop in _DROPS[:n_drops]]
    worth = np.broadcast_to(programme.worth, programme.cell_records.shape)

    def carried(choice: Choice) -> float:
        return float(worth[choice.cells].sum())

    largest = max(choices, key=carried)
    if largest.cover is not None and programme.cell.size > _SMALL:
        return _with_added(programme, largest)
    distinct = sorted({one.cells.tobytes(): one for one in choices}.values(), key=carried)
    begun = [*distinct[-2:], *_carried_alone(programme)]
    return max((_with_added(programme, choice) for choice in begun), key=carried)


def _carried_alone(programme: Programme) -> Iterator[Choice]:
    """Yield single cells that fit, the least worst load for its worth first. Fewer pairs allow more cells."""
    load, spending, scale = programme.alone
    prices = np.full(programme.limits.size, 1 / programme.limits.size)
    n_begun = max(1, _ALONE_WORK // programme.cell.size)
    for cell in np.argsort(load / programme.worth, kind="stable")[:n_begun]:
        cells = np.arange(load.size) == cell
        cover = _cover(programme, cells, Start(spending[cells[programme.cell]], scale[cells], prices))
        if cover is not None:
            yield Choice(cells, cover)


def _carried_whole(programme: Programme, relaxed: Point, drop: float) -> Choice:
    """Return the cells left once the relaxed programme carries all of them. A part of the excess is dropped each time.

    The limits used here are a little tighter than the real ones, so that a fit is found soon.
    """
    point, tight = relaxed, replace(programme, limits=_HEADROOM * programme.limits)
    inside = np.arange(point.share.size)
    n_drop, n_failed = int((point.share < _NEGLIGIBLE).sum()), 0
    while n_drop < inside.size:
        stay = np.ones(inside.size, dtype=bool)
        stay[np.argsort(point.share, kind="stable")[:n_drop]] = False
        point, tight, inside = point.restricted(tight, stay), tight.restricted(stay), inside[stay]
        costs = tight.costs(point.user_price)
        part = Part(tight, nearly_carried(point, costs, _MOST_COST), deciding(tight, point, 1.0))
        point = packed_on(part, point, costs, _STAGE_STEPS)
        excess = inside.size - float(point.share.sum())
        n_drop = max(1, int(drop * excess))
        if excess < _WHOLE:
            cells = np.isin(np.arange(programme.cell_records.size), inside)
            cover = _cover(programme, cells, point.start(tight))
            if cover is not None:
                return Choice(cells, cover)
            n_failed += 1
            n_drop = 2 ** max(0, n_failed - 3)
    return Choice(np.zeros(programme.cell_records.size, dtype=bool), None)


def _with_added(programme: Programme, choice: Choice) -> Choice:
    """Return the choice with added cells that fit, tried in the order of their cost for their worth at its prices.

    The bound of HV-L5 is a sum over cells, so cells that cost more than the room below the limit cannot fit.
    """
    if choice.cover is None:
        return choice
    chosen, cover = choice.cells, choice.cover
    load, spending, scale = programme.alone
    spending, scale = spending * load[programme.cell], scale * load
    costs, refused, n_more = programme.costs(cover.prices), np.zeros(chosen.size, dtype=bool), 1
    work = max(cover.widths.size, _SHARE_OF_ALL * programme.cell.size)
    for _ in range(int(np.clip(_ADD_WORK / work, 1, _ADD_TRIES))):
        open_ = ~chosen & ~refused & (cover.lower_bound + costs <= FITS)
        queue = np.argsort(np.where(open_, costs / programme.worth, np.inf), kind="stable")[: open_.sum()]
        block = queue[cover.lower_bound + np.cumsum(costs[queue]) <= FITS][:n_more]
        if not block.size:
            break
        more = chosen.copy()
        more[block] = True
        spending[chosen[programme.cell]], scale[chosen] = cover.spending, cover.scale
        larger = _cover(programme, more, Start(spending[more[programme.cell]], scale[more], cover.prices))
        if larger is not None:
            chosen, cover, n_more = more, larger, 2 * n_more
            costs = programme.costs(cover.prices)
        else:
            refused[block], n_more = block.size == 1, max(1, n_more // 2)
    return Choice(chosen, cover)


def _cover(programme: Programme, cells: NDArray[np.bool_], start: Start) -> Cover | None:
    """Return a plan for these cells within every limit; None if none was found with the allowed work."""
    part = programme.restricted(cells)
    cover = least_worst_load(part, GAP, FITS, n_steps=_FIT_STEPS, start=start)
    return cover if cover.worst_load <= FITS else None
