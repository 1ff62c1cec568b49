"""Readers: one for each format, which puts the rows of a file into raw_record or, what is no row, into quarantine."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.types as pat

from tasks.base import warehouse
from tasks.base.config import Config
from tasks.base.config_source import OF_FILE
from tasks.base.errors import BadInput
from tasks.records import gtfs_realtime, json_documents, structure
from tasks.records.csv_rows import first_line_end
from tasks.records.forgotten import forgotten_parameters
from tasks.records.json_members import first_members, first_rows
from tasks.records.text_lines import not_utf8, numbered_lines, unreadable
from tasks.records.times import N_LOOKED_AT, TEXT, TimeForm, time_form

_BLANK = {"blank": "".join(chr(one) for one in range(0x3001) if chr(one).isspace())}
_DECIMAL_MARKS = {".": "scratch/number_with_point", ",": "scratch/number_with_comma"}


class Left(NamedTuple):
    """How many rows of a file are not in raw_record, by reason."""

    n_malformed: int
    n_forgotten: int


@contextmanager
def _blaming(path: Path, kind: str) -> Iterator[None]:
    """Replace an error of the engine, which may quote the file's content, by one that only names the file."""
    try:
        yield
    except warehouse.EngineError:
        raise unreadable(path, kind) from None


def _define(connection: warehouse.Connection, times: TimeForm, config: Config) -> None:
    """Let a connection read the times, numbers and ids of a file."""
    times.define(connection)
    warehouse.run(connection, _DECIMAL_MARKS[config.dataset.decimal])
    warehouse.run(connection, "scratch/id_of_file" if config.columns.user == OF_FILE else "scratch/id_of_column")


def _read_csv(connection: warehouse.Connection, path: Path, file: dict[str, Any], config: Config) -> Left:
    names = [{"user": "user_id"}.get(role, role) for role in structure.csv_columns(path, config)]
    times = time_form(structure.first_csv_times(path, names.index("time"), N_LOOKED_AT, config), config)
    parameters = {
        "path": str(path),
        "columns": dict.fromkeys(names, "VARCHAR"),
        "delimiter": config.dataset.delimiter,
        "line_end": first_line_end(path),
        "header": not config.dataset.header,
        "filename": "user_id" if config.columns.user == OF_FILE else False,
    }
    with _blaming(path, "csv"):
        _define(connection, times, config)
        warehouse.run(connection, "scratch/incoming_csv", {**parameters, **times.parameters, **_BLANK})
        if warehouse.rows(connection, "checks/lines_not_utf8"):
            raise not_utf8(path)
        n_malformed = warehouse.changed(connection, "write/quarantine_csv_lines", file)
    return _keep_incoming(connection, file, n_malformed, config)


def _read_parquet(connection: warehouse.Connection, path: Path, file: dict[str, Any], config: Config) -> Left:
    structure.check_parquet_columns(path, config)
    names = structure.source_names(config)
    kind = structure.parquet_schema(path).field(names["time"]).type
    times = _parquet_times(path, kind, config)
    days = {"file_date": file["file_date"], **forgotten_parameters(config)}
    columns = {"path": str(path), **names}
    try:
        _define(connection, times, config)
        if file["file_date"] is None and (times != TEXT or structure.has_instants(kind)):
            _find_hours(connection, {"path": str(path), "time": names["time"], **times.parameters}, times)
        with warehouse.any_order(connection):
            read = {**file, **days, **columns, **times.parameters, **_BLANK}
            warehouse.run(connection, "write/raw_record_from_parquet", read)
    except warehouse.EngineError:
        # Reading and writing are one statement, so check that the file is the cause and not, say, a full disk.
        with _blaming(path, "parquet"), connection.cursor() as reader:
            warehouse.rows(reader, "checks/parquet_readable", columns)
        raise
    n_forgotten = 0
    if days["dates"]:
        forgotten = {**days, "path": str(path), "time": names["time"], **times.parameters}
        n_forgotten = warehouse.rows(connection, "read/n_forgotten_in_parquet", forgotten)[0][0]
    return Left(0, n_forgotten)


