"""The planner: the least privacy loss for promised errors, or as much as a privacy loss can carry."""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpmath.cells.clipped_sum import ClippedSum
from dpmath.cells.safeguard import safeguarded
from dpmath.cells.thresholds import clipped_errors, clipping_thresholds
from dpmath.core import _check
from dpmath.core.accounting import LOSS_UNITS, ExactIntArray
from dpmath.core.cell_sums import user_losses
from dpmath.core.occupancy import IntArray, Occupancy
from dpmath.planner.cell_choice import FITS, GAP, cells_that_fit
from dpmath.planner.least_error import MOST, least_common_error
from dpmath.planner.programme import FloatArray, Programme
from dpmath.planner.rounding import most_published, rounded_sum
from dpmath.planner.solver import Cover, least_worst_load, most_shares

_LEAST_LIMIT = 1e-3
_MOST_ERROR = Fraction(MOST).limit_denominator(1000)
_COSTS_NOTHING = 0.4999
_ROUNDING_STEPS = 4_000
_ROUNDING_SLACKS = tuple(Fraction(thousandths, 1000) for thousandths in (1000, 1002, 1010, 1050, 1200, 1500, 2000))


@dataclass(frozen=True)
class Plan:
    """What to publish, and bounds that no plan of this class can pass.

    Attributes:
        sums: Intervals and noise of each sum, all with the same cells published.
        worst_load: The largest share that a user loses of what that user may lose by this release. It is computed from
            exact losses and rounded once to a float.
        lower_bound: No plan for the same cells and promises has a worst load below this.
        most: No plan within the limits has cells that are worth more than this.

    Both bounds are for plans of this class: intervals about the middle of a user's range, and promises counted as in
    HV-L2, what clipping can take off plus the scale of the noise. Users who may lose less than a thousandth of the
    largest limit are outside: in a plan they spend nothing, and the bounds are for the others.
    """

    sums: list[ClippedSum]
    worst_load: float
    lower_bound: float
    most: int

    @property
    def gap(self) -> float:
        """How far the plan may be from the best, relative."""
        return self.worst_load / self.lower_bound - 1 if self.lower_bound else 0.0


def most_carried(
    occupancy: Occupancy,
    value_ranges: list[int],
    epsilon: Fraction,
    target: Fraction,
    budgets: ExactIntArray | None = None,
    worth: IntArray | None = None,
) -> Plan:
    """Return a plan for the cells of the most worth that a privacy loss can carry, each with a promised error.

    The choice of cells is a heuristic. It begins with the relaxed programme, in which a cell may be carried in part,
    and drops cells until the rest is carried whole. For the cells chosen, the plan has about the least loss for the
    promised errors, which may be below ``epsilon``. Cells that fit their limits with less than a thousandth to spare
    are refused, because rounding to integers needs some room; the bound on what is carried counts them. Cells with
    which the rounded plan exceeds a limit are dropped: the coarser the ticks, the more cells. Then cells of full width
    are added if they fit. The result of ``exact_sums`` for the same promise is returned if it is worth more.

    Args:
        occupancy: The occupancy array, P pairs, G cells, L users. It is the only data that is read.
        value_ranges: Largest value R of a record in each sum to publish, in ticks (the least is 0).
        epsilon: The most that any user may lose by the release, > 0.
        target: Promised error of each published cell's mean, as a share of R, > 0. The midpoint alone keeps 1/2 and
            more. The planner promises 0.499 at most, and above it excludes nothing.
        budgets: What each user may still lose, in units of 1/LOSS_UNITS, shape (L,); None is no limit.
        worth: What publishing each cell is worth, a public number > 0, shape (G,): its records, or None for 1 each.

    Returns:
        The plan; if no cell can be carried, all widths and inverse scales are 0.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        HV-L1, HV-L5, HV-L6, HV-L8.
    """
    _check.positive(epsilon=epsilon, target=target)
    _check.all_at_least(1, value_ranges=np.array(value_ranges))
    target = min(target, Fraction(1, 2))
    promise = min(target, _MOST_ERROR)
    worth = np.ones(occupancy.n_cells, dtype=np.int64) if worth is None else worth
    _check.all_at_least(1, worth=worth)
    limits = _limits(occupancy, len(value_ranges), epsilon, budgets)
    cells, most = np.zeros(occupancy.n_cells, dtype=bool), 0
    planned, lower = _empty_plan(occupancy, value_ranges, 0).sums, 0.0
    alone = _carried_alone(occupancy, limits, promise)
    if alone.any():
        unit = float(worth.mean())
        programme = _programme(occupancy, limits, alone, np.full(int(alone.sum()), float(promise)))
        programme = replace(programme, worth=worth[alone] / unit)
        packing = most_shares(programme)
        choice = cells_that_fit(programme, packing)
        most = min(int(packing.bound * unit), int(worth[alone].sum()))
        cells[np.flatnonzero(alone)[choice.cells]] = True
        if choice.cover is not None:
            chosen = programme.restricted(choice.cells)
            cover = least_worst_load(chosen, GAP, at_most=FITS, start=choice.cover.start)
            planned = _exact_sums(occupancy, value_ranges, limits, cells, [promise] * int(cells.sum()), cover)
            lower = cover.lower_bound
    sums = most_published(occupancy, planned, limits > 0, epsilon, target, budgets, worth.astype(np.float64))
    published = sums[0].inverse_scale.astype(bool)
    if (published != cells).any() or target > promise:
        lower = _bound_of_published(occupancy, limits, published, float(target))
    worst = _worst_load(occupancy, sums, limits)
    most = int(worth.sum()) if target > promise else max(most, int(worth[published].sum()))
    return Plan(sums, worst, min(lower, worst), most)


