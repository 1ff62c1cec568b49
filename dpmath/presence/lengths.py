"""How long users' vectors are, and so what balls keep of them: learned over the days from noisy answers."""

import math
from dataclasses import dataclass

import numpy as np

from dpmath.presence.basis import FloatArray
from dpmath.presence.weights import USUAL_LOG_LENGTH, share_of

USERS, RECORDS, PAIRS = range(3)
"""What the ball for users keeps of users' cells; what that for records and values keeps of records, and of cells."""
MEANT = (USERS, RECORDS, RECORDS)
"""By which of them the budget of the ball of each goes."""
_MEAN = ((0.8, 0.5, 0.5), (0.0, 0.0, 0.0))
_DEVIATION = ((0.6, 0.4, 0.4), (0.25, 0.25, 0.25))
_MOVES = 0.2
"""Of the logarithm of a typical length, before any is seen: where sums over cells are asked, a user's cells go together
in them, and most in sums of users. In made cities and Austin it was -.2 to 1.5 for these, and -.4 to .4 for cells. And
the share of its variance by which it moves in a day."""
_UNLIKE = 0.05
"""How far shares are from those of lognormal lengths."""
LEAST_SHARE = 0.1
_TRIED, _STEP = np.linspace(-4.0, 4.0, 41, retstep=True)


@dataclass(frozen=True)
class Share:
    """What a ball kept.

    Attributes:
        mean: The share.
        unsure: The deviation of what it is off by, over the share.
    """

    mean: float
    unsure: float


@dataclass(frozen=True)
class Lengths:
    """Logarithms of typical lengths over what they would be if what a user has in its cells were independent.

    There are two rows, as questions are of two kinds: sums over many cells, and a number of each cell.

    Attributes:
        mean: What they are thought to be, of each share of ``USERS``, ``RECORDS`` and ``PAIRS``, shape (2, 3).
        variance: Its variance, shape (2, 3).
    """

    mean: FloatArray
    variance: FloatArray

    @classmethod
    def guessed(cls) -> "Lengths":
        """Return what is thought before anything is asked."""
        return cls(np.array(_MEAN), np.array(_DEVIATION) ** 2)

    def a_day_later(self) -> "Lengths":
        """Return what is known a day later: all has moved, and back towards the guess."""
        guess, known = Lengths.guessed(), 1 - _MOVES
        mean = guess.mean + math.sqrt(known) * (self.mean - guess.mean)
        return Lengths(mean, known * self.variance + _MOVES * guess.variance)

    def squares(self, share: int) -> FloatArray:
        """Return the mean squares of lengths, if cells were independent, of which a ball keeps what it is meant to.

        They are those of sums over many cells, and of a number of each cell, shape (2,).
        """
        return np.exp(2 * (USUAL_LOG_LENGTH - self.mean[:, share]))

    def told(self, share: int, is_of_cells: bool, square: float, kept: float, noise: float) -> tuple["Lengths", Share]:
        """Return what is known after a look at what a ball kept, and what it kept.

        Args:
            share: Which share it is.
            is_of_cells: Whether each cell had a number of its own.
            square: The mean square of lengths that was asked for.
            kept: What it kept, as noisy answers say.
            noise: The deviation of their noise.

        Source:
            HV-E21.
        """
        at = int(is_of_cells), share
        off = math.sqrt(self.variance[at]) * _TRIED
        shares, likely = share_of(self.mean[at] + math.log(square) / 2 + off), -(_TRIED**2) / 2
        before = np.exp(likely)
        expected = float(np.average(shares, weights=before))
        spread = float(np.average((shares - expected) ** 2, weights=before)) + _UNLIKE**2
        gain = spread / (spread + noise**2)
        found = min(max(expected + gain * (kept - expected), LEAST_SHARE), 1.0)
        likely -= (kept - shares) ** 2 / (noise**2 + _UNLIKE**2) / 2
        after = np.exp(likely - likely.max())
        moved = float(np.average(off, weights=after))
        between = self.variance[at] * _STEP**2 / 12  # what was tried
        mean, variance = self.mean.copy(), self.variance.copy()
        mean[at] += moved
        variance[at] = np.average((off - moved) ** 2, weights=after) + between
        return Lengths(mean, variance), Share(found, math.sqrt(spread * (1 - gain)) / found)
