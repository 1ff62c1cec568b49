"""How errors of cells go together, as a matrix that is never made: its products, and its blocks."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.sparse import csr_array

from dpmath.core.occupancy import IntArray
from dpmath.joint.factors import Factors, entries, squares, users_apart
from dpmath.joint.products import FloatArray

LEAST_VARIANCE = 1e-12


class Errors(Protocol):
    """A covariance of cells."""

    @property
    def alone(self) -> FloatArray:
        """Variance that is of each cell alone and of which nothing is taken off, shape (G,)."""
        ...

    def times(self, weights: FloatArray) -> FloatArray:
        """Return the covariance of each cell with weighted sums of cells: shape (G, n) to (G, n)."""
        ...

    def variances(self, weights: csr_array) -> FloatArray:
        """Return the variance of weighted sums of cells: shape (G, n) to (n,)."""
        ...

    def blocks(self, cells: IntArray) -> FloatArray:
        """Return the covariance of the cells of each hexagon: shape (n, m) of cells, -1 for none, to (n, m, m)."""
        ...

    def among(self, label: IntArray) -> Callable[[FloatArray], FloatArray]:
        """Return what multiplies a number of each cell, shape (G,), by the covariances of other cells of its label."""
        ...


@dataclass(frozen=True)
class OfFactors:
    """A covariance of cells, in squared points: that of factors, and together together'.

    Attributes:
        factors: The factors: as many as there are coefficients and sums.
        together: What the cells of one user have in common, shape (G, L).
    """

    factors: Factors
    together: csr_array

    @property
    def alone(self) -> FloatArray:
        """Nothing: what sums tell is taken off."""
        return np.zeros_like(self.factors.alone)

    def times(self, weights: FloatArray) -> FloatArray:
        """Return the covariance of each cell with weighted sums of cells: shape (G, n) to (G, n)."""
        return self.factors.times(weights) + self.together @ (self.together.T @ weights)

    def variances(self, weights: csr_array) -> FloatArray:
        """Return the variance of weighted sums of cells: shape (G, n) to (n,)."""
        return np.maximum(self.factors.signed_variances(weights) + squares(weights, self.together), LEAST_VARIANCE)

    @cached_property
    def diagonal(self) -> FloatArray:
        """The variance of each cell, shape (G,)."""
        return self.factors.diagonal + np.asarray((self.together**2).sum(axis=1)).ravel()

    def blocks(self, cells: IntArray) -> FloatArray:
        """Return the covariance of the cells of each hexagon: shape (n, m) of cells, -1 for none, to (n, m, m)."""
        there, found = cells >= 0, self.factors.blocks(cells)
        number, at = np.nonzero(there)
        of_hexagon = users_apart(self.together[cells[there]], number)
        one, other, part = entries(csr_array(of_hexagon @ of_hexagon.T))
        found[number[one], at[one], at[other]] += part
        return found

    def among(self, label: IntArray) -> Callable[[FloatArray], FloatArray]:
        """See ``Errors``. What is of a hexagon or slot is left out."""
        together, factors = users_apart(self.together, label), self.factors
        of_factors = factors.among(label)
        of_cells = np.asarray((together**2).sum(axis=1)).ravel()
        return lambda vector: of_factors(vector) + together @ (together.T @ vector) - of_cells * vector
