"""What every device knows before it sends: bins, intervals and noise in whole ticks. The standard library alone.

Values are whole ticks from 0 to R. The guarantee rests on nothing but these integers and the device's own draws, so a
device works them out itself from R, tau and alpha, and trusts no other number of the collector.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from dpmath.core import _check
from dpmath.noise.exact import exponential_bounds

FLIP_BITS = 32
"""The probability of a flip is a whole number of 2^-32."""

REACH = 14
"""How many noise scales a report may lie beyond the interval; fewer than 9 in 10 million honest ones would."""


@dataclass(frozen=True)
class LocalProtocol:
    """The public numbers of one collection, for one area.

    Attributes:
        value_range: Largest value R, in ticks, >= 1.
        alpha: Privacy loss of a device in one period, > 0.
        effective_size: mt, the least number of values with which a device votes, >= 1.
        half_width: Half of the width of a bin, tau, in ticks, >= 1.

    Raises:
        ValueError: A number is outside its range, or alpha is so small that a vote would say nothing.
    """

    value_range: int
    alpha: Fraction
    effective_size: int
    half_width: int

    def __post_init__(self) -> None:
        """Check what the reports rely on."""
        _check.positive(alpha=self.alpha)
        _check.at_least(1, value_range=self.value_range, effective_size=self.effective_size, half_width=self.half_width)
        if self.flip_probability >= Fraction(1, 2):
            raise ValueError(f"alpha={self.alpha} must be larger, or a vote says nothing")

    @property
    def n_bins(self) -> int:
        """How many bins of width 2 tau cover 0 to R."""
        return -(-self.value_range // (2 * self.half_width))

    @property
    def left(self) -> int:
        """Left end of the first bin, from -tau to 0; the bins reach as far beyond R, up to one tick."""
        return (self.value_range - 2 * self.half_width * self.n_bins) // 2

    def midpoint(self, number: int) -> int:
        """Return the midpoint of a bin, counted from 0."""
        if not 0 <= number < self.n_bins:
            raise ValueError(f"number={number} must be from 0 to {self.n_bins - 1}")
        return self.left + (2 * number + 1) * self.half_width

    @property
    def bit_loss(self) -> Fraction:
        """Privacy loss of one bit of a ballot: two ballots differ in at most 6 bits, and in no more than there are."""
        return self.alpha / min(6, self.n_bins)

    @cached_property
    def flip_probability(self) -> Fraction:
        """The least whole number of 2^-32 that is at least 1/(1 + exp(bit loss))."""
        _, high = exponential_bounds(self.bit_loss, 2 * FLIP_BITS)
        numerator = -(-(high << FLIP_BITS) // ((1 << 2 * FLIP_BITS) + high))
        return Fraction(numerator, 1 << FLIP_BITS)

    def interval(self, number: int) -> tuple[int, int]:
        """Return the interval that estimates are clipped to once a bin is known: s - 7 tau to s + 7 tau, cut."""
        middle = self.midpoint(number)
        return max(middle - 7 * self.half_width, 0), min(middle + 7 * self.half_width, self.value_range)

    def noise_rate(self, number: int) -> Fraction:
        """Return one over the scale of the noise in an estimate, per tick."""
        lower, upper = self.interval(number)
        return self.alpha / (upper - lower)

    def domain(self, number: int) -> tuple[int, int]:
        """Return the least and the largest estimate that an honest device can send."""
        lower, upper = self.interval(number)
        reach = -(-REACH // self.noise_rate(number))
        return lower - reach, upper + reach
