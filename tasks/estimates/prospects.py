"""What an estimate would be worth in any grid, if only how much values differ is known. It reads the occupancy."""

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property

import polars as pl

from dpmath.core.occupancy import Occupancy
from dpmath.estimate import prospect
from dpmath.estimate.day import FloatArray
from dpmath.estimate.programme import Asked
from dpmath.estimate.state import POINTS
from tasks.base.config import Config
from tasks.estimates.asking import asked_later
from tasks.estimates.public_day import public_day

USUAL_DEVIATION = prospect.USUAL_DEVIATION
_MOST_COEFFICIENTS = 10_000
"""Memory grows with the square of the number, to about 4 GB."""


@dataclass(frozen=True)
class GridDay:
    """A day in some grid.

    Attributes:
        date: The local day.
        cells: One row per cell: slot_start, h3_cell.
        occupancy: Pairs of cell and user, numbered by the rows above.
        config: Gives the grid, the value, the definition and the limit of a day.
    """

    date: dt.date
    cells: pl.DataFrame
    occupancy: Occupancy
    config: Config

    @property
    def is_too_large(self) -> bool:
        """Whether it has so many hexagons that its model needs too much memory."""
        return prospect.n_coefficients(self.asked) > _MOST_COEFFICIENTS

    @cached_property
    def asked(self) -> Asked:
        """What a day that is not the first would ask."""
        return asked_later(public_day(self.date, self.cells, self.occupancy, self.config), self.config)

    def with_epsilon(self, epsilon: Decimal) -> "GridDay":
        """Return the day with another limit."""
        privacy = self.config.privacy.model_copy(update={"epsilon_per_day": epsilon})
        return replace(self, config=self.config.model_copy(update={"privacy": privacy}))

    def deviation_of(self, spread: float) -> float:
        """Return the deviation of users, in points, at which a constant would err so much, in the value's unit."""
        return prospect.deviation_of_spread(spread / self._unit, self.asked)

    def constant_error(self, deviation: float) -> float:
        """Return what the best constant is expected to err over all records, in the value's unit."""
        state = prospect.prior_state(self.asked, deviation)
        return prospect.error_of(prospect.constant_deviation(state, self.asked), self.asked) * self._unit

    def deviations(self, epsilons: Sequence[Decimal], deviation: float) -> Iterator[FloatArray]:
        """Yield the standard deviation of each cell, in the value's unit, for each limit of a day, shape (G,)."""
        day = self.asked.day
        asked = [asked_later(day, self.with_epsilon(epsilon).config) for epsilon in epsilons]
        for found in prospect.prospects(asked, deviation):
            yield found * self._unit

    @property
    def _unit(self) -> float:
        """The size of a point in the value's unit."""
        return float(self.config.value.span) / POINTS
