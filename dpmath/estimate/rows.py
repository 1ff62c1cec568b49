"""The functions' values at the cells of a day, and their products with coefficients."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csc_array, csr_array

from dpmath.estimate.day import FloatArray
from dpmath.joint.products import product

_AT_ONCE = 256
"""So many sums are looked at together: what they tell of each cell takes memory."""


@dataclass(frozen=True)
class Rows:
    """The functions' values at the cells of a day, without the zeros of other hexagons' functions.

    Attributes:
        common: Values of the common functions, shape (G, C).
        own: Values of the functions of the cell's hexagon, shape (G, k).
        hexagon: Which hexagon's coefficients these have, shape (G,).
    """

    common: FloatArray
    own: FloatArray
    hexagon: np.ndarray

    def times(self, coefficients: FloatArray) -> FloatArray:
        """Return the values of sums of the functions: shape (S, n) of coefficients to (G, n) of values."""
        n_common = self.common.shape[1]
        own, _ = self._of_hexagons
        seen = slice(n_common, n_common + self._n_seen)  # hexagons after these have no cell
        return product(self.common, coefficients[:n_common]) + own @ coefficients[seen]

    def transposed_times(self, values: FloatArray, n_hexagons: int) -> FloatArray:
        """Return the transposed product: shape (G, n) of values to (S, n) of coefficients."""
        _, transposed = self._of_hexagons
        unseen = np.zeros((n_hexagons * self.own.shape[1] - self._n_seen, *values.shape[1:]))
        return np.concatenate([product(self.common.T, values), transposed @ values, unseen])

    @cached_property
    def _of_hexagons(self) -> tuple[csr_array, csc_array]:
        """The values of the hexagons' functions at the cells, shape (G, n seen * k), and their transpose."""
        n_cells, n_own = self.own.shape
        function = self.hexagon[:, None] * n_own + np.arange(n_own)
        shape = (n_cells, self._n_seen)
        found = csr_array((self.own.ravel(), function.ravel(), np.arange(n_cells + 1) * n_own), shape=shape)
        return found, found.T

    @property
    def _n_seen(self) -> int:
        """The number of functions of hexagons up to the last that has a cell."""
        return int(self.hexagon.max(initial=-1) + 1) * self.own.shape[1]

    def diagonal_variances(self, variances: FloatArray) -> FloatArray:
        """Return the variance of each cell's value if coefficients are independent, shape (G,)."""
        return self.squares.times(variances)

    @cached_property
    def squares(self) -> "Rows":
        """The squares of the functions' values."""
        return Rows(self.common**2, self.own**2, self.hexagon)

    def lowered_by(self, gain: FloatArray) -> FloatArray:
        """Return by how much sums lower the variance of each cell's value, shape (G,).

        It is kept, as most of it is asked for again when further sums are known.

        Args:
            gain: Covariance of the coefficients with the sums, which are turned so that they are independent, (n, S).
        """
        if id(gain) not in self._lowered:
            found = np.zeros(len(self.common))
            for first in range(0, len(gain), _AT_ONCE):
                told = self.times(gain[first : first + _AT_ONCE].T)
                found += np.einsum("ij,ij->i", told, told)
            self._lowered[id(gain)] = gain, found
        return self._lowered[id(gain)][1]

    @cached_property
    def _lowered(self) -> dict[int, tuple[FloatArray, FloatArray]]:
        """What was asked for, with the gain, so that its number is of no other."""
        return {}
