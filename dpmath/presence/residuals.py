"""How far users and records are from the map: learned from noisy shares of squares, of users with few records and many.

Squares are cut, so that one user's vector is bounded; what is cut is made up for as if residuals were normal.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import erf

from dpmath.core.accounting import ExactIntArray
from dpmath.presence.basis import FloatArray
from dpmath.presence.intervals import Number, quantiles

_UNSURE, _MOVES = 1.0, 0.01
"""The variance of what the logarithms are off by: before anything is asked, and more of it each day."""
_LEAST = 0.1
"""Of a mean square, at least this share is of residuals and not of the map."""
_LEAST_SHARE, _MOST_SHARE, _STEP = 0.02, 0.9, 0.01
"""Of cut squares: beyond these all that is told is that variances are far from what was thought."""
_CLEAR = 2.0
"""A number of pairs that is not so many deviations above 0 tells nothing."""
_NOT_NORMAL = 0.01
"""Variance of the logarithm of what is read off cut squares, as no residuals are quite normal."""
_LONGEST_STEP = 1.5
"""On the scale of logarithms, on which both variances are only about linear."""
_DEVIATIONS = 1.96


def _cut_shares(ratio: FloatArray) -> FloatArray:
    """Return the mean of squares over four times what was thought of them, each cut at 1, if they are normal numbers'.

    Args:
        ratio: Their variance over what was thought.
    """
    root = 2 / np.sqrt(ratio)
    inside = erf(root / np.sqrt(2))
    return np.asarray(ratio / 4 * (inside - root * np.sqrt(2 / np.pi) * np.exp(-(root**2) / 2)) + 1 - inside)


_LOG_RATIOS = np.linspace(-5, 5, 201)
_SHARES = _cut_shares(np.exp(_LOG_RATIOS))


@dataclass(frozen=True)
class Residuals:
    """How far users and records are from the map.

    Attributes:
        of_user: Variance of a user's mean in a cell about the map's.
        of_record: Variance of a record about its user's mean.
        covariance: Of what their logarithms are off by, shape (2, 2).
    """

    of_user: float
    of_record: float
    covariance: FloatArray

    @classmethod
    def guessed(cls, of_user: float, of_record: float) -> "Residuals":
        """Return what is thought before anything is asked."""
        return cls(of_user, of_record, _UNSURE * np.eye(2))

    def a_day_later(self) -> "Residuals":
        """Return what is known a day later."""
        return Residuals(self.of_user, self.of_record, self.covariance + _MOVES * np.eye(2))

    def spare(self, mean_records: float) -> float:
        """Return by how much more a variance is to be allowed for so that 95 % intervals hold in 95 % all the same.

        If its logarithm is off by a normal number of the variance s, intervals of z deviations need exp((z^2 - 1) s/4).
        """
        parts = np.array([self.of_user, self.of_record / mean_records])
        goes = parts / parts.sum()
        return float(np.exp((_DEVIATIONS**2 - 1) / 4 * (goes @ self.covariance @ goes)))


def few(records: Number) -> int:
    """Return up to how many records a user has few in a cell, if a user's number is like this: one in two has.

    Source:
        HV-E27.
    """
    return max(int(np.median(quantiles(records))), 1)


def residuals_learned(
    before: Residuals,
    answers: ExactIntArray,
    noise: float,
    records: Number,
    few_records: int,
    of_map: tuple[float, float],
) -> Residuals:
    """Return what is known of residuals after a look at how far users' means are from the centres.

    Args:
        before: What was known.
        answers: For each class of pairs, those with few records first, the noisy sum of shares; then the numbers.
        noise: The variance of their noise.
        records: The mean and the variance of a user's records in a cell, each of shape (1,).
        few_records: Up to how many are few.
        of_map: What the mean square of the centres' errors was thought to be, and what it turned out to be.

    Source:
        HV-E27.
    """
    thought, found = of_map
    counts = np.maximum(quantiles(records), 1.0)
    logs, covariance = np.log([before.of_user, before.of_record]), before.covariance
    classes = zip((counts <= few_records, counts > few_records), *np.split(answers.astype(np.float64), 2), strict=True)
    for of_class, far, n_pairs in classes:
        if not of_class.any() or n_pairs**2 < _CLEAR**2 * noise or n_pairs < 0:
            continue
        share = float(np.clip(far / n_pairs, _LEAST_SHARE, _MOST_SHARE))
        adds = np.array([1.0, (1 / counts[of_class]).mean()])  # of a user, and of a record
        expected = thought + adds @ (before.of_user, before.of_record)
        less, ratio, more = np.exp(np.interp([share - _STEP, share, share + _STEP], _SHARES, _LOG_RATIOS))
        left = max(ratio * expected - found, _LEAST * ratio * expected)
        parts = adds * np.exp(logs)
        slope = expected * (more - less) / (2 * _STEP) / parts.sum()
        unsure = slope**2 * noise * (1 + share**2) / n_pairs**2 + _NOT_NORMAL
        goes = parts / parts.sum()
        gain = covariance @ goes / (goes @ covariance @ goes + unsure)
        logs = logs + np.clip(gain * np.log(left / parts.sum()), -_LONGEST_STEP, _LONGEST_STEP)
        covariance = covariance - np.outer(gain, goes @ covariance)
    of_user, of_record = np.exp(logs).tolist()
    return Residuals(of_user, of_record, covariance)
