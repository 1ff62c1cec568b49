"""A surface over hexagons and hours: a Gaussian model of few parts, learned from noisy sums and carried over days."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, get_lapack_funcs
from scipy.sparse import csr_array, diags_array, hstack, kron

from dpmath.core import _check
from dpmath.presence.ball import Sparse

FloatArray = NDArray[np.floating[Any]]
PARTS = ("city", "hour", "hexagon", "course")
_REACH_KM = 4.0
_HARMONICS = (1, 2)
_MOVES, _OWN_MOVES = 0.003, 3.0
"""The share of its prior variance by which a surface is taken to move in a day, and how much faster cells' own does."""
_PACES, LEAST_MOVES, MOST_MOVES = (1 / 3, 1.0, 3.0), 0.0003, 0.3
_SHARE_OF_SMOOTH = {"hexagon": 0.5, "course": 0.4}
"""How much of a part's variance lies in what hexagons near each other share."""


@dataclass(frozen=True)
class Grid:
    """The public cells: hexagons times slots, cell h n_slots + t.

    Attributes:
        position: Where each hexagon is, in km, shape (H, 2) or (H, 3).
        n_slots: Slots of a day.
    """

    position: FloatArray
    n_slots: int

    def __post_init__(self) -> None:
        """Check the shape."""
        _check.at_least(1, n_slots=self.n_slots, n_hexagons=len(self.position))

    @property
    def n_cells(self) -> int:
        """Number of cells G."""
        return len(self.position) * self.n_slots


@dataclass(frozen=True)
class Basis:
    """What a surface is made of: a column for each number of a state.

    Attributes:
        matrix: A row for each cell, shape (G, S).
        part: The columns of each part, by its name.
        of_part: The covariance of each part's numbers, for a part of variance 1 in a cell, by its name.
    """

    matrix: Sparse
    part: dict[str, slice]
    of_part: dict[str, FloatArray]

    def inverse(self, name: str) -> FloatArray:
        """Return the inverse of the covariance of a part's numbers, for a part of variance 1 in a cell."""
        if name not in self._inverses:
            self._inverses[name] = np.linalg.inv(self.of_part[name])
        return self._inverses[name]

    @cached_property
    def _inverses(self) -> dict[str, FloatArray]:
        return {}

    def covariance(self, variance: dict[str, float]) -> FloatArray:
        """Return the covariance of all numbers, shape (S, S), from each part's variance in a cell."""
        found = np.zeros((self.matrix.shape[1],) * 2)
        for name, columns in self.part.items():
            found[columns, columns] = variance[name] * self.of_part[name]
        return found


def basis_of(grid: Grid) -> Basis:
    """Return the parts of a surface: the city, hours, hexagons, and each hexagon's course of the day.

    Source:
        HV-E20.
    """
    n_hexagons, n_slots = len(grid.position), grid.n_slots
    distance = np.sqrt(((grid.position[:, None] - grid.position[None]) ** 2).sum(axis=2))
    near = np.exp(-distance / _REACH_KM)
    angle = 2 * np.pi * np.arange(n_slots) / n_slots
    waves = [wave(k * angle) for k in _HARMONICS if 2 * k < n_slots for wave in (np.cos, np.sin)]
    course = np.array(waves).reshape(-1, n_slots).T / np.sqrt(max(len(waves) / 2, 1))
    hours = np.abs(np.subtract.outer(np.arange(n_slots), np.arange(n_slots)))
    hours = np.minimum(hours, n_slots - hours)
    each = csr_array(np.eye(n_hexagons))
    columns: dict[str, Sparse] = {
        "city": csr_array(np.ones((grid.n_cells, 1))),
        "hour": csr_array(kron(np.ones((n_hexagons, 1)), np.eye(n_slots))),
        "hexagon": csr_array(kron(each, np.ones((n_slots, 1)))),
        "course": csr_array(kron(each, course)),
    }

    def of_hexagons(name: str) -> FloatArray:
        share = _SHARE_OF_SMOOTH[name]
        return share * near + (1 - share) * np.eye(n_hexagons)

    of_part = {
        "city": np.ones((1, 1)),
        "hour": 0.7 * np.exp(-hours / 2.0) + 0.3 * np.eye(n_slots),
        "hexagon": of_hexagons("hexagon"),
        "course": np.kron(of_hexagons("course"), np.eye(course.shape[1])),
    }
    part, begin = {}, 0
    for name in PARTS:
        part[name] = slice(begin, begin + columns[name].shape[1])
        begin += columns[name].shape[1]
    return Basis(csr_array(hstack([columns[name] for name in PARTS], format="csr")), part, of_part)


@dataclass(frozen=True)
class Prior:
    """What a surface is taken to be like before anything is seen.

    Attributes:
        level: Its mean, in every cell.
        variance: The variance of each part in a cell, by its name.
        own: That of what each cell has of its own.
    """

    level: float
    variance: dict[str, float]
    own: float

    @property
    def total(self) -> float:
        """The variance among cells: of all parts but the city's."""
        return sum(one for name, one in self.variance.items() if name != "city") + self.own

    def times(self, factor: float) -> "Prior":
        """Return the same in another unit, but for the level: all variances times a factor."""
        return Prior(self.level, {name: factor * one for name, one in self.variance.items()}, factor * self.own)

    def field(self, basis: Basis) -> "Field":
        """Return what is known of a surface before anything is seen."""
        n_cells = basis.matrix.shape[0]
        return Field(
            self.mean(basis), basis.covariance(self.variance), np.zeros(n_cells), np.full(n_cells, self.own), self
        )

    def mean(self, basis: Basis) -> FloatArray:
        """Return the mean of the state's numbers, shape (S,)."""
        found = np.zeros(basis.matrix.shape[1])
        found[basis.part["city"]] = self.level
        return found


