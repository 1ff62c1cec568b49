"""The last question of a day: how many pairs, and how many users, are far from the estimate."""

from collections.abc import Generator
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import least_squares
from scipy.sparse import csr_array, diags_array
from scipy.special import ndtr

from dpmath.core.accounting import ExactIntArray
from dpmath.core.occupancy import IntArray
from dpmath.estimate.asked import Asked
from dpmath.estimate.day import FloatArray
from dpmath.estimate.measurement import ROOM_BITS
from dpmath.estimate.posterior import Estimate
from dpmath.estimate.questions import Check, Question, check_limits, with_users
from dpmath.estimate.scales import MOST
from dpmath.estimate.state import N_CLASSES, POINTS, class_covariance
from dpmath.joint.factors import squares
from dpmath.joint.products import product

Asking = Generator[Question, tuple[Question, ExactIntArray], Estimate]
"""Yields a question; is sent the question as it was asked, and its noisy answers; returns the estimate."""

CHECKED_AT = 1.25
"""A pair or user is counted if it is this many standard deviations from the estimate. At 1 the noise hides least of how
counts go with variances, but residuals that are not normal are thought too small: of single values of 0 and 1, 80 %
held, here 87 %. At 1.5 it is 86 %, and temperatures' intervals take days more to become narrow."""
_SOME_USERS = 256
"""Of so many, evenly by number, it is computed how far the estimate of all their pairs together may be off."""


def checked(found: Estimate, asked: Asked, moved: float) -> Asking:
    """Ask how many pairs and users are far from the estimate, and return it with intervals that allow for that.

    Args:
        found: The estimate.
        asked: The day, and what each question may cost.
        moved: By how much the log of the scale of all residuals is another than at the last check, which told of them
            with that scale.

    Source:
        HV-E5.
    """
    view, occupancy = found.view, asked.day.occupancy
    n_records, of_class = occupancy.n_records, view.residual_class
    in_ticks = asked.value_range / POINTS
    limit = check_limits(occupancy, of_class, N_CLASSES, asked.norm)
    of_strata = np.clip(view.strata.values(found.mean, view.today.mean), 0.0, POINTS)
    variances = _Variances.of(found, asked)
    size = np.append(n_records, occupancy.user_records)
    expected = (of_strata * in_ticks)[view.strata.of_pair]
    check = Check(
        asked.sums("check", limit),
        np.rint(expected).astype(np.int64),
        np.rint(n_records * expected).astype(np.int64),
        np.rint(CHECKED_AT * np.sqrt(variances.whole) * size * in_ticks).astype(np.int64),
        of_class,
    )
    question, answers = yield check
    if not isinstance(question, Check):
        raise ValueError("the answers are not those of a check")
    counted = np.array([int(one) for one in answers], dtype=float) / (1 << ROOM_BITS)
    noise = asked.noise("check") / (1 << ROOM_BITS)
    counts = _Counts.of(
        variances,
        (question.half_width + 0.5) / (np.maximum(size, 1) * in_ticks),  # as it was asked, in whole ticks
        with_users(occupancy, of_class, N_CLASSES),
        question.sums.limit / (1 << ROOM_BITS),
    )
    return _widened(found, *_told(counts, counted, noise, _as_moved(found.state.residual_covariance, moved)))


@dataclass(frozen=True)
class _Variances:
    """How far pairs, and then users with all their pairs together, are expected to be from the estimate.

    Attributes:
        by_class: The variance by the residuals of each class, as the median of its multiplier has it, in squared
            points, shape (P + L, n).
        rest: What the estimate may be off by, shape (P + L,).
        whole: All of it, with the mean of each multiplier, shape (P + L,).
    """

    by_class: csr_array
    rest: FloatArray
    whole: FloatArray

    @classmethod
    def of(cls, found: Estimate, asked: Asked) -> "_Variances":
        """Return how far pairs and users are expected to be from an estimate."""
        occupancy = asked.day.occupancy
        user, n_users, n_records = occupancy.user, occupancy.n_users, occupancy.n_records
        share = n_records / occupancy.user_records[user]
        of_mean = np.maximum(found.variance - found.residual_part, 0.0)
        alike, apart = found.alike_variance, found.residual_variance - found.alike_variance
        common = np.bincount(user, share * np.sqrt(alike), n_users).astype(np.float64) ** 2
        most = np.bincount(user, share * np.sqrt(of_mean)[occupancy.cell], n_users) ** 2
        some = np.unique(np.linspace(0, n_users - 1, _SOME_USERS).astype(np.int64))
        weights = asked.day.by_user(share)[:, some]
        off = _off(found, weights)
        most *= min(1.0, float(off.sum() / max(float(most[some].sum()), 1e-300)))  # if all its cells were off by it
        pairs, users, of_class = np.arange(user.size), user.size + np.arange(n_users), found.view.residual_class
        variance = np.concatenate([apart, share**2 * apart, alike, common])
        row = np.concatenate([pairs, user.size + user, pairs, users])
        column = np.concatenate([of_class, of_class, np.full(user.size + n_users, N_CLASSES - 1)])
        by_mean = csr_array((variance, (row, column)), shape=(user.size + n_users, N_CLASSES))
        rest = np.append(of_mean[occupancy.cell], most)
        whole = np.maximum(by_mean.sum(axis=1) + rest, 1e-12)
        median = np.exp(-np.diag(found.state.residual_covariance) / 2)
        return cls(by_mean @ diags_array(median), rest, whole)


