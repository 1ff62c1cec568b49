"""Plans that suppress no user: one epsilon for all cells, or each cell with the noise that its promise allows."""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpmath.cells.clipped_sum import ClippedSum
from dpmath.cells.safeguard import promise_or_midpoint, safeguarded
from dpmath.cells.thresholds import clipping_thresholds
from dpmath.core import _check
from dpmath.core.accounting import LOSS_UNITS, ExactIntArray, exact_integers
from dpmath.core.occupancy import Occupancy


def baseline_sums(
    occupancy: Occupancy, value_ranges: list[int], epsilon: Fraction, target: Fraction | None
) -> tuple[list[ClippedSum], Fraction]:
    """Return full-width sums with one epsilon for all cells, charged by the number of a user's cells.

    The cells that need the least epsilon for the promise are taken first, as long as the busiest user's number of
    cells times the largest epsilon needed so far is within ``epsilon``.

    Args:
        occupancy: The occupancy array, G cells.
        value_ranges: Largest value R of a record in each sum to publish, in ticks.
        epsilon: The most that any user may be charged, > 0.
        target: Promised error of each cell's mean, as a share of R, > 0; None promises 1/2, which the midpoint keeps
            without reading any data, and spends all of ``epsilon``.

    Returns:
        The sums, and what they are charged: K times the epsilon of a cell, at least the exact loss.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        CPL-T2.3.
    """
    _check.positive(epsilon=epsilon, target=promise_or_midpoint(target))
    _check.all_at_least(1, value_ranges=np.array(value_ranges))
    needed = _needed_epsilons(occupancy, promise_or_midpoint(target))
    carried, cell_epsilon, charged = shared_epsilon(occupancy, needed, epsilon, len(value_ranges), target is None)
    return _full_width_sums(occupancy, value_ranges, carried, [cell_epsilon] * int(carried.sum())), charged


def optimal_clipping_sums(
    occupancy: Occupancy, value_ranges: list[int], epsilon: Fraction, target: Fraction | None
) -> tuple[list[ClippedSum], Fraction]:
    """Return optimally clipped sums with one epsilon for all cells, charged by the number of a user's cells.

    Cells are taken as by ``baseline_sums``.

    Args:
        occupancy: The occupancy array, G cells.
        value_ranges: Largest value R of a record in each sum to publish, in ticks.
        epsilon: The most that any user may be charged, > 0.
        target: Promised error of each cell's mean, as a share of R, > 0; None promises 1/2, which the midpoint keeps
            without reading any data, and spends all of ``epsilon``.

    Returns:
        The sums, and what they are charged: K times the epsilon of a cell, at least the exact loss.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        BUCv-T1, CPL-T2.3.
    """
    _check.positive(epsilon=epsilon, target=promise_or_midpoint(target))
    _check.all_at_least(1, value_ranges=np.array(value_ranges))
    each = [_needed_by_clipping(occupancy, promise_or_midpoint(target), value_range) for value_range in value_ranges]
    needed = [None if None in cell else max(one for one in cell if one is not None) for cell in zip(*each, strict=True)]
    carried, cell_epsilon, charged = shared_epsilon(occupancy, needed, epsilon, len(value_ranges), target is None)
    if not carried.any():
        return _full_width_sums(occupancy, value_ranges, carried, []), Fraction(0)
    thresholds = clipping_thresholds(occupancy, np.ones(occupancy.cell.size, dtype=bool), cell_epsilon) * carried
    widths = exact_integers(np.minimum(thresholds[occupancy.cell], occupancy.n_records))
    sums = []
    for value_range in value_ranges:
        scale = [math.ceil(LOSS_UNITS * cell_epsilon / (value_range * t)) if t else 0 for t in thresholds.tolist()]
        sums.append(ClippedSum(value_range, value_range * widths, np.array(scale, dtype=object)))
    return sums, charged


def _needed_by_clipping(occupancy: Occupancy, target: Fraction, value_range: int) -> list[Fraction | None]:
    """Return, for each cell, the least epsilon at which some threshold T keeps the promise; None if there is none.

    The error at T is at most (1/N)[sum max(m - T, 0)/2 + T/epsilon], and half a tick more for each user whose
    interval in whole ticks cannot lie exactly in the middle.
    """
    needed: list[Fraction | None] = []
    for records in np.split(occupancy.n_records, occupancy.cell_start[1:-1]):
        limit = 2 * value_range * int(records.sum()) * target
        options = []
        for threshold in np.unique(records).tolist():
            above = records[records > threshold]
            room = limit - value_range * int((above - threshold).sum()) - above.size
            if room > 0:
                options.append(2 * value_range * threshold / room)
        needed.append(min(options, default=None))
    return needed


