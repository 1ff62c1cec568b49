"""The only module that imports DuckDB: connections, transactions, and the files of ``sql/``."""

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

from tasks.base import hexagons, tables
from tasks.base.durable import close_to_others, flush_folder
from tasks.base.errors import InUse, contained
from tasks.base.locks import turn
from tasks.base.owner import Owner
from tasks.base.storage import claim, damage_said, is_of_old_log, private_folder

Connection = duckdb.DuckDBPyConnection
EngineError = duckdb.Error
DAMAGE = (duckdb.IOException, duckdb.SerializationException, duckdb.InternalException, duckdb.FatalException)
"""What DuckDB raises for a file that it cannot read."""

_WAIT_SECONDS = 600
_BATCH_ROWS = 1_000_000


class _Kept:
    """The lock of a warehouse and its open database, held from the first connection to the end or to an error."""

    def __init__(self) -> None:
        self._held = ExitStack()
        self._database: Connection | None = None

    def database(self, config: Owner) -> Connection:
        """Return the database. If it is not open, wait for the lock and open it."""
        if self._database is None:
            claim(config)
            folder = private_folder(config)
            self._held.enter_context(_exclusive(folder))
            with damage_said(file := folder / "warehouse.duckdb"):
                database = self._held.enter_context(closing(open_database(file, config)))
            _add_functions(database)
            define(database, *tables.PRIVATE, *tables.VIEWS)
            self._database = database
        return self._database

    def let_go(self) -> None:
        """Close the database and release the lock."""
        self._database = None
        self._held.close()


class _OfThread(threading.local):
    def __init__(self) -> None:
        self.kept: dict[Path, _Kept] = {}


_of_thread = _OfThread()


@atexit.register
def _drop_teardown_noise() -> None:
    """Close standard error at exit. After everything else, DuckDB's bindings print pages about leaked types."""
    sys.stderr.flush()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


@contextmanager
def kept_open(config: Owner) -> Iterator[None]:
    """Keep the warehouse open between this thread's connections, so that its cache is used again.

    All other processes and threads wait for the warehouse from the first connection to the end of the block. Inside
    another such block this one does nothing.
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
def _leave(config: Owner) -> None:
    _of_thread.kept.pop(config.storage_path).let_go()


@contextmanager
def connect(config: Owner) -> Iterator[Connection]:
    """Open the dataset's warehouse. Wait while another process uses it.

    Args:
        config: Says where the warehouse is, its time zone and its memory limit.

    Yields:
        A connection in the dataset's time zone, with the functions of hexagons.

    Raises:
        InUse: A program outside this project used the warehouse for ten minutes.
    """
    with kept_open(config):
        kept = _of_thread.kept[config.storage_path]
        try:
            with closing(kept.database(config).cursor()) as connection:
                connection.execute(f"set TimeZone = '{config.timezone}'")
                for made in ("scratch/is_larger", "scratch/hexagon_of"):
                    run(connection, made)
                yield connection
        except BaseException:
            kept.let_go()  # after some errors DuckDB refuses everything until the database is reopened
            raise


@contextmanager
def in_memory(timezone: str, config: Owner | None = None, **instead: Any) -> Iterator[Connection]:
    """Open an empty database in memory, in a time zone, with the limits of a storage; some functions may be others."""
    with closing(duckdb.connect(config={} if config is None else _settings(config))) as connection:
        _add_functions(connection, **instead)
        connection.execute(f"set TimeZone = '{timezone}'")
        yield connection


def _add_functions(database: Connection, **instead: Any) -> None:
    for name, (function, kinds, kind) in hexagons.FUNCTIONS.items():
        database.create_function(name, instead.get(name, function), kinds, kind, type=PythonUDFType.ARROW)
    database.execute("set global enable_geoparquet_conversion = false")  # one bad geometry would fail the whole file


def compact(config: Owner) -> None:
    """Rewrite the warehouse without the space of deleted rows, and remove the files next to it that may contain them.

    DuckDB neither overwrites nor frees the blocks of deleted rows. This cannot erase what the disk itself keeps of a
    removed file.
    """
    folder = private_folder(config)
    path, fresh = folder / "warehouse.duckdb", folder / "warehouse.compact.duckdb"
    with _exclusive(folder):
        fresh.unlink(missing_ok=True)
        _drop_log(fresh)
        with closing(open_database(path, config)) as connection:
            connection.execute("attach '{}' as fresh".format(str(fresh).replace("'", "''")))
            connection.execute("copy from database warehouse to fresh")
            connection.execute("detach fresh")
        fresh.replace(path)
        _drop_log(path)
        shutil.rmtree(folder / "spill", ignore_errors=True)


def _exclusive(folder: Path) -> AbstractContextManager[None]:
    """Wait for the warehouse's lock and hold it. DuckDB lets only one process write, and refuses all others."""
    return turn(folder / "warehouse.lock", "the warehouse")


