"""What all releases so far tell of the days to come: the means and covariances of coefficients and of scales."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.linalg import solve_triangular

from dpmath.estimate import shrinkage
from dpmath.estimate.basis import BY_PLACE, LASTING, OF_THE_DAY, Basis
from dpmath.estimate.day import Day, FloatArray
from dpmath.estimate.products import product

MODEL = 13
"""Number of the model. Raise it whenever an estimate from the same answers changes: releases of another are not learned
from, and are not made again."""
POINTS = 100.0
"""Values are counted in points: the public range is 0 to 100 points."""
_LARGEST_VARIANCE = (POINTS / 2) ** 2
"""The square of the scale is not raised above it, nor are places by themselves: no value in the range varies more."""
_WELL_KNOWN = 0.3
"""A scale is well known if the variance of its error is below this."""
_HARDLY_KNOWN = 0.5
"""It is hardly known if the variance is above this."""
DRIFT = 0.003
"""How much of the prior variance each coefficient gains a day."""
_LEAST_SHIFT = 0.25
"""By how much the log2 of a variance must be off before it is changed."""
_LEAST_SHARE = 1e-8
"""Of the largest prior variance: with less, a coefficient that cannot vary leaves no root to be found."""
_CLASS_DRIFT = 0.01
_SCALE_DRIFT = 0.01
_DAY_VARIANCE = 2.0
"""Of log2 of the error of what days differ by, after the first day."""
_DAY_FACTORS = (1 / 8, 1.0)
"""Least and largest: with less, a city that becomes lively after quiet months would be seen too late."""
_OWN_VARIANCE = 2.0
"""Of log2 of the error of hexagons' and cells' variance, after the first day."""

RESIDUAL_CLASSES = (3, 4)
"""Classes of the residual: levels of the predicted value, and sizes of a pair in its cell."""


def class_covariance() -> FloatArray:
    """Return the prior covariance of the classes' log multipliers: most of it is common to all.

    Source:
        HV-E5.
    """
    n_levels, n_sizes = RESIDUAL_CLASSES
    level, size = (grid.ravel() for grid in np.meshgrid(np.arange(n_levels), np.arange(n_sizes), indexing="ij"))
    same_level, same_size = np.equal.outer(level, level), np.equal.outer(size, size)
    return 0.25 + 0.06 * same_level + 0.06 * same_size + 0.03 * (same_level & same_size)


def _clear(variance: float) -> float:
    """Return above which mean of its error, in log2, it is clear that a variance is larger than supposed."""
    return max(_LEAST_SHIFT, 2 * variance**0.5)


@dataclass(frozen=True)
class State:
    """What releases have told, and nothing else: a function of the account's releases.

    Attributes:
        basis: The functions.
        names: Each hexagon that has coefficients, in their order, shape (H,).
        mean: Mean of each coefficient, in points, shape (S,).
        covariance: Their covariance, shape (S, S).
        centre: Where the values' centre was put on the first day, in points.
        scale: The values' scale, in points: prior variances are shares of its square.
        residual_scale: The scale that residual variances are shares of: the first day's.
        prior_factors: What prior variances are multiplied by: of the common functions, of the hexagons' own.
        scale_error: Mean and variance of log2(true square of the scale / supposed one).
        own_error: The same of the variance of what is still unknown of hexagons and cells; later days tell of it.
        day_factor: What the variance of what days differ by is multiplied by, beside the square of the scale.
        day_error: Mean and variance of log2(true variance of what days differ by / supposed one).
        shrink: Mean and variance of log(true length of a user's vector / expected length).
        residual: Mean of the log of what each class's residual variance is multiplied by, shape (n,).
        residual_covariance: Its covariance, shape (n, n).
        n_days: Number of days that it is made from.
    """

    basis: Basis
    names: np.ndarray
    mean: FloatArray
    covariance: FloatArray
    centre: float
    scale: float
    residual_scale: float
    prior_factors: tuple[float, float] = (1.0, 1.0)
    scale_error: tuple[float, float] = (0.0, 0.0)
    own_error: tuple[float, float] = (0.0, _OWN_VARIANCE)
    day_factor: float = 1.0
    day_error: tuple[float, float] = (0.0, _DAY_VARIANCE)
    shrink: tuple[float, float] = (0.0, 0.25)
    residual: FloatArray = field(default_factory=lambda: np.zeros(RESIDUAL_CLASSES[0] * RESIDUAL_CLASSES[1]))
    residual_covariance: FloatArray = field(default_factory=class_covariance)
    n_days: int = 0

    @property
    def n_hexagons(self) -> int:
        """Number of hexagons with coefficients."""
        return int(self.names.size)

    @property
    def lasting(self) -> FloatArray:
        """Prior variance of each coefficient, in squared points, shape (S,)."""
        variances = self.basis.variances(LASTING, self.n_hexagons) * self.scale**2
        of_city, own = self.prior_factors
        variances[: self.basis.n_common] *= of_city
        variances[self.basis.n_common :] *= own
        return variances

    @property
    def of_the_day(self) -> FloatArray:
        """Variance of what each coefficient differs by on a day, in squared points, shape (S,)."""
        return self.basis.variances(OF_THE_DAY, self.n_hexagons) * (self.day_factor * self.scale**2)

    @property
    def _variance_by_place(self) -> float:
        """Prior variance of a cell by its hexagon's functions and its own, in squared points."""
        return self.prior_factors[1] * self.basis.own_share * self.scale**2

    @cached_property
    def _independent(self) -> bool:
        """Whether no coefficient tells of another: so it is before the first measurement."""
        return np.count_nonzero(self.covariance) == np.count_nonzero(np.diag(self.covariance))

    def covariance_with(self, sums: FloatArray) -> FloatArray:
        """Return the covariance of the coefficients with sums of them: covariance @ sums, shape (S, n) to (S, n)."""
        return np.diag(self.covariance)[:, None] * sums if self._independent else product(self.covariance, sums)

    def with_hexagons(self, day: Day) -> "State":
        """Return the state with coefficients for hexagons that it did not have; they are independent of all others."""
        new = np.setdiff1d(day.names, self.names)
        if not new.size:
            return self
        n_before, names = self.mean.size, np.append(self.names, new)
        grown = replace(self, names=names)
        prior = grown.lasting[n_before:]
        n_after = n_before + prior.size
        covariance = np.zeros((n_after, n_after))
        covariance[:n_before, :n_before] = self.covariance
        covariance[np.arange(n_before, n_after), np.arange(n_before, n_after)] = prior
        return replace(grown, mean=np.append(self.mean, np.zeros(prior.size)), covariance=covariance)

    def with_rest_by_place(self) -> tuple["State", float]:
        """Return the state with hexagons and cells that take what covariates leave, and by how much that raised them.

        Before the covariates are measured, it is only supposed how much they tell. Where they tell little, places are
        taken to differ more; the measurement of the map may take that back.
        """
        covariates = self.basis.of_covariates
        told = float((self.mean[covariates] ** 2 + np.diag(self.covariance)[covariates]).sum())
        factor = max(1.0, (BY_PLACE * self.scale**2 - told) / self._variance_by_place)
        return self._raised_by_place(factor), factor

    def with_places_as_told(self) -> "State":
        """Return the state with hexagons and cells that vary more, if later days clearly tell that they do.

        The first day tells little of them where noise is large. They are never taken to vary less: where a city hardly
        changes from day to day, little is left to learn of it, whatever its places differ by.
        """
        mean, variance = self.own_error
        if mean <= _clear(variance):
            return self
        return replace(self._raised_by_place(2.0**mean), own_error=(0.0, variance))

    def with_days_as_told(self) -> "State":
        """Return the state whose days differ less, if releases tell that they do, or more again, if that is clear.

        What days differ by falls to the largest that may well be true, but not below a least. It never rises above what
        was first supposed: what differs on one day has a factor of its own. In many cities only the mean differs more,
        and a larger variance of all else would only make their maps noisier. What is told beyond these limits is
        forgotten, so that a change is seen soon.
        """
        mean, variance = self.day_error
        largest, clear = mean + variance**0.5, _clear(variance)
        shift = largest if largest < -_LEAST_SHIFT else mean if mean > clear else 0.0
        shift = float(np.clip(shift, *np.log2(np.array(_DAY_FACTORS) / self.day_factor)))
        left = min(max(mean - shift, -_LEAST_SHIFT - variance**0.5), clear)
        return replace(self, day_factor=self.day_factor * 2.0**shift, day_error=(left, variance))

    def _raised_by_place(self, factor: float) -> "State":
        """Return the state with larger variances of hexagons and cells, as far as the range of values allows."""
        factor = min(factor, max(1.0, _LARGEST_VARIANCE / self._variance_by_place))
        covariance, n_common = self.covariance.copy(), self.basis.n_common
        of_places = np.arange(n_common, self.mean.size)
        covariance[of_places, of_places] += (factor - 1) * self.lasting[n_common:]
        of_city, own = self.prior_factors
        return replace(self, covariance=covariance, prior_factors=(of_city, own * factor))

    @property
    def scale_is_known(self) -> bool:
        """Whether the scale is well known. As long as it is, it may rise, but does not fall.

        In a city whose days differ or drift less than supposed, it would fall without end.
        """
        return self.scale_error[1] < _WELL_KNOWN

    def rescaled(self, unsure: float = np.inf) -> "State":
        """Return the state with another scale, if releases tell that the supposed one is off.

        A scale that is too large only makes a map noisier; one that is too small hides what is unusual. So the scale
        falls to the largest that may well be true, and rises to the likeliest. If it falls, the state is what the same
        releases would have told with the smaller prior variances. A rise leaves all means. If the scale was hardly
        known, too little was supposed, and what is still unknown grows with it; otherwise the city has changed, which
        adds to all variances. The city's mean and residual variances have not to do with the scale, and keep their own.

        Args:
            unsure: Variance of the scale's error before the last sums. If it was well known, it does not fall.
        """
        mean, variance = self.scale_error
        largest = mean + max(variance**0.5, variance if self.n_days else 0.0)  # once there is a map, falls less
        may_fall = unsure >= _WELL_KNOWN
        least = _LEAST_SHIFT if may_fall else max(_LEAST_SHIFT, variance**0.5)  # what is below 0 was forgotten
        shift = largest if may_fall and largest < -_LEAST_SHIFT else mean if mean > least else 0.0
        shift = min(shift, max(0.0, float(np.log2(_LARGEST_VARIANCE / self.scale**2))))
        if not shift:
            return self
        factor, prior = 2.0**shift, self.lasting[1:]
        coefficients, covariance = self.mean, self.covariance.copy()
        if factor < 1:  # as if each coefficient had been observed to be 0; some cannot vary, and stay so
            observed = np.maximum(prior * factor / (1 - factor), prior.max() * _LEAST_SHARE)
            whole = covariance[1:, 1:].copy()
            whole[np.diag_indices_from(whole)] += observed
            root = np.linalg.cholesky(whole)
            gain = solve_triangular(root, covariance[1:], lower=True)
            coefficients = coefficients - gain.T @ solve_triangular(root, coefficients[1:], lower=True)
            covariance -= gain.T @ gain
        elif unsure > _HARDLY_KNOWN:
            covariance[1:] *= factor**0.5
            covariance[:, 1:] *= factor**0.5
        else:
            varying = covariance[1:, 1:]
            varying[np.diag_indices_from(varying)] += (factor - 1) * prior
        (own, unsure_of_own), (of_days, unsure_of_days) = self.own_error, self.day_error
        return replace(
            self,
            mean=coefficients,
            covariance=covariance,
            scale=self.scale * factor**0.5,
            scale_error=(mean - shift, variance),
            own_error=(own - max(shift, 0.0), unsure_of_own),  # what raises the whole raises them too
            # first supposed was a share of the scale; what was told since is of days as they are
            day_error=(of_days - shift * (1 - unsure_of_days / _DAY_VARIANCE), unsure_of_days),
        )

    def later(self, n_days: int) -> "State":
        """Return the state with what coefficients and scales may have drifted in some days."""
        covariance = self.covariance.copy()
        covariance[np.diag_indices_from(covariance)] += n_days * DRIFT * self.lasting
        (error, unsure), (own, unsure_of_own) = self.scale_error, self.own_error
        of_days, unsure_of_days = self.day_error
        if self.scale_is_known:  # time alone does not change that, but it may have risen
            error, unsure = max(error, 0.0), min(unsure + n_days * _SCALE_DRIFT, float(np.nextafter(_WELL_KNOWN, 0)))
        return replace(
            self,
            covariance=covariance,
            scale_error=(error, unsure),
            own_error=(max(own, 0.0), min(unsure_of_own + n_days * _SCALE_DRIFT, _OWN_VARIANCE)),
            day_error=(of_days, min(unsure_of_days + n_days * _SCALE_DRIFT, _DAY_VARIANCE)),
            shrink=shrinkage.later(self.shrink, n_days),
            residual_covariance=self.residual_covariance + n_days * _CLASS_DRIFT * class_covariance(),
        )

    def numbers_of(self, day: Day) -> np.ndarray:
        """Return the number of each of the day's hexagons among those with coefficients, shape (H,).

        Raises:
            ValueError: A hexagon has none.
        """
        if np.setdiff1d(day.names, self.names).size:
            raise ValueError("the state must have coefficients for every hexagon of the day")
        order = np.argsort(self.names)
        return order[np.searchsorted(self.names, day.names, sorter=order)]


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
    names = np.array([], dtype=day.names.dtype)
    log2 = variance**0.5 / np.log(2)  # the scale is larger than the likeliest by half of that
    prior = basis.variances(LASTING, 0) * scale**2
    prior[0] = max(prior[0], centre_variance)  # its function is 1: the centre's own error
    known = {"scale_error": (-log2, 4 * log2**2), "shrink": (0.0, variance + 0.1)}
    state = State(basis, names, np.zeros(prior.size), np.diag(prior), centre, scale, scale, **known)
    return state.with_hexagons(day)
