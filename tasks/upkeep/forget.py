"""Forget: the raw records of days are deleted for good; releases and ledger stay, and stay verifiable."""

import datetime as dt
import logging
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
from tasks.records.inputs import settings_hash

log = logging.getLogger("hexveil.forget")

_OF_DAYS = ("value_repair", "validated_day", "validated_file", "prepared_file", "prepared_count", "late_day")
_OF_DAYS_PREPARED = ("user_cell", "prepared_day")
_OF_DAYS_AND_FILES = ("raw_part", "quarantine", "released_file")
_WITH_UNDATED_ROWS = ("raw_record", "raw_part")
_OF_EMPTIED_FILES = ("quarantine", "raw_file", "seen_file")


@dataclass(frozen=True)
class Forgotten:
    """What was deleted.

    Attributes:
        rows: Raw rows of each day. A file that came again is held again if any value in it changed, so that the
            number is not to be shown.
        files: Names of the input files they came from, which are the operator's to delete.
        n_parts: Files deleted from the shards' storage, where the records were read by workers; not to be shown.
    """

    rows: dict[dt.date, int]
    files: list[str]
    n_parts: int = 0


@contained
def held_days(config: Config) -> dict[dt.date, int]:
    """Return the days of which anything private is held, with their raw rows; those half forgotten by a crash too."""
    with warehouse.connect(config) as connection:
        held = dict(warehouse.rows(connection, "read/private_days"))
    unfinished = forgotten_days(config) if _unfinished(config).exists() else {}
    return dict.fromkeys(unfinished, 0) | held


def days_older_than(n_days: int, held: dict[dt.date, int], config: Config) -> list[dt.date]:
    """Return the held days that lie more than so many days before today in the dataset's time zone."""
    today = dt.datetime.now(ZoneInfo(config.dataset.timezone)).date()
    return sorted(date for date in held if (today - date).days > n_days)


@contained
def forget_days(dates: list[dt.date], config: Config) -> Forgotten:
    """Delete everything private of some days but what releases and budgets rest on, and give the space back.

    The days are noted first, in ``private/forgotten``, so that their rows are not read again from files that still
    hold them, and so that a crash on the way leaves no doubt: forgetting again finishes it.

    Args:
        dates: Local days, released or not; a day that was not released can then not be released any more.
        config: Says where the warehouse is.
    """
    with shard_store.exclusive_shards(config) as fence:
        if config.engine.name == "dask":
            remove_abandoned(config)
        with ledger.locked(config):  # not before, for workers may keep shards and scratch for long
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
    _unfinished(config).unlink()
    rows = {date: held.get(date, 0) for date in dates}
    say(log, "forgotten", n_days=len(dates))
    return Forgotten(rows, sorted(set(files.values())), n_parts)


def _of_other_settings(connection: warehouse.Connection, config: Config) -> tuple[list[int], list[dt.date]]:
    """Return the files that were read, and the days that were prepared, with other settings than now.

    Nothing uses them as they are, and under another time zone their rows may be of the forgotten days: they go too, and
    are read and prepared again where they are wanted.
    """
    files, days = (
        warehouse.rows(connection, "read/files_by_settings"),
        warehouse.rows(connection, "read/days_by_settings"),
    )
    other_files = [one for one, file_date, held in files if held != settings_hash(file_date, config)]
    other_dates = [date for date, held in days if held != prepared_by(date, config)["settings_hash"]]
    return other_files, other_dates


def _refuse_old_shards(config: Config) -> None:
    """Refuse to say that days are forgotten while another engine's parts may still hold them.

    Raises:
        HexveilError: They may.
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