def _parquet_times(path: Path, kind: pa.DataType, config: Config) -> TimeForm:
    """Return the form of a Parquet file's times, which have a type.

    Raises:
        BadInput: They are numbers, and it is neither declared nor to be seen what they count.
    """
    if pat.is_timestamp(kind):
        return TEXT
    first = structure.first_of_column(path, config.columns.time, N_LOOKED_AT)
    form = time_form(first, config)
    if form == TEXT and not all(isinstance(one, str) for one in first if one is not None):
        raise BadInput(
            f'{path}: column "{config.columns.time}" (columns.time) has numbers, and its first {N_LOOKED_AT} are not '
            "seconds, milli-, micro- or nanoseconds of the years 1990 to 2100; set columns.time_unit to what they "
            "count, or columns.time_format to their form"
        )
    return form


def _find_hours(connection: warehouse.Connection, time: dict[str, Any], times: TimeForm) -> None:
    """Find the hours in which a Parquet file has rows: from its metadata if its times have an order there."""
    if times == TEXT and warehouse.changed(connection, "scratch/file_hour_between", time):
        return
    warehouse.run(connection, "scratch/file_hour_of_parquet", time)


def _read_ndjson(connection: warehouse.Connection, path: Path, file: dict[str, Any], config: Config) -> Left:
    first = first_rows(numbered_lines(path), N_LOOKED_AT)
    return _read_lines(connection, path, first, numbered_lines(path), file, config)


def _read_json(connection: warehouse.Connection, path: Path, file: dict[str, Any], config: Config) -> Left:
    lines = json_documents.numbered_records(path, config.dataset.records)
    return _read_lines(connection, path, lines.slice(0, N_LOOKED_AT), lines, file, config)


def _read_lines(
    connection: warehouse.Connection,
    path: Path,
    first: pa.Table,
    lines: pa.RecordBatchReader | pa.Table,
    file: dict[str, Any],
    config: Config,
) -> Left:
    """Keep the records of a file from lines of JSON, with the columns ``row_number`` and ``line``."""
    with _blaming(path, "json"):
        members = first_members(connection, path, first, config)
        times = time_form(members.times, config)
        _define(connection, times, config)
        connection.register("source_line", lines)
        warehouse.run(connection, "scratch/incoming_ndjson", {**members.pointers, **times.parameters, **_BLANK})
        absent = {pointer for (pointer,) in warehouse.rows(connection, "checks/absent_members", members.pointers)}
        for role, name in structure.source_names(config).items():
            if members.pointers[role] in absent:
                raise BadInput(f'{path}: no column "{name}" (columns.{role}) in any line')
        n_malformed = warehouse.changed(connection, "write/quarantine_incoming", file)
    return _keep_incoming(connection, file, n_malformed, config)


def _read_gtfs_realtime(connection: warehouse.Connection, path: Path, file: dict[str, Any], config: Config) -> Left:
    rows = gtfs_realtime.positions(path, config)
    times = time_form(rows["time"].slice(0, N_LOOKED_AT).to_pylist(), config)
    with _blaming(path, "gtfs-rt"):
        _define(connection, times, config)
        connection.register("source_row", rows)
        warehouse.run(connection, "scratch/incoming_positions", {**times.parameters, **_BLANK})
        n_malformed = warehouse.changed(connection, "write/quarantine_incoming", file)
    return _keep_incoming(connection, file, n_malformed, config)


def _keep_incoming(connection: warehouse.Connection, file: dict[str, Any], n_malformed: int, config: Config) -> Left:
    """Keep the rows that a reader left in ``incoming``, except rows of forgotten days."""
    n_readable = warehouse.rows(connection, "read/n_incoming_rows")[0][0]
    days = {**file, **forgotten_parameters(config)}
    if file["file_date"] is None:
        warehouse.run(connection, "scratch/file_hour_of_incoming")
    with warehouse.any_order(connection):
        n_kept = warehouse.changed(connection, "write/raw_record_from_incoming", days)
    return Left(n_malformed, n_readable - n_kept)


READERS = {
    "csv": _read_csv,
    "parquet": _read_parquet,
    "ndjson": _read_ndjson,
    "json": _read_json,
    "gtfs-rt": _read_gtfs_realtime,
}
