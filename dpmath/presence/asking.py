"""The questions of a day: totals, users by cell, records and values by cell, and two looks at how well these went."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, diags_array

from dpmath.core.accounting import LOSS_UNITS, ExactIntArray
from dpmath.core.occupancy import IntArray
from dpmath.presence.amounts import Told
from dpmath.presence.ball import Ball, inverse_scale_within
from dpmath.presence.counts import Counted, Users, expected_users
from dpmath.presence.fields import FloatArray
from dpmath.presence.questions import RECORD, Block, Check, Kept, Sums, Totals, share_centre
from dpmath.presence.state import VALUES_OF_DAY, Asked, Known, State
from dpmath.presence.weights import USUAL_LOG_LENGTH, USUAL_SHARE, least_error_weights

RADIUS = 1 << 20
_SHIFT = 10
"""Loadings of records and values have so many bits more."""
_LARGEST_LOADING = 1 << 60
_FIRST = {"totals": 0.05, "users": 0.33, "values": 0.57, "kept": 0.02, "check": 0.03}
_LATER = {"totals": 0.02, "users": 0.34, "values": 0.595, "kept": 0.018, "check": 0.027}
"""The part of a day's loss that each question takes."""
_SHARE_OF_RECORDS = 0.1
"""The part of a vector's square that is for records; the rest is for values."""
_EVEN = {"users": 0.3, "values": 0.2}
"""The part of a ball that all cells have alike."""
_LEAST_USERS = 0.3


@dataclass(frozen=True)
class Counting:
    """The question for users by cell.

    Attributes:
        question: What is asked.
        weight: The weight of each cell's users, shape (G,).
    """

    question: Sums
    weight: FloatArray

    def counted(self, answers: ExactIntArray, share: float) -> Counted:
        """Return the noisy numbers of users that answers tell, if the ball kept a share of them."""
        unit = self.weight * share
        return Counted(answers.astype(np.float64) / unit, (sigma(self.question.ball) / unit) ** 2)


@dataclass(frozen=True)
class Summing:
    """The question for records and values by cell.

    Attributes:
        question: What is asked; the sums of records come first.
        of_records: The weight of a record more in each cell, shape (G,).
        of_values: The weight of a tick more in each cell, shape (G,).
        mean_records: Records a user that records are compared with, shape (G,).
        centre: Ticks a record that values are compared with, shape (G,).
    """

    question: Sums
    of_records: FloatArray
    of_values: FloatArray
    mean_records: FloatArray
    centre: FloatArray

    @property
    def noise(self) -> float:
        """The deviation of the noise."""
        return sigma(self.question.ball)


def sigma(ball: Ball) -> float:
    """Return the deviation of a ball's noise.

    Source:
        HV-L70.
    """
    return LOSS_UNITS / ball.inverse_scale


def totals_of(asked: Asked, is_first: bool) -> Totals:
    """Return the first question of a day.

    Source:
        HV-L72.
    """
    n_sums = 6 if is_first else 3
    weight = int(RADIUS * (0.5 if is_first else 0.7))
    ball = _ball(asked, "totals", n_sums, is_first)
    return Totals(weight, asked.most_cells, asked.most_records, is_first, ball)


def counting(before: State, known: Known, asked: Asked, is_first: bool) -> Counting:
    """Return the question for users: on a first day all cells alike, later by what is not known of them.

    Source:
        HV-L72, HV-E21.
    """
    ball = _ball(asked, "users", asked.grid.n_cells, is_first)
    square = np.exp(2 * (USUAL_LOG_LENGTH - before.log_lengths[0]))
    mean, variance = expected_users(before.users, asked.basis)
    if is_first:
        squares = np.full(asked.grid.n_cells, square * known.users / known.cells)
    else:
        unknown = variance + mean + before.overdispersion * mean**2
        one = np.ones_like(mean)
        noise = (sigma(ball) / RADIUS) ** 2
        energy = np.maximum(mean, _LEAST_USERS) / known.users
        squares = least_error_weights(unknown, one, energy, one, square, noise, _EVEN["users"])
    loading = _whole(RADIUS * np.sqrt(squares), _LARGEST_LOADING)
    block = Block(_diagonal(loading), np.zeros_like(loading), 0)
    question = Sums(block, None, None, None, (asked.cap, asked.value_range), ball)
    return Counting(question, loading.astype(np.float64))


