"""DAME: a mean without a trusted collector: each user randomises a message before it is sent. For simulation.

Values lie in [-1, 1]. Each user has some number of samples, drawn from a public distribution, and sends one message: a
function of that user's samples, of public numbers and of the user's own randomness. The draws are floating-point
numbers from a generator that the caller passes in. That is enough to measure errors, but not to protect a real user.
"""

from dataclasses import dataclass
from functools import cached_property
from math import ceil, exp

import numpy as np
from numpy.typing import NDArray

from dpmath.core import _check
from dpmath.core.occupancy import IntArray
from dpmath.local.sizes import bin_half_width

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class Protocol:
    """What every user knows before the first message.

    Attributes:
        n_users: Users n, the first half of whom vote and the others estimate, even, >= 2.
        epsilon: Privacy loss alpha of each user, > 0.
        effective_size: mt, the least number of samples with which a user votes, >= 1.
        mean_weight: E w = E sqrt(min(m, mt)/mt), over the distribution of sizes, in (0, 1].
        cut: Use that values lie in [-1, 1]. The interval that estimates are clipped to is cut to it, which only
            lowers the noise. The mean is cut to it too. The paper does neither.

    Raises:
        ValueError: A number is outside its range.
    """

    n_users: int
    epsilon: float
    effective_size: int
    mean_weight: float
    cut: bool = False

    def __post_init__(self) -> None:
        """Check what the messages rely on."""
        _check.positive(epsilon=self.epsilon, mean_weight=self.mean_weight)
        _check.at_least(2, n_users=self.n_users)
        _check.at_least(1, effective_size=self.effective_size)
        if self.n_users % 2:
            raise ValueError(f"n_users={self.n_users} must be even")
        if self.mean_weight > 1:
            raise ValueError(f"mean_weight={self.mean_weight} must be at most 1")

    @cached_property
    def half_width(self) -> float:
        """Half of the width of a bin, tau."""
        return bin_half_width(self.effective_size, self.n_users, self.epsilon)

    @cached_property
    def midpoints(self) -> FloatArray:
        """Midpoint of each bin, ascending and symmetric about 0; the bins cover [-1, 1]."""
        n_bins = ceil(1 / self.half_width)
        return self.half_width * np.arange(1.0 - n_bins, n_bins, 2)

    def interval(self, midpoint: float) -> tuple[float, float]:
        """Return the interval that estimates are clipped to once the bin is known."""
        lower, upper = midpoint - 7 * self.half_width, midpoint + 7 * self.half_width
        return (max(lower, -1.0), min(upper, 1.0)) if self.cut else (lower, upper)

    def noise_scale(self, midpoint: float) -> float:
        """Return the scale of the Laplace noise in a message of the second half."""
        lower, upper = self.interval(midpoint)
        return (upper - lower) / self.epsilon


