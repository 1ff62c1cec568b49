"""Users in each cell: a surface of the logarithm of what is expected, and the day's own number about it."""

import math
from dataclasses import dataclass

import numpy as np

from dpmath.presence.fields import Basis, Field, FloatArray, Learned
from dpmath.presence.numbers import Numbers, OfCells

_MOST_STEPS, _FURTHER_STEPS = 8, 2
_LONGEST_STEP = 1.5
_NO_STEP = 0.05
_LARGEST_LOG = 14.0
_LEAST_SHARE = 0.1
"""No number of users is put below this share of what is expected."""
_LEAST_USERS = 0.02
_LEVELS = (0.5, 2.0)
LEAST_OVERDISPERSION, MOST_OVERDISPERSION = 0.005, 0.3


@dataclass(frozen=True)
class Users:
    """The day's users in each cell, estimated.

    Attributes:
        field: The surface of the logarithm of what is expected.
        level: The logarithm of what is expected, about which the model was taken as linear, shape (G,).
        overdispersion: How far a day's number is from what is expected: variance m + overdispersion m^2.
        mean: The day's number, above 0, shape (G,).
        variance: Its variance, above 0, shape (G,).
    """

    field: Field
    level: FloatArray
    overdispersion: float
    mean: FloatArray
    variance: FloatArray


def expected_users(field: Field, basis: Basis) -> tuple[FloatArray, FloatArray]:
    """Return the mean number of users that a surface tells of each cell, and its variance, shapes (G,).

    Source:
        HV-E22.
    """
    variance = np.minimum(field.variance(basis), 3.0)
    mean = np.exp(np.minimum(field.level(basis) + np.minimum(variance, 1.0) / 2, _LARGEST_LOG))
    return mean, mean**2 * variance


def users_of(field: Field, basis: Basis, numbers: Numbers, overdispersion: float, near: Users | None = None) -> Users:
    """Return the day's users from noisy numbers of them: Gauss-Newton steps for the surface, then the day's own part.

    Args:
        field: What is known before.
        basis: What the surface is made of.
        numbers: Noisy numbers of users.
        overdispersion: Of the day before.
        near: An estimate from nearly the same numbers. With it the likelihood may halve or double the overdispersion.

    Source:
        HV-E22.
    """
    if near is None:
        level = _first_level(field, basis, numbers)
        trials = [(overdispersion, *_fitted(field, basis, numbers, overdispersion, level, _MOST_STEPS))]
    else:
        tried = {overdispersion * factor for factor in (1.0, *_LEVELS)}
        tried = {min(max(one, LEAST_OVERDISPERSION), MOST_OVERDISPERSION) for one in tried}
        trials = [(one, *_fitted(field, basis, numbers, one, near.level, _FURTHER_STEPS)) for one in sorted(tried)]
    # halving or doubling costs as much as one standard deviation
    chosen = max(trials, key=lambda one: one[2].log_likelihood - abs(math.log2(one[0] / overdispersion)) / 2)
    return _of_day(*chosen, basis, numbers)


def _of_day(overdispersion: float, level: FloatArray, found: Learned, basis: Basis, numbers: Numbers) -> Users:
    """Return the day's numbers: what the surface tells, corrected by each cell's own noisy number."""
    variance = np.minimum(found.variance(basis), 2.0)
    mean = np.exp(np.minimum(level + np.minimum(variance, 1.0) / 2, _LARGEST_LOG))
    of_day = mean + overdispersion * mean**2
    number, kept, left = numbers.corrected(mean, of_day)
    return Users(
        found.field,
        level,
        overdispersion,
        np.maximum(number, np.maximum(_LEAST_SHARE * mean, _LEAST_USERS)),
        kept**2 * mean**2 * variance + left,
    )


def _first_level(field: Field, basis: Basis, numbers: Numbers) -> FloatArray:
    """Return where to begin: at the noisy number where it is far from its noise, else at what was known."""
    level = field.level(basis)
    if not isinstance(numbers, OfCells):
        return level
    clear = numbers.number > 2 * np.sqrt(numbers.noise)
    unknown = field.variance(basis) > 1.0
    return np.where(clear & unknown, np.log(np.maximum(numbers.number, 1.0)), level)


def _fitted(
    field: Field, basis: Basis, numbers: Numbers, overdispersion: float, level: FloatArray, most_steps: int
) -> tuple[FloatArray, Learned]:
    """Return the most likely surface and what is known of it, by Gauss-Newton steps of a bounded length."""
    found = None
    for _ in range(most_steps):
        mean = np.exp(np.minimum(level, _LARGEST_LOG))
        of_day = mean + overdispersion * mean**2
        found = numbers.learned(field, basis, mean, mean - mean * level, of_day)
        step = np.clip(found.field.level(basis) - level, -_LONGEST_STEP, _LONGEST_STEP)
        level = level + step
        if np.abs(step).max() < _NO_STEP:
            break
    if found is None:
        raise ValueError("most_steps must be at least 1")
    return level, found
