"""DuckDB: the only module that imports it. Connections, transactions, and the files of sql/."""

import atexit
import functools
import importlib.resources
import logging
import os
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import polars.selectors as cs
import pyarrow as pa
from duckdb.func import PythonUDFType
from h3ronpy.vector import coordinates_to_cells

from tasks.config import Config
from tasks.durable import flush_folder, write_new
from tasks.errors import HexveilError, InUse, LedgerBroken
from tasks.locks import turn
from tasks.logs import warn

Connection = duckdb.DuckDBPyConnection
EngineError = duckdb.Error

_TABLES = (
    "raw_file",
    "raw_path",
    "raw_record",
    "raw_part",
    "held_row",
    "quarantine",
    "value_repair",
    "user_cell",
    "prepared_day",
    "validated_day",
    "validated_file",
    "prepared_file",
    "prepared_count",
    "released_file",
    "late_day",
    "readable_time",
    "trimmed_id",
    "hour",
    "whole_hour",
    "boxes_per_degree",
    "box",
    "unboxed",
    "record_before",
    "record",
)
_MIRROR_TABLES = ("statistic", "charge")
_WAIT_SECONDS = 600
_WAIT_SECONDS_MIRROR = 5
_BATCH_ROWS = 1_000_000

log = logging.getLogger("hexveil.warehouse")


@atexit.register
def _drop_teardown_noise() -> None:
    """Close standard error last of all: DuckDB's bindings print pages about leaked types once all is done."""
    sys.stderr.flush()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def private_folder(config: Config) -> Path:
    """Return the folder of everything that is sensitive, made so that only its owner may enter."""
    folder = config.storage_path / "private"
    folder.mkdir(parents=True, exist_ok=True)
    if folder.stat().st_mode & 0o077:
        folder.chmod(0o700)
    return folder


@contextmanager
def connect(config: Config) -> Iterator[Connection]:
    """Open the dataset's warehouse, waiting while another process has it.

    Args:
        config: Says where the warehouse is, its time zone and its memory limit.

    Yields:
        A connection whose session is in the dataset's time zone, with the function ``h3_cell``.

    Raises:
        InUse: Another program, none of this project, kept the warehouse for ten minutes.
    """
    folder = private_folder(config)
    _claim(folder / "dataset", config)
    with _alone(folder):
        connection = _open(folder / "warehouse.duckdb", config)
        try:
            connection.execute(f"set TimeZone = '{config.dataset.timezone}'")
            connection.create_function(
                "h3_cell", _h3_cells, ["DOUBLE", "DOUBLE", "INTEGER"], "UBIGINT", type=PythonUDFType.ARROW
            )
            for table in _TABLES:
                run(connection, f"schema/{table}")
            yield connection
        finally:
            connection.close()


@contextmanager
def connect_mirror(config: Config, make_anew: bool = False) -> Iterator[Connection]:
    """Open the database of published rows and charges, which holds nothing private and can be made again.

    Args:
        config: Says where it is.
        make_anew: Set a damaged one aside and begin another.

    Raises:
        InUse: Another program, perhaps one that reads it, kept it for some seconds.
        LedgerBroken: It is damaged.
    """
    path = config.storage_path / "release.duckdb"
    try:
        connection = _open(path, config, _WAIT_SECONDS_MIRROR)
    except (duckdb.IOException, duckdb.SerializationException, duckdb.InternalException, duckdb.FatalException):
        if not make_anew:
            raise LedgerBroken(
                f"{path} cannot be read, so the ledger cannot be compared with it; the next run of a day sets it aside "
                "and makes it anew"
            ) from None
        warn(log, "damaged file is set aside and made anew", file=path)
        for damaged in (_log_of(path), path):
            if damaged.exists():
                damaged.replace(damaged.with_name(f"{damaged.name}.damaged"))
        connection = _open(path, config)
    try:
        connection.execute("set TimeZone = 'UTC'")
        for table in _MIRROR_TABLES:
            run(connection, f"schema/{table}")
        yield connection
    finally:
        connection.close()


def compact(config: Config) -> None:
    """Write the warehouse anew without the space of deleted rows, and leave nothing of them in files beside it.

    DuckDB neither overwrites nor gives back the blocks of deleted rows. What the disk itself keeps of a file that
    was removed is beyond this.
    """
    folder = private_folder(config)
    path, fresh = folder / "warehouse.duckdb", folder / "warehouse.compact.duckdb"
    with _alone(folder):
        for leftover in (fresh, _log_of(fresh)):
            leftover.unlink(missing_ok=True)
        connection = _open(path, config)
        try:
            connection.execute(f"attach '{_quoted(fresh)}' as fresh")
            connection.execute("copy from database warehouse to fresh")
            connection.execute("detach fresh")
        finally:
            connection.close()
        fresh.replace(path)
        _log_of(path).unlink(missing_ok=True)
        flush_folder(folder)
        shutil.rmtree(folder / "spill", ignore_errors=True)


