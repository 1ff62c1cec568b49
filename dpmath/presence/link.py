"""How values go with how many records a user has: the ball cuts users with many most, so means are off by it."""

import math
from dataclasses import dataclass

from dpmath.core.accounting import ExactIntArray
from dpmath.presence.ball import SHARE_BITS, sigma
from dpmath.presence.looks import Kept

_DEVIATION = 0.7
"""Before anything is asked, of ``Link.mean``: in a made city where values fall with records by -.5 it was 1.2."""
_MOVES = 0.02
"""The share of its variance by which it moves in a day, back towards 0."""
_FARTHEST = 3.0
"""A user's values may be so many deviations of a user in a cell from the centres, times the mean records of a user.
Noise grows with it; in the same city a tenth of what means are off by is beyond it."""
_LARGEST = 1 << 40


@dataclass(frozen=True)
class Link:
    """What means are off by all over the city, in deviations of users times what users with long vectors lose more.

    Attributes:
        mean: What it is thought to be.
        variance: Its variance.
    """

    mean: float
    variance: float

    @classmethod
    def guessed(cls) -> "Link":
        """Return what is thought before anything is asked."""
        return cls(0.0, _DEVIATION**2)

    def a_day_later(self) -> "Link":
        """Return what is known a day later."""
        return Link(math.sqrt(1 - _MOVES) * self.mean, (1 - _MOVES) * self.variance + _MOVES * _DEVIATION**2)

    def told(self, size: float, off: float, unsure: float) -> "Link":
        """Return what is known after a look at what a day's means are off by.

        Args:
            size: What they are off by if this is 1, above 0.
            off: What they are off by, as a noisy answer says.
            unsure: The variance of what else that says.

        Source:
            HV-E32.
        """
        gain = self.variance * size / (self.variance * size**2 + unsure)
        return Link(self.mean + gain * (off - size * self.mean), (1 - gain * size) * self.variance)


def far_from_centres(question: Kept, answers: ExactIntArray) -> tuple[float, float]:
    """Return how far the sum of all values is from the centres, in ticks, and the variance of the noise in that.

    Args:
        question: What was asked, that too.
        answers: The noisy answers.

    Source:
        HV-E32.
    """
    unit = (question.farthest or 0) / (1 << SHARE_BITS)
    return float(answers[-1]) * unit, (sigma(question.ball) * unit) ** 2


def farthest(variance: float, records: float) -> int:
    """Return how far the sum of a user's values may be from the centres, in ticks: beyond, it counts as so far.

    Args:
        variance: That of a user's mean in a cell, in squared ticks.
        records: Mean records of a user.

    Source:
        HV-E32.
    """
    return min(max(round(_FARTHEST * math.sqrt(variance) * records), 1), _LARGEST)
