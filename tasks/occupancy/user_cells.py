"""Occupancy: how often each user was in each cell of a day, and what the user's records add up to."""

import datetime as dt
import logging
from typing import Any

from tasks.base import schemas, warehouse
from tasks.base.config import Config
from tasks.base.durable import canonical_json, sha256
from tasks.base.errors import HexveilError
from tasks.base.logs import say
from tasks.base.steps import step
from tasks.occupancy.placing import find_cells

log = logging.getLogger("hexveil.occupancy")


def prepared_by(date: dt.date, config: Config) -> dict[str, Any]:
    """Return by what it is known that a day's occupancy was written with these settings."""
    return {"date": date, "settings_hash": sha256(canonical_json(config.public_settings()))}


@step("occupancy {config.dataset.name} {date}")
def build_occupancy(date: dt.date, config: Config) -> None:
    """Write a day's occupancy array anew, with each user's exact integer totals per cell, and what it was made from.

    Args:
        date: The local day.
        config: Says the ticks, and whether sums of squares are needed.

    Raises:
        SchemaBroken: The valid records break the contract of their schema.
    """
    with warehouse.connect(config) as connection:
        apart = find_cells(connection, {"date": date})
        with warehouse.transaction(connection):
            fill_user_cells(connection, date, config, apart)
            note_prepared(connection, date, config)


def fill_user_cells(connection: warehouse.Connection, date: dt.date, config: Config, apart: bool) -> None:
    """Write a day's occupancy array anew from the valid records of a warehouse, any warehouse.

    Args:
        connection: Of the warehouse.
        date: The local day.
        config: Says the ticks, and whether sums of squares are needed.
        apart: What ``find_cells`` returned.

    Raises:
        SchemaBroken: The valid records break the contract of their schema.
    """
    settings = {"n_ticks": config.value.n_ticks, "with_squares": config.statistics.variance, "apart": apart}
    warehouse.run(connection, "scratch/day_pair", {"date": date, **settings})
    _check_contract(connection, config)
    warehouse.run_on(connection, "write/delete_days", "user_cell", {"dates": [date]})
    n_pairs = warehouse.changed(connection, "write/user_cell")
    if warehouse.rows(connection, "checks/occupancy_incomplete", {"date": date}):
        raise HexveilError(
            f"{date}: the occupancy array does not hold as many records as are valid; this is a defect, report it"
        )
    say(log, "occupancy", date=date, n_pairs=n_pairs)


def note_prepared(connection: warehouse.Connection, date: dt.date, config: Config) -> None:
    """Note what the occupancy array of a day, as it now stands in the warehouse, was made from."""
    for table in ("prepared_file", "prepared_count"):
        warehouse.run_on(connection, "write/delete_days", table, {"dates": [date]})
    warehouse.run(connection, "write/prepared_file", {"date": date})
    warehouse.run(connection, "write/prepared_count", {"date": date})
    warehouse.run(connection, "write/prepared_day", prepared_by(date, config))


def _check_contract(connection: warehouse.Connection, config: Config) -> None:
    schema = schemas.record_schema(config)
    for batch in warehouse.batches(connection, "read/day_extremes", {}):
        schemas.check(batch, schema, "record")
