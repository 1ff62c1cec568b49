"""How a ball is shared out over the cells: weights of least error, and how much of users' vectors a ball keeps."""

import math

import numpy as np

from dpmath.core import _check
from dpmath.presence.basis import FloatArray

USUAL_SHARE = 0.85
"""The mean share of users' vectors that a ball is meant to keep."""
_SPREAD_OF_LENGTHS = 0.6
"""How far the logarithms of users' lengths are apart."""
_STEPS = 80
_MOST_SHARE = 0.999
_POINTS = np.linspace(-2.5, 2.5, 101)
_MASS = np.exp(-(_POINTS**2) / 2) / np.exp(-(_POINTS**2) / 2).sum()


def share_of(log_length: FloatArray) -> FloatArray:
    """Return the mean share kept of vectors whose typical length is exp(log_length) radii, shape (n,) to (n,).

    Source:
        HV-E21.
    """
    length = np.exp(log_length[:, None] + _SPREAD_OF_LENGTHS * _POINTS)
    return np.asarray(np.minimum(1.0, 1 / length) @ _MASS)


def log_length_of(share: float) -> float:
    """Return the log_length whose mean share kept is the given one.

    Args:
        share: Above 0 and below 1.

    Source:
        HV-E21.
    """
    _check.positive(share=share, rest=1 - share)
    low, high = -6.0, 6.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if share_of(np.array([middle]))[0] > share else (low, middle)
    return low


def lean_of(share: float) -> float:
    """Return the share kept of a sum of lengths, over the mean share kept: long vectors lose more than short ones.

    Args:
        share: The mean share kept, above 0 and at most 1.

    Source:
        HV-E21.
    """
    length = np.exp(log_length_of(min(share, _MOST_SHARE)) + _SPREAD_OF_LENGTHS * _POINTS)
    return float((_MASS * np.minimum(length, 1.0)).sum() / (_MASS * length).sum() / share)


USUAL_LOG_LENGTH = log_length_of(USUAL_SHARE)


def least_error_weights(
    variance: FloatArray,
    slope: FloatArray,
    energy: FloatArray,
    worth: FloatArray,
    budget: float,
    noise: float,
    even: float = 0.0,
) -> FloatArray:
    """Return the squares t of weights that make the sum of worth times the variance left least, at a given length.

    A cell of a variance p that is asked with the square t keeps p/(1 + p slope^2 t/noise), and takes energy t of the
    mean square of users' lengths.

    Args:
        variance: What is unknown of each cell, above 0, shape (G,).
        slope: How much a cell's sum moves with what is unknown, shape (G,).
        energy: Above 0, shape (G,).
        worth: What an error in each cell costs, above 0, shape (G,).
        budget: The mean square of users' lengths, above 0.
        noise: Variance of the noise, above 0.
        even: A share of the budget that is given to all cells alike, so that none is left unasked.

    Source:
        HV-E21.
    """
    _check.positive(budget=budget, noise=noise)
    told = variance * slope**2 / noise
    gain = np.sqrt(worth * variance * told / energy)
    low, high = -80.0, 80.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        spent = (energy * _filled(gain, told, middle)).sum()
        low, high = (middle, high) if spent > budget else (low, middle)
    return (1 - even) * _filled(gain, told, high) + even * budget / energy.sum()


def _filled(gain: FloatArray, told: FloatArray, log_price: float) -> FloatArray:
    return np.maximum(gain * math.exp(-log_price / 2) - 1, 0) / np.maximum(told, 1e-12)