def least_epsilon(occupancy: Occupancy, value_ranges: list[int], errors: list[Fraction]) -> Plan:
    """Return a plan of the least privacy loss for every cell with promised errors.

    Args:
        occupancy: The occupancy array, G cells.
        value_ranges: Largest value R of a record in each sum to publish, in ticks.
        errors: Promised error of each cell's mean, as a share of R, above 0 and below 1/2, length G.

    Returns:
        The plan; its worst load is the privacy loss itself, as every user's limit is 1.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        HV-L1, HV-L5, HV-L8.
    """
    _check.positive(least_error=min(errors))
    _check.all_at_least(1, value_ranges=np.array(value_ranges))
    if len(errors) != occupancy.n_cells or max(errors) >= Fraction(1, 2):
        raise ValueError("errors must be one number below 1/2 for each cell")
    limits = np.full(occupancy.n_users, 1 / len(value_ranges))
    everywhere = np.ones(occupancy.n_cells, dtype=bool)
    programme = _programme(occupancy, limits, everywhere, np.array([float(error) for error in errors]))
    cover = least_worst_load(programme, GAP)
    sums = _exact_sums(occupancy, value_ranges, limits, everywhere, errors, cover)
    return Plan(sums, _worst_load(occupancy, sums, limits), cover.lower_bound, occupancy.n_cells)


def least_error(
    occupancy: Occupancy, value_ranges: list[int], epsilon: Fraction, budgets: ExactIntArray | None = None
) -> tuple[Plan, Fraction]:
    """Return a plan for every cell with the least common promised error that a privacy loss allows.

    Args:
        occupancy: The occupancy array, G cells.
        value_ranges: Largest value R of a record in each sum to publish, in ticks.
        epsilon: The most that any user may lose by the release, > 0.
        budgets: What each user may still lose, in units of 1/LOSS_UNITS, shape (L,); None is no limit.

    Returns:
        The plan, and a share of R: no plan for all cells can promise less. How far the plan's promise is above it
        depends on the allowed work and on the ticks. The plan is empty if none was found that promises 0.499 for all
        cells.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        HV-L1, HV-L5, HV-L8.
    """
    _check.positive(epsilon=epsilon)
    _check.all_at_least(1, value_ranges=np.array(value_ranges))
    limits = _limits(occupancy, len(value_ranges), epsilon, budgets)
    everywhere = np.ones(occupancy.n_cells, dtype=bool)
    if not _carried_alone(occupancy, limits, _MOST_ERROR).all():
        return _empty_plan(occupancy, value_ranges, occupancy.n_cells), _MOST_ERROR
    programme = _programme(occupancy, limits, everywhere, np.full(occupancy.n_cells, MOST))
    least, plan = least_common_error(programme, FITS), _empty_plan(occupancy, value_ranges, occupancy.n_cells)
    for slack in _ROUNDING_SLACKS if least.start else ():
        error = min(Fraction(least.possible) * slack, _MOST_ERROR)
        programme = programme.with_error(float(error))
        cover = least_worst_load(programme, GAP, n_steps=_ROUNDING_STEPS, start=least.start)
        sums = _exact_sums(occupancy, value_ranges, limits, everywhere, [error] * occupancy.n_cells, cover)
        sums = safeguarded(occupancy, sums, epsilon, error, budgets)
        published = sums[0].inverse_scale.astype(bool)
        bound = cover.lower_bound
        if not published.all():
            bound = _bound_of_published(occupancy, limits, published, float(error))
        plan = Plan(sums, _worst_load(occupancy, sums, limits), bound, occupancy.n_cells)
        if published.all():
            break
    return plan, Fraction(least.impossible)


