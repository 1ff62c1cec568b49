"""The questions of a day: totals, users by cell, records and values by cell, and two looks at how well these went."""

import math
from dataclasses import replace

import numpy as np

from dpmath.core.accounting import LOSS_UNITS
from dpmath.core.occupancy import IntArray
from dpmath.presence.as_asked import CUT, SHIFT, Counting, Summing
from dpmath.presence.ball import Ball, inverse_scale_within
from dpmath.presence.basis import FloatArray
from dpmath.presence.counts import Users, expected_users
from dpmath.presence.lengths import RECORDS, USERS
from dpmath.presence.link import farthest
from dpmath.presence.loadings import Wanted, whole_loadings
from dpmath.presence.looks import By, Check, Kept
from dpmath.presence.questions import RECORD, Block, Sums, Totals
from dpmath.presence.residuals import few
from dpmath.presence.shares import share_centre
from dpmath.presence.state import VALUES_OF_DAY, Asked, Known, State
from dpmath.presence.weights import USUAL_SHARE, least_error_weights

ALIKE = 0.2
"""The correlation of what a user differs by from others in two cells."""
RADIUS = 1 << 20
_LARGEST_LOADING = 1 << 60
_FIRST = {"totals": 0.15, "users": 0.28, "rough": 0.2, "values": 0.32, "kept": 0.02, "check": 0.03}
_COUNTED = {"totals": 0.05, "users": 0.92, "kept": 0.03}
_LATER = {"totals": 0.02, "users": 0.34, "values": 0.595, "kept": 0.018, "check": 0.027}
"""The part of a day's loss that each question takes."""
_SHARE_OF_RECORDS = 0.1
"""The part of a vector's square that is for records; the rest is for values."""
_EVEN = {"totals": 0.3, "users": 0.3, "values": 0.2}
"""The part of a ball that all cells have alike, or all totals."""
LEAST_USERS = 0.3
_MANY = 1e6


def totals_of(asked: Asked, state: State | None) -> Totals:
    """Return the first question of a day.

    Source:
        HV-L72.
    """
    is_first, most_cells = state is None, asked.most_cells if state is None else state.most_cells(asked)
    weights = weights_of_totals(asked, state, most_cells)
    ball = _ball(asked, "totals", len(weights), is_first)
    return Totals(weights, most_cells, asked.most_records, is_first, ball)


