"""The last question of a day: how many pairs, and how many users, are far from the estimate."""

from collections.abc import Generator
from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array

from dpmath.core.accounting import ExactIntArray
from dpmath.estimate.asked import Asked
from dpmath.estimate.day import FloatArray
from dpmath.estimate.measurement import ROOM_BITS
from dpmath.estimate.posterior import Estimate
from dpmath.estimate.questions import Check, Question, check_limits, with_users
from dpmath.estimate.state import N_CLASSES, POINTS
from dpmath.joint.factors import squares
from dpmath.joint.products import product

Asking = Generator[Question, tuple[Question, ExactIntArray], Estimate]
"""Yields a question; is sent the question as it was asked, and its noisy answers; returns the estimate."""

CHECKED_AT = 1.5
"""A pair or user is counted if it is this many standard deviations from the estimate."""
_NORMAL_BEYOND = 0.1336144
"""How many normal numbers are."""
_RISE = 1.5 * 0.1295176
"""How much the share beyond CHECKED_AT standard deviations rises with the log of the variance."""
_LARGEST_STEP = 1.5
"""Of a log in one day: the response is that of small steps."""
_SOME_USERS = 256
"""Of so many, evenly by number, it is computed how far the estimate of all their pairs together may be off."""


def checked(found: Estimate, asked: Asked) -> Asking:
    """Ask how many pairs and users are far from the estimate, and return it with intervals that allow for that.

    Args:
        found: The estimate.
        asked: The day, and what each question may cost.

    Source:
        HV-E5.
    """
    view, occupancy = found.view, asked.day.occupancy
    n_records, of_class = occupancy.n_records, view.residual_class
    in_ticks = asked.value_range / POINTS
    limit = check_limits(occupancy, of_class, N_CLASSES, asked.norm)
    of_strata = np.clip(view.strata.values(found.mean, view.today.mean), 0.0, POINTS)
    apart, alike, whole = _variances(found, asked)
    size = np.append(n_records, np.bincount(occupancy.user, n_records, occupancy.n_users))
    expected = (of_strata * in_ticks)[view.strata.of_pair]
    check = Check(
        asked.sums("check", limit),
        np.rint(expected).astype(np.int64),
        np.rint(n_records * expected).astype(np.int64),
        np.rint(CHECKED_AT * np.sqrt(whole) * size * in_ticks).astype(np.int64),
        of_class,
    )
    question, answers = yield check
    if not isinstance(question, Check):
        raise ValueError("the answers are not those of a check")
    weight = question.sums.limit / (1 << ROOM_BITS)
    counted = np.array([int(one) for one in answers], dtype=float) / (1 << ROOM_BITS)
    noise = asked.noise("check") / (1 << ROOM_BITS)
    items = with_users(occupancy, of_class, N_CLASSES)
    n_items = np.zeros(weight.shape)
    np.add.at(n_items, items, 1)
    of_item = weight / np.maximum(n_items, 1)  # what each counts in the sum of its class
    response = np.zeros((N_CLASSES, N_CLASSES))
    response[:, -1] = np.bincount(items[1], of_item[items] * alike / whole, N_CLASSES)
    pairs, their_users = slice(of_class.size), of_class.size + occupancy.user
    of_pairs = (of_item[items] * apart / whole)[pairs]
    np.fill_diagonal(response[:-1], np.bincount(of_class, of_pairs, N_CLASSES - 1))
    of_users = of_item[occupancy.user, -1] * (n_records / size[their_users]) ** 2 * apart[pairs] / whole[their_users]
    response[-1] += np.bincount(of_class, of_users, N_CLASSES)
    sampling = _NORMAL_BEYOND * (weight * of_item).sum(axis=0)
    return _widened(found, counted - _NORMAL_BEYOND * weight.sum(axis=0), _RISE * response, noise**2 + sampling)