def _limits(occupancy: Occupancy, n_sums: int, epsilon: Fraction, budgets: ExactIntArray | None) -> FloatArray:
    """Return what each user may lose by one of the sums; 0 for a user with under a thousandth of the largest.

    Such a user adds almost nothing, but one limit far from the others makes the steps bad. Plans and bounds are for
    the remaining users.
    """
    allowed = np.full(occupancy.n_users, float(epsilon))
    if budgets is not None:
        allowed = np.minimum(allowed, np.array([float(Fraction(int(b), LOSS_UNITS)) for b in budgets]))
    return np.where(allowed > _LEAST_LIMIT * allowed.max(), np.maximum(allowed, 0), 0) / n_sums


def _carried_alone(occupancy: Occupancy, limits: FloatArray, promise: Fraction) -> NDArray[np.bool_]:
    """Return the cells that could keep their promise if they were the only one; the others never can."""
    may_spend = limits[occupancy.user] > 0
    if not may_spend.any():
        return np.zeros(occupancy.n_cells, dtype=bool)
    thresholds = clipping_thresholds(occupancy, may_spend, float(limits.max()))
    errors = clipped_errors(occupancy, may_spend, thresholds, float(limits.max()))
    return (thresholds > 0) & (errors <= float(promise) * (1 + 1e-9))


def _programme(occupancy: Occupancy, limits: FloatArray, cells: NDArray[np.bool_], errors: FloatArray) -> Programme:
    keep = cells[occupancy.cell] & (limits[occupancy.user] > 0)
    number = np.cumsum(cells) - 1
    return Programme(
        number[occupancy.cell[keep]],
        occupancy.user[keep],
        occupancy.n_records[keep].astype(float),
        occupancy.cell_records[cells].astype(float),
        errors,
        limits,
    )


def _exact_sums(
    occupancy: Occupancy,
    value_ranges: list[int],
    limits: FloatArray,
    cells: NDArray[np.bool_],
    errors: list[Fraction],
    cover: Cover,
) -> list[ClippedSum]:
    """Round a plan to integers that keep every promise."""
    keep = cells[occupancy.cell] & (limits[occupancy.user] > 0)
    shares = np.zeros(occupancy.cell.size)
    shares[keep] = cover.widths
    promised = dict(zip(np.flatnonzero(cells).tolist(), errors, strict=True))
    return [rounded_sum(occupancy, value_range, shares, promised) for value_range in value_ranges]


def _worst_load(occupancy: Occupancy, sums: list[ClippedSum], limits: FloatArray) -> float:
    losses = user_losses(occupancy, sums)
    spending = losses.astype(bool) & (limits > 0)
    allowed = limits[spending] * len(sums) * LOSS_UNITS
    return float(np.max(losses[spending].astype(float) / allowed, initial=0))


def _bound_of_published(
    occupancy: Occupancy, limits: FloatArray, published: NDArray[np.bool_], promise: float
) -> float:
    """Return a lower bound for the cells published in the end, counting only cells with a user who may spend."""
    may_spend = np.zeros(occupancy.n_cells, dtype=bool)
    may_spend[occupancy.cell[limits[occupancy.user] > 0]] = True
    published = published & may_spend
    if not published.any() or promise >= _COSTS_NOTHING:
        return 0.0
    errors = np.full(int(published.sum()), promise)
    return least_worst_load(_programme(occupancy, limits, published, errors), GAP).lower_bound


def _empty_plan(occupancy: Occupancy, value_ranges: list[int], most: int) -> Plan:
    nothing = np.zeros(occupancy.n_cells, dtype=object)
    sums = [
        ClippedSum(value_range, np.zeros(occupancy.cell.size, dtype=object), nothing) for value_range in value_ranges
    ]
    return Plan(sums, 0.0, 0.0, most)


def lower_bound(occupancy: Occupancy, promised: list[Fraction | None], value_range: int, n_sums: int = 1) -> float:
    """Return a privacy loss below which no plan publishes the same cells with the same promised errors.

    The plans are those of HV-L5: intervals about the middle, promises counted as in HV-L2.

    Args:
        occupancy: The occupancy array, G cells.
        promised: Promised error of each cell, by any mechanism, in ticks; None if the cell is not published.
        value_range: Largest value R of a record, in ticks.
        n_sums: Sums published of each cell, all with the same promise as a share of their range.

    Returns:
        The bound; 0 if nothing is published. Cells that promise about 1/2 or more are not counted, because the
        midpoint keeps that at no cost.

    Source:
        HV-L5.
    """
    errors = np.array([1.0 if error is None else float(error / value_range) for error in promised])
    cells = errors < _COSTS_NOTHING
    if not cells.any():
        return 0.0
    limits = np.full(occupancy.n_users, 1 / n_sums)
    return least_worst_load(_programme(occupancy, limits, cells, errors[cells]), GAP).lower_bound