def _alone(folder: Path) -> AbstractContextManager[None]:
    """Wait for one's turn at the warehouse: DuckDB lets one process write, and turns the others away."""
    return turn(folder / "warehouse.lock", "the warehouse")


@contextmanager
def transaction(connection: Connection) -> Iterator[None]:
    """Commit what the block does, or none of it: DuckDB answers OK to a COMMIT that rolled back."""
    connection.begin()
    try:
        yield
    except BaseException:
        connection.rollback()
        raise
    connection.commit()


@contextmanager
def any_order(connection: Connection) -> Iterator[None]:
    """Let the block write rows in any order: to keep that of a file, DuckDB writes them twice, at once and on closing.

    After an error nothing can be set, and the connection is not used again.
    """
    connection.execute("set preserve_insertion_order = false")
    yield
    connection.execute("set preserve_insertion_order = true")


@functools.cache
def statement(name: str) -> str:
    """Return the text of ``sql/<name>.sql``."""
    return (importlib.resources.files("sql") / f"{name}.sql").read_text(encoding="utf-8")


def run(connection: Connection, name: str, parameters: Mapping[str, Any] | None = None) -> Connection:
    """Execute ``sql/<name>.sql`` with named parameters, and return the connection to fetch from."""
    return connection.execute(statement(name), dict(parameters or {}))


def rows(connection: Connection, name: str, parameters: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
    """Return the rows of ``sql/<name>.sql``."""
    return run(connection, name, parameters).fetchall()


def frame(connection: Connection, name: str, parameters: Mapping[str, Any] | None = None) -> pl.DataFrame:
    """Return the rows of ``sql/<name>.sql`` as a polars frame."""
    return _in_utc(connection.sql(statement(name), params=dict(parameters or {})).pl())


def batches(connection: Connection, name: str, parameters: Mapping[str, Any]) -> Iterator[pl.DataFrame]:
    """Yield the rows of ``sql/<name>.sql`` in frames of at most a million rows."""
    reader = connection.sql(statement(name), params=dict(parameters)).to_arrow_reader(_BATCH_ROWS)
    for batch in reader:
        yield _in_utc(pl.DataFrame(pl.from_arrow(pa.Table.from_batches([batch]))))


def _in_utc(frame: pl.DataFrame) -> pl.DataFrame:
    """Show instants in UTC: DuckDB hands them over in the time zone of its session."""
    return frame.with_columns(cs.datetime(time_zone="*").dt.convert_time_zone("UTC"))


def _claim(marker: Path, config: Config) -> None:
    """Note whose storage this is, and refuse one that is another dataset's: their records would be mixed."""
    if not marker.exists():
        write_new(marker, config.dataset.name.encode())
    owner = marker.read_text(encoding="utf-8")
    if owner != config.dataset.name:
        raise HexveilError(
            f"{marker.parent.parent} holds the dataset {owner}, not {config.dataset.name}; give each dataset a "
            "storage.path of its own"
        )


def _open(path: Path, config: Config, wait_seconds: int = _WAIT_SECONDS) -> Connection:
    settings: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": config.storage.memory_limit,
        "temp_directory": str(config.storage_path / "private" / "spill"),
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
    }
    if config.storage.threads is not None:
        settings["threads"] = config.storage.threads
    if not path.exists():
        _create(path)
    deadline = time.monotonic() + wait_seconds
    while True:
        try:
            return duckdb.connect(str(path), config=settings)
        except duckdb.IOException as error:
            if "Could not set lock on file" not in str(error):
                raise
        if time.monotonic() > deadline:
            raise InUse(f"{path} has been in use by another program for {wait_seconds} s; end it first")
        time.sleep(0.2)


def _create(path: Path) -> None:
    """Make an empty database, whole or not at all: DuckDB does not open a file that it was killed while beginning.

    A log that lies there is of a database that was removed, and would keep this one from being opened.
    """
    with turn(path.with_name(f".{path.name}.door")):
        if path.exists():
            return
        unfinished = path.with_name(f".{path.name}.unfinished")
        for leftover in (unfinished, _log_of(unfinished), _log_of(path)):
            leftover.unlink(missing_ok=True)
        duckdb.connect(str(unfinished)).close()
        unfinished.replace(path)
        flush_folder(path.parent)


def _log_of(path: Path) -> Path:
    """Return where DuckDB keeps what it has not yet written into a database."""
    return path.with_name(f"{path.name}.wal")


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")


def _h3_cells(latitude: pa.ChunkedArray, longitude: pa.ChunkedArray, resolution: pa.ChunkedArray) -> pa.Array:
    """Return the H3 cell of each place in degrees; places must be finite."""
    cells = coordinates_to_cells(latitude.combine_chunks(), longitude.combine_chunks(), resolution[0].as_py())
    return pa.array(cells)
