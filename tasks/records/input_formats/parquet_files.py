"""Parquet files: their columns must have types that can be read as what they are."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as pat

from tasks.base import warehouse
from tasks.base.config import Config
from tasks.base.errors import BadInput
from tasks.base.storage import own_folder, private_folder
from tasks.records.forgotten import forgotten_parameters
from tasks.records.input_formats.columns import (
    called,
    column_roles,
    place_form,
    roles_of,
    rows_that_count,
    source_names,
)
from tasks.records.input_formats.compressed import most_of, too_well_compressed
from tasks.records.input_formats.geoparquet import geometries, refuse_other_systems
from tasks.records.input_formats.incoming import BLANK, blaming
from tasks.records.input_formats.input_format import Given, InputFormat, Left, Look
from tasks.records.input_formats.parquet_members import columns_of, entries, is_whole, write_flat
from tasks.records.input_formats.parquet_types import type_problem
from tasks.records.input_formats.thinning import MOST_RECORDS
from tasks.records.input_formats.times import N_LOOKED_AT, TEXT, TimeForm, time_form, written_times

_ROW_NUMBER = "file_row_number"
"""What the engine calls the number of a row."""
_BYTES_OF_ROW = 40
"""What a row of five columns takes when it is decoded, at least."""


def _look(path: Path, _: Given) -> Look:
    schema = _schema(path)

    def column(name: str) -> list[Any]:
        return _first_of_column(path, name, MOST_RECORDS)

    def spread(name: str) -> list[Any]:
        return _spread_of_column(path, name, MOST_RECORDS)

    int96 = _int96(path)
    kinds = {name: "int96" if name in int96 else str(kind) for name, kind in columns_of(schema)}
    inner = [name for name, kind in columns_of(schema) if is_whole(name, schema) or not pat.is_nested(kind)]
    return Look(PARQUET, inner, column, spread, kinds=kinds, geometries=geometries(path))


def parquet_rows(path: Path) -> int:
    """Return how many rows a Parquet file has.

    Raises:
        BadInput: It is incomplete.
    """
    return int(_whole(path).num_rows)


def _whole(path: Path) -> pq.FileMetaData:
    with _refusing_damage(path):
        return pq.read_metadata(path)


@contextmanager
def _refusing_damage(path: Path) -> Iterator[None]:
    """Refuse a file that does not say of itself what a Parquet file says. The library has several errors for that."""
    try:
        yield
        return
    except (pa.ArrowException, UnicodeDecodeError):
        pass
    except OSError as error:
        if error.errno is not None:
            raise
    raise BadInput(f"{path}: not a whole Parquet file; fetch it again")


def _metadata(path: Path) -> pq.FileMetaData:
    """Return what an input file says of itself.

    Its rows and its pages are limited as text in gzip is: a few bytes may stand for any number of equal rows.

    Raises:
        BadInput: It is incomplete, or becomes far longer than it is.
    """
    whole = _whole(path)
    groups = map(whole.row_group, range(whole.num_row_groups))
    if max(whole.num_rows * _BYTES_OF_ROW, sum(group.total_byte_size for group in groups)) > most_of(path):
        raise too_well_compressed(path)
    return whole


def _read(connection: warehouse.Connection, path: Path, file: dict[str, Any], config: Config) -> Left:
    _check_columns(path, config)
    names, schema = source_names(config).values(), _schema(path)
    if all(is_whole(name, schema) for name in names):
        return _read_flat(connection, path, path, file, config)
    with own_folder(private_folder(config) / "flat") as folder:
        flat = folder / "flat.parquet"
        with _refusing_damage(path):
            write_flat(path, names, flat)
        return _read_flat(connection, path, flat, file, config)


def _read_flat(connection: warehouse.Connection, path: Path, flat: Path, file: dict[str, Any], config: Config) -> Left:
    """Keep the rows of a file, from itself or from one with the same rows, in which each member is a column."""
    names = source_names(config)
    is_one = config.columns.time == names.get("time")
    kind = _schema(flat).field(names["time"]).type if is_one else pa.string()
    times = _times(path, kind, config) if is_one else _joined_times(connection, path, config)
    days = {"file_date": file["file_date"], **forgotten_parameters(config)}
    of_statement = {one: names[role] for one, role in {"user": "user", **column_roles(config)}.items()}
    columns = {"path": str(flat), **of_statement}
    try:
        if is_one and file["file_date"] is None and (times != TEXT or _has_instants(kind)):
            _find_hours(connection, {"path": str(flat), "time": names["time"], **times}, times)
        with warehouse.any_order(connection):
            read = {**file, **days, **columns, **times, **BLANK, **place_form(config)}
            read |= {"decimal": config.dataset.decimal, **rows_that_count(config, names)}
            warehouse.run(connection, "write/raw_record_from_parquet", read)
    except warehouse.EngineError:
        # Reading and writing are one statement, so check that the file is the cause and not, say, a full disk.
        with blaming(path, "parquet"), connection.cursor() as reader:
            warehouse.rows(reader, "checks/parquet_readable", {"path": str(flat), "names": list(names.values())})
        raise
    n_forgotten, n_left_out = 0, 0
    if days["dates"]:
        of_time = {name: read[name] for name in ("path", "time", "clock", "age", "latitude", "decimal")}
        forgotten = {**days, **of_time, **times}
        n_forgotten = warehouse.rows(connection, "read/n_forgotten_in_parquet", forgotten)[0][0]
    if config.columns.only:
        others = {name: one for name, one in read.items() if name not in ("user", "longitude", "value", "place")}
        with warehouse.any_order(connection):
            n_left_out = warehouse.changed(connection, "write/quarantine_left_out_of_parquet", others)
    return Left(0, n_forgotten, n_left_out)


def _joined_times(connection: warehouse.Connection, path: Path, config: Config) -> TimeForm:
    """Return the form of times that a Parquet file has in two columns, or that its path says."""
    names = source_names(config)
    of_time = [names.get(role) for role in ("time", "clock")]
    first, second = ([] if name is None else _first_of_column(path, name, N_LOOKED_AT) for name in of_time)
    n_rows = max(len(first), len(second))
    texts = [[None if one is None else str(one) for one in some] or [None] * n_rows for some in (first, second)]
    return time_form(written_times(connection, texts[0], texts[1], config), config)


def _times(path: Path, kind: pa.DataType, config: Config) -> TimeForm:
    """Return the form of a Parquet file's times, which have a type.

    Raises:
        BadInput: They are numbers, and it is neither declared nor to be seen what they count.
    """
    if pat.is_timestamp(kind):
        return TEXT
    name = source_names(config)["time"]
    first = _first_of_column(path, name, N_LOOKED_AT)
    form = time_form(first, config)
    if form == TEXT and not all(isinstance(one, str) for one in first if one is not None):
        raise BadInput(
            f'{path}: column "{name}" (columns.time) has numbers, and its first {N_LOOKED_AT} are not '
            "seconds, milli-, micro- or nanoseconds of the years 1990 to 2100; set columns.time_unit to what they "
            "count, or columns.time_format to their form"
        )
    return form


def _time_zone(path: Path, config: Config) -> str:
    """Return the zone of times without one: UTC for INT96, by the convention of Spark and Hive, unless it is said."""
    is_int96 = config.columns.time in _int96(path)
    return "UTC" if is_int96 and config.columns.time_zone is None else config.time_zone


def _int96(path: Path) -> set[str]:
    """Return the names of a Parquet file's columns whose physical type is INT96."""
    schema = _metadata(path).schema
    with _refusing_damage(path):
        return {one.path for one in map(schema.column, range(len(schema.names))) if one.physical_type == "INT96"}


