"""Which cells a day publishes by averaging arrays, with which arrays and noise. Reads the occupancy only."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpmath.arrays.cell import ArrayCell, array_sensitivities
from dpmath.arrays.grouping import best_fit, wrap_around
from dpmath.arrays.lengths import interval_length, median_length
from dpmath.arrays.sums import ArraySum, summed_bias
from dpmath.cells.safeguard import promise_or_midpoint
from dpmath.cells.unsuppressed import shared_epsilon
from dpmath.core import _check
from dpmath.core.accounting import LOSS_UNITS, ExactIntArray, in_loss_units
from dpmath.core.occupancy import IntArray, Occupancy
from dpmath.noise.noisy_cell import noise_inverse_scale


@dataclass(frozen=True)
class _Option:
    """One possible length of a cell's arrays, and its result. All except the length is in ticks / m_UB."""

    length: int
    divisor: int
    bias: int
    sensitivity: int

    def needed(self, limit: Fraction) -> Fraction | None:
        """Return the least epsilon at which the mean is off by at most ``limit`` ticks; None if none exists."""
        room = limit * self.divisor - self.bias
        return Fraction(self.sensitivity * -int(-LOSS_UNITS / room // 1), LOSS_UNITS) if room > 0 else None

    def error(self, epsilon: Fraction) -> Fraction | None:
        """Return the promised error of the mean, in ticks; None if the noise would be too wide to be drawn."""
        if in_loss_units(epsilon) < self.sensitivity:
            return None
        noise = Fraction(LOSS_UNITS, noise_inverse_scale(self.sensitivity, epsilon))
        return (self.bias + noise) / self.divisor


@dataclass(frozen=True)
class _Chooser:
    """Chooses array lengths. The candidates are every user's number of records, or only the median."""

    occupancy: Occupancy
    epsilon: Fraction
    promise: Fraction
    optimal: bool

    def options(self, cell: int, pairs: IntArray, value_range: int) -> list[_Option]:
        """Return the option of each length for some users of a cell, except those whose noise is always too wide."""
        records, limit = self.occupancy.n_records[pairs], self.promise * value_range
        if records.size * self.epsilon * self.promise < 1:  # no length has less noise than R / (L epsilon)
            return []
        options = []
        for length in np.unique(records).tolist() if self.optimal else [median_length(records)]:
            arrays = ArrayCell(wrap_around(records, length), records, value_range)
            sensitivity = value_range * int(arrays.grouping.n_kept.max())
            if sensitivity <= limit * arrays.divisor * self.epsilon:
                bias = summed_bias(arrays, int(self.occupancy.cell_records[cell]))
                options.append(_Option(length, arrays.divisor, bias, sensitivity))
        return options

    def needed(self, cell: int, value_ranges: list[int]) -> Fraction | None:
        """Return the least epsilon of one sum at which all sums of a cell keep the promise; None if none exists."""
        pairs = np.arange(*self.occupancy.cell_start[cell : cell + 2])
        each = []
        for value_range in value_ranges:
            options = self.options(cell, pairs, value_range)
            needed = [one for option in options if (one := option.needed(self.promise * value_range)) is not None]
            if not needed:
                return None
            each.append(min(needed))
        return max(each)

    def length(self, cell: int, pairs: IntArray, value_range: int, epsilon: Fraction) -> int:
        """Return the length with the least promised error at an epsilon; 0 if no length keeps the promise."""
        options = self.options(cell, pairs, value_range) if pairs.size else []
        errors = [(error, option.length) for option in options if (error := option.error(epsilon)) is not None]
        error, length = min(errors, default=(None, 0))
        return length if error is not None and error <= self.promise * value_range else 0


def array_averaging_sums(
    occupancy: Occupancy,
    value_ranges: list[int],
    epsilon: Fraction,
    target: Fraction | None,
    budgets: ExactIntArray | None = None,
    optimal: bool = False,
) -> list[ArraySum]:
    """Return sums of array means, all with one epsilon, for as many cells that keep a promise as compose.

    A user whose budget does not pay for a cell is left out of its arrays. A cell whose promise this breaks is
    withheld, and costs no user anything.

    Args:
        occupancy: The occupancy array, P pairs, G cells, L users. It is the only data that is read.
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
    promise = promise_or_midpoint(target)
    _check.positive(epsilon=epsilon, target=promise)
    _check.all_at_least(1, value_ranges=np.array(value_ranges))
    chooser = _Chooser(occupancy, epsilon, promise, optimal)
    needed = [chooser.needed(cell, value_ranges) for cell in range(occupancy.n_cells)]
    carried, cell_epsilon, _ = shared_epsilon(occupancy, needed, epsilon, len(value_ranges), target is None)
    cost = in_loss_units(cell_epsilon)
    cell_epsilon = Fraction(cost, LOSS_UNITS)
    lengths = np.zeros((len(value_ranges), occupancy.n_cells), dtype=np.int64)

    def is_kept(cell: int, pairs: IntArray) -> bool:
        lengths[:, cell] = [chooser.length(cell, pairs, value_range, cell_epsilon) for value_range in value_ranges]
        lengths[:, cell] *= lengths[:, cell].all()
        return bool(lengths[0, cell])

    cells = np.flatnonzero(carried).tolist()
    taken = _paid_for(occupancy, cells, len(value_ranges) * cost, budgets, is_kept)
    sums = zip(value_ranges, lengths, strict=True)
    return [ArraySum(occupancy, value_range, length, taken, cell_epsilon) for value_range, length in sums]


def projected_array_sums(
    occupancy: Occupancy,
    value_range: int,
    epsilon: Fraction,
    cell_epsilon: Fraction,
    budgets: ExactIntArray | None = None,
    n_interval_draws: int = 1,
) -> list[ArraySum]:
    """Return sums of projected array means, each of one epsilon, for as many cells as compose.

    Cells are taken in the order of the noise that they would need without projection. Cells with which some user would
    lose more than ``epsilon`` are left out, and so are cells where that noise is wider than half the range.

    Args:
        occupancy: The occupancy array, P pairs, G cells, L users. It is the only data that is read.
        value_range: Largest value R of a record, in ticks.
        epsilon: The most that any user may lose by the release, > 0.
        cell_epsilon: What a user loses by one cell, interval and sum, >= 1/LOSS_UNITS.
        budgets: What each user may still lose, in units of 1/LOSS_UNITS, shape (L,); None is no limit. A user whose
            budget does not pay for a cell is left out of its arrays.
        n_interval_draws: How many draws find the interval, each for an equal part of half of the cell's epsilon.

    Returns:
        One ArraySum.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        STI-S3.4, STI-S3.5, CPL-T2.3.
    """
    _check.positive(epsilon=epsilon, cell_epsilon=cell_epsilon)
    _check.at_least(1, value_range=value_range, cell_epsilon_in_loss_units=in_loss_units(cell_epsilon))
    cost = in_loss_units(cell_epsilon)
    cell_epsilon = Fraction(cost, LOSS_UNITS)

    def noise(pairs: IntArray) -> Fraction:
        records = occupancy.n_records[pairs]
        arrays = ArrayCell(best_fit(records, interval_length(records)), records, value_range)
        return 2 * max(array_sensitivities(arrays, arrays.largest)) / (cell_epsilon * arrays.divisor)

    noises = [noise(np.arange(*occupancy.cell_start[cell : cell + 2])) for cell in range(occupancy.n_cells)]
    n_paid, most = np.zeros(occupancy.n_users, dtype=np.int64), in_loss_units(epsilon) // cost
    carried = []
    for cell in sorted(range(occupancy.n_cells), key=lambda one: noises[one]):
        users = occupancy.user[occupancy.cell_start[cell] : occupancy.cell_start[cell + 1]]
        if 2 * noises[cell] <= value_range and n_paid[users].max() < most:
            n_paid[users] += 1
            carried.append(cell)
    length = np.zeros(occupancy.n_cells, dtype=np.int64)

    def is_kept(cell: int, pairs: IntArray) -> bool:
        if pairs.size and 2 * noise(pairs) <= value_range:
            length[cell] = interval_length(occupancy.n_records[pairs])
        return bool(length[cell])

    taken = _paid_for(occupancy, carried, cost, budgets, is_kept)
    return [ArraySum(occupancy, value_range, length, taken, cell_epsilon, n_interval_draws)]


def _paid_for(
    occupancy: Occupancy,
    cells: list[int],
    cost: int,
    budgets: ExactIntArray | None,
    is_kept: Callable[[int, IntArray], bool],
) -> NDArray[np.bool_]:
    """Return which pairs of these cells the users' budgets pay for, taking cells in this order, shape (P,).

    ``is_kept`` says whether a cell is published with the pairs that can be paid for. If it is not, it costs nothing.
    """
    taken = np.zeros(occupancy.user.size, dtype=bool)
    left = None if budgets is None else budgets.copy()
    for cell in cells:
        pairs = np.arange(*occupancy.cell_start[cell : cell + 2])
        if left is not None:
            pairs = pairs[left[occupancy.user[pairs]] >= cost]
        if is_kept(cell, pairs):
            taken[pairs] = True
            if left is not None:
                left[occupancy.user[pairs]] -= cost
    return taken
