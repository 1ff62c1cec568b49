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
_CLEAR = 2.0
"""A number of pairs that is not so many deviations above 0 tells nothing."""
_NOT_NORMAL = 0.01
"""Variance of the logarithm of what is read off cut squares, as no residuals are quite normal."""
_TRIED, _STEP = np.linspace(-3.0, 3.0, 31, retstep=True)
"""What both logarithms may be is tried so many deviations from what was thought."""
_DEVIATIONS = 1.96


def _cut_shares(ratio: FloatArray) -> FloatArray:
    """Return the mean of squares over four times what was thought of them, each cut at 1, if they are normal numbers'.

    Args:
        ratio: Their variance over what was thought.
    """
    root = 2 / np.sqrt(ratio)
    inside = erf(root / np.sqrt(2))
    return np.asarray(ratio / 4 * (inside - root * np.sqrt(2 / np.pi) * np.exp(-(root**2) / 2)) + 1 - inside)


_LOG_RATIOS = np.linspace(-8, 8, 321)
_SHARES = _cut_shares(np.exp(_LOG_RATIOS))
_SLOPES = np.gradient(_SHARES, _LOG_RATIOS)


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

    def of_pairs(self, mean_records: float) -> float:
        """Return the variance of a user's mean in a cell about the map's, if it has so many records there."""
        return self.of_user + self.of_record / mean_records

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
    root = np.linalg.cholesky(before.covariance)
    tried = np.stack(np.meshgrid(_TRIED, _TRIED), axis=-1).reshape(-1, 2)
    logs = np.log([before.of_user, before.of_record]) + tried @ root.T
    of_user, of_record = np.exp(logs).T
    likely = -(tried**2).sum(axis=1) / 2
    classes = zip((counts <= few_records, counts > few_records), *np.split(answers.astype(np.float64), 2), strict=True)
    for of_class, far, n_pairs in classes:
        if not of_class.any() or n_pairs**2 < _CLEAR**2 * noise or n_pairs < 0:
            continue
        over = (1 / counts[of_class]).mean()
        ratio = (found + of_user + of_record * over) / (thought + before.of_user + before.of_record * over)
        share, slope = (np.interp(np.log(ratio), _LOG_RATIOS, one) for one in (_SHARES, _SLOPES))
        unsure = noise * (1 + share**2) + (n_pairs * slope) ** 2 * _NOT_NORMAL
        likely -= (far - n_pairs * share) ** 2 / unsure / 2 + np.log(unsure) / 2
    weight = np.exp(likely - likely.max())
    mean = np.average(logs, axis=0, weights=weight)
    covariance = np.cov(logs.T, aweights=weight, ddof=0) + before.covariance * (_STEP**2 / 12)  # between what was tried
    of_user, of_record = np.exp(mean).tolist()
    return Residuals(of_user, of_record, covariance)
