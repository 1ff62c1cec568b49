"""What users bring to a cell, records and values: a surface, and the day's own mean about it."""

from dataclasses import dataclass

from dpmath.presence.fields import Basis, Field, FloatArray
from dpmath.presence.numbers import Numbers


@dataclass(frozen=True)
class Told:
    """Noisy numbers of what a day's cells hold: slope times the day's mean, plus an offset.

    Attributes:
        numbers: The noisy numbers.
        slope: About the number that the mean is taken over, above 0, shape (G,).
        offset: What is taken off for the public centre, shape (G,).
        of_slope: Variance of what a cell holds that comes of errors of the slope, shape (G,).
        of_day: Variance of the day's mean about the surface, above 0, shape (G,).
    """

    numbers: Numbers
    slope: FloatArray
    offset: FloatArray
    of_slope: FloatArray
    of_day: FloatArray


@dataclass(frozen=True)
class Means:
    """The day's means in each cell, estimated.

    Attributes:
        field: The surface.
        mean: The day's mean, shape (G,).
        variance: Its variance, above 0, shape (G,).
        log_likelihood: Of the sums.
    """

    field: Field
    mean: FloatArray
    variance: FloatArray
    log_likelihood: float


def means_of(field: Field, basis: Basis, told: Told) -> Means:
    """Return the day's means from noisy sums: what the surface tells, corrected by a cell's own sum.

    Where sums are further from what was expected than they should be, the variance grows by as much.

    Args:
        field: What is known before.
        basis: What the surface is made of.
        told: The noisy sums.

    Source:
        HV-E23.
    """
    slope, of_day = told.slope, told.slope**2 * told.of_day
    seen = (field, basis, slope, told.offset, of_day + told.of_slope)
    found = told.numbers.learned(*seen)
    expected = slope * found.field.level(basis) + told.offset
    held, kept, _ = told.numbers.corrected(expected, of_day + told.of_slope)
    part = of_day / (of_day + told.of_slope)  # of the correction, what is the day's own and not the slope's error
    level = found.field.level(basis)
    mean = level + part * (held - expected) / slope
    left = 1 - part * (1 - kept)
    variance = left**2 * found.variance(basis) + left * told.of_day
    return Means(found.field, mean, variance * told.numbers.surprise(*seen), found.log_likelihood)


def scaled(field: Field, factor: float) -> Field:
    """Return a surface whose variances are a multiple, for trials of a first day.

    Source:
        HV-E23.
    """
    return Field(field.mean, field.covariance * factor, field.own, field.own_variance * factor)
