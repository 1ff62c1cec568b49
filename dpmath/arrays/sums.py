"""A day's cells published by array averaging: the records that are taken, the array lengths, and the noise."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpmath.arrays.cell import ArrayCell, array_bias, array_sensitivities
from dpmath.arrays.grouping import best_fit, wrap_around
from dpmath.core.accounting import LOSS_UNITS, ExactIntArray, in_loss_units
from dpmath.core.currency import LAPLACE, PURE, Currency
from dpmath.core.occupancy import IntArray, Occupancy
from dpmath.noise.noisy_cell import noise_inverse_scale


@dataclass(frozen=True)
class ArraySum:
    """One sum of array means per cell that a release publishes.

    The users whose records are taken fill arrays of the cell's length. They do so by BestFit if half of the cell's
    epsilon buys an interval that the array means are projected to, otherwise by WrapAround. The sum of the array
    means, in ticks over the array length, gets discrete Laplace noise.

    Attributes:
        occupancy: The occupancy array, P pairs in G cells.
        value_range: The largest value R one record can have, in ticks; the least is 0.
        array_length: Places m_UB of an array, for each cell, shape (G,); 0 for a cell that is not published.
        taken: False for a pair whose records take no part and which loses nothing, shape (P,).
        cell_epsilon: The most that a user loses by this sum of one cell, a whole number of 1/LOSS_UNITS.
        n_interval_draws: How many draws of the exponential mechanism find the interval, for half of the epsilon; 0 if
            none is bought.

    Source:
        STI-S3.3, STI-S3.4, STI-S3.5.
    """

    occupancy: Occupancy
    value_range: int
    array_length: IntArray
    taken: NDArray[np.bool_]
    cell_epsilon: Fraction
    n_interval_draws: int = 0

    def __post_init__(self) -> None:
        """Check what the losses rely on."""
        if self.cell_epsilon * LOSS_UNITS % 1:
            raise ValueError(f"cell_epsilon={self.cell_epsilon} must be a whole number of 1/{LOSS_UNITS}")

    @property
    def projected(self) -> bool:
        """Whether half of the epsilon buys an interval."""
        return self.n_interval_draws > 0

    @property
    def published(self) -> NDArray[np.bool_]:
        """Which cells are published, shape (G,)."""
        return self.array_length > 0

    @cached_property
    def cells(self) -> dict[int, ArrayCell]:
        """The published cells in arrays, by number."""
        grouped = best_fit if self.projected else wrap_around
        cells = {}
        for cell in np.flatnonzero(self.published).tolist():
            records = self.occupancy.n_records[self.taken_pairs(cell)]
            cells[cell] = ArrayCell(grouped(records, int(self.array_length[cell])), records, self.value_range)
        return cells

    def taken_pairs(self, cell: int) -> IntArray:
        """Return the pairs of a cell whose records are taken, in the order of the cell's users in arrays."""
        first, end = self.occupancy.cell_start[cell : cell + 2]
        return first + np.flatnonzero(self.taken[first:end])

    @property
    def sum_epsilon(self) -> Fraction:
        """What is left of a cell's epsilon for the sum itself."""
        return self.cell_epsilon / 2 if self.projected else self.cell_epsilon

    @cached_property
    def bias(self) -> ExactIntArray:
        """The most by which leaving out and weighting can move each cell's sum, rounded up, shape (G,).

        The bias of projection is not included, because it depends on the interval.
        """
        bias = np.zeros(self.occupancy.n_cells, dtype=object)
        for number, cell in self.cells.items():
            bias[number] = summed_bias(cell, int(self.occupancy.cell_records[number]))
        return bias

    @cached_property
    def divisor(self) -> ExactIntArray:
        """What each cell's sum is divided by to give a mean in ticks, shape (G,); 0 if the cell is not published."""
        divisor = np.zeros(self.occupancy.n_cells, dtype=object)
        for number, cell in self.cells.items():
            divisor[number] = cell.divisor
        return divisor

    @cached_property
    def inverse_scale(self) -> ExactIntArray:
        """LOSS_UNITS over the scale of each cell's noise, shape (G,). The least one if it depends on an interval."""
        scales = np.zeros(self.occupancy.n_cells, dtype=object)
        for number in self.cells:
            sensitivity = int(max(self._sensitivities[number]))
            scales[number] = noise_inverse_scale(sensitivity, self.sum_epsilon)
        return scales

    @cached_property
    def _sensitivities(self) -> dict[int, ExactIntArray]:
        """The most by which each user can move the sum of each published cell, if nothing is projected."""
        return {number: array_sensitivities(cell, cell.largest) for number, cell in self.cells.items()}

    def losses(self, occupancy: Occupancy, currency: Currency = PURE) -> ExactIntArray:
        """Return each pair's privacy loss, in the currency's unit, shape (P,), for this sum's own occupancy.

        Exact if nothing is projected: the most by which the user can move the sum, over the scale of the noise.
        Otherwise it is what interval and sum may cost together, for every user with a place in an array.

        Source:
            HV-L42, HV-L43, HV-L48, HV-L50, STI-S3.4, STI-S3.5.
        """
        self._check_own(occupancy)
        losses = np.zeros(self.taken.size, dtype=object)
        cost = projected_cost(self.cell_epsilon, self.n_interval_draws, currency) if self.projected else 0
        for number, cell in self.cells.items():
            if self.projected:
                charged = (cell.grouping.n_kept > 0).astype(object) * cost
            else:
                charged = currency.of_noise(LAPLACE, self._sensitivities[number], self.inverse_scale[number])
            losses[self.taken_pairs(number)] = charged
        return losses

    def errors(self, occupancy: Occupancy) -> list[Fraction | None]:
        """Return each cell's promised error of the mean, in ticks; None if the cell is not published.

        If array means are projected, nothing better than the whole range can be promised before the draw.

        Source:
            HV-L46.
        """
        self._check_own(occupancy)
        if self.projected:
            return [Fraction(self.value_range) if published else None for published in self.published]
        cells = zip(self.bias, self.inverse_scale, self.divisor, strict=True)
        return [Fraction(int(b) * s + LOSS_UNITS, s * d) if s else None for b, s, d in cells]

    def _check_own(self, occupancy: Occupancy) -> None:
        """Refuse another occupancy. A copy is none: a proposal made in another process comes with one."""
        both = ((one.cell, one.user, one.n_records) for one in (occupancy, self.occupancy))
        if not all(map(np.array_equal, *both)):
            raise ValueError("an array sum answers for the occupancy that its arrays were filled from")


def summed_bias(cell: ArrayCell, n_records: int) -> int:
    """Return how far a cell's sum of array means can be off, in its own unit, rounded up.

    Args:
        cell: The cell in arrays.
        n_records: Records of the cell, including those of users without a place in an array.

    Source:
        HV-L46.
    """
    return -int(-array_bias(cell, n_records) * cell.divisor // 1)


def projected_cost(cell_epsilon: Fraction, n_interval_draws: int, currency: Currency) -> int:
    """Return what the draws of one cell's interval and its sum cost together, in the currency's unit.

    Args:
        cell_epsilon: The pure loss of both, > 0. Half of it buys the interval.
        n_interval_draws: How many draws find the interval, each for an equal part of the half, >= 1.
        currency: What losses are counted in.

    Source:
        HV-L48, HV-L50.
    """
    units = in_loss_units(cell_epsilon)
    if currency == PURE:
        return units
    a_draw, of_sum = -(-units // (2 * n_interval_draws)), -(-units // 2)
    return n_interval_draws * currency.of_exponential(a_draw) + currency.of_noise(LAPLACE, of_sum, 1)
