"""The least error that can be promised for every cell at once, between what is possible and what is not."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpmath.programme import FloatArray, Programme
from dpmath.solver import SAFETY, least_worst_load
from dpmath.steps import Start

MOST = 0.499
"""The largest error promised: at 1/2 the midpoint keeps the promise without reading any data."""

_LEAST = 1e-12
_SOLVES = 20
_GAP = 0.004
_ERROR_GAP = 0.005
_BISECTIONS = 40


@dataclass(frozen=True)
class CommonError:
    """What can be promised.

    Attributes:
        possible: An error that a plan within the limits keeps in every cell, if there is a start.
        impossible: No plan within the limits keeps less than this in every cell.
        start: The plan that keeps ``possible``, and prices; None where none was found.
    """

    possible: float
    impossible: float
    start: Start | None


def least_common_error(programme: Programme, fits: float) -> CommonError:
    """Return an error, the same in every cell, that a plan can promise, and one that none can promise less than.

    Prices found for one error bound the load for every other error in closed form, and so do widths from above:
    each programme solved narrows both ends at once, in logarithms, and the next is solved at their middle.

    Args:
        programme: The instance; its own errors are not read.
        fits: The worst load that the plan may have.

    Returns:
        Both ends. In every cell a load falls at least in proportion to the error, so a gap between the loads of plan
        and bound is at least the gap between the errors.

    Source:
        HV-L5.
    """
    low = _impossible(programme, np.full(programme.limits.size, 1 / programme.limits.size))
    high, start = MOST, None
    for _ in range(_SOLVES):
        if high <= low * (1 + _ERROR_GAP):
            break
        cover = least_worst_load(programme.with_error(float(np.sqrt(low * high))), _GAP)
        low = max(low, _impossible(programme, cover.prices))
        possible = _possible(programme, cover.widths, fits)
        if possible is not None and (start is None or possible < high):
            high, start = possible, Start(cover.spending, cover.scale, cover.prices)
    return CommonError(high, low * (1 - SAFETY), start)


def _impossible(programme: Programme, prices: FloatArray) -> float:
    """Return the largest error at which the prices prove a worst load above 1."""

    def excluded(error: float) -> bool:
        return float(programme.with_error(error).cheapest(prices)[0].sum()) * (1 - SAFETY) > 1

    return MOST if excluded(MOST) else _edge(excluded)[0]


def _possible(programme: Programme, widths: FloatArray, fits: float) -> float | None:
    """Return the least error that the widths keep within the limits."""
    sums = programme.sums(widths)

    def too_small(error: float) -> bool:
        over = sums - programme.with_error(error).need
        if over.min() <= 0:
            return True
        return bool(programme.loads(widths * (2 / over)[programme.cell]).max() > fits)

    return None if too_small(MOST) else _edge(too_small)[1]


def _edge(below: Callable[[float], bool]) -> tuple[float, float]:
    """Return the last error found at which something is so and the first at which it is not, by bisection."""
    low, high = np.log(_LEAST), np.log(MOST)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if below(float(np.exp(middle))) else (low, middle)
    return float(np.exp(low)), float(np.exp(high))
