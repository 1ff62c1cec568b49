"""The least error that can be promised for every cell at once, bounded from both sides."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpmath.planner.primal_dual import Start
from dpmath.planner.programme import FloatArray, Programme
from dpmath.planner.solver import SAFETY, least_worst_load

MOST = 0.499
"""The largest error promised: at 1/2 the midpoint keeps the promise without reading any data."""

_LEAST = 1e-12
_WORK = 1_000_000_000
_MOST_STEPS = 20_000
_STALLED = 0.9
_MOST_STALLED = 2
_GAP = 0.004
_ERROR_GAP = 0.005
_BISECTIONS = 40


@dataclass(frozen=True)
class CommonError:
    """What can be promised.

    Attributes:
        possible: An error that a plan within the limits keeps in every cell, if there is a start.
        impossible: No plan within the limits keeps less than this in every cell.
        start: The plan that keeps ``possible``, and prices; None if none was found.
    """

    possible: float
    impossible: float
    start: Start | None


def least_common_error(programme: Programme, fits: float) -> CommonError:
    """Return an error, the same in every cell, that a plan can promise, and a lower bound for all such errors.

    Prices found for one error bound the load for every other error in closed form, and widths do so from above. So
    each solved programme narrows both ends at once, and the next is solved at their middle, in logarithms. The search
    ends if both ends are near, if two programmes in a row hardly narrow them, or if the steps for all programmes are
    used up. In the last case the ends are further apart, but no less certain.

    Args:
        programme: The instance; its own errors are not read.
        fits: The worst load that the plan may have.

    Returns:
        Both ends. In every cell a load falls at least in proportion to the error. So a gap between the loads of plan
        and bound is at least the gap between the errors.

    Source:
        HV-L5.
    """
    low, high, n_left = 0.0, MOST, _steps(programme)
    cover = least_worst_load(programme.with_error(MOST), _GAP, decide_at=fits, at_most=fits, n_steps=n_left)
    start, n_stalled = None, 0
    while True:
        n_left -= cover.n_steps
        before = np.log(high / max(low, _LEAST))
        low = max(low, _impossible(programme, cover.prices))
        possible = _possible(programme, cover.widths, fits)
        if possible is not None and (start is None or possible < high):
            high, start = possible, cover.start
        n_stalled = n_stalled + 1 if np.log(high / low) > _STALLED * before else 0
        if start is None or high <= low * (1 + _ERROR_GAP) or n_stalled == _MOST_STALLED or n_left <= 0:
            return CommonError(high, low * (1 - SAFETY), start)
        middle = programme.with_error(float(np.sqrt(low * high)))
        cover = least_worst_load(middle, _GAP, n_steps=min(n_left, _MOST_STEPS))


def _steps(programme: Programme) -> int:
    """Return how many steps all programmes together may take: fewer if a step takes long."""
    return int(np.clip(_WORK // programme.cell.size, _MOST_STEPS, 2 * _MOST_STEPS))


def _impossible(programme: Programme, prices: FloatArray) -> float:
    """Return the largest error at which the prices prove a worst load above 1."""

    def excluded(error: float) -> bool:
        return float(programme.with_error(error).costs(prices).sum()) * (1 - SAFETY) > 1

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
    """Return the last error found for which ``below`` is True and the first for which it is not, by bisection."""
    low, high = np.log(_LEAST), np.log(MOST)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if below(float(np.exp(middle))) else (low, middle)
    return float(np.exp(low)), float(np.exp(high))
