"""Noisy numbers of a surface: one of each cell, or sums over many cells; what they teach, and what is left to know."""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.sparse import csr_array, diags_array

from dpmath.presence.basis import Basis, FloatArray
from dpmath.presence.fields import Field, Learned, Seen, learned
from dpmath.presence.weights import least_error_weights

MOST_DIRECTIONS = 150
_LEAST_EIGENVALUE = 1e-9


class Numbers(Protocol):
    """Noisy numbers of what cells hold, each cell holding slope times the surface, plus an offset, plus what varies."""

    def learned(self, field: Field, basis: Basis, slope: FloatArray, offset: FloatArray, varies: FloatArray) -> Learned:
        """Return what is known of the surface after the numbers were seen."""
        ...

    def corrected(self, expected: FloatArray, varies: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return what cells hold, if expected and varying like this, after a look at their own numbers.

        The three are the numbers, the part of an error of the expected numbers that is left, and the variance of what
        varies that is left.
        """
        ...

    def surprise(self, field: Field, basis: Basis, slope: FloatArray, offset: FloatArray, varies: FloatArray) -> float:
        """Return how far numbers are from what was expected, squared and over what they should be, at least 1."""
        ...


@dataclass(frozen=True)
class OfCells:
    """A noisy number of each cell.

    Attributes:
        number: Shape (G,).
        noise: Variance of the noise, above 0, shape (G,).
    """

    number: FloatArray
    noise: FloatArray

    def learned(self, field: Field, basis: Basis, slope: FloatArray, offset: FloatArray, varies: FloatArray) -> Learned:
        """See ``Numbers``."""
        return learned(field, basis, Seen(slope, self.number - offset, self.noise + varies))

    def corrected(self, expected: FloatArray, varies: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """See ``Numbers``."""
        gain = varies / (varies + self.noise)
        return expected + gain * (self.number - expected), 1 - gain, gain * self.noise

    def surprise(self, field: Field, basis: Basis, slope: FloatArray, offset: FloatArray, varies: FloatArray) -> float:
        """See ``Numbers``. Cells count by how much of what was not known before is not noise."""
        signal = slope**2 * field.variance(basis) + varies
        miss = (self.number - offset - slope * field.level(basis)) ** 2 / (signal + self.noise)
        weight = np.abs(slope) * signal / (signal + self.noise)
        return max(1.0, float((weight * miss).sum() / weight.sum()))


@dataclass(frozen=True)
class OfSums:
    """Noisy sums over cells of what they hold times loadings.

    Attributes:
        loading: Loading of each cell in each sum, shape (G, Q).
        number: Shape (Q,).
        noise: Variance of the noise of each, above 0.
    """

    loading: FloatArray
    number: FloatArray
    noise: float

    def learned(self, field: Field, basis: Basis, slope: FloatArray, offset: FloatArray, varies: FloatArray) -> Learned:
        """See ``Numbers``. What cells have of their own counts as noise, and nothing is learned of it."""
        slopes, covariance = self._slopes(basis, slope), self._covariance(field, slope, varies)
        miss = self.number - self.loading.T @ (offset + slope * field.level(basis))
        moves = slopes @ field.covariance
        factor = cho_factor(covariance + moves @ slopes.T, lower=True)
        half = cho_solve(factor, moves)
        after = replace(field, mean=field.mean + half.T @ miss, covariance=field.covariance - moves.T @ half)
        fit = float(miss @ cho_solve(factor, miss)) + 2 * float(np.log(np.diag(factor[0])).sum())
        return Learned(after, np.ones_like(slope), -fit / 2)

    def corrected(self, expected: FloatArray, varies: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """See ``Numbers``. No cell has a number of its own, so nothing is corrected."""
        return expected, np.ones_like(expected), varies

    def surprise(self, field: Field, basis: Basis, slope: FloatArray, offset: FloatArray, varies: FloatArray) -> float:
        """See ``Numbers``. All sums count alike."""
        slopes, covariance = self._slopes(basis, slope), self._covariance(field, slope, varies)
        miss = self.number - self.loading.T @ (offset + slope * field.level(basis))
        factor = cho_factor(covariance + slopes @ field.covariance @ slopes.T, lower=True)
        return max(1.0, float(miss @ cho_solve(factor, miss)) / miss.size)

    def _slopes(self, basis: Basis, slope: FloatArray) -> FloatArray:
        return np.asarray(basis.matrix.T @ (slope[:, None] * self.loading)).T

    def _covariance(self, field: Field, slope: FloatArray, varies: FloatArray) -> FloatArray:
        of_cells = slope**2 * field.own_variance + varies
        return self.loading.T @ (of_cells[:, None] * self.loading) + self.noise * np.eye(self.number.size)


def directions(
    field: Field, basis: Basis, slope: FloatArray, energy: FloatArray, budget: float, noise: float
) -> FloatArray:
    """Return the loadings of the sums over cells that tell most of a surface, shape (G, Q).

    They are the eigenvectors of what is not known of slope times the surface, each cell over the root of its energy:
    so a sum takes as much of users' length as any other, and the budget goes to those that tell more than noise.

    Args:
        field: What is known before.
        basis: What the surface is made of.
        slope: Shape (G,).
        energy: Mean square of what users put into each cell, above 0, shape (G,).
        budget: The mean square of users' lengths, above 0.
        noise: Variance of the noise, above 0.

    Source:
        HV-E25.
    """
    of_field = field.root
    n_columns = len(of_field)
    most = min(MOST_DIRECTIONS, n_columns)
    # the matrix times of_field is not made: it has a row for each cell
    gram = csr_array(basis.matrix.T @ diags_array(slope**2 / energy) @ basis.matrix)
    value, vector = eigh(of_field.T @ (gram @ of_field), subset_by_index=[n_columns - most, n_columns - 1])
    told = value > max(_LEAST_EIGENVALUE * float(value[-1]), 1e-300)
    value, vector = value[told], vector[:, told]
    one = np.ones_like(value)
    squares = least_error_weights(value, one, one, one, budget, noise)
    if not squares.any():  # of a surface that is known to be nearly 0 none tells anything, but one must be asked
        squares[-1] = budget
    asked = squares > 0
    parts = basis.matrix @ (of_field @ vector[:, asked])
    return np.asarray(parts) * np.sqrt(squares[asked] / value[asked]) * (slope / energy)[:, None]


def left_over(
    numbers: Numbers, field: Field, basis: Basis, slope: FloatArray, varies: FloatArray, worth: FloatArray
) -> float:
    """Return the sum of worth times the variance of what cells hold that such numbers leave, whatever they are.

    Args:
        numbers: The numbers; only their noise and loadings count.
        field: What is known before.
        basis: What the surface is made of.
        slope: Shape (G,).
        varies: Variance of what varies in each cell, shape (G,).
        worth: What an error in each cell costs, shape (G,).

    Source:
        HV-E25.
    """
    variance = numbers.learned(field, basis, slope, np.zeros_like(slope), varies).variance(basis)
    _, kept, left = numbers.corrected(np.zeros_like(slope), varies)
    return float((worth * (kept**2 * slope**2 * variance + left)).sum())
