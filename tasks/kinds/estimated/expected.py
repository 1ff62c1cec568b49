"""What an estimate of a day is expected to be worth, before it is asked. It reads the occupancy and releases alone."""

import datetime as dt
import math
from bisect import bisect_left
from dataclasses import dataclass
from decimal import Decimal

import polars as pl

from dpmath.core.accounting import ExactIntArray
from dpmath.core.occupancy import Occupancy
from dpmath.estimate.asked import Asked
from dpmath.estimate.day import Day, FloatArray
from dpmath.estimate.prospect import error_of, expected_deviation, first_deviations
from dpmath.estimate.state import POINTS
from tasks.account.ledger import read_entries
from tasks.base.config import Config
from tasks.kinds.estimated.asked_day import Known, asked_of
from tasks.kinds.estimated.owner_covariates import covariate_names
from tasks.kinds.estimated.public_day import public_day
from tasks.kinds.estimated.states import known_before

_STEP, _MOST_STEPS = 1.25, 20
"""By which factors a day's loss is multiplied to find how much would be enough: to 87 times as much."""


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


def first_errors(date: dt.date, cells: pl.DataFrame, occupancy: Occupancy, config: Config) -> tuple[float, float]:
    """Return the error over all records that a first day is expected to have, and that of the best constant.

    Both are in the value's unit, and as what is guessed of values tells.

    Args:
        date: The local day.
        cells: One row per cell, as ``expected_estimate`` has them.
        occupancy: Pairs of cell and user, numbered by the rows above.
        config: Gives the grid and the limit of a day.
    """
    asked = _asked(public_day(date, cells, occupancy, config), Known(None, None, 0, 1), config)
    deviation, constant = first_deviations(asked)
    unit = float(config.value.span) / POINTS
    return error_of(deviation, asked) * unit, error_of(constant, asked) * unit


def enough(
    date: dt.date, cells: pl.DataFrame, occupancy: Occupancy, spread: float | None, config: Config
) -> Decimal | None:
    """Return about which epsilon_per_day makes a day's map nearer to the truth than one right number for all cells.

    Args:
        date: The local day.
        cells: One row per cell, as ``expected_estimate`` has them.
        occupancy: Pairs of cell and user, numbered by the rows above.
        spread: What the best constant errs, in the value's unit; None on a first day, when it is guessed.
        config: Gives the grid and the limit of a day.

    Returns:
        The epsilon, to two digits; None if 87 times as much is too little, or the map is no guess as it is.
    """
    known = known_before(date, covariate_names(cells), read_entries(config), config)
    epsilon, day = config.privacy.epsilon_per_day, public_day(date, cells, occupancy, config)

    def is_enough(step: int) -> bool:
        privacy = config.privacy.model_copy(update={"epsilon_per_day": epsilon * Decimal(_STEP) ** step})
        asked = _asked(day, known, config.model_copy(update={"privacy": privacy}))
        if known.state is None:
            deviation, constant = first_deviations(asked)
            return error_of(deviation, asked) < error_of(constant, asked)
        error = error_of(expected_deviation(known.state, asked)[0], asked)
        return spread is not None and error * float(config.value.span) / POINTS < spread

    step = bisect_left(range(_MOST_STEPS + 1), 1, key=is_enough)
    return round(epsilon * Decimal(_STEP) ** step, 3).normalize() if 0 < step <= _MOST_STEPS else None


def _asked(day: Day, known: Known, config: Config) -> Asked:
    """Return what a day's questions are made from where each user has the whole limit of the day."""
    return asked_of(day, [config.privacy.loss_per_day] * day.occupancy.n_users, known, config)
