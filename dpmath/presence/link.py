"""How values go with how many records a user has: the ball cuts users with many most, so means are off by it."""

import math
from dataclasses import dataclass

from dpmath.core.accounting import ExactIntArray
from dpmath.presence.ball import SHARE_BITS, Ball, sigma
from dpmath.presence.looks import Kept

_DEVIATION = 0.7
"""Before anything is asked, of ``Link.mean``: in a made city where values fall with records by -.5 it was 1.2."""
_MOVES = 0.02
"""The share of its variance by which it moves in a day, back towards 0."""
_FARTHEST = (3.0, 12.0)
"""A user's values may be so many deviations of a user in a cell from the centres, times the mean records of a user: as
many as leave noise at ``_NOISE``. Of what goes with records about one over this number is beyond it."""
_NOISE = 0.05
"""That of a day's answer, in deviations of users: what means are off by was .1 to .15 of them in the same city."""
_MOST_SURPRISE = 2.0
"""An answer that is farther from what was expected, in its deviations, counts as no farther: where hardly anything is
known of a day's users, its mean over records is off by anything."""
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
            size: What they are off by if this is 1, at least 0.
            off: What they are off by, as a noisy answer says.
            unsure: The variance of what else that says.

        Source:
            HV-E32.
        """
        expected = self.variance * size**2 + unsure
        gain, most = self.variance * size / expected, _MOST_SURPRISE * math.sqrt(expected)
        moved = gain * min(max(off - size * self.mean, -most), most)
        return Link(self.mean + moved, (1 - gain * size) * self.variance)


def farthest(ball: Ball, users: float, records: float, variance: float) -> int:
    """Return how far the sum of a user's values may be from the centres, in ticks: beyond, it counts as so far.

    Args:
        ball: The ball of the question, and its noise.
        users: Number of users.
        records: Their records.
        variance: That of a user's mean in a cell, in squared ticks.

    Source:
        HV-E32.
    """
    far = _deviations(ball, users) * math.sqrt(variance) * records / users
    return min(max(round(far), 1), _LARGEST)


def far_from_centres(question: Kept, answers: ExactIntArray, users: float) -> tuple[float, float]:
    """Return how far the sum of all values is from the centres, in ticks, and the variance of what that is off by.

    Args:
        question: What was asked, that too.
        answers: The noisy answers.
        users: Number of users.

    Source:
        HV-E32.
    """
    unit = (question.farthest or 0) / (1 << SHARE_BITS)
    told, noise = float(answers[-1]) * unit, sigma(question.ball) * unit
    return told, noise**2 + (told / _deviations(question.ball, users)) ** 2


def _deviations(ball: Ball, users: float) -> float:
    """Return how many deviations of a user its values may be from the centres."""
    least, most = _FARTHEST
    return min(max(_NOISE * users * ball.radius / sigma(ball), least), most)
