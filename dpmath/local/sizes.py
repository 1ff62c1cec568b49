"""How many samples users have, and what follows: the size that counts, and how wide the bins are."""

from dataclasses import dataclass
from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

from dpmath.core import _check
from dpmath.core.occupancy import IntArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class SizeDistribution:
    """The public distribution of the number of samples that a user has.

    Attributes:
        sizes: Numbers of samples, ascending, shape (k,), >= 0, at least one above 0.
        probabilities: Probability of each, shape (k,), summing to 1.

    Raises:
        ValueError: The shapes differ, a size is out of order or below 0, or the probabilities are not valid.
    """

    sizes: IntArray
    probabilities: FloatArray

    def __post_init__(self) -> None:
        """Check what the methods rely on."""
        _check.same_length(sizes=self.sizes, probabilities=self.probabilities)
        _check.all_at_least(0, sizes=self.sizes)
        if self.sizes.max(initial=0) < 1:
            raise ValueError("sizes must have one above 0")
        if np.any(np.diff(self.sizes) <= 0):
            raise ValueError("sizes must be ascending")
        if self.probabilities.min(initial=1) < 0 or abs(self.probabilities.sum() - 1) > 1e-9:
            raise ValueError("probabilities must be at least 0 and sum to 1")

    def share_at_least(self, size: int) -> float:
        """Return P(m >= size)."""
        return float(1 - self.probabilities[: np.searchsorted(self.sizes, size)].sum())

    def mean_root(self, cap: int) -> float:
        """Return E sqrt(min(m, cap)), never above sqrt(cap): on some processors the sum is rounded past it."""
        return min(float(self.probabilities @ np.sqrt(np.minimum(self.sizes, cap))), sqrt(cap))


def bin_half_width(effective_size: int, n_users: int, epsilon: float) -> float:
    """Return tau = sqrt(2 ln(8 max(sqrt(mt) n alpha^2, 1)) / mt).

    Args:
        effective_size: mt, >= 1.
        n_users: Users n, >= 1.
        epsilon: Privacy loss alpha of each user, > 0.

    Returns:
        Half of the width of a bin, in the unit of the values.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        DAME-E4.
    """
    _check.positive(epsilon=epsilon)
    _check.at_least(1, effective_size=effective_size, n_users=n_users)
    return sqrt(2 * log(8 * max(sqrt(effective_size) * n_users * epsilon**2, 1)) / effective_size)


def effective_size(
    distribution: SizeDistribution, n_users: int, epsilon: float, c4: float = 8.0, c5: float = 288.0
) -> int:
    """Return mt, the largest size that enough users reach for their votes to find the bin.

    The largest a with P(m >= a)^2 >= min(phi(a), 1), phi(a) = c5/(n alpha^2) ln(x/ln x), x = c4 max(a n alpha^2, 1).
    The defaults make exp(-P^2 n alpha^2 / c5), which bounds the chance that randomised response alone lets one wrong
    bin beat the right one, small compared with the later noise. They affect the accuracy and never the privacy.

    Args:
        distribution: How many samples users have.
        n_users: Users n, >= 1.
        epsilon: Privacy loss alpha of each user, > 0.
        c4: Constant in the logarithm, > e.
        c5: Constant before the logarithm, > 0.

    Returns:
        mt, at most the largest size of the distribution.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        DAME-E12; DAME-T2 sets it so.
    """
    _check.positive(epsilon=epsilon, c5=c5)
    _check.at_least(1, n_users=n_users)
    if c4 <= np.e:
        raise ValueError(f"c4={c4} must be above e")
    strength = n_users * epsilon**2
    low, high = 1, int(distribution.sizes[-1]) + 1
    while high - low > 1:
        middle = (low + high) // 2
        x = c4 * max(middle * strength, 1)
        enough = distribution.share_at_least(middle) ** 2 >= min(c5 / strength * log(x / log(x)), 1)
        low, high = (middle, high) if enough else (low, middle)
    return low
