"""DuckDB: the only module that imports it. Connections, transactions, and the files of sql/."""

import atexit
import functools
import importlib.resources
import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import polars.selectors as cs
import pyarrow as pa
from duckdb.func import PythonUDFType
from h3ronpy.vector import coordinates_to_cells

from tasks.base import tables
from tasks.base.config import Config
from tasks.base.durable import flush_folder
from tasks.base.errors import InUse, contained
from tasks.base.locks import turn
from tasks.base.storage import claim, private_folder

Connection = duckdb.DuckDBPyConnection
EngineError = duckdb.Error
DAMAGE = (duckdb.IOException, duckdb.SerializationException, duckdb.InternalException, duckdb.FatalException)
"""What DuckDB raises of a file that it cannot read."""

_WAIT_SECONDS = 600
_BATCH_ROWS = 1_000_000


class _Kept:
    """The turn at a warehouse, and what keeps it open: from the first connection to the end, or to an error."""

    def __init__(self) -> None:
        self._held = ExitStack()
        self._database: Connection | None = None

    def database(self, config: Config) -> Connection:
        """Return the database, opened in one's turn if it is not open."""
        if self._database is None:
            claim(config)
            folder = private_folder(config)
            self._held.enter_context(_exclusive(folder))
            database = self._held.enter_context(closing(open_database(folder / "warehouse.duckdb", config)))
            database.create_function(
                "h3_cell", _h3_cells, ["DOUBLE", "DOUBLE", "INTEGER"], "UBIGINT", type=PythonUDFType.ARROW
            )
            define(database, *tables.PRIVATE, *tables.VIEWS)
            self._database = database
        return self._database

    def let_go(self) -> None:
        """Close the database and let others have their turn."""
        self._database = None
        self._held.close()


class _OfThread(threading.local):
    def __init__(self) -> None:
        self.kept: dict[Path, _Kept] = {}


_of_thread = _OfThread()


@atexit.register
def _drop_teardown_noise() -> None:
    """Close standard error last of all: DuckDB's bindings print pages about leaked types once all is done."""
    sys.stderr.flush()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


@contextmanager
def kept_open(config: Config) -> Iterator[None]:
    """Keep the warehouse open between this thread's connections: what one has read, the next need not read again.

    From the first connection to the end of the block everybody else waits for the warehouse. Within another such block
    this one does nothing.
    """
    if config.storage_path in _of_thread.kept:
        yield
        return
    _of_thread.kept[config.storage_path] = _Kept()
    try:
        yield
    finally:
        _leave(config)


@contained
def _leave(config: Config) -> None:
    _of_thread.kept.pop(config.storage_path).let_go()


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
    with kept_open(config):
        kept = _of_thread.kept[config.storage_path]
        try:
            with closing(kept.database(config).cursor()) as connection:
                connection.execute(f"set TimeZone = '{config.dataset.timezone}'")
                yield connection
        except BaseException:
            kept.let_go()  # after some errors DuckDB refuses all else until the database is opened anew
            raise


def compact(config: Config) -> None:
    """Write the warehouse anew without the space of deleted rows, and leave nothing of them in files beside it.

    DuckDB neither overwrites nor gives back the blocks of deleted rows. What the disk itself keeps of a file that
    was removed is beyond this.
    """
    folder = private_folder(config)
    path, fresh = folder / "warehouse.duckdb", folder / "warehouse.compact.duckdb"
    with _exclusive(folder):
        for leftover in (fresh, log_of(fresh)):
            leftover.unlink(missing_ok=True)
        connection = open_database(path, config)
        try:
            connection.execute(f"attach '{_quoted(fresh)}' as fresh")
            connection.execute("copy from database warehouse to fresh")
            connection.execute("detach fresh")
        finally:
            connection.close()
        fresh.replace(path)
        log_of(path).unlink(missing_ok=True)
        flush_folder(folder)
        shutil.rmtree(folder / "spill", ignore_errors=True)


def _exclusive(folder: Path) -> AbstractContextManager[None]:
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


def define(connection: Connection, *names: str) -> None:
    """Make tables and views of ``sql/schema`` where they are not yet."""
    for name in names:
        run(connection, f"schema/{name}")


def run(connection: Connection, name: str, parameters: Mapping[str, Any] | None = None) -> Connection:
    """Execute ``sql/<name>.sql`` with named parameters, and return the connection to fetch from."""
    return connection.execute(statement(name), dict(parameters or {}))


def run_on(connection: Connection, name: str, table: str, parameters: Mapping[str, Any] | None = None) -> Connection:
    """Execute ``sql/<name>.sql`` on a table of ``sql/schema``, which the file calls ``any_table``.

    Raises:
        ValueError: The schema has no such table, or the file names its table itself.
    """
    return connection.execute(tables.named(table, statement(name)), dict(parameters or {}))


def changed(connection: Connection, name: str, parameters: Mapping[str, Any] | None = None) -> int:
    """Return how many rows ``sql/<name>.sql`` wrote."""
    return int(rows(connection, name, parameters)[0][0])


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


def open_database(path: Path, config: Config, wait_seconds: int = _WAIT_SECONDS) -> Connection:
    """Open a database file, made if it is not there, with the storage's limits.

    Raises:
        InUse: Another program kept it for so many seconds.
    """
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
        for leftover in (unfinished, log_of(unfinished), log_of(path)):
            leftover.unlink(missing_ok=True)
        duckdb.connect(str(unfinished)).close()
        unfinished.replace(path)
        flush_folder(path.parent)


def log_of(path: Path) -> Path:
    """Return where DuckDB keeps what it has not yet written into a database."""
    return path.with_name(f"{path.name}.wal")


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")


def _h3_cells(latitude: pa.ChunkedArray, longitude: pa.ChunkedArray, resolution: pa.ChunkedArray) -> pa.Array:
    """Return the H3 cell of each place in degrees; places must be finite."""
    cells = coordinates_to_cells(latitude.combine_chunks(), longitude.combine_chunks(), resolution[0].as_py())
    return pa.array(cells)
