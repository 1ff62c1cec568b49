"""The tables that say how the errors of cells go together, so that areas and periods can be answered from files."""

import datetime as dt
from typing import NamedTuple

import numpy as np
import polars as pl

from dpmath.joint.loadings import Loadings
from dpmath.presence.errors import Off, loadings_of
from dpmath.presence.estimate import Estimate
from tasks.account.entry import Stated
from tasks.account.said_first import WHOLE_DAY
from tasks.output_formats.joint import (
    JOINT,
    JOINT_USERS,
    joint_frame,
    records_off,
    says_another,
    stated_day,
    stated_error,
)
from tasks.presence.config import PresenceConfig
from tasks.presence.states import asked
from tasks.presence.table import in_unit, places

_LEAST_WEIGHT = 0.01
"""Cells in which nobody is expected count so much, in users or records, where errors are fitted."""
_DECIMALS = 3


class Joint(NamedTuple):
    """The tables, and how exact they are.

    Attributes:
        tables: By the name of their file: of means, if there are any, and of users.
        least: The least standard deviation of an area by the tables, as a share of the exact one.
        largest: The largest such share.
    """

    tables: dict[str, pl.DataFrame]
    least: float
    largest: float


def joint_tables(estimate: Estimate, date: dt.date, config: PresenceConfig) -> Joint:
    """Return the tables of a day.

    They have all cells of the area, also those too small for the other files: areas are added up from all.

    Args:
        estimate: The day's estimate.
        date: The local day.
        config: The configuration.
    """
    cells = pl.DataFrame(places(date, config)).with_columns(pl.col("slot_start").cast(pl.Datetime("us", "UTC")))
    users, public = estimate.n_users.mean, asked(config)

    def few(off: Off, weight: np.ndarray) -> Loadings:
        return loadings_of(off, public.grid, public.basis, np.maximum(weight, _LEAST_WEIGHT))

    of_users = few(estimate.users_off, np.ones_like(users))  # each cell of an area counts once
    used, tables = [of_users], {JOINT_USERS: joint_frame(cells, {"n_users": users.round(_DECIMALS)}, of_users, 1.0)}
    if config.statistics.mean:
        records = estimate.n_records
        numbers = {
            "n_records": records.mean.round(_DECIMALS),
            "n_records_sd": np.sqrt(records.variance).round(_DECIMALS),
            "cell_mean": in_unit(estimate.mean.mean, config),
        }
        used.append(few(estimate.mean_off, records.mean))
        tables[JOINT] = joint_frame(cells, numbers, used[-1], config.tick)
    there = {name: table.drop_nulls("slot_start") for name, table in tables.items()}
    return Joint(there, min(one.least for one in used), max(one.largest for one in used))


def described_error(joint: Joint) -> Stated:
    """Return what the ledger states of how exact the tables are."""
    return {"joint_error": stated_error(joint.least, joint.largest)}


def described_day(tables: dict[str, pl.DataFrame]) -> Stated:
    """Return what the ledger states of the whole day: the mean over all its records, if there is one."""
    if JOINT not in tables:
        return {}
    return {WHOLE_DAY: stated_day(tables[JOINT], records_off(tables[JOINT], tables[JOINT_USERS]))}


def says_something_else(expected: pl.DataFrame, found: pl.DataFrame, config: PresenceConfig, tolerance: float) -> bool:
    """Return whether a table says something else than the one that is made again.

    Args:
        expected: The table as it is made again.
        found: The released table.
        config: Gives the range of values.
        tolerance: How far numbers may differ, as a share of the range or of the largest number.
    """
    is_of_users = "cell_mean" not in expected.columns
    span = float(expected["n_users"].to_numpy().max(initial=1.0)) if is_of_users else float(config.value.span)
    return says_another(expected, found, tolerance * span)