@contextmanager
def transaction(connection: Connection) -> Iterator[None]:
    """Commit all that the block does, or nothing. DuckDB answers OK even to a COMMIT that it rolled back."""
    connection.begin()
    try:
        yield
    except BaseException:
        connection.rollback()
        raise
    connection.commit()


@contextmanager
def any_order(connection: Connection) -> Iterator[None]:
    """Let the block write rows in any order. To keep a file's order, DuckDB writes rows twice: at once and on closing.

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
    """Create tables and views of ``sql/schema`` that do not exist yet."""
    held = {name for (name,) in rows(connection, "read/table_names")}  # one statement for most of them
    for name in names:
        if name not in held:
            run(connection, f"schema/{name}")


def run(connection: Connection, name: str, parameters: Mapping[str, Any] | None = None) -> Connection:
    """Execute ``sql/<name>.sql`` with named parameters, and return the connection to fetch from."""
    return connection.execute(statement(name), dict(parameters or {}))


def run_on(connection: Connection, name: str, table: str, parameters: Mapping[str, Any] | None = None) -> Connection:
    """Execute ``sql/<name>.sql`` on a table of ``sql/schema``, which the file calls ``any_table``.

    Raises:
        ValueError: The schema has no such table, or the file does not contain ``any_table``.
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
    for batch in connection.sql(statement(name), params=dict(parameters)).to_arrow_reader(_BATCH_ROWS):
        yield _in_utc(pl.DataFrame(pl.from_arrow(pa.Table.from_batches([batch]))))


def _in_utc(frame: pl.DataFrame) -> pl.DataFrame:
    """Convert instants to UTC. DuckDB returns them in the time zone of its session."""
    return frame.with_columns(cs.datetime(time_zone="*").dt.convert_time_zone("UTC"))


def open_database(path: Path, config: Owner, wait_seconds: int = _WAIT_SECONDS, read_only: bool = False) -> Connection:
    """Open a database file with the storage's limits. The file is created if it does not exist, except to read only.

    Raises:
        InUse: Another program used it for ``wait_seconds``.
    """
    if not read_only and not path.exists():
        _create(path)
    deadline = time.monotonic() + wait_seconds
    while True:
        try:
            return duckdb.connect(str(path), read_only, _settings(config))
        except duckdb.IOException as error:
            if is_of_old_log(error) and not read_only:
                _drop_log(path)
            elif "Could not set lock on file" not in str(error):
                raise
        if time.monotonic() > deadline:
            raise InUse(f"{path} has been in use by another program for {wait_seconds} s; end it first")
        time.sleep(0.2)


def _settings(config: Owner) -> dict[str, Any]:
    return {
        "memory_limit": config.storage.memory_limit,
        "temp_directory": str(config.storage_path / "private" / "spill"),
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        **({} if config.storage.threads is None else {"threads": config.storage.threads}),
    }


def _create(path: Path) -> None:
    """Create an empty database, complete or not at all. DuckDB cannot open a file if it was killed while creating it.

    A log file that is already there belongs to a removed database, and would stop this one from opening.
    """
    with turn(path.with_name(f".{path.name}.door")):
        if path.exists():
            return
        unfinished = path.with_name(f".{path.name}.unfinished")
        for leftover in (unfinished, log_of(unfinished), log_of(path)):
            leftover.unlink(missing_ok=True)
        duckdb.connect(str(unfinished)).close()
        close_to_others(unfinished)
        unfinished.replace(path)
        flush_folder(path.parent)


def log_of(path: Path) -> Path:
    """Return the path where DuckDB keeps what it has not yet written into a database."""
    return path.with_name(f"{path.name}.wal")


def _drop_log(path: Path) -> None:
    log_of(path).unlink(missing_ok=True)
    flush_folder(path.parent)
