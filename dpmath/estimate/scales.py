"""How much each part of the values varies: the scales under which the noisy sums of all releases are likeliest.

All of it is post-processing of noisy sums.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import get_lapack_funcs, solve_triangular

from dpmath.estimate.basis import GROUPS
from dpmath.estimate.day import FloatArray

NAMES = (*GROUPS, "level", "day", "residual")
"""What has a scale of its own: groups of functions, days' means, what else days differ by, and pairs' residuals."""
_BY_LOGS = np.vstack([np.eye(len(NAMES)), np.eye(len(NAMES))[[NAMES.index("level"), NAMES.index("day")]]])
"""Which logs each part's variance is multiplied by on the last day: its own, and the day's shocks, shape (n + 2, n)."""
MOST = 3.5
"""A variance is at most e^3.5 = 33 times what was supposed, and at least a 33rd."""
_DEVIATION = (MOST, 1.0, 1.5, 1.0, 1.0, 1.0, 1.5, 1.0, 0.4)
"""Of the log of each variance about what is supposed: a factor of about e either way. Covariates may tell nothing or
much, so no factor within the bounds is unlikely: else sums that show that they tell nothing would be taken to say that
all else varies little too."""
_TOGETHER = 1.0
"""Deviation of the log of what all but residuals are multiplied by together."""
_SHOCK_DEVIATION = 1.5
"""Of the log of what the variance of one day's differences is multiplied by: a holiday differs more than most days."""
_LARGEST_STEP = 1.5
_MOST_HALVINGS = 4
(_INVERTED,) = get_lapack_funcs(("potri",), dtype=np.float64)
"""Makes the upper half of an inverse from a Cholesky root: a third of the multiplications of solving for it."""
_ALONG = np.array([0.0, -2.5, -1.25, 1.25, 2.5])
"""Where scales are averaged over, in standard deviations: the first is at the likeliest."""
_KNOWN_WELL = 0.5
"""A direction in which logs have a smaller deviation has a law that is nearly normal: to try scales takes time."""


class Scales(NamedTuple):
    """The logs of what the supposed variances are multiplied by, in the order of ``NAMES``, each of shape (n,).

    Attributes:
        likeliest: The likeliest.
        mean: Their mean.
        wide: Logs of the mean factors, which are larger: what intervals are made from.
    """

    likeliest: FloatArray
    mean: FloatArray
    wide: FloatArray

    @property
    def factors(self) -> dict[str, float]:
        """What each variance is multiplied by."""
        return dict(zip(NAMES, np.exp(self.mean).tolist(), strict=True))

    def widened(self, cut: float) -> "Scales":
        """Return the scales for intervals: as large as each is on average.

        If balls keep another share than supposed, all sums are off by it, and the variances told by its square; beyond
        the largest factor, nothing is known anyway.

        Args:
            cut: By which part the last sums may be off, for what balls cut off.
        """
        return self._replace(mean=self.wide + min(2 * cut**2, MOST))


@dataclass(frozen=True)
class Parts:
    """The covariance of the noisy sums of all releases by its parts, each of shape (n, n).

    Attributes:
        fixed: Of what has no scale to be learned: the city's mean, how long users stay, and the noise.
        of: Of each part that has one, in the order of ``NAMES``; of what days differ by, that of all days but the last.
        shocks: Of the last day's mean, and of what else that day differs by: both have a factor of their own, too.
        of_cells: The variance that each part is supposed to give to a cell, as a share of the most that is plausible,
            in the order of ``NAMES``.
    """

    fixed: FloatArray
    of: tuple[FloatArray, ...]
    shocks: tuple[FloatArray, FloatArray]
    of_cells: FloatArray

    @cached_property
    def varying(self) -> FloatArray:
        """All that have a scale, and the shocks, as one array: so a mean of them is one product."""
        return np.stack([*self.of, *self.shocks])


def prior(scale_variance: float) -> FloatArray:
    """Return the covariance of the logs of the scales before anything was measured.

    Args:
        scale_variance: Variance of the log of the scale of all, as it was measured on the first day.

    Source:
        HV-E7.
    """
    together = np.ones(len(NAMES))
    together[-1] = 0.0
    return np.diag(np.square(_DEVIATION)) + _TOGETHER**2 * np.outer(together, together) + 4 * scale_variance


