"""What an estimate of a day is expected to be worth, before it is asked. It reads the occupancy and releases alone."""

import datetime as dt

import numpy as np
import polars as pl

from dpmath.core.accounting import ExactIntArray
from dpmath.core.occupancy import Occupancy
from dpmath.estimate.day import FloatArray
from dpmath.estimate.programme import expected_deviation
from dpmath.estimate.state import POINTS
from tasks.account.ledger import read_entries
from tasks.base.config import Config
from tasks.estimates.asking import asked_of
from tasks.estimates.owner_covariates import covariate_names, with_covariates
from tasks.estimates.public_day import public_day
from tasks.estimates.states import known_before


def expected_deviations(
    date: dt.date, cells: pl.DataFrame, occupancy: Occupancy, losses: ExactIntArray, config: Config
) -> FloatArray | None:
    """Return the standard deviation that each cell is expected to have, in the value's unit; None on the first day.

    Args:
        date: The local day.
        cells: One row per cell, by slot and hexagon: slot_start, h3_cell.
        occupancy: Pairs of cell and user, numbered by the rows above.
        losses: What the day is charged to each user, shape (L,).
        config: Gives the grid and the limit of a day.
    """
    cells = with_covariates(cells, config)
    known = known_before(date, covariate_names(cells), read_entries(config), config)
    if known.state is None:
        return None
    day = public_day(date, cells, occupancy, config)
    asked = asked_of(day, losses.tolist(), known, config)
    return np.asarray(expected_deviation(known.state, asked) * (float(config.value.span) / POINTS), dtype=np.float64)
