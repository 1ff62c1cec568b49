"""How far a later day is off as a whole: what to ask users for, and what their answers, cut at a limit, tell."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logsumexp, ndtr, ndtri

from dpmath.estimate.day import FloatArray
from dpmath.estimate.state import POINTS
from dpmath.estimate.taken import Design, Reading
from dpmath.estimate.view import View

_LIMITS = np.geomspace(2.0, 256.0, 57)
"""Limits that are tried, in deviations of users. With lower ones the answer would be of users' median."""
_SHIFTS = np.exp(0.75 * ndtri(np.arange(0.5, 16) / 16))[:, None] * ndtri(np.arange(16.5, 32) / 32)
"""By how much days differ, in expected deviations: normal, with a variance whose log has the deviation 1.5 (HV-E7)."""
_HARMLESS = 0.5
"""Noise of so much of what users differ by does no harm: the next question and the sums of the map tell more."""
_MOST_CUT = 0.9
"""Of users. Where more are cut, the answer says little else than that, and counts as if so many were."""
_BEYOND = 0.25
"""By which part a mean beyond the limit may be off, as far as the answer tells: the next question tells more."""
_UNLIKE = 0.001
"""Of days: what they are off by is anything in the range, as after a change of unit or where sensors fail."""
_ANYWHERE = np.arange(0.5, 512) / 512
"""What such a day may be off by, as a share of what is left of the range: one as likely as another."""
LIKELY = 0.5
"""With a higher chance, the day is taken to be unlike all others."""
_NEXT_TO_NOTHING = 1e-6


@dataclass(frozen=True)
class Users:
    """What users' deviations from what is expected of them are supposed to be, in points.

    Attributes:
        weight: What each pair counts for, shape (P,): those of a user for as much as the user may answer.
        usual: What users differ by.
        unknown: By which factor that may be off.
        alone: How far their mean is off because they are few.
        shifts: By how much days differ as a whole, one as likely as another, shape (n,).
        above: How far the day may be above what is expected of it.
        below: How far below.
    """

    weight: FloatArray
    usual: float
    unknown: float
    alone: float
    shifts: FloatArray
    above: float
    below: float

    @classmethod
    def of(cls, view: View, reach: FloatArray) -> "Users":
        """Return what is supposed of the users of a day, who answer as far as their balls reach, shape (L,)."""
        occupancy = view.day.occupancy
        n_records = occupancy.n_records / occupancy.user_records[occupancy.user]
        weight = reach[occupancy.user] * n_records
        expected = float(weight @ view.expected[occupancy.cell]) / max(float(weight.sum()), _NEXT_TO_NOTHING)
        usual = float(np.sqrt(np.mean(_variances(view, n_records))))
        shifts = np.sqrt(_shift_variance(view, weight)) * _SHIFTS.ravel()
        room = (max(one, 1.0) for one in (POINTS - expected, expected))
        alone = usual * float(np.sqrt((reach**2).sum()) / max(float(reach.sum()), _NEXT_TO_NOTHING))
        return cls(weight, usual, float(np.exp(_unknown(view))), alone, shifts, *room)

    def anywhere(self, side: float) -> FloatArray:
        """Return what a day that is unlike all others may be off by on one side."""
        return _ANYWHERE * (self.above if side > 0 else self.below)


def level(view: View, users: Users, reach: FloatArray, noise: float, unlike: float | None) -> Design:
    """Return the measurement of how far users' records are on average from what is expected of them.

    Each user's deviation is cut at a limit. A low limit lets little noise in; a high one tells more of a day that
    differs much. It is the one with which the day is expected to be off least; of the first question the highest whose
    noise does no harm, if that is higher, as a day may differ more than any before it.

    Args:
        view: The day.
        users: What is supposed of users' deviations.
        reach: Radius of each user's ball, as a share of the full radius, shape (L,).
        noise: Standard deviation of the noise, in radii of the ball.
        unlike: None for the day's first question. Of the next, what ``Answer.unlike_others`` returns of the first.

    Source:
        HV-E2, HV-E28.
    """
    lengths = users.usual / np.minimum(users.usual * _LIMITS, POINTS)  # beyond the range nothing is cut
    of_one, chance = noise / max(float(reach.sum()), 1e-9), abs(unlike or 0.0)
    errors = [
        (1 - chance) * _expected_error(users.shifts, users.usual / one, one, users.unknown, of_one)
        + chance * _expected_error(users.anywhere(unlike or 0.0), users.usual / one, one, users.unknown, of_one)
        for one in lengths
    ]
    length = float(lengths[np.argmin(errors)])
    if unlike is None:
        length = max(min(length, of_one / _HARMLESS), float(lengths[-1]))
    return Design(np.ones((view.strata.cell.size, 1)), np.asarray(users.weight * (length / users.usual)), length)