def _variances(found: Estimate, asked: Asked) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return how far pairs, and then users with all their pairs together, are expected to be from the estimate.

    Returns:
        The variance by what is each pair's own, by what a user's pairs have in common, and of all, with what the
        estimate may be off, in squared points, each of shape (P + L,).
    """
    occupancy = asked.day.occupancy
    user, n_users, n_records = occupancy.user, occupancy.n_users, occupancy.n_records
    share = n_records / np.maximum(np.bincount(user, n_records, n_users), 1)[user]
    of_mean = np.maximum(found.variance - found.residual_part, 0.0)
    alike, apart = found.alike_variance, found.residual_variance - found.alike_variance
    own = np.bincount(user, share**2 * apart, n_users).astype(np.float64)
    common = np.bincount(user, share * np.sqrt(alike), n_users).astype(np.float64) ** 2
    most = np.bincount(user, share * np.sqrt(of_mean)[occupancy.cell], n_users) ** 2
    some = np.unique(np.linspace(0, n_users - 1, _SOME_USERS).astype(np.int64))
    weights = asked.day.by_user(share)[:, some]
    off = _off(found, weights)
    most *= min(1.0, float(off.sum() / max(float(most[some].sum()), 1e-300)))  # if all its cells were off by as much
    apart, alike = np.append(apart, own), np.append(alike, common)
    return apart, alike, np.maximum(apart + alike + np.append(of_mean[occupancy.cell], most), 1e-12)


def _off(found: Estimate, weights: csr_array) -> FloatArray:
    """Return the variance of the estimate of weighted sums of cells, but for their residuals: (G, n) to (n,)."""
    joint, squared = found.joint, weights**2
    seen = joint.rows.transposed_times(weights.toarray(), found.view.state.n_hexagons)
    before = joint.before.prior @ seen**2 - (product(joint.before.gain, seen) ** 2).sum(axis=0)
    alike = squares(weights, joint.users) - squared.T @ np.asarray((joint.users**2).sum(axis=1))
    known = ((joint.known @ weights) ** 2).sum(axis=0)
    cut = ((weights.T @ joint.off) ** 2).sum(axis=1)
    return np.asarray(np.maximum(before + squared.T @ joint.of_cells + alike - known + cut, 0.0))


def _widened(found: Estimate, surplus: FloatArray, response: FloatArray, variance: FloatArray) -> Estimate:
    """Return an estimate whose intervals and next state have the residual variances that the check tells of.

    Args:
        found: The estimate.
        surplus: How much more of each class was far from the estimate than expected, shape (n,).
        response: How much each surplus rises with the log of each class's variance, shape (n, n).
        variance: Variance of the surplus, shape (n,).
    """
    state, view = found.state, found.view
    covariance, occupancy = state.residual_covariance, view.day.occupancy
    together = response @ covariance
    gain = np.linalg.solve(np.diag(variance) + together @ response.T, together)
    step = np.clip(gain.T @ surplus, -_LARGEST_STEP, _LARGEST_STEP)
    after = covariance - gain.T @ together
    factors = np.exp(step + np.diag(after - covariance) / 2)
    factor, of_users = factors[view.residual_class], factors[-1]
    mean = float(np.average(factor, weights=occupancy.n_records))  # of what earlier sums are thought to have had too
    told = tuple(replace(one, residual=mean * one.residual, user=of_users * one.user) for one in state.told)
    state = replace(
        state, told=told, residual=state.residual + step, residual_covariance=after, n_days=state.n_days + 1
    )
    residual = of_users * found.alike_variance + (found.residual_variance - found.alike_variance) * factor
    part = np.bincount(occupancy.cell, view.share_of_cell**2 * residual, occupancy.n_cells).astype(float)
    after_day, before_day = (
        np.maximum(one - found.residual_part, 0.0) + part for one in (found.variance, found.variance_before)
    )
    return replace(
        found,
        state=state,
        variance=after_day,
        variance_before=before_day,
        residual_variance=residual,
        alike_variance=of_users * found.alike_variance,
        residual_part=part,
    )
