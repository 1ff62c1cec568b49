"""What an estimate would be worth in any grid, if only how much values differ is known. It reads the occupancy."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import lru_cache

from dpmath.estimate import prospect
from dpmath.estimate.asked import Asked
from dpmath.estimate.day import FloatArray
from dpmath.estimate.state import POINTS
from tasks.kinds.day import GridDay
from tasks.kinds.estimated.asked_day import asked_later
from tasks.kinds.estimated.public_day import public_day

USUAL_DEVIATION = prospect.USUAL_DEVIATION


def deviation_of(spread: float, day: GridDay) -> float:
    """Return the deviation of users, in points, at which a constant would err so much, in the value's unit."""
    return prospect.deviation_of_spread(spread / _unit(day), _asked(day))


def constant_error(day: GridDay, deviation: float) -> float:
    """Return what the best constant is expected to err over all records, in the value's unit."""
    asked = _asked(day)
    state = prospect.prior_state(asked, deviation)
    return prospect.error_of(prospect.constant_deviation(state, asked), asked) * _unit(day)


def deviations(day: GridDay, epsilons: Sequence[Decimal], deviation: float) -> Iterator[FloatArray]:
    """Yield the standard deviation of each cell, in the value's unit, for each limit of a day, shape (G,)."""
    public = _asked(day).day
    asked = [asked_later(public, day.with_epsilon(epsilon).config) for epsilon in epsilons]
    for found in prospect.prospects(asked, deviation):
        yield found * _unit(day)


@lru_cache(maxsize=1)
def _asked(day: GridDay) -> Asked:
    """Return what a day that is not the first would ask."""
    return asked_later(public_day(day.date, day.cells, day.occupancy, day.config), day.config)


def _unit(day: GridDay) -> float:
    """Return the size of a point in the value's unit."""
    return float(day.config.value.span) / POINTS
