"""The law of the city's records: guessed from the map, and measured once, by shares below some points."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.special import softmax

from dpmath.core.occupancy import IntArray, Occupancy
from dpmath.estimate.day import FloatArray
from dpmath.estimate.law_bins import N_BINS, Bins
from dpmath.estimate.law_layers import Layered, layered, whole_table
from dpmath.estimate.law_tilt import N_MEANS, half_points, plain_laws, tilted
from dpmath.estimate.posterior import Estimate
from dpmath.estimate.state import POINTS
from dpmath.estimate.taken import Design
from dpmath.estimate.view import residual_shares
from dpmath.estimate.whole import RADIUS

MOST_THRESHOLDS = 12
_RADIUS_OF_SHARE = 0.2
_SPREAD = 0.3
_ATOM, _ATOM_SPREAD = 0.1, 0.15
"""The share of records at the lower bound if any are: much of buses' speeds, and none of temperatures."""
_LEAST_GUESS = 0.02
"""Part of the guess in what is found: no value is impossible after one noisy question."""
_SEEN, _POSSIBLE, _LEAST_MASS = 1e-3, 1e-6, 1e-300
"""Of a bin: with less, or where less is supposed, the city's law says nothing of it but noise."""
_STEPS = 60
_WIDTHS = 2.0 ** np.r_[0:3, -8:0]
"""What the variance of one record may be times what the map says of it, of which the likely ones are averaged."""
_LEAST_WIDTH = 0.25
"""In squared points: half a point, as bins of a point tell no more."""
_LOG_WIDTH_DEVIATION = 1.5
"""How far the logarithm of that may be off: where noise is larger than what records differ by, the map tells little."""


@dataclass(frozen=True)
class Guess:
    """What is supposed of the records of each cell before the law is asked.

    Attributes:
        width: Variance of one record about its cell's mean, in squared points.
        atom: Share of records at the lower bound beside those of that law.
        mean: Which half points each cell's mean without the atom may be, shape (G, 3), as in ``half_points``.
        likely: How likely each of the three is, shape (3,).
        weight: What each cell counts for: users count alike, and each by records, shape (G,).
        bins: The bins of the records.

    Source:
        HV-E10.
    """

    width: float
    atom: float
    mean: IntArray
    likely: FloatArray
    weight: FloatArray
    bins: Bins

    @property
    def base(self) -> FloatArray:
        """Logarithm of the law that is tilted to each mean, a normal one, shape (N_BINS,)."""
        with np.errstate(divide="ignore"):
            return np.log(self.bins.n_ticks) - (self.bins.values - POINTS / 2) ** 2 / (2 * self.width)

    @cached_property
    def _laws(self) -> FloatArray:
        """The law for each half point, shape (N_MEANS, N_BINS)."""
        laws = (1 - self.atom) * plain_laws(self.base, self.bins.values)
        laws[:, 0] += self.atom
        return laws

    @property
    def share(self) -> FloatArray:
        """The share of records in cells with each half point as their mean, shape (N_MEANS,)."""
        found = np.bincount(self.mean.ravel(), np.outer(self.weight, self.likely).ravel(), N_MEANS)
        return found / found.sum()

    @property
    def of_cells(self) -> FloatArray:
        """The law of each cell, shape (G, N_BINS)."""
        found = np.zeros((len(self.mean), N_BINS))
        for number, part in zip(self.mean.T, self.likely, strict=True):
            found += part * self._laws[number]
        return found

    @cached_property
    def law(self) -> FloatArray:
        """The share of all records in each bin, shape (N_BINS,)."""
        return self.share @ self._laws

    @property
    def city(self) -> FloatArray:
        """The share of all records in each bin or below it, shape (N_BINS,)."""
        return np.cumsum(self.law)


