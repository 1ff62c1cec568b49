"""Loadings of a question: every cell by itself, or sums over many cells, whichever are expected to tell more."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, diags_array

from dpmath.presence.ball import Sparse
from dpmath.presence.basis import Basis, FloatArray
from dpmath.presence.fields import Field
from dpmath.presence.numbers import Numbers, OfCells, OfSums, directions, left_over

_TOGETHER = 0.2
"""Cells of one user go together, which makes sums over them longer: so much less of the mean square is asked for."""

_CLEARLY = 0.5
"""Cells must be expected to leave so much less: in small cities they leave more than is expected."""


@dataclass(frozen=True)
class Loadings:
    """What is asked of a number of each cell: its whole loadings, and how to read the answers.

    Attributes:
        whole: The loadings as they are asked, shape (G, Q): a diagonal, or directions.
        unit: What a whole loading is divided by to be in the unit of the answers.
        of_cells: Whether each cell has a sum of its own.
    """

    whole: Sparse
    unit: float
    of_cells: bool

    @classmethod
    def of(cls, loading: FloatArray, scale: float, unit: float, largest: int) -> "Loadings":
        """Return whole loadings from those of each cell's own sum, shape (G,), or of directions, shape (G, Q).

        Args:
            loading: The loadings.
            scale: What they are multiplied by before they are rounded.
            unit: See above.
            largest: The largest whole loading.
        """
        found = np.rint(np.clip(loading * scale, -largest, largest)).astype(np.int64)
        if found.ndim > 1:
            return cls(csr_array(found), unit, of_cells=False)
        diagonal = diags_array(np.maximum(found, 1), format="csr", dtype=np.int64)
        return cls(csr_array(diagonal), unit, of_cells=True)

    def read(self, answers: FloatArray, deviation: float, share: float) -> Numbers:
        """Return what noisy answers tell of a number of each cell, if the ball kept a share.

        Args:
            answers: The noisy sums, shape (Q,).
            deviation: That of their noise.
            share: The share kept.
        """
        if self.of_cells:
            weight = self.whole.diagonal() * share / self.unit
            return OfCells(answers / weight, (deviation / weight) ** 2)
        return OfSums(self.whole.toarray() / self.unit, answers / share, (deviation / share) ** 2)


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
        budget: The mean square of their lengths.
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
        budget = self.budget * _TOGETHER
        loading = directions(self.field, self.basis, self.slope, self.energy, budget, self.noise)
        of_sums = OfSums(loading, np.zeros(loading.shape[1]), self.noise)
        of_cells = OfCells(np.zeros_like(self.slope), self.noise / self.of_cells**2)
        return self.of_cells if self._left(of_cells) < _CLEARLY * self._left(of_sums) else loading

    def _left(self, numbers: Numbers) -> float:
        return left_over(numbers, self.field, self.basis, self.slope, self.varies, self.worth)
