"""The directions among a day's strata in which the map is most uncertain, by a search in the few ways they can move.

The strata of a cell move together, and apart by functions of how long users stay alone. So the search needs a number
for each cell and these functions, of which there are several times fewer than strata.
"""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import shake_128

import numpy as np
from scipy.sparse import csr_array

from dpmath.estimate.day import FloatArray
from dpmath.estimate.strata import Strata
from dpmath.estimate.view import View
from dpmath.joint.products import product

N_DIRECTIONS = 250
"""How many directions are looked for."""
SIGNAL_DIRECTIONS = 4
"""Of how many it is kept how each stratum moves with them."""
_BLOCK, _N_BLOCKS = 100, 4
"""The search is among so many vectors at a time: their products with each other are what it costs."""
_LEAST_NORM = 1e-11
"""Of a square, as a share: rounding is a hundred-thousandth of less, and such vectors would not be orthonormal."""
_LEAST_APART = 1e-8
"""By a smaller share of their size, which rounding hides in a square, strata of a cell do not move apart."""
Image = Callable[[FloatArray], FloatArray]
"""The product of a matrix with some columns."""


@dataclass(frozen=True)
class Directions:
    """Directions among the strata that are independent before the day, the most uncertain first.

    Attributes:
        ways: The ways in which the strata's values move.
        vectors: The directions as vectors of ways, shape (G + k, n).
        energy: Standard deviation that residuals give to the sum of each stratum's records, in points, shape (R,).
        variance: Variance of the sum along each, whose residual has variance 1, shape (n,).
        gain: By how much knowing it would lower the map's squared error, weighted by records, shape (n,).
        of_cells: How each cell's mean moves with it, by one standard deviation, shape (G, n).
        fields: How each stratum moves with the first of them, shape (R, up to SIGNAL_DIRECTIONS).
    """

    ways: "_Ways"
    vectors: FloatArray
    energy: FloatArray
    variance: FloatArray
    gain: FloatArray
    of_cells: FloatArray
    fields: FloatArray

    def loading(self, weight: FloatArray) -> FloatArray:
        """Return the values at the strata of those directions that have a weight, times it: shape (n,) to (R, m)."""
        used = np.flatnonzero(weight)
        return self.ways.values(self.vectors[:, used] * weight[used], 1 / self.energy)


class _Ways:
    """The ways in which the strata's values move, as orthonormal vectors: one for each cell, and some of stay.

    Values are those of the strata times their ``root``. Vectors of ways have shape (G + k, n), k <= N_STAY: the part of
    the cells, then that of stay.

    Attributes:
        root: Number of records over the deviation that residuals give to their sum, shape (R,).
        size: Norm of each cell's way, shape (G,): the root of its strata's squares of ``root``.
    """

    def __init__(self, strata: Strata, energy: FloatArray) -> None:
        self._strata, self.root = strata, strata.records / energy
        squares = self.root[:, None] ** 2
        size = np.sqrt(strata.cell_sums(squares))
        self._of_cells = strata.cell_sums(squares * strata.stay) / size**2
        rest = self.root[:, None] * (strata.stay - self._of_cells[strata.cell])
        apart, norms, turn = np.linalg.svd(rest, full_matrices=False)
        kept = norms > _LEAST_APART * np.linalg.norm(self.root)
        self._apart, self._of_apart = apart[:, kept], norms[kept, None] * turn[kept]
        self.size = size[:, 0]

    def of(self, values: FloatArray) -> FloatArray:
        """Return what values have of the ways: shape (R, n) to (G + k, n)."""
        of_cells = self._strata.cell_sums(self.root[:, None] * values) / self.size[:, None]
        return np.concatenate([of_cells, self._apart.T @ values])

    def values(self, vectors: FloatArray, times: FloatArray) -> FloatArray:
        """Return the values of vectors of ways, each stratum's times a number: shape (G + k, n) to (R, n)."""
        cell, n_apart = self._strata.cell, self._apart.shape[1]
        parts = times[:, None] * np.column_stack([self.root / self.size[cell], self._apart])
        apart = np.broadcast_to(self.size.size + np.arange(n_apart), self._apart.shape)
        ways, first = np.column_stack([cell, apart]), np.arange(cell.size + 1) * (1 + n_apart)
        return np.asarray(csr_array((parts.ravel(), ways.ravel(), first), shape=(cell.size, len(vectors))) @ vectors)

    def cell_means(self, vectors: FloatArray) -> FloatArray:
        """Return the means over records by which vectors of ways move cells: shape (G + k, n) to (G, n)."""
        of_cells, of_stay = self._parts(vectors)
        return of_cells / self.size[:, None] + self._strata.cell_means(self._apart / self.root[:, None]) @ of_stay

    def covariance(self, view: View) -> Image:
        """Return the product of the covariance of the day's values with vectors of ways."""
        strata, rows, state = self._strata, view.rows, view.state
        size, of_own = self.size[:, None], view.cell_variance[:, None]

        def image(vectors: FloatArray) -> FloatArray:
            of_cells, of_stay = self._parts(vectors)
            sums = size * of_cells
            told = rows.transposed_times(sums, state.n_hexagons)
            told[strata.of_stay] += self._of_cells.T @ sums + self._of_apart.T @ of_stay
            moved = view.today.times(told)
            stay = moved[strata.of_stay]
            cells = size * (rows.times(moved) + of_own * sums + self._of_cells @ stay)
            return np.concatenate([cells, self._of_apart @ stay])

        return image

    def _parts(self, vectors: FloatArray) -> tuple[FloatArray, FloatArray]:
        return vectors[: self.size.size], vectors[self.size.size :]


