"""A day by shards: workers validate and index one shard each, and their results are merged exactly.

All records of a user are in one shard, so a worker can find duplicates and add up a user's totals per cell alone.
"""

import datetime as dt
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.base import warehouse
from tasks.base.config import Config
from tasks.base.steps import step
from tasks.engines import cluster, shard_store
from tasks.engines.scratch import scratch
from tasks.engines.shard_parts import find_parts, load_parts, names_by_shard, refuse_missing
from tasks.occupancy.placing import find_cells
from tasks.occupancy.user_cells import fill_user_cells, note_prepared
from tasks.records.judge.count_outcomes import count_rows
from tasks.records.judge.validate import clear_day, count_swapped, judge_day, write_day
from tasks.records.read.ingest import current_files, files_before, looks_back

_TABLES = ("user_cell", "quarantine", "value_repair")
_NOT_READ = {
    "content_hash": "",
    "settings_hash": "",
    "file_date": None,
    "n_rows": 0,
    "n_malformed": 0,
    "n_undated": 0,
    "n_forgotten": 0,
}
"""The other columns of a file: a worker knows only its id and name, by which the rules choose among duplicates."""


@dataclass(frozen=True)
class IndexedShard:
    """What a worker returns for a shard it indexed: counts, and the place of its tables.

    Attributes:
        folder: Where its tables are in the shards' storage.
        n_rows: Number of raw records.
        n_kept: Number of valid records.
        n_swapped: Number of records that would lie in the area if latitude and longitude were swapped.
    """

    folder: str
    n_rows: int
    n_kept: int
    n_swapped: int


@step("index {config.dataset.name} {date}")
def index_shards(date: dt.date, config: Config) -> None:
    """Validate and index a day on workers, and write the results into the warehouse, or refuse the day.

    Args:
        date: The local day, whose files have been read.
        config: Gives the rules, and the address of the workers.

    Raises:
        BadInput: The day has no records, or more of it is quarantined than max_quarantined_share.
    """
    with shard_store.exclusive_shards(config) as fence:
        shard_store.open_store(config).set_fence(fence)
        with warehouse.connect(config) as connection:
            day = {"date": date, "file_ids": current_files(connection, date, config)}
            before = files_before(connection, date, config)
            parts = find_parts(connection, {"dates": [date], "file_ids": day["file_ids"]})
            of_fixes = find_parts(
                connection, {"dates": [date - dt.timedelta(days=1)], "file_ids": before + day["file_ids"]}
            )
            also = names_by_shard(of_fixes if looks_back(config) else [], config)
            of_day = warehouse.rows(connection, "read/file_names", {"file_ids": day["file_ids"]})
            others = sorted({*before} - {*day["file_ids"]})
            of_others = warehouse.rows(connection, "read/file_names", {"file_ids": others})
        everyone = {"files": of_day, "before": of_others, "fence": fence, "config": config}
        calls = [
            {"date": date, "shard": shard, "names": [*names, *also[shard]], **everyone}
            for shard, names in enumerate(names_by_shard(parts, config))
            if names
        ]
        indexed = cluster.succeeded(cluster.run_each(index_shard, calls, config))
        refuse_missing(parts, sum(one.n_rows for one in indexed))
        _merge(day, indexed, config)


@step("index {config.dataset.name} {date} shard {shard}")
def index_shard(
    date: dt.date,
    shard: int,
    names: list[str],
    files: list[tuple[int, str]],
    before: list[tuple[int, str]],
    fence: str,
    config: Config,
) -> IndexedShard:
    """Validate and index one shard of a day on a worker, with the same functions as without a cluster.

    Args:
        date: The local day.
        shard: The number of the shard.
        names: The parts that may hold its records.
        files: Id and name of each of the day's files.
        before: The same of the files of the day before, if fixes in them decide on values.
        fence: The fencing token of the run; when the run is over, nothing is stored.
        config: Gives the rules, and the place of the shards' storage.
    """
    store = shard_store.open_store(config, fence)
    with scratch(config) as here, warehouse.connect(here) as connection:
        for file_id, name in [*files, *before]:
            warehouse.run(connection, "write/raw_file", {"file_id": file_id, "name": name, **_NOT_READ})
        load_parts(connection, store, here.storage_path, names, {"shard": shard, "n_shards": config.engine.n_shards})
        day = {"date": date, "file_ids": [file_id for file_id, _ in files]}
        with warehouse.transaction(connection):
            n_kept = write_day(connection, day, [file_id for file_id, _ in before], here)
        apart = find_cells(connection, {"date": date})
        with warehouse.transaction(connection):
            fill_user_cells(connection, date, here, apart)
        n_rows = warehouse.rows(connection, "read/n_day_records", day)[0][0]
        n_swapped = count_swapped(connection, here)
        folder = f"days/{date}/{shard}-{uuid.uuid4().hex}"
        _write_tables(connection, here.storage_path)
        for table in _TABLES:
            store.put(here.storage_path / table, f"{folder}/{table}")
    return IndexedShard(folder, n_rows, n_kept, n_swapped)


def _write_tables(connection: warehouse.Connection, folder: Path) -> None:
    warehouse.run(connection, "write/copy_user_cell", {"path": str(folder / "user_cell")})
    for table in ("quarantine", "value_repair"):
        warehouse.run_on(connection, "write/copy_table", table, {"path": str(folder / table)})


def _merge(day: dict[str, Any], indexed: list[IndexedShard], config: Config) -> None:
    """Write the shards' tables into the warehouse, accept or refuse the whole day, and delete the shards' tables."""
    date, store = day["date"], shard_store.open_store(config)
    with scratch(config) as here, warehouse.connect(config) as connection:
        try:
            fetched = {
                table: [str(store.fetch(f"{one.folder}/{table}", here.storage_path)) for one in indexed]
                for table in _TABLES
            }
            with warehouse.transaction(connection):
                _write_quarantine(connection, day, fetched)
            counts = count_rows(connection, day, sum(one.n_kept for one in indexed))
            judge_day(connection, day, counts, sum(one.n_swapped for one in indexed), config)
            with warehouse.transaction(connection):
                warehouse.run_on(connection, "write/delete_days", "user_cell", {"dates": [date]})
                if indexed:
                    warehouse.run(connection, "write/user_cell_from_files", {"paths": fetched["user_cell"]})
                note_prepared(connection, date, config)
        finally:
            store.remove([f"{one.folder}/{table}" for one in indexed for table in _TABLES])


def _write_quarantine(connection: warehouse.Connection, day: dict[str, Any], fetched: dict[str, list[str]]) -> None:
    clear_day(connection, day)
    for path in fetched["quarantine"]:
        warehouse.run(connection, "write/quarantine_from_file", {"path": path, "file_id": None})
    if fetched["value_repair"]:
        warehouse.run(connection, "write/value_repair_from_files", {"paths": fetched["value_repair"]})
