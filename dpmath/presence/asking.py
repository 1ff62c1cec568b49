"""The questions of a day: totals, users by cell, records and values by cell, and two looks at how well these went."""

import math

import numpy as np

from dpmath.core.accounting import LOSS_UNITS
from dpmath.core.occupancy import IntArray
from dpmath.presence.amounts import Told
from dpmath.presence.as_asked import CUT, SHIFT, Counting, Summing
from dpmath.presence.ball import Ball, inverse_scale_within
from dpmath.presence.basis import FloatArray
from dpmath.presence.counts import Users, expected_users
from dpmath.presence.loadings import Wanted, whole_loadings
from dpmath.presence.numbers import Numbers
from dpmath.presence.questions import RECORD, Block, By, Check, Kept, Sums, Totals, share_centre
from dpmath.presence.state import VALUES_OF_DAY, Asked, Known, State
from dpmath.presence.weights import USUAL_LOG_LENGTH, USUAL_SHARE, least_error_weights

ALIKE = 0.2
"""The correlation of what a user differs by from others in two cells."""
RADIUS = 1 << 20
_LARGEST_LOADING = 1 << 60
_FIRST = {"totals": 0.05, "users": 0.33, "values": 0.57, "kept": 0.02, "check": 0.03}
_COUNTED = {"totals": 0.05, "users": 0.92, "kept": 0.03}
_LATER = {"totals": 0.02, "users": 0.34, "values": 0.595, "kept": 0.018, "check": 0.027}
"""The part of a day's loss that each question takes."""
_SHARE_OF_RECORDS = 0.1
"""The part of a vector's square that is for records; the rest is for values."""
_EVEN = {"users": 0.3, "values": 0.2}
"""The part of a ball that all cells have alike."""
_LEAST_USERS = 0.3


def totals_of(asked: Asked, state: State | None) -> Totals:
    """Return the first question of a day.

    Source:
        HV-L72.
    """
    is_first, most_cells = state is None, asked.most_cells if state is None else state.most_cells(asked)
    n_sums = 6 if is_first else 3
    weight = int(RADIUS * (0.5 if is_first else 0.7))
    ball = _ball(asked, "totals", n_sums, is_first)
    return Totals(weight, most_cells, asked.most_records, is_first, ball)


