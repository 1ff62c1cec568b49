"""Counts that are known but for an error, as numbers of a gamma distribution: between what they lie, and more."""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaincinv  # not scipy.stats, which takes half a second to import

from dpmath.presence.basis import FloatArray

_PLACES = 16


@dataclass(frozen=True)
class Number:
    """A number of each cell, estimated.

    Attributes:
        mean: Shape (G,).
        variance: Above 0, shape (G,).
    """

    mean: FloatArray
    variance: FloatArray


def quantiles(number: Number) -> FloatArray:
    """Return numbers that a count is as likely to be one as another of, from the least to the most, shape (n, G).

    Source:
        HV-E24.
    """
    return np.array([_at(number, (one + 0.5) / _PLACES) for one in range(_PLACES)])


def harmonic(number: Number) -> FloatArray:
    """Return one over the mean of one over a count, if it is at least 1, shape (G,).

    Source:
        HV-E24.
    """
    return np.asarray(_PLACES / (1 / np.maximum(quantiles(number), 1.0)).sum(axis=0))


def limits(number: Number, share: float) -> tuple[FloatArray, FloatArray]:
    """Return between which numbers, at least 0, a count lies with a probability: it is a gamma number, rounded.

    Args:
        number: A count of each cell.
        share: The probability, above 0 and below 1.

    Returns:
        The lower limits and the upper ones, whole numbers, shapes (G,).

    Source:
        HV-E24.
    """
    return np.rint(_at(number, (1 - share) / 2)), np.rint(_at(number, (1 + share) / 2))


def at_least(number: Number, least: int, share: float = 0.9) -> np.ndarray:
    """Return which cells hold at least so many with a probability, shape (G,).

    Source:
        HV-E24.
    """
    return _at(number, 1 - share) >= least


def _at(number: Number, probability: float) -> FloatArray:
    shape = number.mean**2 / number.variance
    return np.asarray(gammaincinv(shape, probability) * (number.variance / number.mean))
