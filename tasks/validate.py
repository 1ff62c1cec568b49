"""Validate: which raw records of a day are used, and in which cell and tick each of them counts."""

import datetime as dt
import logging
from decimal import Decimal
from typing import Any

from prefect import task

from tasks import schemas, warehouse
from tasks.config import Config
from tasks.errors import BadInput, HexveilError, contained

KEPT = "kept"
DUPLICATE = "duplicate"

log = logging.getLogger("hexveil.validate")


@task
@contained
def validate_records(date: dt.date, config: Config) -> None:
    """Write a day's valid records and its quarantine anew, and refuse the day if too much of it is unusable.

    Rules on user, place and time may quarantine a record. None looks at the value: a missing value counts as
    the midpoint and one outside the bounds as the nearer bound, because whether a record survives would
    otherwise tell something about its value.

    Args:
        date: The local day.
        config: Says the area, the grid, the bounds, and how much may be quarantined.

    Raises:
        BadInput: The day has no records, or more of it is quarantined than max_quarantined_share.
        SchemaBroken: The valid records break the contract of their schema.
    """
    with warehouse.connect(config) as connection:
        with warehouse.transaction(connection):
            _write_day(connection, date, config)
        counts = dict(warehouse.rows(connection, "warehouse/day_counts", {"date": date}))
        n_swapped = warehouse.rows(connection, "warehouse/swapped_places", _area(config))[0][0]
        if not counts.get(KEPT) and not n_swapped:
            raise BadInput(_empty_day(connection, date, counts))
        n_lost, n_rows = _share(connection, date, counts)
    log.info("%s: %d rows, of which %s", date, n_rows, ", ".join(f"{n} {reason}" for reason, n in counts.items()))
    if n_lost > config.validation.max_quarantined_share * n_rows:
        raise BadInput(_too_many(date, counts, n_lost, n_rows, n_swapped, config.validation.max_quarantined_share))


def _write_day(connection: warehouse.Connection, date: dt.date, config: Config) -> None:
    start, end = config.day_bounds(date)
    for table in ("quarantine", "record", "value_repair"):
        warehouse.run(connection, f"warehouse/clear_{table}", {"date": date})
    warehouse.run(connection, "warehouse/judged", {"date": date, "day_start": start, "day_end": end, **_area(config)})
    warehouse.run(connection, "warehouse/quarantine")
    bounds = {"lower": float(config.value.lower), "upper": float(config.value.upper)}
    warehouse.run(connection, "warehouse/value_repair", bounds)
    grid = config.grid.model_dump()
    ticks = {"lower": bounds["lower"], "tick": float(config.value.tick), "n_ticks": config.value.n_ticks}
    warehouse.run(connection, "warehouse/record", {"day_start": start, **grid, **ticks})
    if warehouse.rows(connection, "checks/day_rows", {"date": date}):
        raise HexveilError(f"{date}: raw records are not kept plus quarantined ones; this is a defect, report it")
    schema = schemas.record_schema(config)
    for batch in warehouse.batches(connection, "warehouse/day_records", {"date": date}):
        schemas.check(batch, schema, "record")


def _area(config: Config) -> dict[str, float]:
    area = config.validation.model_dump(include={"south", "north", "west", "east"})
    return {side: float(degrees) for side, degrees in area.items()}


def _share(connection: warehouse.Connection, date: dt.date, counts: dict[str, int]) -> tuple[int, int]:
    """Return rows lost and rows in all, of the day and of those that may belong to it; duplicates lose nothing."""
    undated = 0
    for _, _, _, file_date, _, n_malformed, n_undated in warehouse.rows(
        connection, "warehouse/day_files", {"date": date}
    ):
        undated += n_undated if file_date else n_undated + n_malformed
    n_rows = sum(counts.values()) + undated
    return n_rows - counts.get(KEPT, 0) - counts.get(DUPLICATE, 0), n_rows


def _empty_day(connection: warehouse.Connection, date: dt.date, counts: dict[str, int]) -> str:
    first, last = warehouse.rows(connection, "warehouse/days_held")[0]
    why = f" ({_listed(counts)})" if sum(counts.values()) else ""
    held = f"the files hold {first} to {last}" if first else "the files hold no readable day"
    return f"{date} has no valid records{why}; {held}. Check the date, dataset.timezone and columns.time."


def _too_many(date: dt.date, counts: dict[str, int], n_lost: int, n_rows: int, n_swapped: int, limit: Decimal) -> str:
    message = (
        f"{date}: {n_lost} of {n_rows} rows are unusable ({_listed(counts)}), "
        f"more than validation.max_quarantined_share = {limit} allows; nothing was spent."
    )
    if 2 * n_swapped > n_lost:
        message += " With columns.latitude and columns.longitude swapped most would lie in the area: check them."
    return message


def _listed(counts: dict[str, Any]) -> str:
    return ", ".join(f"{n} {reason}" for reason, n in counts.items() if reason != KEPT)
