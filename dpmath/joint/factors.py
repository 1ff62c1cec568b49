"""A covariance of cells by few factors: what is published of how errors go together, and what areas need of it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.sparse import csc_array, csr_array

from dpmath.core.occupancy import IntArray
from dpmath.joint.products import FloatArray, product

_AT_ONCE = 32
"""So many hexagons are looked at together: the loadings of their cells take memory."""


@dataclass(frozen=True)
class Factors:
    """The covariance common common' - against against' + that of hexagons + that of slots + alone.

    Attributes:
        hexagon: Number of each cell's hexagon, shape (G,).
        slot: Number of each cell's slot, shape (G,).
        common: Loadings on factors of all cells, shape (G, a).
        against: Loadings on factors by which errors go against each other, shape (G, b).
        of_hexagon: Loadings on the factors of each cell's hexagon, shape (G, k).
        of_slot: Loadings on the factors of each cell's slot, shape (G, n).
        alone: Variance of what is each cell's own, shape (G,).
    """

    hexagon: IntArray
    slot: IntArray
    common: FloatArray
    against: FloatArray
    of_hexagon: FloatArray
    of_slot: FloatArray
    alone: FloatArray

    def scaled(self, by: FloatArray) -> "Factors":
        """Return the covariance of the cells' errors, each multiplied by a number, shape (G,)."""
        names = ("common", "against", "of_hexagon", "of_slot")
        loadings = {name: by[:, None] * getattr(self, name) for name in names}
        return replace(self, alone=by**2 * self.alone, **loadings)

    def plus(self, other: "Factors") -> "Factors":
        """Return the covariance of the sums of two errors that have nothing in common, of the same cells."""
        names = ("common", "against", "of_hexagon", "of_slot")
        loadings = {name: np.column_stack([getattr(self, name), getattr(other, name)]) for name in names}
        return replace(self, alone=self.alone + other.alone, **loadings)

    def times(self, weights: FloatArray) -> FloatArray:
        """Return the covariance of each cell with weighted sums of cells: shape (G, n) to (G, n)."""
        found = self.alone[:, None] * weights
        for loading, sign in ((self.common, 1), (self.against, -1)):
            found = found + sign * product(loading, product(loading.T, weights))
        for loading, transposed in self._by_label:
            found = found + loading @ (transposed @ weights)
        return np.asarray(found)

    def variances(self, weights: FloatArray | csr_array) -> FloatArray:
        """Return the variance of weighted sums of cells: shape (G, n) to (n,)."""
        return np.maximum(self.signed_variances(weights), 0.0)

    def signed_variances(self, weights: FloatArray | csr_array) -> FloatArray:
        """Return the same, below 0 where ``against`` is larger, as may be if these are a part of a covariance."""
        found = (weights**2).T @ self.alone - squares(weights, self.against)
        each = [squares(weights, one) for one in (self.common, *(one for one, _ in self._by_label))]
        return np.asarray(found + np.sum(each, axis=0), dtype=np.float64)

    @cached_property
    def _by_label(self) -> list[tuple[csr_array, csc_array]]:
        """The loadings of hexagons and of slots, each with its transpose."""
        loadings = by_label(self.of_hexagon, self.hexagon), by_label(self.of_slot, self.slot)
        return [(one, one.T) for one in loadings]

    def blocks(self, cells: IntArray) -> FloatArray:
        """Return the covariance of the cells of each hexagon: shape (n, m) of cells, -1 for none, to (n, m, m)."""
        there, here = cells >= 0, np.arange(cells.shape[1])
        found: FloatArray = np.zeros((*cells.shape, cells.shape[1]))
        for first in range(0, len(cells), _AT_ONCE):
            some = slice(first, first + _AT_ONCE)
            for loading, sign in ((self.common, 1), (self.against, -1), (self.of_hexagon, 1)):
                part = loading[cells[some]] * there[some, :, None]
                found[some] += sign * (part @ part.transpose(0, 2, 1))
        found[:, here, here] += there * ((self.of_slot**2).sum(axis=1) + self.alone)[cells]
        return found

    def among(self, label: IntArray) -> Callable[[FloatArray], FloatArray]:
        """Return what multiplies a number of each cell by the covariances of other cells of its label.

        Factors of all cells alone count: what is of a hexagon or slot is left out.
        """
        cells = [_together(np.flatnonzero(label == one)) for one in np.unique(label)]
        parts = [(some, self.common[some], self.against[some]) for some in cells]
        of_cells = (self.common**2).sum(axis=1) - (self.against**2).sum(axis=1)

        def times(vector: FloatArray) -> FloatArray:
            found = -of_cells * vector
            for some, common, against in parts:
                here = vector[some]
                found[some] += common @ (common.T @ here) - against @ (against.T @ here)
            return found

        return times

    @property
    def diagonal(self) -> FloatArray:
        """The variance of each cell, shape (G,)."""
        common, against, *others = (
            (one**2).sum(axis=1) for one in (self.common, self.against, self.of_hexagon, self.of_slot)
        )
        return np.asarray(common - against + sum(others) + self.alone)


def _together(cells: IntArray) -> IntArray | slice:
    """Return cells, as a slice if they follow one another: their loadings are not copied then."""
    first, last = cells[0], cells[-1] + 1
    return slice(first, last) if last - first == cells.size else cells


def squares(weights: FloatArray | csr_array, loading: FloatArray | csr_array) -> FloatArray:
    """Return what factors give to the variance of weighted sums of cells: shapes (G, n) and (G, k) to (n,).

    Source:
        HV-E8.
    """
    return np.asarray(((weights.T @ loading) ** 2).sum(axis=1)).ravel()


def by_label(loading: FloatArray, label: IntArray) -> csr_array:
    """Return loadings on factors of which each label has its own: shape (G, k) to (G, n labels * k).

    Source:
        HV-E8.
    """
    n_cells, n_own = loading.shape
    column = label[:, None] * n_own + np.arange(n_own)
    shape = (n_cells, max(1, int(label.max(initial=-1) + 1) * n_own))
    return csr_array((loading.ravel(), column.ravel(), np.arange(n_cells + 1) * n_own), shape=shape)


def entries(matrix: csr_array) -> tuple[IntArray, IntArray, FloatArray]:
    """Return row, column and value of each entry of a sparse matrix.

    Source:
        HV-E8.
    """
    row = np.repeat(np.arange(matrix.indptr.size - 1), np.diff(matrix.indptr))
    return row, np.asarray(matrix.indices, dtype=np.int64), np.asarray(matrix.data, dtype=np.float64)


def users_apart(together: csr_array, label: IntArray) -> csr_array:
    """Return what cells have in common by their users, where a user in a cell of another label is another one.

    Source:
        HV-E8.
    """
    row, user, part = entries(together)
    names, column = np.unique(label[row] * (user.max(initial=0) + 1) + user, return_inverse=True)
    return csr_array((part, (row, column)), shape=(label.size, max(1, names.size)))
