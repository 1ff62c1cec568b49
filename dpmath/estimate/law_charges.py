"""What the questions about the law of records take of a day, and whether they could tell anything of it."""

from collections.abc import Iterator, Mapping
from math import isqrt

import numpy as np

from dpmath.core.accounting import LARGEST_INVERSE_SCALE, LOSS_UNITS
from dpmath.core.occupancy import IntArray
from dpmath.estimate.charges import Charge
from dpmath.estimate.law_city import MOST_THRESHOLDS, radius_of_shares
from dpmath.estimate.questions import SHARE_BITS
from dpmath.estimate.whole import RADIUS

FIRST = {"law": 50, "shape": 26, "shape shrink": 4}
"""The questions of the day on which the city's law is asked about, and the thousandths of the day that each takes."""
LATER = {"shape": 146, "shape shrink": 4}
"""Those of every other day, on which the map needs less."""
Asks = Mapping[str, int]
_WORST_NOISE = 0.15
"""Of the share of the city's records below a point: with more, nothing is told that was not supposed."""


def limit_of_map(limit: int, asks: Asks) -> int:
    """Return what is left of a day's limit for the questions about the map.

    Args:
        limit: What the day may cost a user, in units of 2^-101 of rho.
        asks: The questions about the law that are asked, ``FIRST``, ``LATER`` or none.

    Source:
        HV-L55.
    """
    return limit * (1000 - sum(asks.values())) // 1000


def law_charges(limit: int, asks: Asks) -> Iterator[Charge]:
    """Yield the charge of each question; together they cost at most what ``limit_of_map`` leaves of the limit.

    Args:
        limit: What the day may cost a user, in units of 2^-101 of rho.
        asks: The questions that are asked, ``FIRST``, ``LATER`` or none.

    Raises:
        ValueError: The limit is too small or too large for noise that can be drawn.

    Source:
        HV-L55.
    """
    for name, share in asks.items():
        sensitivity = 1 << SHARE_BITS if name == "shape shrink" else 2 * RADIUS
        inverse_scale = isqrt(max(limit, 0) * share // 1000) // sensitivity
        if not 1 <= inverse_scale <= LARGEST_INVERSE_SCALE:
            raise ValueError(f"limit={limit} is too small or too large for the noise of a law")
        yield Charge(name, sensitivity, inverse_scale)


def share_noise(limit: int, radius: IntArray) -> float:
    """Return the standard deviation with which a share of the city's records would be known on a first day.

    Args:
        limit: What the day may cost a user, in units of 2^-101 of rho.
        radius: Radius of each user's ball, shape (L,).

    Source:
        HV-E10.
    """
    inverse_scale = isqrt(max(limit, 0) * FIRST["law"] // 1000) / (2 * RADIUS)
    users = float(np.sum(radius)) / RADIUS
    if not inverse_scale or not users:
        return np.inf
    return radius_of_shares(MOST_THRESHOLDS) * LOSS_UNITS / inverse_scale / RADIUS / users


def tells(limit: int, radius: IntArray) -> bool:
    """Return whether users and limit are large enough for the law of records to be asked about.

    Source:
        HV-E10.
    """
    return share_noise(limit, radius) <= _WORST_NOISE
