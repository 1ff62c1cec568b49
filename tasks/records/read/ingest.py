"""Ingest: reads input files into raw_record, each file once, and counts every row."""

import datetime as dt
import logging
from pathlib import Path
from typing import Any

from tasks.base import warehouse
from tasks.base.config import Config
from tasks.base.config_source import OF_FILE
from tasks.base.errors import BadInput, HexveilError
from tasks.base.logs import say
from tasks.base.progress import progress
from tasks.base.steps import step
from tasks.base.storage import private_folder
from tasks.records.forgotten import forgotten_days, refuse_other_engine
from tasks.records.input_formats.input_format import InputFormat
from tasks.records.input_formats.table import format_of
from tasks.records.input_formats.text_lines import unreadable
from tasks.records.input_formats.times import define_times, note_clock_changes, use_zones
from tasks.records.read import source
from tasks.records.read.fetched import at_hand
from tasks.records.read.inputs import Input, find_inputs

_MADE_TO_READ = (
    "scratch/number_of",
    "scratch/readable_json",
    "scratch/trimmed_id",
    "scratch/was_forgotten",
    "scratch/empty_file_hour",
    "scratch/whole_hour",
)

_MINUTE = 60_000_000
_ORDERS: tuple[dict[str, Any], ...] = (
    {"by_user": True, "tolerance": _MINUTE, "jump": 24 * 60 * _MINUTE},
    {"by_user": False, "tolerance": 30 * _MINUTE, "jump": 30 * _MINUTE},
)
"""What may tell in which of two hours a time was: the order of a user's rows, then that of all rows of a file."""

log = logging.getLogger("hexveil.ingest")


@step("ingest {config.dataset.name} {date}")
def ingest_records(date: dt.date, config: Config) -> None:
    """Read the files for a day that the warehouse does not hold yet.

    A file is identified by its name and content: reading it again adds nothing. Every row goes to raw_record, or to
    quarantine if it cannot be split into fields. Rows of forgotten days are only counted.

    Args:
        date: The local day.
        config: Names the files.

    Raises:
        BadInput: No file exists, or one cannot be read; nothing of that file is kept. Or the day was forgotten.
    """
    refuse_forgotten(date, config)
    ingest(date, config)


def refuse_forgotten(date: dt.date, config: Config) -> None:
    """Refuse a day that was forgotten.

    Raises:
        BadInput: The day was forgotten.
    """
    forgotten = forgotten_days(config).get(date)
    if forgotten is not None:
        raise BadInput(
            f"{date} was forgotten at {forgotten.when}: its records were deleted for good and are not read again"
        )


def ingest(date: dt.date, config: Config) -> None:
    """Do the same as ``ingest_records``, even if the day was forgotten."""
    with warehouse.connect(config) as connection:
        refuse_other_engine(connection, config)
        new = new_inputs(connection, date, config)
    for one in progress(new, "reading files"):
        _ingest_file(one, config)


def new_inputs(connection: warehouse.Connection, date: dt.date, config: Config) -> list[Input]:
    """Return the files for a day that seem not to have been read yet; opens none of them."""
    files = find_inputs(date, config)
    return [one for one in files if not warehouse.rows(connection, "read/file_by_version", one.seen(config))]


def current_files(connection: warehouse.Connection, date: dt.date, config: Config) -> list[int]:
    """Return the ids of the files that the configuration names for a day, as they are now.

    Rows of files that were removed, changed or read with other settings stay in the warehouse but are not used.

    Raises:
        HexveilError: A file has not been read yet.
    """
    numbers = []
    for one in find_inputs(date, config):
        known = warehouse.rows(connection, "read/file_by_version", one.seen(config))
        if not known:
            raise HexveilError(f"{one.address} changed while the day was being prepared; run the day again")
        numbers.append(known[0][0])
    return numbers


