"""How far a later day is off as a whole: what to ask users for, and what their answers, cut at a limit, tell."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from dpmath.estimate.day import FloatArray
from dpmath.estimate.posterior import Design
from dpmath.estimate.state import POINTS
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
_NEXT_TO_NOTHING = 1e-6


@dataclass(frozen=True)
class Reading:
    """What the mean of users' deviations, each cut at a limit, tells of their mean.

    Attributes:
        share: Which share of the mean the answer is.
        noise: What the deviation of the noise counts for, because the answer moves less than the mean.
        error: By which part the share may be off.
    """

    share: FloatArray | float
    noise: float
    error: FloatArray | float


def level(view: View, reach: FloatArray, noise: float, is_first: bool) -> Design:
    """Return the measurement of how far users' records are on average from what is expected of them.

    Each user's deviation is cut at a limit. A low limit lets little noise in; a high one tells more of a day that
    differs much. It is the one with which the day is expected to be off least; of the first question the highest whose
    noise does no harm, if that is higher, as a day may differ more than any before it.

    Args:
        view: The day.
        reach: Radius of each user's ball, as a share of the full radius, shape (L,).
        noise: Standard deviation of the noise, in radii of the ball.
        is_first: Whether it is the day's first question. The next is about what it told.

    Source:
        HV-E2, HV-E28.
    """
    occupancy, strata = view.day.occupancy, view.strata
    n_records = occupancy.n_records / np.bincount(occupancy.user, occupancy.n_records)[occupancy.user]
    usual = np.sqrt(np.mean(_variances(view, n_records)))
    lengths = usual / np.minimum(usual * _LIMITS, POINTS)  # beyond the range nothing is cut
    shifts = np.sqrt(_shift_variance(view, reach[occupancy.user] * n_records)) * _SHIFTS
    unknown, of_one = np.exp(_unknown(view)), noise / max(float(reach.sum()), 1e-9)
    errors = [_expected_error(shifts, usual / one, one, unknown, of_one) for one in lengths]
    length = float(lengths[np.argmin(errors)])
    if is_first:
        length = max(min(length, of_one / _HARMLESS), float(lengths[-1]))
    weight = (reach[occupancy.user] * n_records * length / usual).astype(np.float64)
    return Design(np.ones((strata.cell.size, 1)), weight, length)


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


def reading_of(answer: float, view: View, length: float, noise: float) -> Reading:
    """Return what an answer tells.

    Args:
        answer: The noisy mean of users' deviations, as a share of the limit.
        view: The day.
        length: What users' deviations are expected to be, as a share of the limit.
        noise: Standard deviation of the noise of the answer.

    Source:
        HV-E28.
    """
    answer = max(abs(answer), _NEXT_TO_NOTHING)
    mean, slope = mean_before(answer, length)
    other, _ = mean_before(answer, length * np.exp(_unknown(view)))
    of_mean = noise / slope if mean < 1 else min(noise / slope, max(noise, _BEYOND * mean))
    return Reading(answer / mean, answer / mean * of_mean / noise, abs(float(np.log(other / mean))))


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
