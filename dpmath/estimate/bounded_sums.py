"""Sums over users of whole numbers within public limits: the few numbers beside the large measurement."""

from dataclasses import dataclass
from math import isqrt

import numpy as np

from dpmath.core import _check
from dpmath.core.accounting import ExactIntArray, exact_integers
from dpmath.core.currency import Currency
from dpmath.core.occupancy import IntArray
from dpmath.estimate.measurement import NOISE_OF, Norm
from dpmath.noise.sampling import NOISES, RandomBytes


@dataclass(frozen=True)
class BoundedSums:
    """Noisy sums of n whole numbers of each user, each from 0 to a public limit of the user's own.

    Attributes:
        limit: Largest number of each user in each sum, shape (L, n), >= 0; a user whose limits are 0 is not read.
        inverse_scale: LOSS_UNITS over the scale of the noise.
        norm: "l2", with discrete Gaussian noise, or "l1", with discrete Laplace noise.

    Raises:
        ValueError: A number is out of range.

    Source:
        HV-L53.
    """

    limit: IntArray
    inverse_scale: int
    norm: Norm

    def __post_init__(self) -> None:
        """Check what the loss relies on."""
        if self.limit.ndim != 2:
            raise ValueError("limit must be of shape (L, n)")
        _check.all_at_least(0, limit=self.limit)
        _check.at_least(1, inverse_scale=self.inverse_scale)

    def losses(self, currency: Currency) -> ExactIntArray:
        """Return each user's privacy loss, in the currency's unit, exact or rounded up, shape (L,).

        Raises:
            ValueError: The noise has no loss in the currency.
        """
        limit = exact_integers(self.limit)
        if self.norm == "l1":
            diameter = limit.sum(axis=1)
        else:
            diameter = np.array([_root_up(int(square)) for square in (limit * limit).sum(axis=1)], dtype=object)
        return currency.of_noise(
            NOISE_OF[self.norm], diameter, np.full(diameter.size, self.inverse_scale, dtype=object)
        )

    def noisy(self, private_numbers: IntArray, random_bytes: RandomBytes) -> ExactIntArray:
        """Return the noisy sums, shape (n,).

        Args:
            private_numbers: The users' numbers, shape (L, n). What is outside the limits counts as the nearer limit.
            random_bytes: Returns that many independent uniform bytes.

        Raises:
            ValueError: The shape is wrong.
        """
        if private_numbers.shape != self.limit.shape:
            raise ValueError(f"private_numbers must be of shape {self.limit.shape}")
        inside = np.clip(private_numbers, 0, self.limit)
        scales = np.full(self.limit.shape[1], self.inverse_scale, dtype=object)
        return exact_integers(inside).sum(axis=0) + exact_integers(NOISES[NOISE_OF[self.norm]](scales, random_bytes))

    def noisy_shares(self, private_numbers: IntArray, largest: int, random_bytes: RandomBytes) -> ExactIntArray:
        """Return the noisy sums of the users' limits, each times number / largest, rounded down, shape (n,).

        A user whose limit is smaller so has a smaller part in the sum, whatever the number is.

        Args:
            private_numbers: The users' numbers, shape (L, n). What is outside 0 to largest counts as the nearer one.
            largest: The largest number, >= 1.
            random_bytes: Returns that many independent uniform bytes.
        """
        return self.noisy(self.limit * np.clip(private_numbers, 0, largest) // largest, random_bytes)


def _root_up(square: int) -> int:
    """Return the square root of a whole number, rounded up."""
    return isqrt(square - 1) + 1 if square else 0
