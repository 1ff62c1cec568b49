"""Late by shards: counts late records per shard and adds them up. User, time and place identify a record."""

import datetime as dt
from dataclasses import dataclass

import polars as pl

from tasks.account.chain import releases
from tasks.account.entry import Entry
from tasks.base import warehouse
from tasks.base.config import Config
from tasks.base.steps import step
from tasks.engines import cluster, shard_store
from tasks.engines.scratch import scratch
from tasks.engines.shard_parts import Part, find_parts, load_parts, names_by_shard
from tasks.records.judge.count_outcomes import LEFT_OUT
from tasks.records.judge.duplicates import seen_again
from tasks.records.judge.places import use_places
from tasks.records.read.ingest import readable_files

_RELEASED = {"local_date": pl.Date, "release_id": pl.String, "n_rows": pl.Int64}


@dataclass(frozen=True)
class RowsLate:
    """The rows of one released day in files that it was not released from.

    Attributes:
        local_date: The day.
        is_noted: Whether the warehouse knows which files the day was released from.
        n_unknown: Number of records whose user, time and place are in none of the files it was released from.
        n_rows: Number of all rows.
    """

    local_date: dt.date
    is_noted: bool
    n_unknown: int
    n_rows: int


def rows_when_released(entries: list[Entry]) -> pl.DataFrame:
    """Return each released day's last release, with the number of raw rows that the day had then."""
    last = {entry.date: entry for entry in releases(entries)}
    rows = [
        (
            date,
            entry.release_id,
            sum(n for reason, n in entry.rows.items() if reason not in ("malformed_row", LEFT_OUT)),
        )
        for date, entry in last.items()
    ]
    return pl.DataFrame(rows, _RELEASED, orient="row")


def rows_late_in_shards(date: dt.date, released: pl.DataFrame, config: Config) -> list[RowsLate]:
    """Return counts of the rows of released days in a day's files, from each shard."""
    with shard_store.exclusive_shards(config):
        with warehouse.connect(config) as connection:
            file_ids = readable_files(connection, date, config)
            connection.register("released_day", released)
            if not warehouse.rows(connection, "checks/rows_not_released", {"file_ids": file_ids}):
                return []
            parts, used = _parts(connection, released, file_ids)
        everyone = {"file_ids": file_ids, "used": used, "released": released.rows(), "config": config}
        calls = [
            {"shard": shard, "names": names, **everyone}
            for shard, names in enumerate(names_by_shard(parts, config))
            if names
        ]
        counted = cluster.succeeded(cluster.run_each(count_late_in_shard, calls, config))
    return [one for rows in counted for one in rows]


@step("late records {config.dataset.name} shard {shard}")
def count_late_in_shard(
    shard: int,
    names: list[str],
    file_ids: list[int],
    used: list[tuple[str, dt.date, int]],
    released: list[tuple[dt.date, str, int]],
    config: Config,
) -> list[RowsLate]:
    """Count the late records of released days in one shard, on a worker.

    Args:
        shard: The number of the shard.
        names: The parts that may hold its records.
        file_ids: The files to look in.
        used: Release, day and file id for each file that a day was released from.
        released: Each released day's last release, with the number of rows it had then.
        config: Gives the place of the shards' storage.
    """
    store = shard_store.open_store(config)
    with scratch(config) as here, warehouse.connect(here) as connection:
        load_parts(connection, store, here.storage_path, names, {"shard": shard, "n_shards": config.engine.n_shards})
        for release_id, local_date, file_id in used:
            file = {"release_id": release_id, "local_date": local_date, "file_id": file_id}
            warehouse.run(connection, "write/released_file_by_number", file)
        use_places(connection, here)
        connection.register("released_day", pl.DataFrame(released, _RELEASED, orient="row"))
        asked = {"file_ids": file_ids, "apart": seen_again(here)}
        return [RowsLate(*row) for row in warehouse.rows(connection, "read/late_records", asked)]


def _parts(
    connection: warehouse.Connection, released: pl.DataFrame, file_ids: list[int]
) -> tuple[list[Part], list[tuple[str, dt.date, int]]]:
    """Return the parts to compare, and the files that the days in them were released from."""
    there = find_parts(connection, {"dates": released["local_date"].to_list(), "file_ids": file_ids})
    dates = {dt.date.fromisoformat(part.local_date) for part in there}
    used = [row for row in warehouse.rows(connection, "read/released_files") if row[1] in dates]
    both = {*file_ids, *(file_id for _, _, file_id in used)}
    return find_parts(connection, {"dates": list(dates), "file_ids": list(both)}), used