def votes(means: FloatArray, n_samples: IntArray, protocol: Protocol) -> BoolArray:
    """Return each user's votes, before they are randomised: the bin of the user's mean, and its neighbours.

    Args:
        means: Mean of each user's samples, shape (n,), from -1 to 1.
        n_samples: Samples of each user, shape (n,), >= 1. Below mt the user votes for none.
        protocol: What every user knows.

    Returns:
        Votes, shape (n, number of bins); at most three in a row are True.

    Raises:
        ValueError: A mean or a number of samples is outside its range.

    Source:
        DAME-E5.
    """
    _check_users(means, n_samples)
    n_bins = protocol.midpoints.size
    left = protocol.midpoints[0] - protocol.half_width
    own = np.clip((means - left) // (2 * protocol.half_width), 0, n_bins - 1)
    near = np.abs(own[:, None] - np.arange(n_bins)) <= 1
    return near & (n_samples >= protocol.effective_size)[:, None]


def randomised_votes(cast: BoolArray, epsilon: float, rng: np.random.Generator) -> BoolArray:
    """Return the messages of the first half: every vote kept with probability e^(alpha/6)/(1 + e^(alpha/6)).

    Any two users' votes differ in at most six bits, so each message costs its user alpha.

    Args:
        cast: Votes, shape (n, number of bins).
        epsilon: Privacy loss alpha of each user, > 0.
        rng: Source of the users' randomness.

    Returns:
        The messages, shape (n, number of bins).

    Raises:
        ValueError: ``epsilon`` is not above 0.

    Source:
        DAME-E6.
    """
    _check.positive(epsilon=epsilon)
    return cast ^ (rng.random(cast.shape) < 1 / (1 + exp(epsilon / 6)))


def estimates(means: FloatArray, n_samples: IntArray, midpoint: float, protocol: Protocol) -> FloatArray:
    """Return each user's estimate before noise: the mean moved towards the midpoint, clipped to the interval.

    x = w mean + (1 - w) s with w = sqrt(min(m, mt)/mt), so that users with few samples are seldom clipped.

    Args:
        means: Mean of each user's samples, shape (n,), from -1 to 1.
        n_samples: Samples of each user, shape (n,), >= 1.
        midpoint: s, the midpoint of the bin with the most votes.
        protocol: What every user knows.

    Returns:
        Estimates, shape (n,).

    Raises:
        ValueError: A mean or a number of samples is outside its range.

    Source:
        DAME-E8.
    """
    _check_users(means, n_samples)
    weight = np.sqrt(np.minimum(n_samples, protocol.effective_size) / protocol.effective_size)
    return np.clip(weight * means + (1 - weight) * midpoint, *protocol.interval(midpoint))


def randomised_estimates(
    clipped: FloatArray, midpoint: float, protocol: Protocol, rng: np.random.Generator
) -> FloatArray:
    """Return the messages of the second half: estimates with Laplace noise of the interval's width over alpha.

    Args:
        clipped: Estimates within the interval, shape (n,).
        midpoint: s, the midpoint of the bin with the most votes.
        protocol: What every user knows.
        rng: Source of the users' randomness.

    Returns:
        The messages, shape (n,).

    Raises:
        ValueError: An estimate is outside the interval, so the noise would not protect it.

    Source:
        DAME-E8.
    """
    lower, upper = protocol.interval(midpoint)
    if clipped.size and not lower <= clipped.min() <= clipped.max() <= upper:
        raise ValueError(f"clipped must be from {lower} to {upper} in every element")
    return clipped + rng.laplace(0, protocol.noise_scale(midpoint), clipped.size)


def local_mean(means: FloatArray, n_samples: IntArray, protocol: Protocol, rng: np.random.Generator) -> float:
    """Return the estimate of the mean from both phases' messages.

    Args:
        means: Mean of each user's samples, shape (n,), from -1 to 1.
        n_samples: Samples of each user, shape (n,), >= 1.
        protocol: What every user knows.
        rng: Source of the users' randomness.

    Returns:
        (average of the second half's messages - (1 - E w) s)/E w; unless cut, noise may move it out of [-1, 1].

    Raises:
        ValueError: There are not n users, or a mean or a number of samples is outside its range.

    Source:
        DAME-E9, with (9) as its proof has it.
    """
    if means.size != protocol.n_users:
        raise ValueError(f"means of {means.size} users must be those of n_users={protocol.n_users}")
    half = protocol.n_users // 2
    ballots = randomised_votes(votes(means[:half], n_samples[:half], protocol), protocol.epsilon, rng)
    midpoint = float(protocol.midpoints[ballots.sum(axis=0).argmax()])
    clipped = estimates(means[half:], n_samples[half:], midpoint, protocol)
    messages = randomised_estimates(clipped, midpoint, protocol, rng)
    mean = float((messages.mean() - (1 - protocol.mean_weight) * midpoint) / protocol.mean_weight)
    return min(max(mean, -1.0), 1.0) if protocol.cut else mean


def _check_users(means: FloatArray, n_samples: IntArray) -> None:
    _check.same_length(means=means, n_samples=n_samples)
    _check.all_at_least(1, n_samples=n_samples)
    if not np.all(np.abs(means) <= 1):
        raise ValueError("means must be from -1 to 1 in every element")