@dataclass(frozen=True)
class Field:
    """What is known of a surface: the state's numbers, and of each cell what it has of its own.

    Attributes:
        mean: The numbers, shape (S,).
        covariance: Their covariance, shape (S, S).
        own: What each cell has of its own, shape (G,).
        own_variance: Its variance, shape (G,).
        prior: What the surface was taken to be like.
        moves: The share of its prior variance by which it moves in a day.
    """

    mean: FloatArray
    covariance: FloatArray
    own: FloatArray
    own_variance: FloatArray
    prior: Prior
    moves: float = _MOVES

    @cached_property
    def root(self) -> FloatArray:
        """A lower triangular root of the covariance."""
        jitter = 1e-9 * float(np.diag(self.covariance).mean())
        return cholesky(self.covariance + jitter * np.eye(len(self.mean)), lower=True, check_finite=False)

    @cached_property
    def precision(self) -> tuple[FloatArray, float]:
        """The inverse of the covariance, and the logarithm of its determinant."""
        return inverse_of(self.covariance)

    def level(self, basis: Basis) -> FloatArray:
        """Return the surface's mean in each cell, shape (G,)."""
        return basis.matrix @ self.mean + self.own

    def variance(self, basis: Basis) -> FloatArray:
        """Return the surface's variance in each cell, shape (G,)."""
        return of_rows(basis, self.covariance) + self.own_variance

    def a_day_later(self, basis: Basis) -> "Field":
        """Return what is known a day later: all has moved a little, and back towards what it was taken to be like."""
        moves, moves_own, prior = self.moves, min(_OWN_MOVES * self.moves, 1.0), self.prior
        known, of_own, middle = 1 - moves, 1 - moves_own, prior.mean(basis)
        return Field(
            middle + np.sqrt(known) * (self.mean - middle),
            known * self.covariance + moves * basis.covariance(prior.variance),
            np.sqrt(of_own) * self.own,
            of_own * self.own_variance + moves_own * prior.own,
            prior,
            moves,
        )


def inverse_of(matrix: FloatArray) -> tuple[FloatArray, float]:
    """Return the inverse of a positive definite matrix, and the logarithm of the inverse's determinant.

    Source:
        HV-E20.
    """
    lower = cholesky(matrix, lower=True, check_finite=False)
    (inverted,) = get_lapack_funcs(("potri",), (lower,))
    found = np.tril(inverted(lower, lower=True)[0])
    return found + np.tril(found, -1).T, -2 * float(np.log(np.diag(lower)).sum())


def paced(field: Field) -> list[Field]:
    """Return what is known of a surface, if it moves as it did, slower or faster.

    Source:
        HV-E26.
    """
    moves = {min(max(pace * field.moves, LEAST_MOVES), MOST_MOVES) for pace in _PACES}
    return [replace(field, moves=one) for one in sorted(moves)]


def of_rows(basis: Basis, covariance: FloatArray) -> FloatArray:
    """Return the variance in each cell of a state's covariance, shape (G,).

    Source:
        HV-E20.
    """
    return np.asarray(basis.matrix.multiply(basis.matrix @ covariance).sum(axis=1)).ravel()


@dataclass(frozen=True)
class Seen:
    """A number seen of each cell: slope times its level, plus noise.

    Attributes:
        slope: Shape (G,).
        number: What was seen, shape (G,).
        noise: Variance of the noise, above 0, shape (G,).
    """

    slope: FloatArray
    number: FloatArray
    noise: FloatArray


@dataclass(frozen=True)
class Learned:
    """What is known of a surface after numbers were seen.

    Attributes:
        field: The surface.
        left: What part of an error of the state's numbers is left in each cell, shape (G,).
        log_likelihood: Of the numbers, but for a constant.
    """

    field: Field
    left: FloatArray
    log_likelihood: float

    def variance(self, basis: Basis) -> FloatArray:
        """Return the surface's variance in each cell, shape (G,); a cell's own part corrects errors of the rest."""
        return self.left**2 * of_rows(basis, self.field.covariance) + self.field.own_variance


def learned(field: Field, basis: Basis, seen: Seen) -> Learned:
    """Return what is known of a surface after a number was seen of each cell: the posterior of a linear model.

    Between days a cell's own part counts as independent of the rest.

    Args:
        field: What is known before.
        basis: What the surface is made of.
        seen: What was seen.

    Source:
        HV-E20.
    """
    spread = seen.slope**2 * field.own_variance + seen.noise
    miss = seen.number - seen.slope * field.level(basis)
    weighed = diags_array(seen.slope**2 / spread) @ basis.matrix
    gram = np.asarray((basis.matrix.T @ weighed).todense())
    precision, log_before = field.precision
    covariance, log_after = inverse_of(precision + gram)
    pull = basis.matrix.T @ (seen.slope / spread * miss)
    moved = covariance @ pull
    gain = field.own_variance * seen.slope / spread
    left = miss - seen.slope * (basis.matrix @ moved)
    after = Field(
        field.mean + moved,
        covariance,
        field.own + gain * left,
        field.own_variance * (1 - gain * seen.slope),
        field.prior,
        field.moves,
    )
    fit = float((miss**2 / spread).sum() - pull @ moved)
    volume = float(np.log(spread).sum()) - log_before - log_after
    return Learned(after, 1 - gain * seen.slope, -(fit + volume) / 2)
