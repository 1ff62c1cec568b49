"""What users bring to a cell, records and values: a surface, and the day's own mean about it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpmath.presence.basis import Basis, FloatArray
from dpmath.presence.errors import Off
from dpmath.presence.fields import Field, Learned
from dpmath.presence.numbers import Numbers
from dpmath.presence.priors import FIRST_ROUNDS, likelier, taken_as

_SIZES = np.arange(-2.0, 2.0)


@dataclass(frozen=True)
class Told:
    """Noisy numbers of what a day's cells hold: slope times the day's mean, plus an offset.

    Attributes:
        numbers: The noisy numbers.
        slope: About the number that the mean is taken over, above 0, shape (G,).
        offset: What is taken off for the public centre, shape (G,).
        of_slope: Variance of what a cell holds that comes of errors of the slope, shape (G,).
        of_day: Variance of the day's mean about the surface, above 0, shape (G,).
        alike: The part of that which the cells of a hexagon have in common, shape (G,).
        spare: How much more of both intervals allow for, as it is not known well.
    """

    numbers: Numbers
    slope: FloatArray
    offset: FloatArray
    of_slope: FloatArray
    of_day: FloatArray
    alike: FloatArray
    spare: float = 1.0

    @property
    def varies(self) -> FloatArray:
        """Variance of what a cell holds about the surface, shape (G,)."""
        return self.slope**2 * self.of_day + self.of_slope


@dataclass(frozen=True)
class Means:
    """The day's means in each cell, estimated.

    Attributes:
        before: The surface as it was taken to be before.
        field: The surface.
        mean: The day's mean, shape (G,).
        variance: Its variance, above 0, shape (G,).
        off: What makes up that variance.
    """

    before: Field
    field: Field
    mean: FloatArray
    variance: FloatArray
    off: Off


def first_means_of(field: Field, basis: Basis, told: Told) -> Means:
    """Return the day's means on a first day, where it is learned too how variable the surface is.

    Source:
        HV-E23, HV-E26.
    """
    field = of_likely_size(field, basis, told)
    found = _learned(field, basis, told)
    for _ in range(FIRST_ROUNDS):
        field = taken_as(field, likelier(found.field, basis), basis)
        found = _learned(field, basis, told)
    return _means(field, found, basis, told)


def of_likely_size(field: Field, basis: Basis, told: Told) -> Field:
    """Return the field with variances, but the city's, of the size that the numbers tell of.

    It is the mean of a few on the scale of logarithms, by how likely they make the numbers: where these tell little,
    the likeliest is often too small. A factor of four is one standard deviation.

    Source:
        HV-E26.
    """

    def sized(size: float) -> Field:
        return taken_as(field, field.prior.times(4.0**size, but_city=True), basis)

    likely = np.array([_learned(sized(size), basis, told).log_likelihood for size in _SIZES]) - _SIZES**2 / 2
    return sized(float(np.average(_SIZES, weights=np.exp(likely - likely.max()))))


def likeliest_means(fields: Sequence[Field], basis: Basis, told: Told) -> Means:
    """Return the day's means from noisy sums: what the surface tells, corrected by a cell's own sum.

    Where sums are further from what was expected than they should be, the variance grows by as much.

    Args:
        fields: What is known before, at several paces, of which the likeliest is taken.
        basis: What the surface is made of.
        told: The noisy sums.

    Source:
        HV-E23, HV-E26.
    """
    tried = [(field, _learned(field, basis, told)) for field in fields]
    return _means(*max(tried, key=lambda one: one[1].log_likelihood), basis, told)


def _means(field: Field, found: Learned, basis: Basis, told: Told) -> Means:
    """Return the day's means, from what was known of the surface before and what is known after."""
    slope, varies = told.slope, told.varies
    expected = slope * found.field.level(basis) + told.offset
    held, kept, _ = told.numbers.corrected(expected, varies)
    part = slope**2 * told.of_day / varies  # of the correction, what is the day's own and not the slope's error
    level = found.field.level(basis)
    mean = level + part * (held - expected) / slope
    left = 1 - part * (1 - kept)
    surprise = told.numbers.surprise(field, basis, slope, told.offset, varies)
    spare = surprise * told.spare * left
    alone = surprise * left**2 * found.field.own_variance + spare * (told.of_day - told.alike)
    off = Off(
        np.sqrt(surprise) * left * found.left,
        found.field.covariance,
        np.zeros((left.size, 0)),
        np.sqrt(spare * told.alike),
        alone,
    )
    return Means(field, found.field, mean, off.variance(basis), off)


def _learned(field: Field, basis: Basis, told: Told) -> Learned:
    """Return what is known of the surface after a look at noisy sums."""
    return told.numbers.learned(field, basis, told.slope, told.offset, told.varies)