def counting(before: State, known: Known, asked: Asked, is_first: bool) -> Sums:
    """Return the question for users: of every cell, or of directions, whichever is expected to leave less unknown.

    Source:
        HV-L72, HV-E21, HV-E25.
    """
    loss, basis = _loss(asked, "users", is_first), asked.basis
    noise = _noise(loss)
    square = math.exp(2 * (USUAL_LOG_LENGTH - before.log_lengths[0]))
    mean, variance = expected_users(before.users, basis)
    if is_first:
        mean = np.full_like(mean, known.cells / mean.size)
    varies = mean + before.overdispersion * mean**2
    energy, one = np.maximum(mean, _LEAST_USERS) / known.users, np.ones_like(mean)
    even = 1.0 if is_first else _EVEN["users"]
    squares = least_error_weights(variance + varies, one, energy, one, square, noise, even)
    asking = Wanted(before.users, basis, mean, varies, one, energy, square, noise, np.sqrt(squares))
    loading = whole_loadings(asking.chosen(), RADIUS, _LARGEST_LOADING // asked.grid.n_cells)
    block = Block(loading, np.zeros(mean.size, dtype=np.int64), 0)
    ball = Ball(RADIUS, inverse_scale_within(loss, RADIUS), loading.shape[1])
    return Sums(block, None, None, None, (asked.cap, asked.value_range), ball)


def summing(before: State, users: Users, known: Known, asked: Asked, is_first: bool) -> Sums:
    """Return the question for records and values, made from the day's noisy numbers of users.

    Source:
        HV-L72, HV-E21, HV-E25.
    """
    loss, basis = _loss(asked, "values", is_first), asked.basis
    noise = _noise(loss)
    square = math.exp(2 * (USUAL_LOG_LENGTH - before.log_lengths[1]))
    count = np.maximum(users.mean, _LEAST_USERS)
    size = np.rint(RECORD * np.clip(before.records.level(basis), 1, asked.cap)) / RECORD
    centre = np.rint(np.clip(before.values.level(basis), 0, asked.value_range))
    of_records, of_values = before.records.variance(basis), before.values.variance(basis)
    records, part = count * size, _SHARE_OF_RECORDS * square
    energy = count / known.users * (before.records_variance + of_records)
    unknown = of_records + before.records_variance / count
    even = least_error_weights(unknown, count, energy, count**2, part, noise, _EVEN["values"])
    amounts = Wanted(
        before.records,
        basis,
        count,
        before.records_variance * count,
        np.ones_like(count),
        energy,
        part,
        noise,
        np.sqrt(even),
    )
    energy = count / known.users * _energy(before, size, of_values)
    varies = of_day(before, count, size)
    even = least_error_weights(of_values + varies, records, energy, records, square - part, noise, _EVEN["values"])
    values = Wanted(
        before.values, basis, records, records**2 * varies, 1 / records, energy, square - part, noise, np.sqrt(even)
    )
    largest = _LARGEST_LOADING // (RECORD * asked.cap * asked.value_range * asked.grid.n_cells)
    amount = whole_loadings(amounts.chosen(), RADIUS * CUT / RECORD, largest)
    value = whole_loadings(values.chosen(), RADIUS * CUT, largest)
    blocks = (
        Block(amount, (RECORD * size).astype(np.int64), SHIFT),
        Block(value, centre.astype(np.int64), SHIFT),
    )
    ball = Ball(RADIUS, inverse_scale_within(loss, RADIUS), amount.shape[1] + value.shape[1])
    return Sums(None, *blocks, None, (asked.cap, asked.value_range), ball)


def of_day(before: State, users: FloatArray, size: FloatArray) -> FloatArray:
    """Return the variance of a day's mean value about the surface: the day's own part, and which users are there.

    Args:
        before: What is known before.
        users: Number of users in each cell, shape (G,).
        size: Records a user in each cell, shape (G,).

    Source:
        HV-E23.
    """
    return VALUES_OF_DAY * before.scale + (_of_user(before) + before.of_record / size) / users


def of_users_alike(before: State, users: FloatArray) -> FloatArray:
    """Return what of that variance the cells of a hexagon have in common: those of one user are off by much the same.

    Source:
        HV-E23.
    """
    return ALIKE * _of_user(before) / users


def _of_user(before: State) -> float:
    """Return what a user adds to the variance of a mean over one: more than its own, as few have most records."""
    return (1 + before.records_variance / before.mean_records**2) * before.of_user


def kept_of(counts: Counting, sums: Summing | None, totals: Totals, asked: Asked) -> Kept:
    """Return the question how much of users' vectors the balls kept: of one for users, and of one for the rest.

    Source:
        HV-L72.
    """
    of: tuple[tuple[Sums, By], ...] = ((counts.question, "cells"),)
    if sums is not None:
        of = (*of, (sums.question, "records"), (sums.question, "cells"))
    ball = _ball(asked, "kept", len(of), totals.is_first)
    return Kept(of, totals.most_cells, totals.most_records, share_centre(USUAL_SHARE), ball)


def check_of(before: State, sums: Summing, asked: Asked, is_first: bool) -> Check:
    """Return the question how far users' means are from what was expected.

    Source:
        HV-L72.
    """
    alike = before.values.variance(asked.basis) + before.of_user
    expected = np.column_stack([alike, np.full_like(alike, before.of_record)])
    whole: IntArray = np.maximum(np.rint(expected), 1).astype(np.int64)
    of_cell = np.zeros(asked.grid.n_cells, dtype=np.int64)
    return Check(of_cell, 1, sums.values.centre, whole, RADIUS, _ball(asked, "check", 2, is_first))


_SPREAD_OF_MEANS = 0.05
"""How far records a user differ between cells, squared, over the square of their mean."""


def records_told(sums: Summing, numbers: Numbers, users: Users, before: State, uneven: float) -> Told:
    """Return what answers tell of records a user.

    Args:
        sums: The question.
        numbers: The noisy numbers of records above what they were compared with.
        users: The day's users.
        before: What was known before.
        uneven: What the ball kept of cells over what it kept of records: users with many records lose more of them
            than they lose of being there.

    Source:
        HV-E23.
    """
    count = np.maximum(users.mean, _LEAST_USERS)
    spread = before.records_variance + before.mean_records**2 * _SPREAD_OF_MEANS
    of_slope = users.variance * spread / np.maximum(count, 1)
    return Told(
        numbers,
        count,
        -uneven * count * sums.mean_records,
        of_slope,
        before.records_variance / count,
        np.zeros_like(count),
    )


def values_told(
    sums: Summing,
    numbers: Numbers,
    records: FloatArray,
    variance: FloatArray,
    of_mean: FloatArray,
    alike: FloatArray,
    before: State,
) -> Told:
    """Return what answers tell of the day's mean values.

    Args:
        sums: The question.
        numbers: The noisy numbers of ticks above the centres.
        records: The day's records in each cell, shape (G,).
        variance: Their variance, shape (G,).
        of_mean: Variance of the day's mean about the surface, shape (G,).
        alike: The part of that which the cells of a hexagon have in common, shape (G,).
        before: What was known before.

    Source:
        HV-E23.
    """
    return Told(numbers, records, -records * sums.centre, variance * before.scale, of_mean, alike)


def _ball(asked: Asked, name: str, n_sums: int, is_first: bool) -> Ball:
    return Ball(RADIUS, inverse_scale_within(_loss(asked, name, is_first), RADIUS), n_sums)


def _loss(asked: Asked, name: str, is_first: bool) -> int:
    shares = _COUNTED if asked.counts_only else _FIRST if is_first else _LATER
    return int(asked.loss * shares[name])


def _noise(loss: int) -> float:
    """Return the variance of the noise that a loss buys, over the square of the radius."""
    return (LOSS_UNITS / inverse_scale_within(loss, RADIUS) / RADIUS) ** 2


def _energy(before: State, size: FloatArray, unknown: FloatArray) -> FloatArray:
    """Return the mean square of a user's total about the centre."""
    return (size**2 + before.records_variance) * (unknown + before.of_user) + size * before.of_record
