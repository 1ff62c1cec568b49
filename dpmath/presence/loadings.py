"""Loadings of a question: every cell by itself, or sums over many cells, whichever are expected to tell more."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, diags_array

from dpmath.core.occupancy import IntArray
from dpmath.presence.ball import Sparse
from dpmath.presence.basis import Basis, FloatArray
from dpmath.presence.fields import Field
from dpmath.presence.numbers import Numbers, OfCells, OfSums, directions, left_over

_CLEARLY = 0.6
"""Cells must be expected to leave so much less: in small cities they leave more than is expected."""

_BITS = 7
"""Loadings of sums over cells have so many binary digits in each cell: what is asked is stored, and no worse for it."""


def whole_loadings(loading: FloatArray, scale: float, largest: int) -> Sparse:
    """Return loadings as they are asked: of each cell's own sum, a diagonal, or of directions, shape (G, Q).

    Args:
        loading: The loadings, of shape (G,) or (G, Q).
        scale: What they are multiplied by before they are rounded.
        largest: About the largest whole loading.

    Source:
        HV-L72.
    """
    found = np.rint(np.clip(loading * scale, -largest, largest)).astype(np.int64)
    if found.ndim == 1:
        return of_own(np.maximum(found, 1))
    _, digits = np.frexp(np.abs(found).max(axis=1, initial=1))
    step = np.int64(1) << np.maximum(digits - _BITS, 0)[:, None]
    return csr_array((found + step // 2) // step * step)


def of_own(weight: IntArray) -> Sparse:
    """Return the loadings where every cell has a sum of its own, with a weight, shape (G,).

    Source:
        HV-L72.
    """
    return csr_array(diags_array(weight, format="csr", dtype=np.int64))


def is_of_own(loading: Sparse) -> bool:
    """Return whether every cell has a sum of its own.

    Source:
        HV-L72.
    """
    n_cells, n_sums = loading.shape
    return n_cells == n_sums and np.count_nonzero(loading.diagonal()) == n_cells == loading.count_nonzero()


def told_by(loading: Sparse, unit: float, answers: FloatArray, deviation: float, share: FloatArray | float) -> Numbers:
    """Return what noisy answers tell of a number of each cell.

    Args:
        loading: The whole loadings as they were asked, shape (G, Q).
        unit: What a whole loading is divided by to be in the unit of the answers.
        answers: The noisy sums, shape (Q,).
        deviation: That of their noise.
        share: The share that the ball kept, of all cells or of each, shape (G,).

    Source:
        HV-E21, HV-E25.
    """
    if is_of_own(loading):
        weight = loading.diagonal() * share / unit
        return OfCells(answers / weight, (deviation / weight) ** 2)
    usual = float(np.mean(share))
    return OfSums(
        loading.toarray() * np.reshape(share / usual, (-1, 1)) / unit, answers / usual, (deviation / usual) ** 2
    )


@dataclass(frozen=True)
class Wanted:
    """What is known before a number of each cell is asked for: slope times a surface, plus what varies.

    Attributes:
        field: The surface.
        basis: What it is made of.
        slope: Shape (G,).
        varies: Variance of what varies, shape (G,).
        worth: What an error costs, shape (G,).
        energy: Mean square of what users put in, shape (G,).
        budget: The mean square of their lengths, if sums over cells are asked.
        noise: Variance of the noise, over the square of the radius.
        of_cells: The loadings if every cell is asked, shape (G,).
    """

    field: Field
    basis: Basis
    slope: FloatArray
    varies: FloatArray
    worth: FloatArray
    energy: FloatArray
    budget: float
    noise: float
    of_cells: FloatArray

    def chosen(self) -> FloatArray:
        """Return the loadings of directions, or of every cell if that is expected to leave far less."""
        of_cells = OfCells(np.zeros_like(self.slope), self.noise / self.of_cells**2)
        least = self.left_by_sums
        if self.left_at_most(of_cells) < _CLEARLY * least:
            return self.of_cells
        left = self._left(of_cells)
        if left < _CLEARLY * least:
            return self.of_cells  # directions need not be sought: that takes long
        loading = directions(self.field, self.basis, self.slope, self.energy, self.budget, self.noise)
        of_sums = OfSums(loading, np.zeros(loading.shape[1]), self.noise)
        return self.of_cells if left < _CLEARLY * self._left(of_sums) else loading

    @property
    def left_by_sums(self) -> float:
        """What any sums over cells leave at least: all that cells have of their own, of which sums tell nothing."""
        return float((self.worth * (self.slope**2 * self.field.own_variance + self.varies)).sum())

    def left_at_most(self, numbers: OfCells) -> float:
        """Return what a number of each cell leaves at most: as much as if it told nothing of other cells."""
        _, kept, left = numbers.corrected(np.zeros_like(self.slope), self.varies)
        return float((self.worth * (kept**2 * self.slope**2 * self.field.variance(self.basis) + left)).sum())

    def _left(self, numbers: Numbers) -> float:
        return left_over(numbers, self.field, self.basis, self.slope, self.varies, self.worth)
