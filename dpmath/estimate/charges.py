"""How the privacy loss of a day is shared among its private questions."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isqrt

import numpy as np

from dpmath.core.accounting import LARGEST_INVERSE_SCALE, ExactIntArray
from dpmath.core.occupancy import IntArray
from dpmath.estimate.design import RADIUS
from dpmath.estimate.measurement import Norm
from dpmath.estimate.questions import SHARE_BITS

_FIRST_DAY: dict[Norm, dict[str, float]] = {
    "l2": {
        "centre": 0.10,
        "spread": 0.06,
        "coarse": 0.24,
        "coarse shrink": 0.03,
        "map": 0.47,
        "map shrink": 0.02,
        "check": 0.08,
    },
    "l1": {
        "centre": 0.06,
        "spread": 0.04,
        "coarse": 0.12,
        "coarse shrink": 0.02,
        "map": 0.68,
        "map shrink": 0.02,
        "check": 0.06,
    },
}
"""In l1 noise falls with the share, in l2 with its root: it pays more to ask one thing well."""
_LEAST_LIMIT: dict[Norm, int] = {"l1": 1 << 26, "l2": 1 << 46}
"""For less, the question with the smallest share would need more noise than can be drawn."""
_LATER_DAY: dict[Norm, dict[str, float]] = {
    "l2": {"level": 0.03, "level again": 0.03, "map": 0.82, "map shrink": 0.03, "check": 0.09},
    "l1": {"level": 0.03, "level again": 0.03, "map": 0.84, "map shrink": 0.03, "check": 0.07},
}
_OF_BALLS = ("coarse", "level", "level again", "map")
"""Questions that users answer with a vector in a ball."""


@dataclass(frozen=True)
class Charge:
    """A private question's share of the day: its noise, and how far a user who is not short can move the answers.

    Attributes:
        name: Which question.
        sensitivity: The farthest that such a user moves the answers, in the question's norm.
        inverse_scale: LOSS_UNITS over the scale of the noise.
    """

    name: str
    sensitivity: int
    inverse_scale: int


def charges(first: bool, limit: int, norm: Norm) -> Iterator[Charge]:
    """Yield the charge of each question of a day, in their order; together they cost at most the limit.

    Args:
        first: Whether it is the dataset's first day, whose centre and scale are not known.
        limit: What the day may cost a user: rho in units of 2^-101 for l2 balls, epsilon in units of 2^-50 for
            l1 balls.
        norm: The norm of the balls.

    Raises:
        ValueError: The limit is too small or too large for noise that can be drawn.

    Source:
        HV-L52, HV-L53.
    """
    sensitivities = {"spread": 1 << (SHARE_BITS - 1)} | dict.fromkeys(_OF_BALLS, 2 * RADIUS)
    for name, share in (_FIRST_DAY[norm] if first else _LATER_DAY[norm]).items():
        sensitivity = sensitivities.get(name, 1 << SHARE_BITS)
        allowed = max(limit, 0) * round(share * 1000) // 1000
        inverse_scale = (isqrt(allowed) if norm == "l2" else allowed) // sensitivity
        if not 1 <= inverse_scale <= LARGEST_INVERSE_SCALE:
            raise ValueError(f"limit={limit} is too small or too large for the noise of an estimate")
        yield Charge(name, sensitivity, inverse_scale)


def limit_of(budgets: ExactIntArray | None, most: int, norm: Norm) -> int:
    """Return the limit that the questions of a day are made for: the most that any user may lose by them.

    Args:
        budgets: What each user may still lose, shape (L,); None is no limit. If no user has as much as noise that can
            be drawn costs, nobody can be asked, and the limit is the day's.
        most: What the day may cost a user.
        norm: The norm of the balls.

    Source:
        HV-L52.
    """
    if budgets is None:
        return most
    limit = min(max(map(int, budgets), default=0), most)
    return limit if limit >= _LEAST_LIMIT[norm] else most


def reach_of(budgets: ExactIntArray | None, limit: int, n_users: int, norm: Norm) -> IntArray:
    """Return the radius of each user's ball: smaller for a user who has less than the limit left, shape (L,).

    Args:
        budgets: What each user may still lose, shape (L,); None is no limit.
        limit: What the questions may cost a user with a ball of the full radius.
        n_users: Number of users L.
        norm: The norm of the balls.

    Source:
        HV-L52.
    """
    if budgets is None:
        return np.full(n_users, RADIUS, dtype=np.int64)
    limit = max(limit, 1)
    shares = (min(max(int(budget), 0), limit) for budget in budgets)
    if norm == "l1":
        return np.array([RADIUS * share // limit for share in shares], dtype=np.int64)
    return np.array([isqrt(RADIUS * RADIUS * share // limit) for share in shares], dtype=np.int64)