def likeliest(
    parts: Parts, sums: FloatArray, before: FloatArray, start: FloatArray, n_steps: int
) -> tuple[Scales, FloatArray]:
    """Return the scales under which sums are likeliest, and what the last day's own variances are multiplied by.

    Each step is Newton's, with the average of observed and expected information. The number of steps is fixed, so
    that two machines come to the same scales but for rounding.

    Args:
        parts: The covariance of the sums.
        sums: The noisy sums about the centre, shape (n,).
        before: Covariance of the logs of the scales before any sums.
        start: Where to begin, shape (n,).
        n_steps: Number of steps.

    Source:
        HV-E7; Gilmour, Thompson and Cullis, Biometrics 1995.
    """
    n_scales = len(NAMES)
    precision = np.eye(n_scales + len(parts.shocks)) / _SHOCK_DEVIATION**2
    precision[:n_scales, :n_scales] = np.linalg.inv(before)
    at = _Point(parts, sums, precision, np.append(start, np.zeros(len(parts.shocks))))
    for _ in range(n_steps):
        step = np.clip(np.linalg.solve(at.information, at.gradient), -_LARGEST_STEP, _LARGEST_STEP)
        for _ in range(_MOST_HALVINGS):
            logs = at.logs + step
            logs[:n_scales] = np.clip(logs[:n_scales], -MOST, MOST)
            tried = _Point(parts, sums, precision, logs)
            if tried.fit > at.fit:
                at = tried
                break
            step = step / 2
        else:
            break
    return _averaged(at, lambda logs: _Point(parts, sums, precision, logs).fit), np.exp(at.logs[n_scales:])


def _averaged(at: "_Point", fit: Callable[[FloatArray], float]) -> Scales:
    """Return the means over each direction in which little is known, where the normal law is a bad guess.

    Directions are those in which logs are independent at the likeliest scales; they are taken to be so elsewhere.
    """
    n_scales = len(NAMES)
    best, shocks = at.logs[:n_scales], at.logs[n_scales:]
    values, vectors = np.linalg.eigh(np.linalg.inv(at.information)[:n_scales, :n_scales])
    mean, wide = best.copy(), best.copy()
    for deviation, vector in zip(np.sqrt(values), vectors.T, strict=True):
        if deviation < _KNOWN_WELL:
            wide += (deviation * vector) ** 2 / 2
            continue
        logs = np.clip(best + np.outer(_ALONG, deviation * vector), -MOST, MOST)
        fits = np.array([at.fit, *(fit(np.append(one, shocks)) for one in logs[1:])])
        weight = np.exp(fits - fits.max())
        weight /= weight.sum()
        mean += weight @ logs - best
        wide += np.log(weight @ np.exp(logs - best))
    return Scales(best, np.clip(mean, -MOST, MOST), np.minimum(wide, MOST))


class _Point:
    """The penalised log likelihood at some scales, with its slope and information."""

    def __init__(self, parts: Parts, sums: FloatArray, precision: FloatArray, logs: FloatArray) -> None:
        self.logs, self._precision, self._varying = logs, precision, parts.varying
        n_scales, factors = len(NAMES), np.exp(logs)
        self._shares = np.diag(factors)  # of each varying matrix in what moves with each log
        for number, shock in enumerate(range(n_scales, logs.size), NAMES.index("level")):
            self._shares[[number, shock], shock] = factors[number] * factors[shock]
        whole = parts.fixed + np.tensordot(self._shares[:n_scales].sum(axis=0), self._varying, 1)
        self._root = np.linalg.cholesky(whole)
        told = solve_triangular(self._root, sums, lower=True)
        self._solved = solve_triangular(self._root, told, lower=True, trans=1)
        by_logs = _BY_LOGS * (parts.of_cells * np.exp(logs @ _BY_LOGS))  # how the variance of a cell depends on each
        self._whole, self._of_cells = float(by_logs.sum(axis=1)[:n_scales].sum()), by_logs
        penalty = 0.5 * float(logs @ precision @ logs) + 0.5 * self._whole**2
        self.fit = -0.5 * float(told @ told) - float(np.log(np.diag(self._root)).sum()) - penalty

    @cached_property
    def _images(self) -> FloatArray:
        return np.asarray((self._shares @ (self._varying @ self._solved)).T)

    @property
    def gradient(self) -> FloatArray:
        upper, _ = _INVERTED(self._root.T)  # of the inverse
        twice = 2 * np.triu(upper, 1).T
        np.fill_diagonal(twice, np.diag(upper))
        traces = self._shares @ [np.vdot(twice, one) for one in self._varying]
        return np.asarray(
            0.5 * (self._solved @ self._images - traces)
            - self._precision @ self.logs
            - self._whole * self._of_cells.sum(axis=1)
        )

    @property
    def information(self) -> FloatArray:
        turned = solve_triangular(self._root, self._images, lower=True)
        slope = self._of_cells.sum(axis=1)
        bounded = np.outer(slope, slope) + self._whole * self._of_cells @ _BY_LOGS.T
        return np.asarray(0.5 * turned.T @ turned + self._precision + bounded)