def summing(before: State, users: Users, known: Known, asked: Asked, is_first: bool) -> Summing:
    """Return the question for records and values, made from the day's noisy numbers of users.

    Source:
        HV-L72, HV-E21.
    """
    n_cells = asked.grid.n_cells
    ball = _ball(asked, "values", 2 * n_cells, is_first)
    noise = (sigma(ball) / RADIUS) ** 2
    square = np.exp(2 * (USUAL_LOG_LENGTH - before.log_lengths[1]))
    count = np.maximum(users.mean, _LEAST_USERS)
    size = np.rint(RECORD * np.clip(before.records.level(asked.basis), 1, asked.cap)) / RECORD
    centre = np.rint(np.clip(before.values.level(asked.basis), 0, asked.value_range))
    of_records = before.records.variance(asked.basis)
    of_values = before.values.variance(asked.basis)
    records = count * size
    values = least_error_weights(
        of_values + of_day(before, count, size),
        records,
        count / known.users * _energy(before, size, of_values),
        records,
        (1 - _SHARE_OF_RECORDS) * square,
        noise,
        _EVEN["values"],
    )
    amounts = least_error_weights(
        of_records + before.records_variance / count,
        count,
        count / known.users * (before.records_variance + of_records),
        count**2,
        _SHARE_OF_RECORDS * square,
        noise,
        _EVEN["values"],
    )
    largest = _LARGEST_LOADING // (RECORD * asked.cap * asked.value_range)
    unit = RADIUS * (1 << _SHIFT)
    loadings = [_whole(unit * np.sqrt(one), largest) for one in (amounts / RECORD**2, values)]
    blocks = [
        Block(_diagonal(one), middle.astype(np.int64), _SHIFT)
        for one, middle in zip(loadings, (RECORD * size, centre), strict=True)
    ]
    question = Sums(None, *blocks, None, (asked.cap, asked.value_range), ball)
    weights = [one / (1 << _SHIFT) for one in loadings]
    return Summing(question, RECORD * weights[0], weights[1], size, centre)


def of_day(before: State, users: FloatArray, size: FloatArray) -> FloatArray:
    """Return the variance of a day's mean value about the surface: the day's own part, and which users are there.

    Users' records differ, so that few of them count for most of a cell.

    Args:
        before: What is known before.
        users: Number of users in each cell, shape (G,).
        size: Records a user in each cell, shape (G,).

    Source:
        HV-E23.
    """
    uneven = 1 + before.records_variance / before.mean_records**2
    return VALUES_OF_DAY * before.scale + (uneven * before.of_user + before.of_record / size) / users


def kept_of(counts: Counting, sums: Summing, asked: Asked, is_first: bool) -> Kept:
    """Return the question how much of users' vectors the two balls kept.

    Source:
        HV-L72.
    """
    of = ((counts.question, "cells"), (sums.question, "records"), (sums.question, "cells"))
    ball = _ball(asked, "kept", len(of), is_first)
    return Kept(of, asked.most_cells, asked.most_records, share_centre(USUAL_SHARE), ball)


def check_of(before: State, sums: Summing, asked: Asked, is_first: bool) -> Check:
    """Return the question how far users' means are from what was expected.

    Source:
        HV-L72.
    """
    alike = before.values.variance(asked.basis) + before.of_user
    expected = np.column_stack([alike, np.full_like(alike, before.of_record)])
    whole: IntArray = np.maximum(np.rint(expected), 1).astype(np.int64)
    of_cell = np.zeros(asked.grid.n_cells, dtype=np.int64)
    return Check(of_cell, 1, sums.centre.astype(np.int64), whole, RADIUS, _ball(asked, "check", 2, is_first))


_SPREAD_OF_MEANS = 0.05
"""How far records a user differ between cells, squared, over the square of their mean."""


def records_told(
    sums: Summing, answers: ExactIntArray, users: Users, before: State, shares: tuple[float, float]
) -> Told:
    """Return what answers tell of records a user.

    Args:
        sums: The question.
        answers: Its noisy answers.
        users: The day's users.
        before: What was known before.
        shares: How much the ball kept of records, and of cells.

    Source:
        HV-E23.
    """
    of_records, of_cells = shares
    count = np.maximum(users.mean, _LEAST_USERS)
    unit = sums.of_records * of_records
    # users with many records lose more of them than they lose of being there
    number = answers.astype(np.float64)[: count.size] / unit + of_cells / of_records * count * sums.mean_records
    of_mean = before.records_variance / count
    spread = before.records_variance + before.mean_records**2 * _SPREAD_OF_MEANS
    return Told(count, number, (sums.noise / unit) ** 2 + users.variance * spread / count.clip(1), of_mean)


def values_told(
    sums: Summing,
    answers: ExactIntArray,
    records: FloatArray,
    variance: FloatArray,
    of_mean: FloatArray,
    before: State,
    share: float,
) -> Told:
    """Return what answers tell of the day's mean values.

    Args:
        sums: The question.
        answers: Its noisy answers.
        records: The day's records in each cell, shape (G,).
        variance: Their variance, shape (G,).
        of_mean: Variance of the day's mean about the surface, shape (G,).
        before: What was known before.
        share: How much the ball kept of records.

    Source:
        HV-E23.
    """
    unit = sums.of_values * share
    number = answers.astype(np.float64)[records.size :] / unit + records * sums.centre
    return Told(records, number, (sums.noise / unit) ** 2 + variance * before.scale, of_mean)


def _ball(asked: Asked, name: str, n_sums: int, is_first: bool) -> Ball:
    loss = int(asked.loss * (_FIRST if is_first else _LATER)[name])
    return Ball(RADIUS, inverse_scale_within(loss, RADIUS), n_sums)


def _energy(before: State, size: FloatArray, unknown: FloatArray) -> FloatArray:
    """Return the mean square of a user's total about the centre."""
    return (size**2 + before.records_variance) * (unknown + before.of_user) + size * before.of_record


def _whole(numbers: FloatArray, largest: float) -> IntArray:
    """Return whole loadings, at least 1 and so small that no sum of a user can overflow."""
    return np.rint(np.clip(numbers, 1, largest)).astype(np.int64)


def _diagonal(loading: IntArray) -> csr_array:
    return csr_array(diags_array(loading, format="csr", dtype=np.int64))
