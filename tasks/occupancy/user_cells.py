"""Occupancy: counts each user's records in each cell of a day, and adds up their values."""

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
    """Return a day's date and the hash of the settings that its occupancy is prepared with."""
    return {"date": date, "settings_hash": sha256(canonical_json(config.public_settings()))}


@step("occupancy {config.dataset.name} {date}")
def build_occupancy(date: dt.date, config: Config) -> None:
    """Replace a day's occupancy array, with each user's exact integer totals per cell, and store what it was made from.

    Args:
        date: The local day.
        config: Gives the ticks, and whether sums of squares are needed.

    Raises:
        SchemaBroken: The valid records break the contract of their schema.
    """
    with warehouse.connect(config) as connection:
        apart = find_cells(connection, {"date": date})
        with warehouse.transaction(connection):
            fill_user_cells(connection, date, config, apart)
            note_prepared(connection, date, config)


def fill_user_cells(connection: warehouse.Connection, date: dt.date, config: Config, apart: bool) -> None:
    """Replace a day's occupancy array from the valid records of any warehouse.

    Args:
        connection: Connection to the warehouse.
        date: The local day.
        config: Gives the ticks, and whether sums of squares are needed.
        apart: The result of ``find_cells``.

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
    warehouse.run_on(connection, "write/delete_days", "user_cell_bin", {"dates": [date]})
    if config.statistics.of_laws:
        warehouse.run(connection, "write/user_cell_bin", {"date": date, "n_ticks": config.value.n_ticks})
    say(log, "occupancy", date=date, n_pairs=n_pairs)


def note_prepared(connection: warehouse.Connection, date: dt.date, config: Config) -> None:
    """Store what a day's current occupancy array was made from: files, outcomes of rows and settings."""
    for table in ("prepared_file", "prepared_count"):
        warehouse.run_on(connection, "write/delete_days", table, {"dates": [date]})
    warehouse.run(connection, "write/prepared_file", {"date": date})
    warehouse.run(connection, "write/prepared_count", {"date": date})
    warehouse.run(connection, "write/prepared_day", prepared_by(date, config))


def _check_contract(connection: warehouse.Connection, config: Config) -> None:
    schema = schemas.record_schema(config)
    for batch in warehouse.batches(connection, "read/day_extremes", {}):
        schemas.check(batch, schema, "record")
