"""Users in each cell: a surface of the logarithm of what is expected, and the day's own number about it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpmath.presence.basis import Basis, FloatArray
from dpmath.presence.errors import Off
from dpmath.presence.fields import Field, Learned, Seen, learned
from dpmath.presence.numbers import Numbers, OfCells
from dpmath.presence.priors import FIRST_ROUNDS, likelier
from dpmath.presence.tilted import LARGEST_LOG, LEAST_LOG, tilted

_MOST_STEPS, _FURTHER_STEPS = 8, 2
_LONGEST_STEP = 1.5
_NO_STEP = 0.05
_MOST_ROUNDS = 6
_LEAST_TOLD = 1e-6
_UNEVEN = 0.25
"""What is lost of the users of a hexagon differs between hexagons by so much of it."""
_LEAST_SHARE = 0.1
"""No number of users is put below this share of what is expected."""
_LEAST_USERS = 0.02
_MOST_VARIANCE = 1.0
_LEVELS = (0.5, 2.0)
LEAST_OVERDISPERSION, MOST_OVERDISPERSION = 0.005, 0.3


@dataclass(frozen=True)
class KeptOfCells:
    """What the ball kept of users in each cell.

    Attributes:
        share: The share, shape (G,).
        unsure: The deviation of what all shares are off by together, over the share.
        uneven: Loadings on what they are off by where they are more or less than others, over the share, shape (G, k).
    """

    share: FloatArray
    unsure: float
    uneven: FloatArray


@dataclass(frozen=True)
class Users:
    """The day's users in each cell, estimated.

    Attributes:
        field: The surface of the logarithm of what is expected.
        level: The logarithm of what is expected, about which the model was taken as linear, shape (G,).
        overdispersion: How far a day's number is from what is expected: variance m + overdispersion m^2.
        mean: The day's number, above 0, shape (G,).
        variance: Its variance, above 0, shape (G,).
        off: What makes up that variance.
        before: What was known of the surface before.
    """

    field: Field
    level: FloatArray
    overdispersion: float
    mean: FloatArray
    variance: FloatArray
    off: Off
    before: Field


def expected_users(field: Field, basis: Basis) -> tuple[FloatArray, FloatArray]:
    """Return the mean number of users that a surface tells of each cell, and its variance, shapes (G,).

    Source:
        HV-E22.
    """
    variance = np.minimum(field.variance(basis), 3.0)
    mean = np.exp(np.minimum(field.level(basis) + half_variance(variance), LARGEST_LOG))
    return mean, mean**2 * variance


def half_variance(variance: FloatArray) -> FloatArray:
    """Return how far the logarithm of a mean is above the mean of logarithms.

    Source:
        HV-E22.
    """
    return np.minimum(variance, _MOST_VARIANCE) / 2


def users_of(
    fields: Sequence[Field],
    basis: Basis,
    numbers: Numbers,
    overdispersion: float,
    near: Users | None = None,
    is_first: bool = False,
) -> Users:
    """Return the day's users from noisy numbers of them: the surface, then the day's own part.

    Args:
        fields: What is known before, at several paces, of which the likeliest is taken.
        basis: What the surface is made of.
        numbers: Noisy numbers of users.
        overdispersion: Of the day before.
        near: An estimate from nearly the same numbers. With it the likelihood may halve or double the overdispersion.
        is_first: Whether it is learned too how variable the surface is.

    Source:
        HV-E22, HV-E26.
    """
    tried = {overdispersion}
    if near is not None:
        tried |= {min(max(overdispersion * one, LEAST_OVERDISPERSION), MOST_OVERDISPERSION) for one in _LEVELS}
    level = _first_level(fields[0], basis, numbers) if near is None else near.level
    steps = _MOST_STEPS if near is None else _FURTHER_STEPS
    fits = []
    for one in sorted(tried):
        for field in fields:
            at, found = _fitted(field, basis, numbers, one, level, steps)
            # halving or doubling costs as much as one standard deviation
            fits.append((found.log_likelihood - abs(math.log2(one / overdispersion)) / 2, one, field, at, found))
            level = at if near is None else level  # another pace ends near this one
    _, chosen, field, level, found = max(fits, key=lambda one: one[0])
    if isinstance(numbers, OfCells):
        return _by_moments(chosen, level, field, basis, numbers, is_first)
    for _ in range(FIRST_ROUNDS if is_first else 0):
        field = likelier(found.field, basis).field(basis)
        level, found = _fitted(field, basis, numbers, chosen, level, 1)
    return _of_day(chosen, level, found, field, basis, numbers)


def with_total(users: Users, kept: KeptOfCells, total: float, noise: float, basis: Basis) -> Users:
    """Return users in each cell, with what all are off by alike, after a look at their total.

    It is unsure what the ball kept of all of them, and how levels that are not known are distributed: where many cells
    have nobody, means of lognormal levels are all too high, the more the less is known.

    Args:
        users: The day's users.
        kept: What was kept.
        total: The noisy total over all cells.
        noise: The variance of its noise, above 0.
        basis: What the surface is made of.

    Source:
        HV-E22.
    """
    moves = basis.matrix.T @ users.off.surface
    rest = float(moves @ users.off.covariance @ moves + users.off.alone.sum()) + noise
    supposed = np.minimum(users.field.variance(basis), _MOST_VARIANCE)
    off_alike = users.mean[:, None] * np.column_stack([np.full_like(supposed, kept.unsure), supposed, kept.uneven])
    pull = off_alike.sum(axis=0)
    much = float(pull @ pull)
    moved = off_alike @ pull * (total - float(users.mean.sum())) / (much + rest)
    told = (1 - math.sqrt(rest / (much + rest))) / max(much, _LEAST_TOLD)
    common = off_alike @ (np.eye(pull.size) - told * np.outer(pull, pull))  # a root of what is left of their covariance
    off = replace(users.off, common=common, of_hexagon=_UNEVEN * (1 - kept.share) * users.mean)
    mean = np.maximum(users.mean + moved, _LEAST_SHARE * users.mean)
    return replace(users, mean=mean, variance=off.variance(basis), off=off)


def _by_moments(
    overdispersion: float, level: FloatArray, field: Field, basis: Basis, numbers: OfCells, is_first: bool
) -> Users:
    """Return the day's users by expectation propagation: each cell's number as what it tells of the level.

    The most likely level of a cell with few users is above its mean, for a small noisy number excludes large levels and
    no small one. So each number counts as a normal one of the level, with the moments that it leaves, in turns.
    """
    level = np.clip(level, LEAST_LOG, LARGEST_LOG)
    mean, one = np.exp(level), np.ones_like(level)
    told = np.maximum(mean**2 / (numbers.noise + mean + overdispersion * mean**2), _LEAST_TOLD)
    at = level + np.clip((numbers.number - mean) / mean, -_LONGEST_STEP, _LONGEST_STEP)
    found, looked = learned(field, basis, Seen(one, at, 1 / told)), None
    for number in range(_MOST_ROUNDS + (FIRST_ROUNDS if is_first else 0)):
        known, unknown = found.field.level(basis), found.variance(basis)
        otherwise = np.maximum(1 / unknown - told, _LEAST_TOLD)
        apart = (known / unknown - told * at) / otherwise
        looked = tilted(apart, 1 / otherwise, numbers.number, numbers.noise, overdispersion)
        told = np.maximum(1 / looked.level_variance - otherwise, _LEAST_TOLD)
        at = looked.level + otherwise * (looked.level - apart) / told
        if is_first and 0 < number <= FIRST_ROUNDS:
            field = likelier(found.field, basis).field(basis)
        found = learned(field, basis, Seen(one, at, 1 / told))
        if number >= FIRST_ROUNDS * is_first and np.abs(found.field.level(basis) - known).max() < _NO_STEP:
            break
    if looked is None:
        raise ValueError("_MOST_ROUNDS must be at least 1")
    unknown = found.variance(basis)
    # cells whose level is off alike are off alike by all that this makes of numbers, not by its slope alone
    part = np.sqrt(looked.of_level / unknown)
    own = looked.variance - looked.of_level + part**2 * found.field.own_variance
    off = Off(part * found.left, found.field.covariance, np.zeros((mean.size, 0)), np.zeros_like(mean), own)
    users = np.maximum(looked.mean, _LEAST_USERS)
    return Users(found.field, found.field.level(basis), overdispersion, users, off.variance(basis), off, field)


def _of_day(
    overdispersion: float, level: FloatArray, found: Learned, field: Field, basis: Basis, numbers: Numbers
) -> Users:
    """Return the day's numbers of users as the surface tells them, from sums over cells."""
    unknown = found.variance(basis)
    # of a number whose logarithm is normal, over its mean squared
    variance = np.expm1(np.minimum(unknown, _MOST_VARIANCE))
    mean = np.exp(np.minimum(level + half_variance(unknown), LARGEST_LOG))
    of_day = mean + overdispersion * mean**2
    number, kept, left = numbers.corrected(mean, of_day)
    part = kept * mean * np.sqrt(variance / unknown)
    of_cells = part**2 * found.field.own_variance + left
    off = Off(part * found.left, found.field.covariance, np.zeros((mean.size, 0)), np.zeros_like(mean), of_cells)
    users = np.maximum(number, np.maximum(_LEAST_SHARE * mean, _LEAST_USERS))
    return Users(found.field, level, overdispersion, users, off.variance(basis), off, field)


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
    """Return the surface and what is known of it, by Gauss-Newton steps of a bounded length.

    Numbers are compared with means, not with the most likely levels: else what is not known is counted on top of what
    was found, and there would be too many users.
    """
    found, half = None, half_variance(field.variance(basis))
    for _ in range(most_steps):
        level = np.clip(level, LEAST_LOG, LARGEST_LOG)
        mean = np.exp(np.minimum(level + half, LARGEST_LOG))
        of_day = mean + overdispersion * mean**2
        found = numbers.learned(field, basis, mean, mean - mean * level, of_day)
        half = half_variance(found.variance(basis))
        step = np.clip(found.field.level(basis) - level, -_LONGEST_STEP, _LONGEST_STEP)
        level = level + step
        if np.abs(step).max() < _NO_STEP:
            break
    if found is None:
        raise ValueError("most_steps must be at least 1")
    return level, found
