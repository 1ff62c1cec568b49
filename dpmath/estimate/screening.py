"""Screening: one noisy count of users, of each of whom it is asked whether something holds."""

from dataclasses import dataclass
from math import isqrt

import numpy as np

from dpmath.core import _check
from dpmath.core.accounting import LARGEST_INVERSE_SCALE
from dpmath.core.currency import GAUSSIAN, LAPLACE, Currency
from dpmath.core.occupancy import IntArray
from dpmath.estimate.bounded_sums import BoundedSums
from dpmath.noise.reach import noise_quantile
from dpmath.noise.sampling import RandomBytes

ERROR_RATE = 1e-6
"""How often the noisy count may say that more than half are so, where at most half are."""


@dataclass(frozen=True)
class Screening:
    """One noisy count of users.

    Attributes:
        inverse_scale: LOSS_UNITS over the scale of the noise, from 1 to 2^62.
        noise: What is drawn: ``LAPLACE`` or ``GAUSSIAN``.

    Raises:
        ValueError: The scale is out of range, or the noise is another one.

    Source:
        HV-L54.
    """

    inverse_scale: int
    noise: str

    def __post_init__(self) -> None:
        """Check what the loss relies on."""
        _check.at_least(1, inverse_scale=self.inverse_scale)
        if self.inverse_scale > LARGEST_INVERSE_SCALE:
            raise ValueError(f"inverse_scale={self.inverse_scale} must be at most 2^62")
        if self.noise not in (LAPLACE, GAUSSIAN):
            raise ValueError(f"noise={self.noise} must be {LAPLACE} or {GAUSSIAN}")

    @property
    def margin(self) -> int:
        """By how much the noise exceeds the count with a probability of at most ``ERROR_RATE``."""
        return noise_quantile(self.noise, self.inverse_scale, 2 * ERROR_RATE)  # the noise is symmetric

    def loss(self, currency: Currency) -> int:
        """Return what it costs each user that is asked, in the currency's unit, exact.

        Raises:
            ValueError: The noise has no loss in the currency.
        """
        return currency.of_noise(self.noise, 1, self.inverse_scale)

    def can_tell(self, n_asked: int) -> bool:
        """Return whether, if it holds for all of so many users, the count more likely than not says so surely."""
        return n_asked > 2 * self.margin

    def noisy_count(self, private_holds: IntArray, random_bytes: RandomBytes) -> int:
        """Return the noisy number of users of whom it holds.

        Args:
            private_holds: 1 for each user of whom it holds, else 0, shape (L,). Other numbers count as the nearer one.
            random_bytes: Returns that many independent uniform bytes.
        """
        asked = np.ones((private_holds.size, 1), dtype=np.int64)
        count = BoundedSums(asked, self.inverse_scale, "l1" if self.noise == LAPLACE else "l2")
        return int(count.noisy(private_holds.reshape(-1, 1), random_bytes)[0])

    def is_surely_above_half(self, noisy_count: int, n_asked: int) -> bool:
        """Return whether it holds for more than half of the users that were asked, noise allowed for."""
        return 2 * (noisy_count - self.margin) > n_asked


def screening_within(limit: int, currency: Currency) -> Screening:
    """Return the count with the least noise that costs a user no more than a limit, in the currency's unit.

    Its noise is discrete Laplace in pure epsilon, and discrete Gaussian else.

    Raises:
        ValueError: The limit is below what any count costs.

    Source:
        HV-L54.
    """
    pure = currency.name == "pure"
    most = limit if pure else isqrt(max(limit, 0))
    return Screening(min(most, currency.finest), LAPLACE if pure else GAUSSIAN)