def _ingest_file(one: Input, config: Config) -> None:
    """Read a file on its own connection, so that the temporary tables hold rejected rows of this file only."""
    seen = one.seen(config)
    with warehouse.connect(config) as connection:
        if warehouse.rows(connection, "read/file_by_version", seen):
            return
        with at_hand(one, private_folder(config) / "fetched") as path:
            kind = format_of(path, config)
            identity = {
                "name": one.name,
                "content_hash": source.content_hash(path),
                "settings_hash": seen["settings_hash"],
            }
            known = warehouse.rows(connection, "read/file_by_content", identity)
            with warehouse.transaction(connection):
                file_id = known[0][0] if known else read_file(connection, path, kind, one.file_date, identity, config)
                note_seen(connection, one, file_id, config)


def note_seen(connection: warehouse.Connection, one: Input, file_id: int, config: Config) -> None:
    """Store the id under which a file's content is kept, and log the outcome of its rows.

    The log line is the same for a known content and a new one: which of the two it is depends on private values. If
    the name of a file is a user, it is not logged.
    """
    warehouse.run(connection, "write/seen_file", {**one.seen(config), "file_id": file_id})
    counts = warehouse.frame(connection, "read/file_outcomes", {"file_id": file_id})
    name = f"number {file_id}" if config.columns.user == OF_FILE else Path(one.address).name
    say(log, "read", file=name, **counts.row(0, named=True))


def read_file(
    connection: warehouse.Connection,
    path: Path,
    kind: InputFormat,
    file_date: dt.date | None,
    identity: dict[str, str],
    config: Config,
) -> int:
    """Read all of one new file into a warehouse and return the file's id.

    The engine notices a truncated gzip file but not a wrong checksum, and silently drops lines beyond some length. So
    every text file is read once more to count its rows without the engine.

    Raises:
        BadInput: It cannot be read; the caller must roll back.
    """
    if config.columns.user == OF_FILE and not kind.can_name_user:
        raise BadInput(
            f'{path}: columns.user = "{OF_FILE}" is for CSV files alone, and this file is {kind.name}; name the '
            "column of the user"
        )
    if config.columns.time_else is not None and kind.time_else is None:
        raise BadInput(f"{path}: columns.time_else is for GTFS-Realtime alone, and this file is {kind.name}; remove it")
    if len(config.columns.of_time) > 1 and not kind.can_join_times:
        raise BadInput(
            f"{path}: columns.time names two columns, which is for CSV files alone, and this file is {kind.name}; "
            "write date and time as one column"
        )
    n_rows = kind.count(path, config)
    zone = kind.time_zone(path, config)
    use_zones(connection, zone, config.dataset.timezone)
    note_clock_changes(connection, zone)
    define_times(connection)
    for made in _MADE_TO_READ:
        warehouse.run(connection, made)
    file_id = warehouse.rows(connection, "read/next_file_id")[0][0]
    file = {"file_id": file_id, "file_date": file_date}
    left = kind.read(connection, path, file, config)
    _tell_times(connection, file)
    use_zones(connection, config.dataset.timezone, config.dataset.timezone)
    n_undated = warehouse.changed(connection, "write/quarantine_undated_rows", {"file_id": file_id})
    counts = {"n_rows": n_rows, "n_undated": n_undated, **left._asdict()}
    warehouse.run(connection, "write/raw_file", {**file, **identity, **counts})
    if warehouse.rows(connection, "checks/rows_unaccounted", {"file_id": file_id}):
        raise unreadable(path, kind.name)
    return file_id


def _tell_times(connection: warehouse.Connection, file: dict[str, Any]) -> None:
    """Put the times that the clock showed twice into one of the two hours, where the order of the rows tells which."""
    for order in _ORDERS:
        if warehouse.rows(connection, "checks/times_twice", {"file_id": file["file_id"]}):
            warehouse.run(connection, "scratch/told_time", {"file_id": file["file_id"], **order})
            warehouse.run(connection, "write/told_time", file)
