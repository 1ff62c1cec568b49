"""What one noisy number of users tells of a cell: moments over all levels, where a straight line would mislead."""

from dataclasses import dataclass

import numpy as np

from dpmath.presence.basis import FloatArray

LEAST_LOG, LARGEST_LOG = -14.0, 14.0
_NODES, _ROUNDS = 33, 4
_PLACES, _STEP = np.linspace(-1, 1, _NODES)[:, None], 2 / (_NODES - 1)
_STEPS_AROUND, _DEVIATIONS_AROUND = 2.5, 5.0
_FIRST_DEVIATIONS = 6.0


@dataclass(frozen=True)
class Tilted:
    """What is known of cells after a look at their own noisy numbers. All have the shape (G,).

    Attributes:
        level: The mean of the logarithm of what is expected.
        level_variance: Its variance, above 0.
        mean: The mean of the day's number, above 0.
        variance: Its variance, above 0.
        of_level: The part of that variance that comes of the level not being known, at most all of it.
    """

    level: FloatArray
    level_variance: FloatArray
    mean: FloatArray
    variance: FloatArray
    of_level: FloatArray


def tilted(
    level: FloatArray, variance: FloatArray, number: FloatArray, noise: FloatArray, overdispersion: float
) -> Tilted:
    """Return what a noisy number of each cell tells, by sums over levels.

    The day's number N has the mean m = exp(level) and the variance m + overdispersion m^2, and the noisy one is N plus
    noise; both are taken as normal, given the level.

    Args:
        level: What is known of the level otherwise: its mean, shape (G,).
        variance: Its variance, above 0, shape (G,).
        number: The noisy numbers, shape (G,).
        noise: The variance of the noise, above 0, shape (G,).
        overdispersion: See above.

    Source:
        HV-E22.
    """
    # both what is known and the number itself must lie between the first levels, however far they are apart
    low, high = level - _FIRST_DEVIATIONS * np.sqrt(variance), level + _FIRST_DEVIATIONS * np.sqrt(variance)
    seen = np.log(np.maximum(number, 1.0))
    low, high = np.minimum(low, seen - 1), np.maximum(high, seen + 1)
    middle, around = (low + high) / 2, (high - low) / 2

    def weighed() -> tuple[FloatArray, FloatArray]:
        """Return levels on either side of the middle, and how likely each is, shapes (n, G)."""
        at = np.clip(middle + around * _PLACES, LEAST_LOG, LARGEST_LOG)
        expected = np.exp(at)
        spread = expected + overdispersion * expected**2 + noise
        log_weight = -((at - level) ** 2) / variance - (number - expected) ** 2 / spread - np.log(spread)
        weight = np.exp((log_weight - log_weight.max(axis=0)) / 2)
        return at, weight / weight.sum(axis=0)

    for _ in range(_ROUNDS):
        middle, left = _moments(*weighed())
        around = _STEPS_AROUND * _STEP * around + _DEVIATIONS_AROUND * np.sqrt(left)
    at, weight = weighed()
    middle, left = _moments(at, weight)
    left = left + (_STEP * around) ** 2 / 12  # no less than what levels so far apart can tell
    expected = np.exp(at)
    of_day = expected + overdispersion * expected**2
    gain = of_day / (of_day + noise)
    users = np.maximum(expected + gain * (number - expected), 0.0)
    mean = (weight * users).sum(axis=0)
    return Tilted(
        middle,
        left,
        mean,
        (weight * ((users - mean) ** 2 + gain * noise)).sum(axis=0),
        (weight * (users - mean) ** 2).sum(axis=0),
    )


def _moments(at: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean and the variance of weighted numbers: shapes (n, G) to (G,)."""
    mean = (weight * at).sum(axis=0)
    return mean, (weight * (at - mean) ** 2).sum(axis=0)
