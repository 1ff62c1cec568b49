"""What an estimate of a day is expected to be worth, before it is asked. It reads the occupancy and releases alone."""

import datetime as dt
import math
from dataclasses import dataclass

import polars as pl

from dpmath.core.accounting import ExactIntArray
from dpmath.core.occupancy import Occupancy
from dpmath.estimate.day import FloatArray
from dpmath.estimate.prospect import expected_deviation
from dpmath.estimate.state import POINTS
from tasks.account.ledger import read_entries
from tasks.base.config import Config
from tasks.kinds.estimated.asked_day import asked_of
from tasks.kinds.estimated.owner_covariates import covariate_names
from tasks.kinds.estimated.public_day import public_day
from tasks.kinds.estimated.states import known_before


@dataclass(frozen=True)
class Expected:
    """What each cell of an estimate is expected to be worth.

    Attributes:
        deviation: The standard deviation, in the value's unit, shape (G,).
        day_share: How much of the variance before the day its own data remove, from 0 to 1, shape (G,).
    """

    deviation: FloatArray
    day_share: FloatArray

    @property
    def error(self) -> FloatArray:
        """The expected absolute error of a normal one, in the value's unit, shape (G,)."""
        return self.deviation * math.sqrt(2 / math.pi)


def expected_estimate(
    date: dt.date, cells: pl.DataFrame, occupancy: Occupancy, losses: ExactIntArray, config: Config
) -> Expected | None:
    """Return what each cell of a day's estimate is expected to be worth; None on the first day.

    Args:
        date: The local day.
        cells: One row per cell, by slot and hexagon: slot_start, h3_cell, and the owner's covariates.
        occupancy: Pairs of cell and user, numbered by the rows above.
        losses: What the day is charged to each user, shape (L,).
        config: Gives the grid and the limit of a day.
    """
    known = known_before(date, covariate_names(cells), read_entries(config), config)
    if known.state is None:
        return None
    day = public_day(date, cells, occupancy, config)
    asked = asked_of(day, losses.tolist(), known, config)
    deviation, day_share = expected_deviation(known.state, asked)
    return Expected(deviation * (float(config.value.span) / POINTS), day_share)
