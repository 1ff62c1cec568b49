"""Places and the values that follow from them: which of them are public, and the speed from the fix before."""

import datetime as dt
from collections.abc import Sequence
from typing import Any

from tasks.base import warehouse
from tasks.base.config import SPEED_UNITS, Config


def use_places(connection: warehouse.Connection, config: Config) -> None:
    """Let a connection judge records by their places or, if values follow from these, by their hexagons alone."""
    connection.execute("set variable h3_resolution = $resolution", {"resolution": config.grid.h3_resolution})
    by_hexagon = config.columns.is_speed
    warehouse.run(connection, "scratch/placed_record_by_hexagon" if by_hexagon else "scratch/placed_record")


def derive_values(connection: warehouse.Connection, day: dict[str, Any], before: Sequence[int], config: Config) -> None:
    """Store the speeds of a day's records, if these are the values.

    Args:
        connection: Connection to a warehouse with the day's records, and with those that are quarantined.
        day: The date and the file ids of the day.
        before: The ids of the files of the day before.
        config: Gives the longest gap and the unit.
    """
    warehouse.run_on(connection, "write/delete_days", "derived_value", {"dates": [day["date"]]})
    if not config.columns.is_speed:
        return
    start, end = config.day_bounds(day["date"])
    gap = dt.timedelta(seconds=config.value.longest_gap)
    looks_back = config.columns.users_return  # else the same name is somebody else on the day before
    parameters = {
        "fix_ids": sorted({*day["file_ids"], *before}) if looks_back else day["file_ids"],
        "first": start - gap if looks_back else start,
        "day_start": start,
        "day_end": end,
        "longest_gap": gap // dt.timedelta(microseconds=1),
        "per_metre_a_second": SPEED_UNITS[config.value.unit],
    }
    warehouse.run(connection, "scratch/speed_of")
    warehouse.run(connection, "write/derived_value", {**day, **parameters})
