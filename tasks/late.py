"""Late: records that come after their day was released are kept and counted; the release stays as it is."""

import datetime as dt
import logging

import polars as pl

from tasks import ledger, warehouse
from tasks.config import Config
from tasks.errors import BadInput, contained
from tasks.forget import forgotten_days
from tasks.ingest import current_files, ingest
from tasks.logs import warn
from tasks.source import find_files
from tasks.steps import step

log = logging.getLogger("hexveil.late")


@step("late records {config.dataset.name} {date}")
def count_late_records(date: dt.date, config: Config) -> None:
    """Read what has come since for a released day, and count what is late in that day's files, whatever day it is of.

    A row is late if none of the files that its day was released from holds a row of the same user, time and place.
    Where the warehouse was made anew since, and so does not know which files those were, the rows that are more than
    there were are counted instead.

    Args:
        date: A local day that has been released.
        config: Says which files are the day's.
    """
    if date in forgotten_days(config) or not find_files(date, config, needed=False):
        return
    try:
        ingest(date, config)
    except BadInput as error:
        warn(log, "late records were not counted", date=date, reason=error)
        return
    entries = ledger.read_entries(config)
    with warehouse.connect(config) as connection:
        file_ids = current_files(connection, date, config)
        connection.register("released_day", _released_days(entries))
        late = _late(connection, file_ids)
        for local_date, n_records in [(date, 0), *late]:
            warehouse.run(connection, "warehouse/late_day", {"date": local_date, "n_records": n_records})
    for local_date, n_records in late:
        if n_records:
            warn(log, "late records change nothing", date=local_date, n_records=n_records)


@contained
def late_records(config: Config) -> dict[dt.date, int]:
    """Return how many late records there are of each day that has any."""
    with warehouse.connect(config) as connection:
        return dict(warehouse.rows(connection, "warehouse/late_days"))


def _late(connection: warehouse.Connection, file_ids: list[int]) -> list[tuple[dt.date, int]]:
    """Return how many records of each day are late in some files; cheap where the days were released from them."""
    files = {"file_ids": file_ids}
    if not warehouse.rows(connection, "warehouse/rows_after_release", files):
        return []
    return [(date, n_records) for date, n_records in warehouse.rows(connection, "warehouse/late_records", files)]


def _released_days(entries: list[ledger.Entry]) -> pl.DataFrame:
    """Return each released day's last release, with how many raw rows the day had then."""
    last = {entry["date"]: entry for entry in entries}
    rows = [
        (
            dt.date.fromisoformat(date),
            entry["release_id"],
            sum(n for reason, n in entry["rows"].items() if reason != "malformed_row"),
        )
        for date, entry in last.items()
    ]
    return pl.DataFrame(rows, {"local_date": pl.Date, "release_id": pl.String, "n_rows": pl.Int64}, orient="row")