def directions(view: View) -> Directions:
    """Return the directions: those along which the strata's values vary most, for what their records could tell.

    If a stratum's value is divided by the deviation that residuals give to the mean of its records, these are the
    eigenvectors of the covariance with the largest eigenvalues. Their gain is that of the cells, not of the strata.

    Source:
        HV-E2.
    """
    strata = view.strata
    ways = _Ways(strata, view.energy)
    n_strata = strata.cell.size
    n_vectors = min(_BLOCK, n_strata)
    # the search starts from numbers without order, the same on every machine, and large where a cell counts for much
    unordered = np.frombuffer(shake_128(b"start").digest(n_strata * n_vectors), dtype=np.int8)
    start = np.sqrt(strata.records)[:, None] * (unordered.reshape(n_strata, n_vectors) + np.float64(0.5))
    vectors, moved, variance = _largest(ways.of(start), ways.covariance(view))
    moved /= np.sqrt(variance)
    of_cells = ways.cell_means(moved)
    return Directions(
        ways=ways,
        vectors=vectors,
        energy=view.energy,
        variance=variance,
        gain=(view.day.occupancy.cell_records[:, None] * of_cells**2).sum(axis=0),
        of_cells=of_cells,
        fields=ways.values(moved[:, :SIGNAL_DIRECTIONS], 1 / ways.root),
    )


def _largest(start: FloatArray, image: Image) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return eigenvectors of a symmetric matrix by a block Lanczos search, their images, and their eigenvalues.

    The eigenvectors are orthonormal. The largest eigenvalues are first.

    Args:
        start: The first block, shape (n, k).
        image: Multiplies the matrix by columns.
    """
    rest, taken = image(start), 0.0
    n_most, n_found = start.shape[1] * _N_BLOCKS, 0
    vectors, known = (np.empty((len(start), n_most)) for _ in range(2))
    projected = np.zeros((n_most, n_most))  # its upper half
    for _ in range(_N_BLOCKS):
        norms, rotation = np.linalg.eigh(rest.T @ rest)
        kept = norms > (norms[-1] + taken) * _LEAST_NORM
        if not kept.any():
            break
        here, n_found = slice(n_found, n_found + int(kept.sum())), n_found + int(kept.sum())
        vectors[:, here] = product(rest, rotation[:, kept] / np.sqrt(norms[kept]))
        known[:, here] = image(vectors[:, here])
        so_far = vectors[:, :n_found]
        part = projected[:n_found, here] = product(so_far.T, known[:, here])
        rest, taken = known[:, here] - product(so_far, part), float((part**2).sum())
        rest -= product(so_far, product(so_far.T, rest))  # once more, for what rounding left
    variance, rotation = np.linalg.eigh(projected[:n_found, :n_found], UPLO="U")
    variance, rotation = np.maximum(variance[::-1][:N_DIRECTIONS], 1e-12), rotation[:, ::-1][:, :N_DIRECTIONS]
    return product(vectors[:, :n_found], rotation), product(known[:, :n_found], rotation), variance
