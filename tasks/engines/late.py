"""Late: counts the records that come after their day was released. They are kept; the release does not change."""

import datetime as dt
import logging

import polars as pl

from tasks.account import ledger
from tasks.base import warehouse
from tasks.base.config import Config
from tasks.base.errors import BadInput
from tasks.base.logs import warn
from tasks.base.steps import step
from tasks.engines.prepare import while_open
from tasks.engines.sharded_ingest import read_readable_into_shards
from tasks.engines.sharded_late import RowsLate, rows_late_in_shards, rows_when_released
from tasks.records.forgotten import forgotten_days
from tasks.records.judge.count_outcomes import late_records
from tasks.records.judge.duplicates import seen_again
from tasks.records.judge.places import use_places
from tasks.records.read.ingest import ingest_readable, readable_files
from tasks.records.read.inputs import find_inputs

log = logging.getLogger("hexveil.late")


_MOST_NAMED = 5


@step("late records {config.dataset.name} {date}")
def count_late_records(date: dt.date, config: Config) -> tuple[dict[dt.date, int], list[str]]:
    """Read new or changed files for a released day, and count the late records in its files, of that and other days.

    A row is late if none of the files that its day was released from has a row of the same user, time and place. If
    the warehouse was rebuilt since, it does not know those files: then the increase in rows is counted instead. A file
    that cannot be read is told of, and the others are counted.

    Args:
        date: A local day that has been released.
        config: Names the files for the day.

    Returns:
        The number of late records of each day that has any, including days counted earlier; and what is wrong with
        files of the day that cannot be read, of many only with the first.
    """
    if date in forgotten_days(config) or not find_inputs(date, config, needed=False):
        return late_records(config), []
    sharded = config.engine.name == "dask"
    with while_open(config):
        problems = (read_readable_into_shards if sharded else ingest_readable)(date, config)
        released = rows_when_released(ledger.read_entries(config))
        late = _late((rows_late_in_shards if sharded else _rows_late)(date, released, config), released)
        with warehouse.connect(config) as connection:
            for local_date, n_records in [(date, 0), *late]:
                warehouse.run(connection, "write/late_day", {"date": local_date, "n_records": n_records})
        for local_date, n_records in late:
            if n_records:
                warn(log, "late records change nothing", date=local_date, n_records=n_records)
        return late_records(config), _unread(problems, date, config)


def _unread(problems: list[BadInput], date: dt.date, config: Config) -> list[str]:
    """Return why files were not read. One whose path may name a user is only counted, as where files are logged."""
    of_path = config.columns.is_of_path
    said = [] if of_path else [_printable(str(one)) for one in problems[:_MOST_NAMED]]
    if n_more := len(problems) - len(said):
        named = f"{n_more:,} files that are named after users" if of_path else f"{n_more:,} more files"
        said.append(f"{named} cannot be read")
    for reason in said:
        warn(log, "late records were not counted", date=date, reason=reason)
    return said


def _printable(problem: str) -> str:
    """Return what is wrong with a file without what a terminal would obey: it may quote the file's first bytes."""
    return "".join(one if one.isprintable() else "?" for one in problem)


def _late(rows: list[RowsLate], released: pl.DataFrame) -> list[tuple[dt.date, int]]:
    """Return how many records of each day are late, from the counts of each shard, or of the whole warehouse."""
    n_rows_then = dict(released.select("local_date", "n_rows").iter_rows())
    late = []
    for date in sorted({one.local_date for one in rows}):
        of_day = [one for one in rows if one.local_date == date]
        n_more = max(sum(one.n_rows for one in of_day) - n_rows_then[date], 0)
        late.append((date, sum(one.n_unknown for one in of_day) if of_day[0].is_noted else n_more))
    return late


def _rows_late(date: dt.date, released: pl.DataFrame, config: Config) -> list[RowsLate]:
    """Return counts of the rows of released days in a day's files; fast if the days were released from these files."""
    with warehouse.connect(config) as connection:
        files = {"file_ids": readable_files(connection, date, config)}
        connection.register("released_day", released)
        use_places(connection, config)
        if not warehouse.rows(connection, "checks/rows_not_released", files):
            return []
        asked = {**files, "apart": seen_again(config)}
        return [RowsLate(*row) for row in warehouse.rows(connection, "read/late_records", asked)]
