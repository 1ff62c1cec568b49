"""Private quantiles of integers, by the exponential mechanism over every tick of their range."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpmath.core import _check
from dpmath.noise.sampling import RandomBytes
from dpmath.noise.selection import ExponentialMechanism


@dataclass(frozen=True)
class PrivateQuantile:
    """The exponential mechanism over the points 0, 1, ..., largest, in runs that have the same score.

    Attributes:
        starts: First point of each run.
        mechanism: Draws a run, and a point of it.
    """

    starts: list[int]
    mechanism: ExponentialMechanism

    def draw(self, random_bytes: RandomBytes) -> int:
        """Return a point from 0 to ``largest``."""
        run, offset = self.mechanism.draw(random_bytes)
        return self.starts[run] + offset


def private_quantile(
    private_values: Sequence[int], largest: int, rank: Fraction | int, rate: Fraction
) -> PrivateQuantile:
    """Return the mechanism that draws a point with about ``rank`` of the values below it.

    The score of a point x is abs((number of values < x) - rank), and P(x) is proportional to exp(-rate score).
    A user who can change at most k of the values moves the score of every point by at most k. So a draw costs
    that user at most 2 rate k.

    Args:
        private_values: The values, integers from 0 to ``largest``, at least one.
        largest: Largest possible value, >= 1.
        rank: How many values should be below the point, from 0 to the number of values; q times their number
            for the q-quantile.
        rate: Loss of likelihood per rank, > 0.

    Returns:
        The mechanism, for one or more independent draws.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        STI-S3.5 (Smith 2011, Algorithm 2, over ticks), HV-L44.
    """
    _check.at_least(1, largest=largest, n_values=len(private_values))
    if not 0 <= rank <= len(private_values):
        raise ValueError(f"rank={rank} must be from 0 to {len(private_values)}")
    ends = [int(value) for value in sorted(private_values)] + [int(largest)]
    if ends[0] < 0 or ends[-2] > largest:
        raise ValueError(f"every value must be from 0 to {largest}")
    starts = [0] + [end + 1 for end in ends[:-1]]
    sizes = [end + 1 - start for start, end in zip(starts, ends, strict=True)]
    scores = [abs(below - Fraction(rank)) for below in range(len(ends))]
    return PrivateQuantile(starts, ExponentialMechanism(sizes, scores, rate))
