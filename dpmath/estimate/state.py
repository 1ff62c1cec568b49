"""What all releases so far tell of the days to come: the means and covariances of coefficients and of scales."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.linalg import block_diag

from dpmath.estimate import shrinkage
from dpmath.estimate.basis import LASTING, OF_THE_DAY, Basis
from dpmath.estimate.day import Day, FloatArray
from dpmath.estimate.law_shape import Shapes
from dpmath.estimate.scales import NAMES, Scales
from dpmath.estimate.told import Known, Told, folded

MODEL = 30
"""Number of the model. Raise it whenever an estimate from the same answers changes: releases of another are not learned
from, and are not made again."""
POINTS = 100.0
"""Values are counted in points: the public range is 0 to 100 points."""
MOST_COEFFICIENTS = 20_000
"""Of a state: about 1 GiB. Hexagons for which there is no room have none: all of what they are is their cells' own."""
_CLASS_DRIFT = 0.01
_OF_USERS = 1.0
"""Variance of the log of what the variance that a user's residuals share is multiplied by: about e either way."""

RESIDUAL_CLASSES = (3, 4)
"""Classes of the residual: levels of the predicted value, and sizes of a pair in its cell."""
N_CLASSES = RESIDUAL_CLASSES[0] * RESIDUAL_CLASSES[1] + 1
"""The last is that of what a user's residuals have in common."""


def class_covariance() -> FloatArray:
    """Return the prior covariance of the classes' log multipliers: most of it is common to all, but for users'.

    Source:
        HV-E5.
    """
    n_levels, n_sizes = RESIDUAL_CLASSES
    level, size = (grid.ravel() for grid in np.meshgrid(np.arange(n_levels), np.arange(n_sizes), indexing="ij"))
    same_level, same_size = np.equal.outer(level, level), np.equal.outer(size, size)
    of_pairs = 0.25 + 0.06 * same_level + 0.06 * same_size + 0.03 * (same_level & same_size)
    return np.asarray(block_diag(of_pairs, _OF_USERS))


