"""The one door: all that is ever said of a day are noisy sums of whole vectors, each user's in one ball."""

from dataclasses import dataclass
from math import isqrt
from typing import Any

import numpy as np

from dpmath.core import _check
from dpmath.core.accounting import LARGEST_INVERSE_SCALE, LOSS_UNITS, ExactIntArray, exact_integers, roots_rounded_up
from dpmath.core.currency import GAUSSIAN, Currency
from dpmath.core.occupancy import IntArray
from dpmath.noise.sampling import RandomBytes, discrete_gaussian

Sparse = Any
"""A ``csr_array`` of scipy, whose own types say that it may have no shape."""
LARGEST_RADIUS = 1 << 24
SHARE_BITS = 20
"""A share kept is a whole number of 2^-20, rounded down."""
_LARGEST_SQUARE = 1 << 62


@dataclass(frozen=True)
class Ball:
    """A ball that holds every user's vector, and the noise of the sums over users.

    Attributes:
        radius: Radius C, 1 to LARGEST_RADIUS.
        inverse_scale: LOSS_UNITS over sigma.
        n_sums: Length Q of the vectors.

    Raises:
        ValueError: A number is out of range.

    Source:
        HV-L70.
    """

    radius: int
    inverse_scale: int
    n_sums: int

    def __post_init__(self) -> None:
        """Check what the loss and the arithmetic rely on; all of it is public."""
        _check.at_least(1, radius=self.radius, inverse_scale=self.inverse_scale, n_sums=self.n_sums)
        if self.radius > LARGEST_RADIUS or self.inverse_scale > LARGEST_INVERSE_SCALE:
            raise ValueError(f"radius must be at most {LARGEST_RADIUS}, and inverse_scale at most 2^62")
        if self.largest_component < self.radius:
            raise ValueError("n_sums must leave room for the square of a component of the length of the radius")

    @property
    def largest_component(self) -> int:
        """A component beyond this is cut to it before the vector is scaled down, so that squares fit in 64 bits."""
        return isqrt((_LARGEST_SQUARE - 1) // self.n_sums)

    def loss(self, currency: Currency) -> int:
        """Return what the sums cost everybody, present or not, in the currency's unit: rho = C^2 / (2 sigma^2).

        Raises:
            ValueError: Gaussian noise has no loss in the currency.
        """
        return currency.of_noise(GAUSSIAN, self.radius, self.inverse_scale)

    def noisy_sums(self, private_vectors: Sparse, random_bytes: RandomBytes) -> ExactIntArray:
        """Return the noisy sums over users of their vectors, each scaled down to the ball, shape (Q,).

        Args:
            private_vectors: A vector of whole numbers of each user, shape (L, Q).
            random_bytes: Returns that many independent uniform bytes.
        """
        sums = np.zeros(self.n_sums, dtype=np.int64)
        vectors = self.inside(private_vectors)
        np.add.at(sums, vectors.indices, vectors.data)
        return exact_integers(sums) + exact_integers(self.noise(random_bytes))

    def noise(self, random_bytes: RandomBytes) -> IntArray:
        """Return noise for each sum, shape (Q,)."""
        return discrete_gaussian(np.full(self.n_sums, self.inverse_scale, dtype=object), random_bytes)

    def inside(self, private_vectors: Sparse) -> Sparse:
        """Return each vector scaled down as a whole to the ball, truncated towards 0.

        Raises:
            ValueError: The vectors are not of whole numbers, or of another length.
        """
        if private_vectors.shape[1] != self.n_sums or private_vectors.dtype != np.int64:
            raise ValueError(f"private_vectors must be of 64-bit integers and of {self.n_sums} columns")
        vectors = private_vectors.copy()
        vectors.sum_duplicates()
        vectors.data = np.clip(vectors.data, -self.largest_component, self.largest_component)
        length = self._lengths(vectors)
        beyond = np.repeat(length > self.radius, np.diff(vectors.indptr))
        divisor = np.repeat(np.maximum(length, 1), np.diff(vectors.indptr))
        scaled = np.sign(vectors.data) * (np.abs(vectors.data) * self.radius // divisor)
        vectors.data = np.where(beyond, scaled, vectors.data)
        return vectors

    def shares_kept(self, private_vectors: Sparse) -> IntArray:
        """Return how much of each vector the ball leaves, private, shape (L,): 2^SHARE_BITS if it is inside."""
        vectors = private_vectors.copy()
        vectors.sum_duplicates()
        vectors.data = np.clip(vectors.data, -self.largest_component, self.largest_component)
        return np.minimum((self.radius << SHARE_BITS) // np.maximum(self._lengths(vectors), 1), 1 << SHARE_BITS)

    def _lengths(self, vectors: Sparse) -> IntArray:
        """Return the length of each row, rounded up to a whole number, shape (L,)."""
        square = np.zeros(vectors.shape[0], dtype=np.int64)
        rows = np.repeat(np.arange(vectors.shape[0]), np.diff(vectors.indptr))
        np.add.at(square, rows, vectors.data * vectors.data)
        return roots_rounded_up(square)


def sigma(ball: Ball) -> float:
    """Return the deviation of a ball's noise.

    Source:
        HV-L70.
    """
    return LOSS_UNITS / ball.inverse_scale


def inverse_scale_within(loss: int, radius: int) -> int:
    """Return the finest noise that costs at most a loss in zCDP: LOSS_UNITS over sigma, at least 1.

    Args:
        loss: The loss, in units of 2^-101 of rho.
        radius: Radius of the ball, >= 1.

    Raises:
        ValueError: Even the coarsest noise costs more.

    Source:
        HV-L70.
    """
    _check.at_least(1, radius=radius)
    inverse_scale = isqrt(max(loss, 0)) // radius
    if inverse_scale < 1:
        raise ValueError(f"loss={loss} must be at least radius^2")
    return min(inverse_scale, LARGEST_INVERSE_SCALE)