@dataclass(frozen=True)
class _Counts:
    """What is counted of each class, as a function of the logs of what classes' variances are multiplied by.

    Attributes:
        variances: How far pairs and users are expected to be off.
        far: How far off each must be to be counted, in points, shape (P + L,).
        of_item: What each counts in the sum of its class, shape (n, P + L).
    """

    variances: _Variances
    far: FloatArray
    of_item: csr_array

    @classmethod
    def of(
        cls, variances: _Variances, far: FloatArray, items: tuple[IntArray, IntArray], weight: FloatArray
    ) -> "_Counts":
        """Return the counts of pairs and users.

        Args:
            variances: How far these are expected to be off.
            far: How far off each must be to be counted, in points, shape (P + L,).
            items: User and class of each, both (P + L,).
            weight: What all of a user's in a class count for together, shape (L, n).
        """
        n_items = np.zeros(weight.shape)
        np.add.at(n_items, items, 1)
        of_item = (weight / np.maximum(n_items, 1))[items]
        place = (items[1], np.arange(of_item.size))
        return cls(variances, far, csr_array((of_item, place), shape=(weight.shape[1], of_item.size)))

    def expected(self, logs: FloatArray) -> FloatArray:
        """Return the mean of each count, shape (n,)."""
        _, beyond = self._beyond(logs)
        return np.asarray(self.of_item @ (2 * ndtr(-beyond)))

    def slopes(self, logs: FloatArray) -> FloatArray:
        """Return how the means rise with the logs, shape (n, n)."""
        variance, beyond = self._beyond(logs)
        rise = beyond * np.exp(-0.5 * beyond**2) / np.sqrt(2 * np.pi) / variance
        by_class = csr_array(self.of_item @ diags_array(rise) @ self.variances.by_class).toarray()
        return np.asarray(by_class * np.exp(logs))

    def sampling(self) -> FloatArray:
        """Return the variance that the pairs and users themselves give to each count, shape (n,)."""
        share = 2 * ndtr(-self.far / np.sqrt(self.variances.whole))
        return np.asarray(self.of_item.power(2) @ (share * (1 - share)))

    def _beyond(self, logs: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the variance of each, and how many of its deviations it must be off by to be counted."""
        variance = np.maximum(self.variances.by_class @ np.exp(logs) + self.variances.rest, 1e-12)
        return variance, self.far / np.sqrt(variance)


def _as_moved(covariance: FloatArray, moved: float) -> FloatArray:
    """Return the covariance of classes' logs, which are less sure if their scale was another when they were told of.

    What was told is forgotten as far as the scale moved, but no more than all of it.
    """
    before = class_covariance()
    told = 1 - float(np.mean(np.diag(covariance)[:-1] / np.diag(before)[:-1]))
    apart = np.append(np.ones(len(covariance) - 1), 0.0)  # what users have in common has no such scale
    return covariance + max(0.0, told) * min(moved**2, float(before[:-1, :-1].min())) * np.outer(apart, apart)


def _told(counts: _Counts, counted: FloatArray, noise: float, covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the likeliest logs of classes' multipliers, about the mean before, and their covariance."""
    root = np.linalg.cholesky(covariance)
    deviation = np.sqrt(noise**2 + counts.sampling())

    def off(turned: FloatArray) -> FloatArray:
        return np.append(turned, (counts.expected(root @ turned) - counted) / deviation)

    def slopes(turned: FloatArray) -> FloatArray:
        return np.vstack([np.eye(turned.size), counts.slopes(root @ turned) @ root / deviation[:, None]])

    found = least_squares(off, np.zeros(counted.size), slopes, ftol=1e-12, xtol=1e-12, gtol=1e-12)  # pyright: ignore[reportArgumentType]
    left = np.linalg.solve(found.jac.T @ found.jac, root.T)
    return root @ found.x, root @ left


def _off(found: Estimate, weights: csr_array) -> FloatArray:
    """Return the variance of the estimate of weighted sums of cells, but for their residuals: (G, n) to (n,)."""
    joint, squared = found.joint, weights**2
    seen = joint.rows.transposed_times(weights.toarray(), found.view.state.n_hexagons)
    before = joint.before.prior @ seen**2 - (product(joint.before.gain, seen) ** 2).sum(axis=0)
    alike = squares(weights, joint.users) - squared.T @ np.asarray((joint.users**2).sum(axis=1))
    known = ((joint.known @ weights) ** 2).sum(axis=0)
    cut = ((weights.T @ joint.off) ** 2).sum(axis=1)
    return np.asarray(np.maximum(before + squared.T @ joint.of_cells + alike - known + cut, 0.0))


def _widened(found: Estimate, step: FloatArray, after: FloatArray) -> Estimate:
    """Return an estimate whose intervals and next state have the residual variances that the check tells of.

    Args:
        found: The estimate.
        step: By how much the log of each class's multiplier is another than before, shape (n,).
        after: Covariance of these logs, shape (n, n).
    """
    state, view = found.state, found.view
    covariance, occupancy = state.residual_covariance, view.day.occupancy
    step = np.clip(state.residual + step, -MOST, MOST) - state.residual
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