def weights_of_totals(asked: Asked, state: State | None, most_cells: int) -> tuple[int, ...]:
    """Return the largest number of a user in each total: of users, of cells, and of records where these are asked.

    Of all weights with which no ball cuts any user, they leave least unknown of the totals, each of which may be off by
    all of it: so a total of which a user has little of the most that counts is asked for more, unless it cannot be told
    anyway; a part all have alike. Before a first day nothing is known of a user's cells, and nothing of the number of
    users: as usual counts the middle, on the scale of logarithms, between one cell and the most; and users are many.

    On a first day with values, six numbers are asked with half of the radius each, which hardly cuts any user.

    Args:
        asked: What is public.
        state: What the days before left; None on a first day.
        most_cells: So many cells of a user count.

    Source:
        HV-L72, HV-E21.
    """
    if state is None and not asked.counts_only:
        return (RADIUS // 2,) * 6
    cells = math.sqrt(most_cells) if state is None else min(state.mean_cells, most_cells)
    usual = [1.0, cells / most_cells]
    if state is not None and not asked.counts_only:
        usual.append(min(cells * state.mean_records / asked.most_records, 1.0))
    users = _MANY if state is None else float(expected_users(state.users, asked.basis)[0].sum()) / cells
    one, noise = np.ones(len(usual)), _noise(_loss(asked, "totals", state is None))
    squares = least_error_weights(one, users * np.array(usual), one, one, 1.0, noise, _EVEN["totals"])
    return tuple(int(RADIUS * weight) for weight in np.sqrt(squares).tolist())


def counting(before: State, known: Known, asked: Asked, is_first: bool) -> Sums:
    """Return the question for users: of every cell, or of directions, whichever is expected to leave less unknown.

    Source:
        HV-L72, HV-E21, HV-E25.
    """
    loss, basis = _loss(asked, "users", is_first), asked.basis
    noise = _noise(loss)
    of_sums, of_cells = before.lengths.squares(USERS).tolist()
    mean, variance = expected_users(before.users, basis)
    if is_first:
        mean = np.full_like(mean, known.cells / mean.size)
    varies = mean + before.overdispersion * mean**2
    energy, one = np.maximum(mean, LEAST_USERS) / known.users, np.ones_like(mean)
    even = 1.0 if is_first else _EVEN["users"]
    squares = least_error_weights(variance + varies, one, energy, one, of_cells, noise, even)
    asking = Wanted(before.users, basis, mean, varies, one, energy, of_sums, noise, np.sqrt(squares))
    loading = whole_loadings(asking.chosen(), RADIUS, _LARGEST_LOADING // asked.grid.n_cells)
    block = Block(loading, np.zeros(mean.size, dtype=np.int64), 0)
    ball = Ball(RADIUS, inverse_scale_within(loss, RADIUS), loading.shape[1])
    return Sums(block, None, None, None, (asked.cap, asked.value_range), ball)


def summing(before: State, users: Users, known: Known, asked: Asked, is_first: bool, is_rough: bool = False) -> Sums:
    """Return the question for records and values, made from the day's noisy numbers of users.

    On a first day it is asked twice: roughly, and again about the centres that the first answers tell.

    Source:
        HV-L72, HV-E21, HV-E25.
    """
    loss = _loss(asked, "rough" if is_rough else "values", is_first)
    count, size = _expected(before, users, asked)
    squares = before.lengths.squares(RECORDS)
    amount = _of_records(before, count, size, known, asked, _SHARE_OF_RECORDS * squares, _noise(loss))
    value = _of_values(before, count, size, known, asked, (1 - _SHARE_OF_RECORDS) * squares, _noise(loss))
    ball = Ball(RADIUS, inverse_scale_within(loss, RADIUS), amount.n_sums + value.n_sums)
    return Sums(None, amount, value, None, (asked.cap, asked.value_range), ball, is_rough)


def _expected(before: State, users: Users, asked: Asked) -> tuple[FloatArray, FloatArray]:
    """Return the users of each cell, and the records of each of them there, in whole 256ths."""
    size = np.clip(before.records.level(asked.basis), 1, asked.cap)
    return np.maximum(users.mean, LEAST_USERS), np.rint(RECORD * size) / RECORD


def _of_records(
    before: State, count: FloatArray, size: FloatArray, known: Known, asked: Asked, squares: FloatArray, noise: float
) -> Block:
    of_records, varies = before.records.variance(asked.basis), before.records_variance
    energy = count / known.users * (varies + of_records)
    even = least_error_weights(of_records + varies / count, count, energy, count**2, squares[1], noise, _EVEN["values"])
    wanted = Wanted(
        before.records,
        asked.basis,
        count,
        varies * count,
        np.ones_like(count),
        energy,
        squares[0],
        noise,
        np.sqrt(even),
    )
    loading = whole_loadings(wanted.chosen(), RADIUS * CUT / RECORD, _largest_loading(asked))
    return Block(loading, (RECORD * size).astype(np.int64), SHIFT)


def _of_values(
    before: State, count: FloatArray, size: FloatArray, known: Known, asked: Asked, squares: FloatArray, noise: float
) -> Block:
    of_values, records = before.values.variance(asked.basis), count * size
    energy = count / known.users * _energy(before, size, of_values)
    varies = of_day(before, count, records)
    even = least_error_weights(of_values + varies, records, energy, records, squares[1], noise, _EVEN["values"])
    wanted = Wanted(
        before.values,
        asked.basis,
        records,
        records**2 * varies,
        1 / records,
        energy,
        squares[0],
        noise,
        np.sqrt(even),
    )
    loading = whole_loadings(wanted.chosen(), RADIUS * CUT, _largest_loading(asked))
    centre = np.rint(np.clip(before.values.level(asked.basis), 0, asked.value_range))
    return Block(loading, centre.astype(np.int64), SHIFT)


def _largest_loading(asked: Asked) -> int:
    return _LARGEST_LOADING // (RECORD * asked.cap * asked.value_range * asked.grid.n_cells)


def of_day(before: State, users: FloatArray, records: FloatArray) -> FloatArray:
    """Return the variance of a day's mean value about the surface: the day's own part, and which users are there.

    Args:
        before: What is known before.
        users: Number of users in each cell, shape (G,).
        records: Number of records in each cell, shape (G,).

    Source:
        HV-E23.
    """
    return VALUES_OF_DAY * before.scale + _of_users(before, users) + before.residuals.of_record / records


def of_users_alike(before: State, users: FloatArray) -> FloatArray:
    """Return what of that variance the cells of a hexagon have in common: those of one user are off by much the same.

    Source:
        HV-E23.
    """
    return ALIKE * _of_users(before, users)


def _of_users(before: State, users: FloatArray) -> FloatArray:
    """Return what users add to the variance of a mean: more than if all had as many records, at most what one adds."""
    uneven = 1 + before.records_variance / before.mean_records**2
    return before.residuals.of_user * np.minimum(uneven / users, 1.0)


def square_of(before: State, users: Users, sums: Summing, asked: Asked) -> FloatArray:
    """Return about the square of what a user adds to its vector of records and values in each cell, shape (G,).

    Source:
        HV-E30.
    """
    _, size = _expected(before, users, asked)
    of_records = before.records_variance + before.records.variance(asked.basis)
    of_values = _energy(before, size, before.values.variance(asked.basis))
    in_records, in_values = sums.squares
    return RECORD**2 * of_records * in_records + of_values * in_values


def kept_of(
    counts: Counting,
    sums: Summing | None,
    uneven: tuple[IntArray, ...],
    totals: Totals,
    known: Known,
    before: State,
    asked: Asked,
) -> Kept:
    """Return the question how much of users' vectors the balls kept: of one for users, and of one for the rest.

    Where values are asked, it asks too how far they are from the centres.

    Source:
        HV-L72.
    """
    of: tuple[tuple[Sums, By], ...] = ((counts.question, "cells"),)
    if sums is not None:
        of = (*of, (sums.question, "records"), (sums.question, "cells"))
    ball = _ball(asked, "kept", len(of) + sum(one.shape[1] for one in uneven), totals.is_first)
    kept = Kept(of, totals.most_cells, totals.most_records, share_centre(USUAL_SHARE), uneven, ball)
    if sums is None:
        return kept
    far = farthest(ball, known.users, known.records, before.residuals.of_pairs(before.mean_records))
    return replace(kept, ball=replace(ball, n_sums=ball.n_sums + 1), farthest=far)


def check_of(before: State, sums: Summing, asked: Asked, is_first: bool) -> Check:
    """Return the question how far users' means are from what was expected.

    Source:
        HV-L72.
    """
    alike = before.values.variance(asked.basis) + before.residuals.of_user
    expected = np.column_stack([alike, np.full_like(alike, before.residuals.of_record)])
    whole: IntArray = np.maximum(np.rint(expected), 1).astype(np.int64)
    return Check(few(before.of_a_pair), sums.values.centre, whole, RADIUS, _ball(asked, "check", 4, is_first))


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
    return (size**2 + before.records_variance) * (
        unknown + before.residuals.of_user
    ) + size * before.residuals.of_record