def _find_hours(connection: warehouse.Connection, time: dict[str, Any], times: TimeForm) -> None:
    """Find the hours in which a Parquet file has rows: from its metadata if its times have an order there."""
    if times == TEXT and warehouse.changed(connection, "scratch/file_hour_between", time):
        return
    warehouse.run(connection, "scratch/file_hour_of_parquet", time)


def _check_columns(path: Path, config: Config) -> None:
    """Check that a Parquet file can be read and has the five columns, with types that fit their roles.

    Raises:
        BadInput: It cannot be read, it lacks a column, or a column has a type that would be read as something else.
    """
    schema = _schema(path)
    columns = columns_of(schema, source_names(config).values())
    names = [name for name, _ in columns]
    for position, role in roles_of(path, names, f"the file has: {', '.join(schema.names)}", config).items():
        name, kind = columns[position]
        problem = type_problem(role, kind.value_type if pat.is_dictionary(kind) else kind, path, config)
        if problem is not None:
            raise BadInput(f'{path}: column "{name}" (columns.{called(role)}) has the type {kind}, {problem}')
        _refuse_same_name(path, name, schema.names)
    if config.columns.geometry is not None:
        refuse_other_systems(path, config.columns.geometry)
    _check_encodings(path, config)


def _refuse_same_name(path: Path, name: str, names: list[str]) -> None:
    """Refuse a column that the engine calls otherwise, as one before it has its name but for capital letters."""
    before = [*names[: names.index(name)], _ROW_NUMBER] if name in names else []
    if same := next((one for one in before if one.lower() == name.lower()), None):
        which = "that of the number of a row" if same == _ROW_NUMBER else f'"{same}"'
        raise BadInput(f'{path}: column "{name}" has the same name as {which}, but for capital letters; rename one')


def _schema(path: Path) -> pa.Schema:
    """Return the names and types of a Parquet file's columns.

    Raises:
        BadInput: It cannot be read, or becomes far longer than it is.
    """
    with _refusing_damage(path):
        return _metadata(path).schema.to_arrow_schema()


def _has_instants(kind: pa.DataType) -> bool:
    """Return whether times of a type are instants, and not texts or times without a time zone."""
    return pat.is_timestamp(kind) and kind.tz is not None


def _first_of_column(path: Path, name: str, n: int) -> list[Any]:
    """Return the first entries of a column of a Parquet file; no other column is read."""
    return entries(path, name, 1, n)


def _spread_of_column(path: Path, name: str, n: int) -> list[Any]:
    """Return about n entries of a column of a Parquet file, evenly spread over it; no other column is read."""
    n_rows = parquet_rows(path)
    return entries(path, name, max(1, n_rows // n), n_rows)


def _check_encodings(path: Path, config: Config) -> None:
    """Refuse an encoding that the engine reads only if every value is null."""
    whole = _metadata(path)
    roles = {name: role for role, name in source_names(config).items()}
    for number in range(whole.num_row_groups):
        group = whole.row_group(number)
        for column in map(group.column, range(group.num_columns)):
            role, is_fixed = roles.get(column.path_in_schema), column.physical_type == "FIXED_LEN_BYTE_ARRAY"
            if role and is_fixed and "BYTE_STREAM_SPLIT" in column.encodings:
                raise BadInput(
                    f'{path}: column "{column.path_in_schema}" (columns.{role}) has the encoding BYTE_STREAM_SPLIT, '
                    "which cannot be read for its type; write it in another"
                )


PARQUET = InputFormat(
    name="parquet",
    endings=(".parquet",),
    domain="in Parquet any value of the column's type, a text at most 64 KiB",
    begins=lambda start: start.startswith(b"PAR1"),
    look=_look,
    count=lambda path, _: int(_metadata(path).num_rows),
    read=_read,
    time_zone=_time_zone,
    has_columns=True,
)