@dataclass(frozen=True)
class State:
    """What releases have told, and nothing else: a function of the account's releases.

    Attributes:
        basis: The functions.
        names: Each hexagon that has coefficients, in their order, shape (H,).
        remote: How remote each of them is: as on the day on which it was least so, shape (H,).
        centre: Where the values' centre was put on the first day, in points.
        centre_variance: Its variance.
        scale: The values' scale on the first day, in points: variances are shares of its square.
        scale_variance: Variance of the log of it.
        told: The sums of all releases.
        scales: What they tell of how much each part varies.
        shrink: Mean and variance of log(true length of a user's vector / expected length).
        residual: Mean of the log of what each class's residual variance is multiplied by, shape (n,).
        residual_covariance: Its covariance, shape (n, n).
        n_days: Number of days that it is made from.
        shapes: What is known of the laws of cells; None if they were never asked about.
    """

    basis: Basis
    names: np.ndarray
    remote: FloatArray
    centre: float
    centre_variance: float
    scale: float
    scale_variance: float
    told: tuple[Told, ...]
    scales: Scales
    shrink: tuple[float, float] = (0.0, 0.25)
    residual: FloatArray = field(default_factory=lambda: np.zeros(N_CLASSES))
    residual_covariance: FloatArray = field(default_factory=class_covariance)
    n_days: int = 0
    shapes: Shapes | None = None

    @property
    def n_hexagons(self) -> int:
        """Number of hexagons with coefficients."""
        return int(self.names.size)

    @cached_property
    def factors(self) -> dict[str, float]:
        """What supposed variances are multiplied by."""
        return self.scales.factors

    @cached_property
    def prior_by_group(self) -> dict[str, FloatArray]:
        """Prior variance of each coefficient by each group, as first supposed, in squared points, each (S,)."""
        groups = self.basis.variances(LASTING, self.remote)
        found = {group: shares * self.scale**2 for group, shares in groups.items()}
        found["fixed"][0] = max(found["fixed"][0], self.centre_variance)  # its function is 1: the centre's own error
        return found

    @cached_property
    def lasting(self) -> FloatArray:
        """Prior variance of each coefficient, in squared points, shape (S,)."""
        return np.sum([self.factors.get(group, 1.0) * of for group, of in self.prior_by_group.items()], axis=0)

    @cached_property
    def of_the_day(self) -> FloatArray:
        """Variance of what each coefficient differs by on a day, in squared points, shape (S,)."""
        shares = sum(self.basis.variances(OF_THE_DAY, np.ones(self.n_hexagons)).values())
        variances = np.asarray(shares * (self.factors["day"] * self.scale**2))
        variances[0] *= self.factors["level"] / self.factors["day"]
        return variances

    def of_hexagons(self, remote: FloatArray) -> FloatArray:
        """Return the variance of each function of hexagons before anything is known of them, shape (H,) to (H, k)."""
        these = replace(self, names=np.arange(remote.size), remote=remote, told=())
        own = (these.lasting + these.of_the_day)[self.basis.n_common :]
        return np.asarray(own.reshape(remote.size, self.basis.n_own))

    @cached_property
    def known(self) -> Known:
        """What is known of the coefficients."""
        return Known.by(self.lasting, self.told, self.factors)

    @cached_property
    def known_today(self) -> Known:
        """What is known of the coefficients of a day."""
        return self.known.varying(self.of_the_day)

    @property
    def mean(self) -> FloatArray:
        """Mean of each coefficient, in points, shape (S,)."""
        return self.known.mean

    def with_hexagons(self, day: Day) -> "State":
        """Return the state with coefficients for a day's hexagons; new ones are independent of all others.

        Where there is no room for all, the day's come first, those with most records before others, and then those of
        other days of which most is known.
        """
        room = max(1, (MOST_COEFFICIENTS - self.basis.n_common) // max(1, self.basis.n_own))
        here = day.names[np.argsort(-day.hexagon_records, kind="stable")][:room]
        state = self._without_the_least_known(here, room - here.size)
        new = np.setdiff1d(here, state.names)
        names, remote = np.append(state.names, new), np.append(state.remote, np.full(new.size, np.inf))
        _, number, of_day = np.intersect1d(names, day.names, return_indices=True)
        remote[number] = np.minimum(remote[number], day.remote[of_day])
        grown = replace(state, names=names, remote=remote)
        if not new.size:
            return grown
        n_states = grown.basis.n_common + grown.n_hexagons * grown.basis.n_own
        return replace(grown, told=tuple(one.with_coefficients(n_states) for one in grown.told))

    def _without_the_least_known(self, here: np.ndarray, room: int) -> "State":
        """Return the state with coefficients for a day's hexagons and so many others at most."""
        others = np.flatnonzero(~np.isin(self.names, here))
        n_own, n_common = self.basis.n_own, self.basis.n_common
        if others.size <= room or not n_own:
            return self
        share = (self.known.gain[:, n_common:] ** 2).sum(axis=0) / self.lasting[n_common:]
        known = share.reshape(-1, n_own).sum(axis=1)[others]
        dropped = others[np.argsort(-known, kind="stable")[room:]]
        of_dropped = (n_common + dropped[:, None] * n_own + np.arange(n_own)).ravel()
        variance = self.lasting[of_dropped] / self.factors["cell"]
        told = tuple(one.without(of_dropped, variance) for one in self.told)
        names, remote = np.delete(self.names, dropped), np.delete(self.remote, dropped)
        return replace(self, names=names, remote=remote, told=told)

    def with_told(self, told: Told) -> "State":
        """Return the state with the sums of one more measurement."""
        return replace(self, told=folded((*self.told, told), self.lasting, self.factors))

    def later(self, n_days: int) -> "State":
        """Return the state after some days, in which what sums tell has become less sure."""
        return replace(
            self,
            told=tuple(one.later(n_days) for one in self.told),
            shrink=shrinkage.later(self.shrink, n_days),
            residual_covariance=self.residual_covariance + n_days * _CLASS_DRIFT * class_covariance(),
        )

    def numbers_of(self, day: Day) -> np.ndarray:
        """Return the number of each of the day's hexagons among those with coefficients, shape (H,); -1 if it has none.

        Raises:
            ValueError: No hexagon has any.
        """
        if not self.names.size:
            raise ValueError("the state must have coefficients for hexagons of the day")
        order = np.argsort(self.names)
        found = order[np.searchsorted(self.names, day.names, sorter=order).clip(max=self.names.size - 1)]
        return np.where(self.names[found] == day.names, found, -1)


def first_state(day: Day, basis: Basis, centre: float, centre_variance: float, scale: float, variance: float) -> State:
    """Return the state before anything but centre and scale is known.

    Args:
        day: The first day.
        basis: The functions.
        centre: Estimated centre of the values, in points.
        centre_variance: Its variance.
        scale: Estimated scale of the values, in points.
        variance: Variance of the log of the scale.

    Source:
        HV-E4.
    """
    names, remote = np.array([], dtype=day.names.dtype), np.zeros(0)
    scales = Scales(*np.zeros((3, len(NAMES))))
    state = State(basis, names, remote, centre, centre_variance, scale, variance, (), scales, (0.0, variance + 0.1))
    return state.with_hexagons(day)
