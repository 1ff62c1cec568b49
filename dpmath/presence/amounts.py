"""What users bring to a cell, records and values: a surface, and the day's own mean about it."""

from dataclasses import dataclass

from dpmath.presence.fields import Basis, Field, FloatArray, Seen, learned


@dataclass(frozen=True)
class Told:
    """Noisy sums of what a day's means are above a public centre: slope times (mean - centre), plus noise.

    Attributes:
        slope: About the number that the mean is taken over, above 0, shape (G,).
        number: The noisy sum plus slope times the centre, shape (G,).
        noise: Variance of the noise and of the slope's own error, above 0, shape (G,).
        of_day: Variance of the day's mean about the surface, above 0, shape (G,).
    """

    slope: FloatArray
    number: FloatArray
    noise: FloatArray
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
    noise = told.noise + told.slope**2 * told.of_day
    found = learned(field, basis, Seen(told.slope, told.number, noise))
    level = found.field.level(basis)
    gain = told.of_day * told.slope**2 / noise
    mean = level + gain * (told.number / told.slope - level)
    variance = (1 - gain) ** 2 * found.variance(basis) + gain * told.noise / told.slope**2
    return Means(found.field, mean, variance * _surprise(field, basis, told), found.log_likelihood)


def _surprise(field: Field, basis: Basis, told: Told) -> float:
    """Return how far sums are from what was expected, squared and over what they should be, at least 1.

    Cells count by how much of what was not known before is not noise.
    """
    expected = told.slope**2 * (field.variance(basis) + told.of_day)
    spread = expected + told.noise
    miss = (told.number - told.slope * field.level(basis)) ** 2 / spread
    weight = told.slope * expected / spread
    return max(1.0, float((weight * miss).sum() / weight.sum()))


def scaled(field: Field, factor: float) -> Field:
    """Return a surface whose variances are a multiple, for trials of a first day.

    Source:
        HV-E23.
    """
    return Field(field.mean, field.covariance * factor, field.own, field.own_variance * factor)
