"""The functions' values at the cells of a day, and their products with coefficients."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from dpmath.estimate.day import FloatArray
from dpmath.joint.products import product


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
        own = self._of_hexagons(coefficients.shape[0]).T @ coefficients[n_common:]
        return product(self.common, coefficients[:n_common]) + own

    def transposed_times(self, values: FloatArray, n_hexagons: int) -> FloatArray:
        """Return the transposed product: shape (G, n) of values to (S, n) of coefficients."""
        n_states = self.common.shape[1] + n_hexagons * self.own.shape[1]
        return np.concatenate([product(self.common.T, values), self._of_hexagons(n_states) @ values])

    def _of_hexagons(self, n_states: int) -> csr_array:
        """Return the values of the hexagons' functions at the cells, transposed, shape (S - C, G)."""
        n_cells, n_own = self.own.shape
        function = self.hexagon[:, None] * n_own + np.arange(n_own)
        cell = np.repeat(np.arange(n_cells), n_own)
        return csr_array((self.own.ravel(), (function.ravel(), cell)), shape=(n_states - self.common.shape[1], n_cells))

    def diagonal_variances(self, variances: FloatArray) -> FloatArray:
        """Return the variance of each cell's value if coefficients are independent, shape (G,)."""
        return Rows(self.common**2, self.own**2, self.hexagon).times(variances)
