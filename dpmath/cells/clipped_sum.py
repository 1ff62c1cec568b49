"""A sum of clipped totals with noise, in each cell: widths, scales, losses and promises."""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpmath.core import _check
from dpmath.core.accounting import LOSS_UNITS, ExactIntArray, exact_integers
from dpmath.core.currency import LAPLACE, PURE, Currency
from dpmath.core.occupancy import Occupancy


@dataclass(frozen=True)
class ClippedSum:
    """One bounded sum per cell that a release publishes: its clipping intervals and its noise.

    A user with m records in the cell has a total in [0, value_range m]. It is clipped to the interval of
    integer width w that starts at floor((value_range m - w) / 2), and the sum of the clipped totals gets
    noise of scale LOSS_UNITS / inverse_scale: b of discrete Laplace, or sigma of discrete Gaussian noise. A cell of
    inverse scale 0 is not published.

    Attributes:
        value_range: The largest value R one record can have, in ticks; the least is 0.
        width: Width of each pair's interval, in ticks, shape (P,), 0 <= width <= value_range m.
        inverse_scale: LOSS_UNITS over the noise scale in ticks, for each cell, shape (G,), >= 0.
        noise: Which noise is drawn, "discrete Laplace" or "discrete Gaussian".

    Source:
        HV-L1, HV-L2, HV-L48, HV-L49.
    """

    value_range: int
    width: ExactIntArray
    inverse_scale: ExactIntArray
    noise: str = LAPLACE

    def lower(self, occupancy: Occupancy) -> ExactIntArray:
        """Return where each pair's interval starts, in ticks, shape (P,)."""
        return (self.value_range * exact_integers(occupancy.n_records) - self.width) // 2

    def bias(self, occupancy: Occupancy) -> ExactIntArray:
        """Return the most by which clipping can move each pair's total, in ticks, shape (P,)."""
        return self.value_range * exact_integers(occupancy.n_records) - self.lower(occupancy) - self.width

    def among(self, occupancy: Occupancy, cells: NDArray[np.bool_]) -> "ClippedSum":
        """Return a sum over ``occupancy.of_cells(cells)`` as one over all cells, the others not published."""
        width = np.zeros(occupancy.cell.size, dtype=object)
        inverse_scale = np.zeros(occupancy.n_cells, dtype=object)
        width[cells[occupancy.cell]], inverse_scale[cells] = self.width, self.inverse_scale
        return replace(self, width=width, inverse_scale=inverse_scale)

    def of_cells(self, occupancy: Occupancy, cells: NDArray[np.bool_]) -> "ClippedSum":
        """Return the part of some cells, over ``occupancy.of_cells(cells)``."""
        return replace(self, width=self.width[cells[occupancy.cell]], inverse_scale=self.inverse_scale[cells])

    def published_part(self, occupancy: Occupancy) -> tuple[Occupancy, "ClippedSum"]:
        """Return the part of the published cells: exact integers are slow, and often few cells are published."""
        _check.same_length(width=self.width, n_records=occupancy.n_records)
        _check.same_length(inverse_scale=self.inverse_scale, cell_records=occupancy.cell_records)
        cells = self.published
        return occupancy.of_cells(cells), self.of_cells(occupancy, cells)

    @property
    def published(self) -> NDArray[np.bool_]:
        """Which cells are published, shape (G,)."""
        return self.inverse_scale.astype(bool)

    def losses(self, occupancy: Occupancy, currency: Currency = PURE) -> ExactIntArray:
        """Return each pair's privacy loss, in the currency's unit, exact, shape (P,): w/b, or (w/b)^2 / 2.

        A user can move the sum of a cell by at most the width of the pair's interval.

        Raises:
            ValueError: A shape is wrong, a width or scale is negative, or the noise has no loss in the currency.
        """
        _check.same_length(width=self.width, n_records=occupancy.n_records)
        _check.same_length(inverse_scale=self.inverse_scale, cell_records=occupancy.cell_records)
        inside = np.flatnonzero(self.published[occupancy.cell])
        width, losses = self.width[inside], np.zeros(self.width.size, dtype=object)
        _check.all_at_least(0, width=width, inverse_scale=self.inverse_scale)
        losses[inside] = currency.of_noise(self.noise, width, self.inverse_scale[occupancy.cell[inside]])
        return losses

    def errors(self, occupancy: Occupancy) -> list[Fraction | None]:
        """Return each cell's promised error of the mean, in ticks; None if the cell is not published.

        An upper bound on the largest expected |published - true mean| over every dataset with this occupancy: what
        clipping can take off plus the scale of the noise. The scale is itself above the mean absolute value of either
        noise, so the largest expected error is somewhat less.

        Raises:
            ValueError: A shape is wrong.
        """
        part, published = self.published_part(occupancy)
        bias = part.cell_sums(published.bias(part))
        cells = zip(bias, published.inverse_scale, part.cell_records.tolist(), strict=True)
        errors = iter([Fraction(int(b) * s + LOSS_UNITS, s * n) for b, s, n in cells])
        return [next(errors) if scale else None for scale in self.inverse_scale]
