"""How much of users' vectors the balls keep, as a function of how long the vectors are expected to be.

What is known of it, ``shrink``, is the mean and variance of the log of true over expected length. Users are asked for
their vectors' room in the ball: radius over length, from LEAST_ROOM to MOST_ROOM. It tells twice as much as shrink
factors, which are 1 for all vectors inside the ball; less, where most vectors are longer than 1.5 radii.
"""

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from dpmath.estimate.day import FloatArray

LEAST_SHRINK = 0.82
"""The least mean shrink factor that expected lengths are chosen for."""
LEAST_ROOM, MOST_ROOM = 0.25, 1.25
_LEAST_SHARE = 0.1
"""Of sums, that is taken to be kept: with less, nothing could be told from them."""
_SPREAD = 0.4
"""Standard deviation, over users, of the log of a vector's length over the expected length."""
_KEPT_A_DAY, _LARGEST_VARIANCE = 0.95, 0.2
_OF_OTHER_QUESTIONS = 0.5
_SHORTER = np.geomspace(0.05, 1.0, 24)
"""Which parts of the longest expected length are tried."""
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(41)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


@dataclass(frozen=True)
class Kept:
    """How much of the sums of users' vectors the balls keep, of one or of each question, shape () or (Q,).

    Attributes:
        share: The share that is kept.
        deviation: Standard deviation of its log: how well it is known.
    """

    share: FloatArray
    deviation: FloatArray

    @property
    def error(self) -> FloatArray:
        """By which part of what the sums move a mean that may be off."""
        return np.hypot(0.5 * (1 / self.share - 1), self.deviation)


def mean_shrink(log_ratio: FloatArray | float, expected_length: float) -> FloatArray:
    """Return the mean shrink factor, min(1, 1/length) in radii, with lengths log-normal over users.

    Args:
        log_ratio: Log of true over expected length, shape (n,).
        expected_length: Expected length in radii of the ball.

    Source:
        HV-E6.
    """
    return np.asarray(np.minimum(1.0, 1.0 / _lengths(log_ratio, expected_length)) @ _WEIGHTS)


def mean_room(log_ratio: FloatArray | float, expected_length: float) -> FloatArray:
    """Return the mean room of vectors in their balls, as a share of what it may be.

    Args:
        log_ratio: Log of true over expected length, shape (n,).
        expected_length: Expected length in radii of the ball.

    Source:
        HV-E6.
    """
    room = np.clip(1.0 / _lengths(log_ratio, expected_length), LEAST_ROOM, MOST_ROOM)
    return np.asarray((room - LEAST_ROOM) / (MOST_ROOM - LEAST_ROOM) @ _WEIGHTS)


def kept(shrink: tuple[float, float], expected_length: float, part: FloatArray | float) -> Kept:
    """Return how much is kept of what moves all vectors alike: if it is small, the sums move by that share of it.

    A vector beyond the ball is kept by one over its length. What moves it across its own direction moves it by as much;
    what moves it along does not move it at all.

    Args:
        shrink: Mean and variance of the log of true over expected length.
        expected_length: Expected length in radii of the ball.
        part: Which part one component, or each, is of the square of a vector's length (for l1, of its length).

    Source:
        HV-E6.
    """
    ratios = np.append(shrink[0], shrink[0] + np.sqrt(shrink[1]) * _NODES)
    lengths = _lengths(ratios, expected_length)
    across = np.minimum(1.0, 1.0 / lengths) @ _WEIGHTS
    along = ndtr(-(ratios + np.log(expected_length)) / _SPREAD)  # how many vectors are inside
    shares = np.maximum(across - np.asarray(part)[..., None] * (across - along), _LEAST_SHARE)
    logs = np.log(shares[..., 1:])
    off = logs - (logs @ _WEIGHTS)[..., None]
    return Kept(shares[..., 0], np.sqrt(off**2 @ _WEIGHTS))


def possible_lengths(shrink: tuple[float, float]) -> tuple[FloatArray, FloatArray]:
    """Return expected lengths, in radii, that may be chosen, and the mean shrink factor of each, each of shape (n,).

    The longest is that with the least shrink factor.

    Args:
        shrink: Mean and variance of the log of true over expected length.

    Source:
        HV-E6.
    """
    ratios = shrink[0] + np.sqrt(shrink[1]) * _NODES[10:31]
    weights = _WEIGHTS[10:31] / _WEIGHTS[10:31].sum()

    def shrinks(lengths: FloatArray) -> FloatArray:
        return np.array([mean_shrink(ratios, length) @ weights for length in lengths])

    among = np.geomspace(0.02, 20, 400)  # longer vectors are shrunk more
    first = bisect_left(among, True, key=lambda length: float(shrinks(np.array([length]))[0]) < LEAST_SHRINK)
    lengths = among[max(0, first - 1)] * _SHORTER
    return lengths, shrinks(lengths)


def updated(shrink: tuple[float, float], measured: float, variance: float, length: float) -> tuple[float, float]:
    """Return mean and variance of the log ratio after a noisy mean room was measured.

    Args:
        shrink: Mean and variance before.
        measured: The noisy mean room, as a share of what it may be.
        variance: Its variance.
        length: The expected length that it was measured with.

    Source:
        HV-E6.
    """
    ratios = np.linspace(-4, 4, 321)
    fit = -0.5 * (ratios - shrink[0]) ** 2 / shrink[1] - 0.5 * (measured - mean_room(ratios, length)) ** 2 / variance
    weight = np.exp(fit - fit.max())
    weight /= weight.sum()
    mean = float(weight @ ratios)
    step = float(ratios[1] - ratios[0])
    return mean, max(float(weight @ (ratios - mean) ** 2), step**2 / 12)


def expecting(shrink: tuple[float, float], longer: float) -> tuple[float, float]:
    """Return the same where other lengths are expected: longer by so much in their logs.

    Source:
        HV-E6.
    """
    return shrink[0] - longer, shrink[1]


def later(shrink: tuple[float, float], n_days: int) -> tuple[float, float]:
    """Return what is known after some days: lengths tend to be as they are expected.

    Source:
        HV-E6.
    """
    left = _KEPT_A_DAY**n_days
    return left * shrink[0], left**2 * shrink[1] + (1 - left**2) * _LARGEST_VARIANCE


def of_other_questions(shrink: tuple[float, float]) -> tuple[float, float]:
    """Return what is known of vectors that answer other questions of the same day.

    Source:
        HV-E6.
    """
    return _OF_OTHER_QUESTIONS * shrink[0], _OF_OTHER_QUESTIONS**2 * shrink[1] + _LARGEST_VARIANCE


def _lengths(log_ratio: FloatArray | float, expected_length: float) -> FloatArray:
    """Return lengths at the nodes of a log-normal law over users, shape (n, 41)."""
    ratios = np.add.outer(np.asarray(log_ratio, dtype=float), _SPREAD * _NODES)
    return np.asarray(expected_length * np.exp(ratios), dtype=np.float64)
