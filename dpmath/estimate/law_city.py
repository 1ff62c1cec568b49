"""The law of the city's records: guessed from the map, and measured once, by shares below some points."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.special import betainc

from dpmath.core.occupancy import IntArray, Occupancy
from dpmath.estimate.day import FloatArray
from dpmath.estimate.law_bins import N_BINS, Bins
from dpmath.estimate.law_layers import Layered, layered, whole_table
from dpmath.estimate.posterior import Design, Estimate
from dpmath.estimate.state import POINTS
from dpmath.estimate.view import residual_shares
from dpmath.estimate.whole import RADIUS

MOST_THRESHOLDS = 12
_RADIUS_OF_SHARE = 0.2
_SPREAD = 0.3
_ATOM, _ATOM_SPREAD = 0.1, 0.15
"""The share of records at the lower bound, which is much of buses' speeds and none of temperatures."""
_LEAST_GUESS = 0.02
"""Part of the guess in what is found: no value is impossible after one noisy question."""
_LEAST_MASS = 1e-5
"""Of each bin."""
_LEAST_SIZE = 0.05


@dataclass(frozen=True)
class Guess:
    """What is supposed of the records of each cell before the law is asked.

    Attributes:
        cumulative: Share of each cell's records in each bin or below it, shape (G, N_BINS).
        weight: What each cell counts for: users count alike, and each by records, shape (G,).
    """

    cumulative: FloatArray
    weight: FloatArray

    @property
    def city(self) -> FloatArray:
        """The same of all cells together, shape (N_BINS,)."""
        return self.weight @ self.cumulative / self.weight.sum()


def guessed(found: Estimate, reach: FloatArray, bins: Bins) -> Guess:
    """Return the guess: in each cell a Beta law about the estimated mean, as wide as the estimate says of one record.

    Args:
        found: The estimate of the day.
        reach: Radius of each user's ball, as a share of the full radius, shape (L,).
        bins: The bins of the records.

    Source:
        HV-E10.
    """
    view, occupancy = found.view, found.view.day.occupancy
    mean = np.clip(found.mean, 0.5, POINTS - 0.5)
    one = residual_shares(np.array([1]))[0] * view.relative * view.state.factors["residual"] * view.state.scale**2
    most = mean * (POINTS - mean)
    spread = np.minimum(1 / (1 / one + 1 / most) + found.variance, most / (1 + _LEAST_SIZE))
    size, share = most / spread - 1, mean / POINTS
    edges = (np.arange(N_BINS) / POINTS)[None]
    beta = betainc((size * share)[:, None], (size * (1 - share))[:, None], edges)
    rises = np.diff(_ATOM + (1 - _ATOM) * beta, axis=1, prepend=0.0) * bins.used  # a bin without ticks holds nothing
    total = rises.sum(axis=1, keepdims=True)
    of_users = np.bincount(occupancy.user, occupancy.n_records, occupancy.n_users)
    of_pairs = (reach / np.maximum(of_users, 1))[occupancy.user] * occupancy.n_records
    weight = np.bincount(occupancy.cell, of_pairs, occupancy.n_cells).astype(np.float64)
    return Guess(np.cumsum(rises / total, axis=1), weight)


def thresholds(guess: Guess, limits: Sequence[float]) -> FloatArray:
    """Return the points about which the law is asked: 0, the configured limits, and points that share the records.

    Args:
        guess: What is supposed of the records.
        limits: The configured limits, in points.

    Source:
        HV-E10.
    """
    wanted = sorted({0.0, *(float(limit) for limit in limits if 0 < limit < POINTS)})[:MOST_THRESHOLDS]
    among = np.searchsorted(guess.city, np.linspace(0.04, 0.98, 4 * MOST_THRESHOLDS)).clip(max=N_BINS - 2)
    while len(wanted) < MOST_THRESHOLDS:
        below = np.interp(wanted, np.arange(N_BINS), guess.city)
        gaps = np.abs(guess.city[among][:, None] - below).min(axis=1)
        best = int(gaps.argmax())
        if gaps[best] < 0.02:
            break
        wanted.append(float(among[best]))
    return np.array(sorted(wanted))


def radius_of_shares(n_points: int) -> float:
    """Return the radius of a user's ball as a length of shares: how far shares usually are from the guess.

    Source:
        HV-E10.
    """
    return _RADIUS_OF_SHARE * float(np.sqrt(n_points))


def law_question(
    guess: Guess, points: FloatArray, occupancy: Occupancy, bins: Bins, radius: IntArray, inverse_scale: int
) -> Layered:
    """Return the question: by how much the share of each user's records below each point differs from the guess.

    Args:
        guess: What is supposed of the records.
        points: The points, shape (K,).
        occupancy: The day's pairs.
        bins: The bins of the records.
        radius: Radius of each user's ball, shape (L,).
        inverse_scale: LOSS_UNITS over the scale of the noise.

    Source:
        HV-L55.
    """
    n_layers, layers = points.size, layered(occupancy, points.size)
    below = np.stack([bins.shares_below(point) for point in points])
    table = whole_table(below, np.zeros(n_layers), np.ones(n_layers))
    rises = np.diff(guess.cumulative, axis=1, prepend=0.0)
    of_users = np.bincount(occupancy.user, occupancy.n_records, occupancy.n_users)
    weight = (radius / RADIUS / np.maximum(of_users, 1))[layers.user] * layers.n_records
    loading = np.repeat(np.eye(n_layers), occupancy.n_cells, axis=0) / (radius_of_shares(n_layers) * POINTS)
    design = Design(loading, weight.astype(np.float64))
    return Layered.of(design, layers, (rises @ below.T).T, table, radius, inverse_scale)


def city_law(
    guess: Guess, points: FloatArray, share_off: FloatArray, noise: float, bins: Bins
) -> tuple[FloatArray, FloatArray]:
    """Return the law of the city's records from the guess and the noisy shares, and how far it may be off.

    Args:
        guess: What is supposed of the records.
        points: The points that were asked about, shape (K,).
        share_off: By how much the share below each differs from the guess, noisy, shape (K,).
        noise: Standard deviation of its noise.
        bins: The bins of the records.

    Returns:
        The share of each bin, shape (N_BINS,); and the covariance of the errors of cumulative shares, shape (N_BINS,
        N_BINS).

    Source:
        HV-E10.
    """
    supposed = guess.city
    edges = np.arange(N_BINS, dtype=np.float64)
    at_points = np.interp(points, edges, supposed)

    def covariance(one: FloatArray, other: FloatArray) -> FloatArray:
        low, high = np.minimum.outer(one, other), np.maximum.outer(one, other)
        return np.asarray(_SPREAD**2 * low * (1 - high) + _ATOM_SPREAD**2 * np.outer(1 - one, 1 - other))

    seen, together = covariance(at_points, at_points) + noise**2 * np.eye(points.size), covariance(supposed, at_points)
    left = covariance(supposed, supposed) - together @ np.linalg.solve(seen, together.T)
    likely = np.clip(supposed + together @ np.linalg.solve(seen, share_off), 0.0, 1.0)
    likely[-1] = 1.0
    law = np.diff(isotonic_regression(likely).x, prepend=0.0)
    law = np.clip(law, 0.0, None) + _LEAST_GUESS * np.diff(supposed, prepend=0.0) + _LEAST_MASS
    return np.where(bins.used, law, 0.0) / law[bins.used].sum(), left
