"""What is measured of a day, and the noisy sums as they were taken."""

from dataclasses import dataclass, field

import numpy as np

from dpmath.estimate.day import FloatArray


@dataclass(frozen=True)
class Design:
    """What is measured, as far as the estimate needs it.

    Attributes:
        loading: Loading of each stratum in each query, shape (R, Q).
        weight: Weight of each pair: a user's vector is the sum over pairs of weight (value - expected) loading, in
            radii of the ball if values are in points, shape (P,).
        length: How long vectors are expected to be before they are scaled down, in radii of the user's ball.
        fields: How strata move by the directions along which all vectors may be long, shape (R, n).
    """

    loading: FloatArray
    weight: FloatArray
    length: float = 0.0
    fields: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))


@dataclass(frozen=True)
class Taken:
    """The noisy sums of one measurement, and what they are sums of.

    Attributes:
        design: What was measured, its loadings times the share that the balls keep.
        sums: The sums about the centre of the values, in radii of the ball, shape (Q,).
        noise: Standard deviation of their noise, in radii.
        expected: What was expected of them when they were asked, shape (Q,).
        cut: By which part of the rest they may be off, for what the balls cut off.
    """

    design: Design
    sums: FloatArray
    noise: float
    expected: FloatArray
    cut: FloatArray | float = 0.0


@dataclass(frozen=True)
class Reading:
    """What a noisy sum over balls tells of what is in them.

    Attributes:
        share: Which share the answer is of what it would be if nothing were cut, of all sums or of each, shape (Q,).
        noise: What the deviation of the noise counts for, where an answer moves less than what is in the balls.
        error: By which part the share may be off.
    """

    share: FloatArray | float
    noise: float
    error: FloatArray | float


@dataclass(frozen=True)
class Read:
    """How the sums that a day was estimated from were read.

    Attributes:
        readings: How each measurement was, in their order; of a first day, which begins with a coarse one, the last.
        shocks: What the variances of the day's mean, and of what else it differs by, are times those of other days.
    """

    readings: tuple[Reading, ...] = ()
    shocks: FloatArray = field(default_factory=lambda: np.ones(2))

    @property
    def cut(self) -> float:
        """By which part the last sums may be off, for what the balls cut off."""
        return float(np.mean(self.readings[-1].error))
