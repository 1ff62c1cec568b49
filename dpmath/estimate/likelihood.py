"""How likely the noisy sums of a day are, and which scales they tell of. All of it is post-processing."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh, solve_triangular

from dpmath.estimate.day import FloatArray

Ladders = Mapping[str, tuple[float, ...]]
"""What each group of variances may be multiplied by; "city" and "own" are the functions of the city and of hexagons."""

_RESIDUAL = (0.5, 0.7, 1.0, 1.4, 2.0)
NOTHING: Ladders = {}
ON_LATER_DAY: Ladders = {"day": (0.25, 1.0, 4.0, 16.0, 100.0), "residual": _RESIDUAL}
ON_FIRST_DAY: Ladders = {
    "residual": _RESIDUAL,
    "city": (1.0, 2.0, 4.0, 8.0),
    "own": (1.0, 2.0, 4.0, 8.0, 16.0),
}
"""The last two never shrink what is known already, which may be less than a share of the prior."""
_LOG_SPREAD = {"day": 1.5, "residual": 0.4, "city": 1.0, "own": 1.0}
_MOST_SWEEPS = 4
_DEVIATIONS = np.linspace(-4, 4, 161)
"""Where the error of a variance is tried, in standard deviations."""


@dataclass(frozen=True)
class Parts:
    """The covariance of the noisy sums by its parts, each of shape (Q, Q).

    Attributes:
        before: Of the coefficients, as they are known before the day.
        own_before: Of the coefficients of hexagons, as they are known before the day.
        of_city: Of the prior of the functions that are common to the city.
        own: Of the prior of the hexagons' and cells' own functions.
        of_cells: Of the cells' own functions.
        day: Of what differs on the day.
        residual: Of the pairs' residuals.
        of_mean: Of the city's mean, as it is known before the day: its prior has not to do with the scale.
        noise: Standard deviation of the noise.
    """

    before: FloatArray
    own_before: FloatArray
    of_city: FloatArray
    own: FloatArray
    of_cells: FloatArray
    day: FloatArray
    residual: FloatArray
    of_mean: FloatArray
    noise: float

    def varying(self, factors: dict[str, float]) -> FloatArray:
        """Return the part that grows with the square of the scale."""
        before = self.before - self.of_mean + self.of_cells
        raised = (factors["city"] - 1) * self.of_city + (factors["own"] - 1) * self.own
        return before + raised + factors["day"] * self.day

    @property
    def varying_by_place(self) -> FloatArray:
        """The part that grows with the variances of hexagons and cells, unless these have a factor."""
        return self.own_before + self.of_cells

    def rest(self, factors: dict[str, float]) -> FloatArray:
        """Return the part of residuals, noise, and the city's mean."""
        fixed = factors["residual"] * self.residual + self.of_mean
        return fixed + self.noise**2 * np.eye(len(self.residual))

    def root(self, factors: dict[str, float]) -> FloatArray:
        """Return the lower Cholesky root of the whole."""
        return np.linalg.cholesky(self.varying(factors) + self.rest(factors)).astype(np.float64)

    def fit(self, sums: FloatArray, factors: dict[str, float]) -> float:
        """Return the log likelihood of the sums, with a penalty for factors far from 1; -inf if they are impossible."""
        try:
            root = self.root(factors)
        except np.linalg.LinAlgError:
            return -np.inf
        told = solve_triangular(root, sums, lower=True)
        penalty = sum((np.log(factor) / _LOG_SPREAD[name]) ** 2 for name, factor in factors.items())
        return float(-0.5 * told @ told - np.log(np.diag(root)).sum() - 0.5 * penalty)


def likeliest(parts: Parts, sums: FloatArray, chosen: Ladders) -> dict[str, float]:
    """Return the factors that fit the sums best, found one after the other until none changes.

    Args:
        parts: The covariance of the sums.
        sums: The noisy sums less what was expected of them, in radii of the ball, shape (Q,).
        chosen: Which groups of variances may be multiplied by a factor, and by which.

    Source:
        HV-E3.
    """
    best = dict.fromkeys(_LOG_SPREAD, 1.0)
    for _ in range(_MOST_SWEEPS if chosen else 0):
        before = dict(best)
        for name, ladder in chosen.items():
            best[name] = max(ladder, key=lambda factor, name=name: parts.fit(sums, {**best, name: factor}))
        if best == before:
            break
    return best


def error_of(
    varying: FloatArray, whole: FloatArray, sums: FloatArray, before: tuple[float, float]
) -> tuple[float, float]:
    """Return mean and variance of the error of a supposed variance after the sums: of log2(true / supposed).

    Args:
        varying: The part of the covariance of the sums that grows with the variance, shape (Q, Q). Where it is larger
            than all, as it cancels others, it counts as all.
        whole: All of their covariance, shape (Q, Q).
        sums: The noisy sums less what was expected of them, in radii of the ball, shape (Q,).
        before: Mean and variance of the error before the sums.

    Source:
        HV-E7.
    """
    mean, variance = before
    errors = mean + variance**0.5 * _DEVIATIONS
    share, vectors = eigh(varying, whole)  # so turned, the sums are independent, and of variance 1
    variances = 1 + np.outer(2.0**errors - 1, np.clip(share, 0.0, 1.0))
    fits = -0.5 * ((vectors.T @ sums) ** 2 / variances + np.log(variances)).sum(axis=1) - 0.5 * _DEVIATIONS**2
    weight = np.exp(fits - fits.max())
    weight /= weight.sum()
    after = float(weight @ errors)
    return after, float(weight @ (errors - after) ** 2)


def error_of_days(
    parts: Parts, sums: FloatArray, found: dict[str, float], before: tuple[float, float]
) -> tuple[float, float]:
    """Return mean and variance of the error of what days differ by, after the sums of a day: of log2(true / supposed).

    What one day differs by has a factor of its own, so even sums without noise tell only so much of all days.

    Args:
        parts: The covariance of the sums.
        sums: The noisy sums less what was expected of them, in radii of the ball, shape (Q,).
        found: The likeliest factors of the day.
        before: Mean and variance of the error before the sums.

    Source:
        HV-E7.
    """
    usual, (mean, variance) = {**found, "day": 1.0}, before
    of_one_day = variance + (_LOG_SPREAD["day"] / np.log(2)) ** 2
    whole = parts.varying(usual) + parts.rest(usual)
    told, unsure = error_of(parts.day, whole, sums, (mean, of_one_day))
    gain = variance / of_one_day
    return mean + gain * (told - mean), variance * (1 - gain) + gain**2 * unsure


def unsure_of(parts: Parts, sums: FloatArray, found: dict[str, float], ladder: tuple[float, ...]) -> float:
    """Return the geometric mean factor of hexagons and cells over the one that was chosen, if it is larger.

    Where the sums of a first day tell little, the likeliest factor forgets how large it may be.

    Args:
        parts: The covariance of the sums.
        sums: The noisy sums less what was expected of them, in radii of the ball, shape (Q,).
        found: The likeliest factors.
        ladder: The factors that hexagons and cells may have.

    Source:
        HV-E3.
    """
    fits = np.array([parts.fit(sums, {**found, "own": factor}) for factor in ladder])
    weight = np.exp(fits - fits.max())
    return max(1.0, float(np.exp(weight @ np.log(ladder) / weight.sum())) / found["own"])