def guesses(found: Estimate, reach: FloatArray, bins: Bins) -> list[Guess]:
    """Return what may be supposed: in each cell a normal law about the estimated mean, cut to the range.

    The first is as wide as the estimate says of one record, and has an atom. The others are wider and narrower ones,
    with an atom and without.

    Args:
        found: The estimate of the day.
        reach: Radius of each user's ball, as a share of the full radius, shape (L,).
        bins: The bins of the records.

    Source:
        HV-E10.
    """
    view, occupancy = found.view, found.view.day.occupancy
    of_pairs = (reach / np.maximum(occupancy.user_records, 1))[occupancy.user] * occupancy.n_records
    weight = np.bincount(occupancy.cell, of_pairs, occupancy.n_cells).astype(np.float64)
    if not weight.any():  # nobody has a budget, and nothing will be told
        weight = occupancy.cell_records.astype(np.float64)
    relative = float(np.average(view.cells.relative, weights=occupancy.cell_records))
    one = residual_shares(np.array([1]))[0] * relative * view.state.factors["residual"] * view.state.scale**2
    mean, likely = half_points(found.mean, np.sqrt(found.variance))
    widths = np.maximum(one * _WIDTHS, _LEAST_WIDTH).tolist()
    return [Guess(width, atom, mean, likely, weight, bins) for atom in (_ATOM, 0.0) for width in widths]


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
        below = _at(np.array(wanted), guess.city)
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
    guess: Guess, points: FloatArray, occupancy: Occupancy, radius: IntArray, inverse_scale: int
) -> Layered:
    """Return the question: by how much the share of each user's records below each point differs from the guess.

    Args:
        guess: What is supposed of the records.
        points: The points, shape (K,).
        occupancy: The day's pairs.
        radius: Radius of each user's ball, shape (L,).
        inverse_scale: LOSS_UNITS over the scale of the noise.

    Source:
        HV-L55.
    """
    n_layers, layers = points.size, layered(occupancy, points.size)
    below = np.stack([guess.bins.shares_below(point) for point in points])
    table = whole_table(below, np.zeros(n_layers), np.ones(n_layers))
    weight = (radius / RADIUS / np.maximum(occupancy.user_records, 1))[layers.user] * layers.n_records
    loading = np.repeat(np.eye(n_layers), occupancy.n_cells, axis=0) / (radius_of_shares(n_layers) * POINTS)
    design = Design(loading, weight.astype(np.float64))
    return Layered.of(design, layers, (guess.of_cells @ below.T).T, table, radius, inverse_scale)


def city_law(
    trials: Sequence[Guess], points: FloatArray, share_off: FloatArray, noise: float
) -> tuple[Guess, FloatArray, FloatArray]:
    """Return the law of the city's records from the noisy shares.

    Args:
        trials: What may be supposed, as ``guesses`` returns it; the first is what was asked about.
        points: The points that were asked about, shape (K,).
        share_off: By how much the share below each differs from the first guess, noisy, shape (K,).
        noise: Standard deviation of its noise.

    Returns:
        What is likely to be supposed; the share of each bin, shape (N_BINS,); and the covariance of the errors of
        cumulative shares, shape (N_BINS, N_BINS).

    Source:
        HV-E10.
    """
    seen = _at(points, trials[0].city) + share_off
    log = np.array([_log_likelihood(*_off(one, points, seen, noise)) for one in trials])
    log = log.reshape(-1, _WIDTHS.size) - (np.log(_WIDTHS) / _LOG_WIDTH_DEVIATION) ** 2 / 2
    widths = np.exp((softmax(log, axis=1) * np.log([one.width for one in trials]).reshape(log.shape)).sum(axis=1))
    firsts = trials[:: _WIDTHS.size]
    likely = [replace(one, width=width) for one, width in zip(firsts, widths.tolist(), strict=True)]
    # an atom is told of by the shares below which few records lie without it: they are no less than that at the lower
    # bound. Elsewhere an atom would take what a normal law does not fit
    few = np.union1d(0, np.flatnonzero(_at(points, likely[-1].city) < _ATOM))
    shares = softmax([_log_likelihood(*_off(one, points[few], seen[few], noise)) for one in likely])
    found = [_told(one, points, seen, noise) for one in likely]
    best = int(shares.argmax())
    cumulative, _ = found[best]
    left = np.zeros((N_BINS, N_BINS))
    for share, (other, of_other) in zip(shares, found, strict=True):
        left += share * (of_other + np.outer(other - cumulative, other - cumulative))
    law = np.clip(np.diff(isotonic_regression(cumulative).x, prepend=0.0), 0.0, None)
    law = law + _LEAST_GUESS * likely[best].law
    used = likely[best].bins.used
    return likely[best], np.where(used, law, 0.0) / law[used].sum(), left


