"""How errors of estimated cells go together: by errors of the surface, by what else all have in common, and alone."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag
from scipy.sparse import csr_array, diags_array, hstack

from dpmath.core.occupancy import IntArray
from dpmath.joint.loadings import Cells, Loadings, Sizes, loadings
from dpmath.joint.products import FloatArray
from dpmath.presence.basis import Basis, Grid
from dpmath.presence.basis import FloatArray as AnyFloats
from dpmath.presence.fields import of_rows

_SIZES = Sizes(common=96)
"""Errors of neighbours go together more than where the occupancy is public: with 40 factors areas are 10 % too sure."""


@dataclass(frozen=True)
class Off:
    """What the estimated numbers of cells are off by, part by part.

    Attributes:
        surface: What is left in each cell of an error of the surface, shape (G,).
        covariance: That of the surface's numbers, shape (S, S).
        common: Loadings on what else all cells have in common, shape (G, k).
        of_hexagon: Loadings on what else the cells of each hexagon have in common, shape (G,).
        alone: The variance of what is each cell's own, shape (G,).
    """

    surface: AnyFloats
    covariance: AnyFloats
    common: AnyFloats
    of_hexagon: AnyFloats
    alone: AnyFloats

    def variance(self, basis: Basis) -> AnyFloats:
        """Return the variance of each cell, shape (G,)."""
        of_surface = self.surface**2 * of_rows(basis, self.covariance)
        return np.asarray(of_surface + (self.common**2).sum(axis=1) + self.of_hexagon**2 + self.alone)

    def variance_over(self, weight: AnyFloats, hexagon: IntArray, basis: Basis) -> float:
        """Return the variance of the sum of all cells' errors, each times its weight, from the hexagon of each cell."""
        of_surface = basis.matrix.T @ (weight * self.surface)
        of_hexagons = np.bincount(hexagon, weight * self.of_hexagon)
        together = float(of_surface @ self.covariance @ of_surface + ((weight @ self.common) ** 2).sum())
        return together + float(of_hexagons @ of_hexagons + weight**2 @ self.alone)


@dataclass(frozen=True)
class OfSurface:
    """The covariance of cells that follows from their parts; see ``dpmath.joint.errors.Errors``.

    Attributes:
        matrix: What each cell takes of errors of the surface and of hexagons, shape (G, S).
        covariance: That of these, shape (S, S).
        common: Loadings on what else all cells have in common, shape (G, k).
        alone: The variance of what is each cell's own, shape (G,).
    """

    matrix: csr_array
    covariance: AnyFloats
    common: AnyFloats
    alone: FloatArray

    def times(self, weights: FloatArray) -> FloatArray:
        """See ``Errors``."""
        of_surface = self.matrix @ (self.covariance @ (self.matrix.T @ weights))
        return _floats(of_surface + self.common @ (self.common.T @ weights) + self.alone[:, None] * weights)

    def variances(self, weights: csr_array) -> FloatArray:
        """See ``Errors``."""
        moved = (self.matrix.T @ weights).toarray()
        of_surface = (moved * (self.covariance @ moved)).sum(axis=0)
        of_common = ((weights.T @ self.common) ** 2).sum(axis=1)
        return _floats(of_surface + of_common + (weights**2).T @ self.alone)

    def blocks(self, cells: IntArray) -> FloatArray:
        """See ``Errors``."""
        found: FloatArray = np.zeros((*cells.shape, cells.shape[1]))
        rows = self.matrix[cells[cells >= 0]]
        first = np.cumsum((cells >= 0).sum(axis=1)) - (cells >= 0).sum(axis=1)
        for number, some in enumerate(cells):
            there = np.flatnonzero(some >= 0)
            begins = rows.indptr[first[number] : first[number] + there.size + 1]
            found[number][there[:, None], there] = self._block(some[there], rows, begins)
        return found

    def _block(self, cells: IntArray, rows: csr_array, begins: IntArray) -> FloatArray:
        """Return the covariance of some cells, whose rows of the matrix follow one another in others."""
        entries = slice(begins[0], begins[-1])  # to take rows out one block at a time takes longer than all else
        used, column = np.unique(rows.indices[entries], return_inverse=True)
        dense = np.zeros((cells.size, used.size))
        dense[np.repeat(np.arange(cells.size), np.diff(begins)), column] = rows.data[entries]
        of_surface, common = dense @ self.covariance[used[:, None], used] @ dense.T, self.common[cells]
        return _floats(of_surface + common @ common.T + np.diag(self.alone[cells]))

    def among(self, label: IntArray) -> Callable[[FloatArray], FloatArray]:
        """See ``Errors``."""
        cells = [np.flatnonzero(label == one) for one in np.unique(label)]
        parts = [(some, self.matrix[some], self.common[some]) for some in cells]
        of_cells = _floats(self.matrix.multiply(self.matrix @ self.covariance).sum(axis=1)).ravel()
        of_cells = of_cells + (self.common**2).sum(axis=1)

        def times(vector: FloatArray) -> FloatArray:
            found = -of_cells * vector
            for some, rows, common in parts:
                found[some] += rows @ (self.covariance @ (rows.T @ vector[some])) + common @ (common.T @ vector[some])
            return _floats(found)

        return times


def _floats(numbers: object) -> FloatArray:
    return np.asarray(numbers, dtype=np.float64)


def loadings_of(off: Off, grid: Grid, basis: Basis, weight: AnyFloats) -> Loadings:
    """Return how errors of cells go together, by few factors; with other days they share the surface's errors.

    Args:
        off: What the cells' numbers are off by.
        grid: The public cells.
        basis: What the surface is made of.
        weight: What each cell counts in the number of an area, above 0, shape (G,).

    Source:
        HV-E8.
    """
    nothing = np.zeros((grid.n_cells, 0)), np.zeros(grid.n_cells)
    lasting = OfSurface(_of_surface(off, basis), off.covariance, *nothing)
    at = Cells(grid.hexagon, grid.slot, _floats(grid.position), grid.n_slots, _floats(weight))
    return loadings(errors_of(off, grid, basis), lasting, at, sizes=_SIZES)


def errors_of(off: Off, grid: Grid, basis: Basis) -> OfSurface:
    """Return the covariance of the errors of cells.

    Source:
        HV-E8.
    """
    n_hexagons = len(grid.position)
    at = np.arange(grid.n_cells), grid.hexagon
    of_hexagon = csr_array((off.of_hexagon, at), shape=(grid.n_cells, n_hexagons))
    matrix = csr_array(hstack([_of_surface(off, basis), of_hexagon], format="csr"))
    return OfSurface(matrix, _floats(block_diag(off.covariance, np.eye(n_hexagons))), off.common, _floats(off.alone))


def _of_surface(off: Off, basis: Basis) -> csr_array:
    return csr_array(diags_array(off.surface) @ basis.matrix)
