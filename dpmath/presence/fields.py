"""A surface over hexagons and hours: a Gaussian model of few parts, learned from noisy sums and carried over days."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import cholesky, get_lapack_funcs
from scipy.sparse import diags_array

from dpmath.presence.basis import Basis, FloatArray

_MOVES, _OWN_MOVES = 0.003, 3.0
"""The share of its prior variance by which a surface is taken to move in a day; how much faster cells' own does."""
_HOUR_MOVES, _MOST_HOUR_MOVES = 30.0, 0.1
"""How much faster hours do, as jams come and go, but by no more than this share a day, unless all moves so far."""
_PACES, LEAST_MOVES, MOST_MOVES = (1 / 3, 1.0, 3.0), 0.0003, 0.3


@dataclass(frozen=True)
class Prior:
    """What a surface is taken to be like before anything is seen.

    Attributes:
        level: Its mean, in every cell.
        variance: The variance of each way of a part in a cell, by its name; see ``basis.Part``.
        own: That of what each cell has of its own.
    """

    level: float
    variance: dict[str, float]
    own: float

    @property
    def total(self) -> float:
        """The variance among cells: of all parts but the city's."""
        return sum(one for name, one in self.variance.items() if name != "city") + self.own

    def times(self, factor: float, but_city: bool = False) -> "Prior":
        """Return the same in another unit, but for the level: all variances times a factor."""
        found = {name: factor * one for name, one in self.variance.items()}
        found |= {"city": self.variance["city"]} if but_city else {}
        return Prior(self.level, found, factor * self.own)

    def field(self, basis: Basis) -> "Field":
        """Return what is known of a surface before anything is seen."""
        n_cells = basis.matrix.shape[0]
        own, own_variance = np.zeros(n_cells), np.full(n_cells, self.own)
        found = Field(self.mean(basis), basis.covariance(self.variance), own, own_variance, self)
        return found.known_by(basis.precision(self.variance), basis.log_precision(self.variance))

    def mean(self, basis: Basis) -> FloatArray:
        """Return the mean of the state's numbers, shape (S,)."""
        found = np.zeros(basis.matrix.shape[1])
        found[basis.part["city"].columns] = self.level
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

    def known_by(self, precision: FloatArray, log_determinant: float) -> "Field":
        """Return the field itself, if the inverse of its covariance is at hand: to find it takes as long as all else.

        A field that is made of this one with another covariance has its own.
        """
        vars(self)["precision"] = precision, log_determinant
        return self

    def is_as_taken(self, basis: Basis) -> bool:
        """Return whether nothing was seen of the surface."""
        return bool(np.all(self.own_variance == self.prior.own)) and np.array_equal(
            self.covariance, basis.covariance(self.prior.variance)
        )

    def level(self, basis: Basis) -> FloatArray:
        """Return the surface's mean in each cell, shape (G,)."""
        return basis.matrix @ self.mean + self.own

    def variance(self, basis: Basis) -> FloatArray:
        """Return the surface's variance in each cell, shape (G,)."""
        return of_rows(basis, self.covariance) + self.own_variance

    def raised(self, off: float, variance: float, basis: Basis) -> "Field":
        """Return the surface with all cells higher by a number that is known but for a variance."""
        if not off:
            return self
        city = np.arange(self.mean.size) == basis.part["city"].columns.start
        unsure = self.covariance + variance * np.outer(city, city)
        return replace(self, mean=self.mean + off * city, covariance=unsure)

    def a_day_later(self, basis: Basis) -> "Field":
        """Return what is known a day later: all has moved a little, and back towards what it was taken to be like."""
        prior, own = self.prior, min(_OWN_MOVES * self.moves, 1.0)
        moves = dict.fromkeys(basis.part, self.moves)
        moves["hour"] = max(self.moves, min(_HOUR_MOVES * self.moves, _MOST_HOUR_MOVES))
        known, middle = np.zeros_like(self.mean), prior.mean(basis)
        for name, part in basis.part.items():
            known[part.columns] = np.sqrt(1 - moves[name])
        new = {way: moves[name] * prior.variance[way] for name, part in basis.part.items() for way in part.ways}
        return Field(
            middle + known * (self.mean - middle),
            known[:, None] * self.covariance * known + basis.covariance(new),
            np.sqrt(1 - own) * self.own,
            (1 - own) * self.own_variance + own * prior.own,
            prior,
            self.moves,
        )


def inverse_of(matrix: FloatArray) -> tuple[FloatArray, float]:
    """Return the inverse of a positive definite matrix, and the logarithm of the inverse's determinant.

    Source:
        HV-E20.
    """
    lower = cholesky(matrix, lower=True, check_finite=False)
    (inverted,) = get_lapack_funcs(("potri",), (lower,))
    log_determinant = -2 * float(np.log(np.diag(lower)).sum())
    half = inverted(lower, lower=True, overwrite_c=True)[0]  # zeros are above the diagonal, as in what it was made of
    found = half + half.T
    np.fill_diagonal(found, np.diag(half))
    return found, log_determinant


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
    columns, numbers = basis.entries
    found = np.zeros(len(columns))
    for column, number in zip(columns.T, numbers.T, strict=True):
        found += number * (numbers * covariance[column[:, None], columns]).sum(axis=1)
    return found


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