def _told(guess: Guess, points: FloatArray, seen: FloatArray, noise: float) -> tuple[FloatArray, FloatArray]:
    """Return the cumulative shares that noisy ones make likely of a guess, and the covariance of their errors."""
    supposed, (off, known) = guess.city, _off(guess, points, seen, noise)
    together = _together(guess.atom, supposed, _at(points, supposed))
    left = _together(guess.atom, supposed, supposed) - together @ np.linalg.solve(known, together.T)
    likely = supposed + together @ np.linalg.solve(known, off)
    return np.append(np.clip(likely, 0.0, 1.0)[:-1], 1.0), left


def city_base(guess: Guess, law: FloatArray, noise: float) -> FloatArray:
    """Return the logarithm of the law that cells' laws are tilted from, with which they add up to the city's.

    By iterative scaling, until what is left may be noise, or for ``_STEPS`` steps. Where the city's law says nothing,
    as beyond the values of its first day, the base goes on as a normal law: so on a day on which all values are higher,
    records still lie about their mean as before.

    Args:
        guess: What is likely to be supposed.
        law: The city's law, shape (N_BINS,).
        noise: How far its cumulative shares may be off.

    Source:
        HV-E10.
    """
    base, values, share = guess.base, guess.bins.values, guess.share
    mixed = share @ plain_laws(base, values)
    mean = mixed @ values
    with np.errstate(divide="ignore"):
        # the map knows the mean better than the answers do
        target = tilted(np.log(law), values, np.array([mean]))[0]
    told = np.flatnonzero((target > _SEEN) & (guess.law > _POSSIBLE) | (target == target.max()))
    seen = np.arange(told[0], told[-1] + 1)[target[told[0] : told[-1] + 1] > 0]
    off = values - mean
    bent, most = 0.0, 1 / (4 * guess.width)
    for _ in range(_STEPS):
        if np.abs(np.cumsum(mixed - target)).max() <= noise / 2:
            break
        step = np.log(target[seen] / np.maximum(mixed[seen], _LEAST_MASS))
        _, slope, bend = _parabola(off[seen], step, target[seen])
        bend = min(bend, most - bent)
        bent += bend
        left = step - slope * off[seen] - bend * off[seen] ** 2  # a law that is tilted has no slope of its own
        base = base + bend * off**2 + np.interp(values, values[seen], left)
        mixed = share @ plain_laws(base, values)
    return base - base.max()


def _parabola(at: FloatArray, numbers: FloatArray, weight: FloatArray) -> FloatArray:
    """Return the height, slope and bend of the parabola that is nearest to some numbers."""
    root = np.sqrt(weight)
    found, *_ = np.linalg.lstsq(root[:, None] * np.vander(at, 3, increasing=True), root * numbers)
    return found.astype(np.float64)


def _at(points: FloatArray, cumulative: FloatArray) -> FloatArray:
    return np.interp(points, np.arange(N_BINS), cumulative)


def _together(atom: float, one: FloatArray, other: FloatArray) -> FloatArray:
    """Return the covariance of what two cumulative shares may differ from the guess by."""
    low, high = np.minimum.outer(one, other), np.maximum.outer(one, other)
    of_atom = _ATOM_SPREAD**2 * np.outer(1 - one, 1 - other)
    return np.asarray(_SPREAD**2 * low * (1 - high) + (of_atom if atom else 0.0))


def _off(guess: Guess, points: FloatArray, seen: FloatArray, noise: float) -> tuple[FloatArray, FloatArray]:
    """Return by how much noisy shares below some points differ from a guess, and the covariance of that."""
    at_points = _at(points, guess.city)
    return seen - at_points, _together(guess.atom, at_points, at_points) + noise**2 * np.eye(points.size)


def _log_likelihood(off: FloatArray, covariance: FloatArray) -> float:
    return -float(off @ np.linalg.solve(covariance, off) + np.linalg.slogdet(covariance)[1]) / 2
