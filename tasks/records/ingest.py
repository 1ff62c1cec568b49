"""Ingest: reads input files into raw_record, each file once, and counts every row."""

import datetime as dt
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tasks.base import warehouse
from tasks.base.config import Config
from tasks.base.errors import BadInput, HexveilError
from tasks.base.logs import say
from tasks.base.progress import progress
from tasks.base.steps import step
from tasks.records import source
from tasks.records.forgotten import forgotten_days, forgotten_parameters, refuse_other_engine
from tasks.records.inputs import Input, find_inputs
from tasks.records.text_lines import numbered_lines, unreadable

_BLANK = {"blank": "".join(chr(one) for one in range(0x3001) if chr(one).isspace())}

_MADE_TO_READ = (
    "scratch/readable_time",
    "scratch/readable_json",
    "scratch/trimmed_id",
    "scratch/was_forgotten",
    "scratch/empty_file_hour",
    "scratch/whole_hour",
)

log = logging.getLogger("hexveil.ingest")


class _Left(NamedTuple):
    """How many rows of a file are not in raw_record, by reason."""

    n_malformed: int
    n_forgotten: int


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
    path, seen = Path(one.address), one.seen(config)
    kind = source.file_format(path)
    with warehouse.connect(config) as connection:
        if warehouse.rows(connection, "read/file_by_version", seen):
            return
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

    The log line is the same for a known content and a new one: which of the two it is depends on private values.
    """
    warehouse.run(connection, "write/seen_file", {**one.seen(config), "file_id": file_id})
    counts = warehouse.frame(connection, "read/file_outcomes", {"file_id": file_id})
    say(log, "read", file=Path(one.address).name, **counts.row(0, named=True))


def read_file(
    connection: warehouse.Connection,
    path: Path,
    kind: str,
    file_date: dt.date | None,
    identity: dict[str, str],
    config: Config,
) -> int:
    """Read all of one new file into a warehouse and return the file's id.

    Raises:
        BadInput: It cannot be read; the caller must roll back.
    """
    n_rows = source.count_rows(path, kind, config)
    for made in _MADE_TO_READ:
        warehouse.run(connection, made)
    file_id = warehouse.rows(connection, "read/next_file_id")[0][0]
    file = {"file_id": file_id, "file_date": file_date}
    left = _READERS[kind](connection, path, file, config)
    n_undated = warehouse.changed(connection, "write/quarantine_undated_rows", {"file_id": file_id})
    counts = {"n_rows": n_rows, "n_undated": n_undated, **left._asdict()}
    warehouse.run(connection, "write/raw_file", {**file, **identity, **counts})
    if warehouse.rows(connection, "checks/rows_unaccounted", {"file_id": file_id}):
        raise unreadable(path, kind)
    return file_id


@contextmanager
def _blaming(path: Path, kind: str) -> Iterator[None]:
    """Replace an error of the engine, which may quote the file's content, by one that only names the file."""
    try:
        yield
    except warehouse.EngineError:
        raise unreadable(path, kind) from None


def _read_csv(connection: warehouse.Connection, path: Path, file: dict[str, Any], config: Config) -> _Left:
    columns = dict.fromkeys(_csv_names(path, config), "VARCHAR")
    parameters = {"path": str(path), "columns": columns, "delimiter": config.dataset.delimiter, **_BLANK}
    with _blaming(path, "csv"):
        warehouse.run(connection, "scratch/incoming_csv", parameters)
        if warehouse.rows(connection, "checks/lines_not_utf8"):
            raise BadInput(f"{path}: not UTF-8; convert the file, for example with iconv")
        n_malformed = warehouse.changed(connection, "write/quarantine_csv_lines", file)
    return _keep_incoming(connection, file, n_malformed, config)


def _csv_names(path: Path, config: Config) -> list[str]:
    names = {"user": "user_id"}
    return [names.get(role, role) for role in source.csv_columns(path, config)]


def _read_parquet(connection: warehouse.Connection, path: Path, file: dict[str, Any], config: Config) -> _Left:
    source.check_parquet_columns(path, config)
    names = source.source_names(config)
    days = {"file_date": file["file_date"], **forgotten_parameters(config)}
    columns = {"path": str(path), **names}
    try:
        if file["file_date"] is None and source.has_instants(path, config):
            time = {"path": str(path), "time": names["time"]}
            if not warehouse.changed(connection, "scratch/file_hour_between", time):
                warehouse.run(connection, "scratch/file_hour_of_parquet", time)
        with warehouse.any_order(connection):
            warehouse.run(connection, "write/raw_record_from_parquet", {**file, **days, **columns, **_BLANK})
    except warehouse.EngineError:
        # Reading and writing are one statement, so check that the file is the cause and not, say, a full disk.
        with _blaming(path, "parquet"), connection.cursor() as reader:
            warehouse.rows(reader, "checks/parquet_readable", columns)
        raise
    n_forgotten = 0
    if days["dates"]:
        forgotten = {**days, "path": str(path), "time": names["time"]}
        n_forgotten = warehouse.rows(connection, "read/n_forgotten_in_parquet", forgotten)[0][0]
    return _Left(0, n_forgotten)


def _read_ndjson(connection: warehouse.Connection, path: Path, file: dict[str, Any], config: Config) -> _Left:
    pointers = source.json_pointers(config)
    with _blaming(path, "ndjson"):
        connection.register("source_line", numbered_lines(path))
        warehouse.run(connection, "scratch/incoming_ndjson", {**pointers, **_BLANK})
        absent = {pointer for (pointer,) in warehouse.rows(connection, "checks/absent_members", pointers)}
        for role, name in source.source_names(config).items():
            if pointers[role] in absent:
                raise BadInput(f'{path}: no column "{name}" (columns.{role}) in any line')
        n_malformed = warehouse.changed(connection, "write/quarantine_ndjson_lines", file)
    return _keep_incoming(connection, file, n_malformed, config)


def _keep_incoming(connection: warehouse.Connection, file: dict[str, Any], n_malformed: int, config: Config) -> _Left:
    """Keep the rows that a reader left in ``incoming``, except rows of forgotten days."""
    n_readable = warehouse.rows(connection, "read/n_incoming_rows")[0][0]
    days = {**file, **forgotten_parameters(config)}
    if file["file_date"] is None:
        warehouse.run(connection, "scratch/file_hour_of_incoming")
    with warehouse.any_order(connection):
        n_kept = warehouse.changed(connection, "write/raw_record_from_incoming", days)
    return _Left(n_malformed, n_readable - n_kept)


_READERS = {"csv": _read_csv, "parquet": _read_parquet, "ndjson": _read_ndjson}
