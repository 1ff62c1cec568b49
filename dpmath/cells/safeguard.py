"""The last check of every plan: its limits and promises in exact integers, whatever made the plan."""

from fractions import Fraction

import numpy as np

from dpmath.cells.clipped_sum import ClippedSum
from dpmath.core.accounting import LARGEST_INVERSE_SCALE, ExactIntArray, in_loss_units
from dpmath.core.cell_sums import user_losses
from dpmath.core.occupancy import Occupancy


def safeguarded(
    occupancy: Occupancy,
    sums: list[ClippedSum],
    epsilon: Fraction,
    promise: Fraction,
    budgets: ExactIntArray | None,
) -> list[ClippedSum]:
    """Return a plan that keeps its limits exactly. Cells that then cannot keep their promise are withheld.

    If the worst loss exceeds ``epsilon``, all noise grows. If a user's loss exceeds the budget, that user's
    intervals narrow. A cell that breaks its promise in one sum, or has no user left, is withheld in all sums.

    Args:
        occupancy: The occupancy array, L users.
        sums: The plan.
        epsilon: The most that any user may lose by the release.
        promise: Promised error of each cell's mean, as a share of the range.
        budgets: What each user may still lose, in units of 1/LOSS_UNITS, shape (L,); None is no limit.

    Returns:
        The same sums, or noisier, narrower and fewer.

    Source:
        HV-L1, HV-L2.
    """
    cells = np.all([s.published for s in sums], axis=0)
    part = occupancy.of_cells(cells)
    sums = [s.of_cells(occupancy, cells) for s in sums]
    sums = [ClippedSum(s.value_range, s.width, np.minimum(s.inverse_scale, LARGEST_INVERSE_SCALE)) for s in sums]
    sums = _without_excess(part, sums, epsilon)
    if budgets is not None:
        sums = _within_budgets(part, sums, budgets)
    return [s.among(occupancy, cells) for s in _keeping_promise(part, sums, promise)]


def promise_or_midpoint(target: Fraction | None) -> Fraction:
    """Return a target, or, without one, the promise that the midpoint keeps without reading any data.

    Args:
        target: Promised error as a share of the range; None for no target.

    Source:
        HV-L2, with every interval a point.
    """
    return Fraction(1, 2) if target is None else target


def _without_excess(occupancy: Occupancy, sums: list[ClippedSum], epsilon: Fraction) -> list[ClippedSum]:
    """Lower the inverse scales until the exact worst loss is at most ``epsilon``, despite floating point."""
    worst = max(user_losses(occupancy, sums), default=0)
    limit = in_loss_units(epsilon)
    if worst <= limit:
        return sums
    return [ClippedSum(s.value_range, s.width, s.inverse_scale * limit // worst) for s in sums]


def _within_budgets(occupancy: Occupancy, sums: list[ClippedSum], budgets: ExactIntArray) -> list[ClippedSum]:
    """Narrow the intervals of each user whose budget is below the loss, so that it is met exactly."""
    losses = user_losses(occupancy, sums)
    short = losses > np.maximum(budgets, 0)
    share = [(max(b, 0), loss) if cut else (1, 1) for b, loss, cut in zip(budgets, losses, short, strict=True)]
    numerator, denominator = np.array(share, dtype=object).reshape(-1, 2)[occupancy.user].T
    return [ClippedSum(s.value_range, s.width * numerator // denominator, s.inverse_scale) for s in sums]


def _keeping_promise(occupancy: Occupancy, sums: list[ClippedSum], promise: Fraction) -> list[ClippedSum]:
    """Withhold, in every sum, the cells in which one sum breaks its promise or no user is left."""
    withheld = np.zeros(occupancy.n_cells, dtype=bool)
    for noisy_sum in sums:
        withheld |= occupancy.cell_sums(noisy_sum.losses(occupancy)) == 0
        limit = promise * noisy_sum.value_range
        errors = noisy_sum.errors(occupancy)
        withheld |= np.array([error is None or error > limit for error in errors], dtype=bool)
    return [
        ClippedSum(
            s.value_range,
            np.where(withheld[occupancy.cell], 0, s.width),
            np.where(withheld, 0, s.inverse_scale),
        )
        for s in sums
    ]