@dataclass(frozen=True)
class Answer:
    """A noisy answer: the mean of users' deviations, each cut at a limit.

    Attributes:
        mean: The mean, as a share of the limit.
        users: What is supposed of users' deviations.
        length: What they are expected to be, as a share of the limit.
        noise: Standard deviation of the noise.
    """

    mean: float
    users: Users
    length: float
    noise: float

    def unlike_others(self, before: float | None) -> float:
        """Return how likely it is that the day is unlike all others, with the sign of the answer.

        Args:
            before: How likely it was before; None for the day's first question.

        Source:
            HV-E28.
        """
        chance = _UNLIKE if before is None else abs(before)
        unlike, usual = (
            np.log(max(part, _NEXT_TO_NOTHING)) + logsumexp(self._fit(shifts)) - np.log(shifts.size)
            for part, shifts in ((chance, self.users.anywhere(self.mean)), (1 - chance, self.users.shifts))
        )
        return float(np.copysign(expit(unlike - usual), self.mean))

    def reading(self, unlike: float) -> Reading:
        """Return what the answer tells.

        Args:
            unlike: As ``unlike_others`` returns it: if that is likely, the mean may be anywhere in the range.

        Source:
            HV-E28.
        """
        told = max(abs(self.mean), _NEXT_TO_NOTHING)
        mean, slope = mean_before(told, self.length)
        other, _ = mean_before(told, self.length * self.users.unknown)
        error = abs(float(np.log(other / mean)))
        of_mean = self.noise / slope if mean < 1 else min(self.noise / slope, max(self.noise, _BEYOND * mean))
        if abs(unlike) > LIKELY:
            shifts = self.users.anywhere(self.mean)
            fit = self._fit(shifts)
            weight = np.exp(fit - fit.max())
            at = float(np.average(shifts, weights=weight))
            variance = float(np.average((shifts - at) ** 2, weights=weight))
            mean, of_mean = (one * self._in_limits for one in (at, np.sqrt(variance + shifts[0] ** 2)))
        return Reading(told / mean, told / mean * of_mean / self.noise, error)

    def _fit(self, shifts: FloatArray) -> FloatArray:
        """Return the log likelihood of the answer for some shifts to its side, in points."""
        cut, slope = mean_cut(shifts * self._in_limits, self.length)
        variance = self.noise**2 + (slope * self.users.alone * self._in_limits) ** 2
        return np.asarray(-((abs(self.mean) - cut) ** 2 / variance + np.log(variance)) / 2)

    @property
    def _in_limits(self) -> float:
        """What a point is, as a share of the limit."""
        return self.length / self.users.usual


def _expected_error(shifts: FloatArray, limit: float, length: float, unknown: float, noise: float) -> float:
    """Return how far off the day is expected to be with a limit, in points.

    Args:
        shifts: By how much the day may differ, in points, one as likely as another, shape (n,).
        limit: The limit, in points.
        length: What users differ by, as a share of it.
        unknown: By which factor that may be off.
        noise: Standard deviation of the noise of the mean, in limits.
    """
    cut, slope = mean_cut(shifts / limit, length)
    other, _ = mean_cut(shifts / limit, length * unknown)
    error = ((noise**2 + (other - cut) ** 2) / np.maximum(slope, 1e-9) ** 2) * limit**2
    off = error * shifts**2 / (error + shifts**2)  # who is told nothing errs by the shift
    return float(np.mean(np.sqrt(off)))


def mean_cut(mean: FloatArray | float, deviation: float) -> tuple[FloatArray, FloatArray]:
    """Return the mean of normal numbers that are cut at 1 and -1, and how much it moves with their mean.

    Source:
        HV-E28.
    """
    below, above = (np.asarray((end - mean) / deviation) for end in (-1.0, 1.0))
    slope = ndtr(above) - ndtr(below)
    density = (np.exp(-0.5 * below**2) - np.exp(-0.5 * above**2)) / np.sqrt(2 * np.pi)
    return np.asarray(mean * slope + deviation * density + ndtr(-above) - ndtr(below)), slope


def mean_before(answer: float, deviation: float) -> tuple[float, float]:
    """Return the mean of normal numbers from what it is once they are cut at 1 and -1, and how that moves with it.

    Args:
        answer: The mean of the cut ones, at least 0.
        deviation: Of the numbers.

    Source:
        HV-E28.
    """
    among = np.linspace(0.0, 1 + deviation * ndtri(_MOST_CUT), 513)
    cut, slope = mean_cut(among, deviation)
    found = float(np.interp(answer, cut, among))
    return found, float(np.interp(found, among, slope))


def _variances(view: View, n_records: FloatArray) -> FloatArray:
    """Return the variance of each user's deviation, its pairs counting so much, shape (L,)."""
    occupancy = view.day.occupancy
    alike = np.bincount(occupancy.user, n_records * np.sqrt(view.alike_variance)) ** 2
    alone = np.bincount(occupancy.user, n_records**2 * (view.residual_variance - view.alike_variance))
    together = np.bincount(occupancy.user, n_records * view.state_variance[occupancy.cell])
    return np.asarray(alike + alone + together, dtype=np.float64)


def _shift_variance(view: View, weight: FloatArray) -> float:
    """Return the variance of what the users' deviations have in common, their pairs counting so much, shape (P,)."""
    sums = view.strata.pair_sums(weight / max(float(weight.sum()), 1e-9))[:, None]
    seen = view.strata.transposed_times(sums, view.state.n_hexagons)
    return float((seen * view.today.times(seen)).sum())


def _unknown(view: View) -> float:
    """Return how well the log of what users differ by is known: half of that of the residuals' variance."""
    records, covariance = view.day.occupancy.n_records, view.state.residual_covariance
    alike, whole = (np.average(one, weights=records) for one in (view.alike_variance, view.residual_variance))
    share = alike / whole
    of_pairs, of_users = covariance[:-1, :-1].mean(), covariance[-1, -1]
    return float(np.sqrt((1 - share) ** 2 * of_pairs + share**2 * of_users) / 2)