def shared_epsilon(
    occupancy: Occupancy, needed: Sequence[Fraction | None], epsilon: Fraction, n_sums: int, whole: bool = False
) -> tuple[NDArray[np.bool_], Fraction, Fraction]:
    """Return the cells that one common epsilon can carry, that epsilon, and its charge.

    The cells that need least are taken first, as long as the busiest user's number of cells times the largest
    epsilon needed so far, for each sum, is within ``epsilon``.

    Args:
        occupancy: The occupancy array, G cells.
        needed: The least epsilon of each cell and sum, G of them; None for a cell that no epsilon helps.
        epsilon: The most that any user may be charged, > 0.
        n_sums: Sums published of each cell, >= 1.
        whole: Whether the cells get all of ``epsilon``, or as little as they need.

    Returns:
        Which cells, shape (G,); the epsilon of one cell and sum; and K n_sums times that, the charge.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        CPL-T2.3.
    """
    _check.positive(epsilon=epsilon)
    _check.at_least(1, n_sums=n_sums)
    n_cells_of_user = np.zeros(occupancy.n_users, dtype=np.int64)
    carried = np.zeros(occupancy.n_cells, dtype=bool)
    cell_epsilon = charged = Fraction(0)
    for least, cell in sorted((one, cell) for cell, one in enumerate(needed) if one is not None):
        n_cells_of_user[occupancy.user[occupancy.cell_start[cell] : occupancy.cell_start[cell + 1]]] += 1
        charge = int(n_cells_of_user.max()) * least * n_sums
        if charge > epsilon:
            break
        carried[cell], cell_epsilon, charged = True, least, charge
    if whole and charged:
        cell_epsilon, charged = cell_epsilon * (epsilon / charged), epsilon
    return carried, cell_epsilon, charged


def exact_sums(
    occupancy: Occupancy,
    value_ranges: list[int],
    epsilon: Fraction,
    target: Fraction,
    budgets: ExactIntArray | None = None,
) -> list[ClippedSum]:
    """Return full-width sums, each cell with the noise its promise allows, charged by the exact loss.

    Nothing is suppressed or clipped. Cells are taken in the order of the epsilon they need, leaving out those with
    which some user would lose more than ``epsilon``.

    Args:
        occupancy: The occupancy array, G cells.
        value_ranges: Largest value R of a record in each sum to publish, in ticks.
        epsilon: The most that any user may lose, > 0.
        target: Promised error of each cell's mean, as a share of R, > 0.
        budgets: What each user may still lose, in units of 1/LOSS_UNITS, shape (L,); None is no limit.

    Returns:
        One ClippedSum for each value range.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        HV-L1.
    """
    _check.positive(epsilon=epsilon, target=target)
    _check.all_at_least(1, value_ranges=np.array(value_ranges))
    needed = occupancy.cell_largest / occupancy.cell_records / float(target)
    most = float(epsilon) * (1 - 1e-9)
    losses, carried = np.zeros(occupancy.n_users), np.zeros(occupancy.n_cells, dtype=bool)
    by_need = np.argsort(needed, kind="stable")
    for cell in by_need[: np.count_nonzero(len(value_ranges) * needed <= most)]:
        pairs = slice(occupancy.cell_start[cell], occupancy.cell_start[cell + 1])
        users, share = occupancy.user[pairs], occupancy.n_records[pairs] / occupancy.cell_largest[cell]
        after = losses[users] + len(value_ranges) * needed[cell] * share
        if after.max() <= most:
            losses[users], carried[cell] = after, True
    epsilons = _needed_epsilons(occupancy.of_cells(carried), target)
    sums = _full_width_sums(occupancy, value_ranges, carried, epsilons)
    return safeguarded(occupancy, sums, epsilon, target, budgets)


def _needed_epsilons(occupancy: Occupancy, target: Fraction) -> list[Fraction]:
    """Return, for each cell, the epsilon at which full-width noise alone keeps the promise: m* / (N target)."""
    return [int(m) / (int(n) * target) for m, n in zip(occupancy.cell_largest, occupancy.cell_records, strict=True)]


def _full_width_sums(
    occupancy: Occupancy, value_ranges: list[int], carried: NDArray[np.bool_], epsilons: list[Fraction]
) -> list[ClippedSum]:
    """Return sums of the carried cells at full width, with the epsilon of each of them."""
    part = occupancy.of_cells(carried)
    largest = part.cell_largest.tolist()
    sums = []
    for value_range in value_ranges:
        scale = [math.ceil(LOSS_UNITS * e / (value_range * m)) for m, e in zip(largest, epsilons, strict=True)]
        widths = value_range * exact_integers(part.n_records)
        sums.append(ClippedSum(value_range, widths, np.array(scale, dtype=object)).among(occupancy, carried))
    return sums
