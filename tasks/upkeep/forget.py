"""Forget: deletes the raw records of days permanently. Releases and ledger stay, and can still be verified."""

import datetime as dt
import logging
import shutil
from dataclasses import dataclass
from pathlib import Path
from zoneinfo import ZoneInfo

from tasks.account import ledger, private_files
from tasks.base import durable, warehouse
from tasks.base.config import Config
from tasks.base.errors import HexveilError, contained
from tasks.base.logs import say
from tasks.base.provenance import now
from tasks.base.storage import private_folder
from tasks.engines import shard_store
from tasks.engines.scratch import remove_abandoned, scratch
from tasks.engines.shard_parts import all_names, forget_strays
from tasks.occupancy.user_cells import prepared_by
from tasks.records.forgotten import (
    Forgetting,
    forgotten_days,
    forgotten_parameters,
    note_forgotten,
    refuse_other_engine,
)
from tasks.records.judge.value_forms import forget_value_forms
from tasks.records.read.inputs import settings_hash

log = logging.getLogger("hexveil.forget")

_OF_DAYS = ("late_day",)
_OF_DAYS_PREPARED = (
    "value_repair",
    "derived_value",
    "validated_day",
    "validated_file",
    "prepared_file",
    "prepared_count",
    "user_cell",
    "user_cell_bin",
    "prepared_day",
)
_OF_DAYS_AND_FILES = ("raw_part", "quarantine", "released_file")
_WITH_UNDATED_ROWS = ("raw_record", "raw_part")
_OF_EMPTIED_FILES = ("quarantine", "raw_file", "seen_file")


@dataclass(frozen=True)
class Forgotten:
    """What was deleted.

    Attributes:
        rows: Raw rows of each day. Must not be shown: a file that came again is held twice if any value changed, so
            the number depends on values.
        files: Names of the input files that the rows came from; the operator must delete them.
        n_parts: Number of files deleted from the shards' storage, if workers read the records. Must not be shown.
        n_held: Of how many of the days something private was here.
    """

    rows: dict[dt.date, int]
    files: list[str]
    n_parts: int = 0
    n_held: int = 0


@contained
def held_days(config: Config) -> dict[dt.date, int]:
    """Return the days with private data, with their raw rows; includes days partly forgotten before a crash."""
    with warehouse.connect(config) as connection:
        held = dict(warehouse.rows(connection, "read/private_days"))
    unfinished = forgotten_days(config) if _unfinished(config).exists() else {}
    return dict.fromkeys(unfinished, 0) | held


def days_older_than(n_days: int, held: dict[dt.date, int], config: Config) -> list[dt.date]:
    """Return the held days that are more than ``n_days`` days before today, in the dataset's time zone."""
    today = dt.datetime.now(ZoneInfo(config.dataset.timezone)).date()
    return sorted(date for date in held if (today - date).days > n_days)


@contained
def forget_days(dates: list[dt.date], config: Config) -> Forgotten:
    """Delete all private data of some days, except what releases and budgets need, and free the disk space.

    First the days are listed in ``private/forgotten``. So their rows are not read again from files that still hold
    them, and after a crash it is clear what to do: forgetting the days again finishes the work.

    Args:
        dates: Local days, released or not; a day that was not released can then never be released.
        config: Gives the place of the warehouse.
    """
    with shard_store.exclusive_shards(config) as fence:
        if config.engine.name == "dask":
            remove_abandoned(config)
        with ledger.locked(config):  # not earlier: workers may hold the shards and scratch for long
            return _forget(dates, fence, config)


def _forget(dates: list[dt.date], fence: str, config: Config) -> Forgotten:
    entries = ledger.read_entries(config)
    with warehouse.connect(config) as connection:
        refuse_other_engine(connection, config)
        _refuse_old_shards(config)
        _note(dates, config)
        held = dict(warehouse.rows(connection, "read/private_days"))
        files = dict(warehouse.rows(connection, "read/files_of_days", {"dates": dates}))
        other_files, other_dates = _of_other_settings(connection, config)
        warehouse.run(connection, "scratch/was_forgotten")
        with warehouse.transaction(connection):
            of_files = {"other_files": other_files}
            warehouse.run(connection, "write/delete_forgotten_records", {**forgotten_parameters(config), **of_files})
            emptied = {"file_ids": [*files, *other_files]}
            for emptied_tables, statement, gone in (
                (_OF_DAYS, "write/delete_days", {"dates": dates}),
                (_OF_DAYS_PREPARED, "write/delete_days", {"dates": dates + other_dates}),
                (_OF_DAYS_AND_FILES, "write/delete_days_and_files", {"dates": dates, **of_files}),
                (_WITH_UNDATED_ROWS, "write/delete_undated_rows", emptied),
                (_OF_EMPTIED_FILES, "write/delete_emptied_files", emptied),
            ):
                for table in emptied_tables:
                    warehouse.run_on(connection, statement, table, gone)
            if config.engine.name == "dask":
                with scratch(config) as here:
                    forget_strays(
                        connection, shard_store.open_store(config), here.storage_path, forgotten_parameters(config)
                    )
        n_parts = shard_store.sweep(all_names(connection), fence, config) if config.engine.name == "dask" else 0
    warehouse.compact(config)
    private_files.remove_unreleased(entries, config)
    private_files.remove_unreleased_plans(dates, entries, config)
    (config.storage_path / "private" / "errors.log").unlink(missing_ok=True)
    shutil.rmtree(private_folder(config) / "evaluations", ignore_errors=True)  # numbers without noise
    forget_value_forms(config)
    shutil.rmtree(private_folder(config) / "fetched", ignore_errors=True)  # copies that a killed run left
    _unfinished(config).unlink()
    rows = {date: held.get(date, 0) for date in dates}
    say(log, "forgotten", n_days=len(dates))
    return Forgotten(rows, sorted(set(files.values())), n_parts, sum(date in held for date in dates))


def _of_other_settings(connection: warehouse.Connection, config: Config) -> tuple[list[int], list[dt.date]]:
    """Return the files that were read, and the days that were prepared, with settings other than the current ones.

    Nothing uses them, and in another time zone their rows may belong to forgotten days. So they are deleted too, and
    are read and prepared again when they are needed.
    """
    files, days = (
        warehouse.rows(connection, "read/files_by_settings"),
        warehouse.rows(connection, "read/days_by_settings"),
    )
    other_files = [one for one, file_date, held in files if held != settings_hash(file_date, config)]
    other_dates = [date for date, held in days if held != prepared_by(date, config)["settings_hash"]]
    return other_files, other_dates


def _refuse_old_shards(config: Config) -> None:
    """Refuse to forget days while the parts of the other engine may still hold their records.

    Raises:
        HexveilError: The local engine is configured, but workers have stored parts.
    """
    owner = private_folder(config) / "shards-owner"
    if config.engine.name == "local" and owner.exists():
        raise HexveilError(
            f"workers kept records of this storage in shards, which the local engine does not see: delete "
            f"private/shards (or what engine.shards named), then {owner}, and forget again"
        )


def _unfinished(config: Config) -> Path:
    return private_folder(config) / "forgetting"


def _note(dates: list[dt.date], config: Config) -> None:
    forgotten = {date: Forgetting(now(), config.dataset.timezone) for date in dates} | forgotten_days(config)
    durable.write_whole(_unfinished(config), b"")
    note_forgotten(forgotten, config)
