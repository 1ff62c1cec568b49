"""Round a plan in shares of the range to integers that keep every promise and exceed no limit."""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpmath.cells.clipped_sum import ClippedSum
from dpmath.cells.safeguard import safeguarded
from dpmath.cells.unsuppressed import exact_sums
from dpmath.core.accounting import LOSS_UNITS, ExactIntArray, exact_integers, in_loss_units
from dpmath.core.cell_sums import user_losses
from dpmath.core.occupancy import IntArray, Occupancy
from dpmath.planner.programme import FloatArray


def rounded_sum(
    occupancy: Occupancy, value_range: int, shares: FloatArray, promised: dict[int, Fraction]
) -> ClippedSum:
    """Return integer widths, and for each cell the largest noise that still keeps its promise exactly.

    Args:
        occupancy: The occupancy array, P pairs.
        value_range: Largest value R of a record, in ticks.
        shares: Wanted width of each pair as a share of R, shape (P,).
        promised: Promised error of each cell to publish, as a share of R.

    Returns:
        The sum; a cell whose promise integer widths cannot keep is not published.

    Source:
        HV-L2.
    """
    cells = np.zeros(occupancy.n_cells, dtype=bool)
    cells[list(promised)] = True
    part = occupancy.of_cells(cells)
    records, wanted = exact_integers(part.n_records), value_range * shares[cells[occupancy.cell]]
    widths = np.array([_nearest_width(*pair) for pair in zip(value_range * records, wanted, strict=True)], dtype=object)
    inverse_scale = np.zeros(part.n_cells, dtype=object)
    bias = part.cell_sums(ClippedSum(value_range, widths, inverse_scale).bias(part))
    for cell, (_, error) in enumerate(sorted(promised.items())):
        room = int(part.cell_records[cell]) * value_range * error - bias[cell]
        if room > 0:
            inverse_scale[cell] = -(-LOSS_UNITS * room.denominator // room.numerator)
    widths = np.where(inverse_scale[part.cell].astype(bool), widths, 0)
    return ClippedSum(value_range, widths, inverse_scale).among(occupancy, cells)


def _nearest_width(top: int, wanted: float) -> int:
    """Return 0 or a width that leaves an even part of the range: an odd part costs as much bias as one tick more."""
    return top - 2 * min(round((top - wanted) / 2), top // 2) if wanted >= 0.5 else 0


def most_published(
    occupancy: Occupancy,
    planned: list[ClippedSum],
    may_spend: NDArray[np.bool_],
    epsilon: Fraction,
    promise: Fraction,
    budgets: ExactIntArray | None,
    worth: FloatArray,
) -> list[ClippedSum]:
    """Return what is left of a rounded plan within every limit, or sums without clipping if they are worth more.

    If rounding removed cells, other cells of full width that still fit are added to the plan.

    Args:
        occupancy: The occupancy array, L users.
        planned: The rounded plan.
        may_spend: Which users cells of full width may read, shape (L,).
        epsilon: The most that any user may lose by the release.
        promise: Promised error of each cell's mean, as a share of the range.
        budgets: What each user may still lose, in units of 1/LOSS_UNITS, shape (L,); None is no limit.
        worth: What publishing each cell is worth, shape (G,).

    Returns:
        Sums that keep every limit and promise exactly, worth at least what ``exact_sums`` are.

    Source:
        HV-L1, HV-L2.
    """
    limits = np.full(occupancy.n_users, in_loss_units(epsilon), dtype=object)
    if budgets is not None:
        limits = np.minimum(limits, np.maximum(budgets, 0))
    if _published(planned).any() and (user_losses(occupancy, planned) <= limits).all():
        kept = planned
    else:
        kept = within_limits(occupancy, [planned, _unclipped(occupancy, planned, may_spend, promise)], limits, worth)
    value_ranges = [one.value_range for one in planned]
    plans = [
        safeguarded(occupancy, kept, epsilon, promise, budgets),
        exact_sums(occupancy, value_ranges, epsilon, promise, budgets),
    ]
    return max(plans, key=lambda plan: float(worth[plan[0].published].sum()))


def _unclipped(
    occupancy: Occupancy, planned: list[ClippedSum], may_spend: NDArray[np.bool_], promise: Fraction
) -> list[ClippedSum]:
    """Return every cell at full width with the promise."""
    whole = (occupancy.n_records * may_spend[occupancy.user]).astype(float)
    everywhere = dict.fromkeys(range(occupancy.n_cells), promise)
    return [rounded_sum(occupancy, one.value_range, whole, everywhere) for one in planned]


def within_limits(
    occupancy: Occupancy, candidates: list[list[ClippedSum]], limits: ExactIntArray, worth: FloatArray
) -> list[ClippedSum]:
    """Return cells of the candidates that together exceed no user's limit.

    From the first candidate, the cells that load the users over their limit most are removed, one at a time. Then the
    cells that it lacks are added from each candidate in turn if they fit, those that load a user least first. Loads
    are compared for the same worth.

    Args:
        occupancy: The occupancy array, L users.
        candidates: Sums for the same value ranges, the first as planned.
        limits: What each user may lose, in units of 1/LOSS_UNITS, shape (L,).
        worth: What publishing each cell is worth, shape (G,).

    Returns:
        The sums, each cell as in one candidate or withheld.

    Source:
        HV-L1.
    """
    taken_from = np.where(_published(candidates[0]), 0, -1)
    pairs = _pair_losses(occupancy, candidates[0])
    losses = user_losses(occupancy, candidates[0])
    while (losses > limits).any():
        cell = _most_in_excess(occupancy, pairs, losses, limits, worth)
        one = _pairs_of(occupancy, cell)
        losses[occupancy.user[one]] -= pairs[one]
        taken_from[cell], pairs[one] = -1, 0
    for number, candidate in enumerate(candidates):
        _take_what_fits(occupancy, candidate, number, taken_from, losses, limits, worth)
    return [_merged(occupancy, list(versions), taken_from) for versions in zip(*candidates, strict=True)]


def _most_in_excess(
    occupancy: Occupancy, pairs: ExactIntArray, losses: ExactIntArray, limits: ExactIntArray, worth: FloatArray
) -> int:
    excess = np.maximum(losses - limits, 0)[occupancy.user]
    shares = np.minimum(pairs, excess).astype(float) / np.maximum(limits, 1)[occupancy.user].astype(float)
    return int(np.argmax(np.bincount(occupancy.cell, shares, minlength=occupancy.n_cells) / worth))


def _take_what_fits(
    occupancy: Occupancy,
    candidate: list[ClippedSum],
    number: int,
    taken_from: IntArray,
    losses: ExactIntArray,
    limits: ExactIntArray,
    worth: FloatArray,
) -> None:
    """Add cells of a candidate that are not carried yet, in place."""
    pairs = _pair_losses(occupancy, candidate)
    shares = pairs.astype(float) / np.maximum(limits, 1)[occupancy.user].astype(float)
    largest = np.zeros(occupancy.n_cells)
    np.maximum.at(largest, occupancy.cell, shares)
    missing = np.flatnonzero(_published(candidate) & (taken_from < 0) & (largest <= 1))
    for cell in missing[np.argsort((largest / worth)[missing], kind="stable")]:
        one = _pairs_of(occupancy, cell)
        users = occupancy.user[one]
        if (losses[users] + pairs[one] <= limits[users]).all():
            losses[users] += pairs[one]
            taken_from[cell] = number


def _pairs_of(occupancy: Occupancy, cell: int) -> slice:
    return slice(int(occupancy.cell_start[cell]), int(occupancy.cell_start[cell + 1]))


def _published(sums: list[ClippedSum]) -> NDArray[np.bool_]:
    return np.all([one.published for one in sums], axis=0)


def _pair_losses(occupancy: Occupancy, sums: list[ClippedSum]) -> ExactIntArray:
    return np.sum([one.losses(occupancy) for one in sums], axis=0)


def _merged(occupancy: Occupancy, versions: list[ClippedSum], taken_from: IntArray) -> ClippedSum:
    width = np.zeros(occupancy.cell.size, dtype=object)
    inverse_scale = np.zeros(occupancy.n_cells, dtype=object)
    for number, version in enumerate(versions):
        here = taken_from == number
        inverse_scale[here] = version.inverse_scale[here]
        width[here[occupancy.cell]] = version.width[here[occupancy.cell]]
    return ClippedSum(versions[0].value_range, width, inverse_scale)
