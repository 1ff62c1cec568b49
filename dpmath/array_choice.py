"""Which cells a day publishes by averaging arrays, with which arrays and noise: from the occupancy alone."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpmath import _check
from dpmath.accounting import LOSS_UNITS, ExactIntArray
from dpmath.array_lengths import interval_length, median_length
from dpmath.array_sums import ArraySum, in_loss_units, summed_bias
from dpmath.arrays import ArrayCell, array_sensitivities
from dpmath.grouping import wrap_around
from dpmath.noisy_sums import noise_inverse_scale
from dpmath.occupancy import IntArray, Occupancy
from dpmath.unsuppressed import shared_epsilon


@dataclass(frozen=True)
class _Option:
    """What one length of a cell's arrays comes to; everything but the length in ticks / m_UB."""

    length: int
    divisor: int
    bias: int
    sensitivity: int

    def needed(self, limit: Fraction) -> Fraction | None:
        """Return the least epsilon at which the mean is off by at most ``limit`` ticks; None if there is none."""
        room = limit * self.divisor - self.bias
        return Fraction(self.sensitivity * -int(-LOSS_UNITS / room // 1), LOSS_UNITS) if room > 0 else None

    def error(self, epsilon: Fraction) -> Fraction:
        """Return the promised error of the mean, in ticks; that of noise too wide to be drawn is above any range."""
        inverse_scale = noise_inverse_scale(self.sensitivity, max(epsilon, Fraction(self.sensitivity, LOSS_UNITS)))
        return (self.bias + Fraction(LOSS_UNITS, inverse_scale)) / self.divisor


def _options(records: IntArray, n_records: int, value_range: int, optimal: bool) -> list[_Option]:
    """Return what every user's number of records would come to as a length, or only the median."""
    lengths = np.unique(records).tolist() if optimal else [median_length(records)]
    options = []
    for length in lengths:
        cell = ArrayCell(wrap_around(records, length), records, value_range)
        sensitivity = int(max(array_sensitivities(cell, cell.largest)))
        options.append(_Option(length, cell.divisor, summed_bias(cell, n_records), sensitivity))
    return options


def array_averaging_sums(
    occupancy: Occupancy,
    value_ranges: list[int],
    epsilon: Fraction,
    target: Fraction | None,
    budgets: ExactIntArray | None = None,
    optimal: bool = False,
) -> list[ArraySum]:
    """Return sums of array means for the cells that keep a promise, all with one epsilon, as many as compose.

    A user whose budget does not pay for a cell is left out of its arrays; a cell whose promise that breaks is
    withheld.

    Args:
        occupancy: The occupancy array, P pairs, G cells, L users. Nothing else decides.
        value_ranges: Largest value R of a record in each sum to publish, in ticks.
        epsilon: The most that any user may lose by the release, > 0.
        target: Promised error of each cell's mean, as a share of R, > 0; None promises 1/2, which the midpoint keeps
            without reading any data, and spends all of ``epsilon``.
        budgets: What each user may still lose, in units of 1/LOSS_UNITS, shape (L,); None is no limit.
        optimal: Whether arrays have the length with the least promised error (OPT-Array-Averaging), or the median.

    Returns:
        One ArraySum for each value range, all with the same cells published.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        STI-S3.3, CPL-T2.3, HV-L46.
    """
    promise = Fraction(1, 2) if target is None else target
    _check.positive(epsilon=epsilon, target=promise)
    _check.all_at_least(1, value_ranges=np.array(value_ranges))

    def options(cell: int, pairs: IntArray, value_range: int) -> list[_Option]:
        records = occupancy.n_records[pairs]
        if records.size * epsilon * promise < 1:  # no length comes to less noise than R / (L epsilon)
            return []
        return _options(records, int(occupancy.cell_records[cell]), value_range, optimal)

    needed: list[Fraction | None] = []
    for cell in range(occupancy.n_cells):
        pairs = np.arange(*occupancy.cell_start[cell : cell + 2])
        each = [_least(options(cell, pairs, r), promise * r) for r in value_ranges]
        needed.append(None if None in each else max(one for one in each if one is not None))
    carried, cell_epsilon, _ = shared_epsilon(occupancy, needed, epsilon, len(value_ranges), target is None)
    cost = in_loss_units(cell_epsilon)
    cell_epsilon = Fraction(cost, LOSS_UNITS)
    taken = _paid_for(occupancy, np.flatnonzero(carried), len(value_ranges) * cost, budgets)
    lengths = np.zeros((len(value_ranges), occupancy.n_cells), dtype=np.int64)
    for cell in np.flatnonzero(carried).tolist():
        first, end = occupancy.cell_start[cell : cell + 2]
        pairs = first + np.flatnonzero(taken[first:end])
        for number, value_range in enumerate(value_ranges):
            found = options(cell, pairs, value_range)
            best = min(found, key=lambda option: (option.error(cell_epsilon), option.length), default=None)
            if best is not None and best.error(cell_epsilon) <= promise * value_range:
                lengths[number, cell] = best.length
    lengths *= np.all(lengths, axis=0)
    sums = zip(value_ranges, lengths, strict=True)
    return [ArraySum(occupancy, value_range, length, taken, cell_epsilon) for value_range, length in sums]


def _least(options: list[_Option], limit: Fraction) -> Fraction | None:
    """Return the least epsilon at which one of the options keeps a limit."""
    return min((one for option in options if (one := option.needed(limit)) is not None), default=None)


def projected_array_sums(
    occupancy: Occupancy,
    value_range: int,
    epsilon: Fraction,
    cell_epsilon: Fraction,
    budgets: ExactIntArray | None = None,
) -> list[ArraySum]:
    """Return sums of projected array means, each of one epsilon, for as many cells as compose.

    Cells are taken in the order of the noise that they would need without projection, leaving out those with which
    some user would lose more than ``epsilon``, and those where that noise is wider than half the range.

    Args:
        occupancy: The occupancy array, P pairs, G cells, L users. Nothing else decides.
        value_range: Largest value R of a record, in ticks.
        epsilon: The most that any user may lose by the release, > 0.
        cell_epsilon: What a user loses by one cell, interval and sum, > 0.
        budgets: What each user may still lose, in units of 1/LOSS_UNITS, shape (L,); None is no limit. A user whose
            budget does not pay for a cell is left out of its arrays.

    Returns:
        One ArraySum.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        STI-S3.4, STI-S3.5, CPL-T2.3.
    """
    _check.positive(epsilon=epsilon, cell_epsilon=cell_epsilon)
    _check.at_least(1, value_range=value_range)
    cost = in_loss_units(cell_epsilon)
    cell_epsilon = Fraction(cost, LOSS_UNITS)
    lengths = [interval_length(records) for records in np.split(occupancy.n_records, occupancy.cell_start[1:-1])]
    everyone = np.ones(occupancy.user.size, dtype=bool)
    whole = ArraySum(occupancy, value_range, np.array(lengths), everyone, cell_epsilon, projected=True)
    scales = [
        2 * int(max(array_sensitivities(cell, cell.largest))) / (cell_epsilon * cell.divisor)
        for cell in whole.cells.values()
    ]
    n_paid, most = np.zeros(occupancy.n_users, dtype=np.int64), in_loss_units(epsilon) // cost
    carried = []
    for cell in sorted(np.flatnonzero(2 * np.array(scales) <= value_range).tolist(), key=lambda one: scales[one]):
        users = occupancy.user[occupancy.cell_start[cell] : occupancy.cell_start[cell + 1]]
        if n_paid[users].max() < most:
            n_paid[users] += 1
            carried.append(cell)
    taken = _paid_for(occupancy, np.array(carried, dtype=np.int64), cost, budgets)
    length = np.zeros(occupancy.n_cells, dtype=np.int64)
    for cell in carried:
        pairs = slice(*occupancy.cell_start[cell : cell + 2])
        if taken[pairs].any():
            length[cell] = interval_length(occupancy.n_records[pairs][taken[pairs]])
    return [ArraySum(occupancy, value_range, length, taken, cell_epsilon, projected=True)]


def _paid_for(occupancy: Occupancy, cells: IntArray, cost: int, budgets: ExactIntArray | None) -> NDArray[np.bool_]:
    """Return which pairs of these cells their users can pay for, in the order of the cells, shape (P,)."""
    taken = np.zeros(occupancy.user.size, dtype=bool)
    left = None if budgets is None else budgets.copy()
    for cell in cells:
        pairs = slice(*occupancy.cell_start[cell : cell + 2])
        users = occupancy.user[pairs]
        taken[pairs] = True if left is None else left[users] >= cost
        if left is not None:
            left[users[taken[pairs]]] -= cost
    return taken
