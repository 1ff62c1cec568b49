"""Structure: checks, before the engine reads a file, that it has the right columns, of types that can be read."""

import itertools
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as pat

from tasks.base.config import Config
from tasks.base.config_source import OF_FILE, ROLES
from tasks.base.errors import BadInput
from tasks.records import recognise, text_lines
from tasks.records.csv_rows import csv_records

_MOST_NOT_IN_A_HEADER = 1  # if the header is missing, a value of the first record could equal a column's name
_TEXT = (pat.is_string, pat.is_large_string, pat.is_string_view)
_NUMBER = (pat.is_integer, pat.is_floating, pat.is_decimal)
_PARQUET_TYPES = {
    "user": (*_TEXT, pat.is_integer, pat.is_binary, pat.is_large_binary),
    "time": (*_TEXT, *_NUMBER, pat.is_timestamp),
    "latitude": (*_TEXT, *_NUMBER),
    "longitude": (*_TEXT, *_NUMBER),
    "value": (*_TEXT, *_NUMBER, pat.is_boolean, pat.is_null),
}
_READABLE = {
    "user": "texts, whole numbers and bytes",
    "time": "timestamps, texts, and numbers since 1970 (columns.time_unit)",
    "latitude": "numbers and texts",
    "longitude": "numbers and texts",
    "value": "numbers, texts and truth values",
}


def csv_columns(path: Path, config: Config) -> list[str]:
    """Return a CSV file's columns in the file's order; the five that are read are named by their role.

    Files without a header have the columns that the configuration names.

    Raises:
        BadInput: The header is missing, not UTF-8, or lacks a column. If the header is missing, the first line is a
            record: then the message depends on none of its fields.
    """
    if config.dataset.header:
        return _by_role(path, list(config.dataset.header), "mend dataset.header", config)
    try:
        first_line = text_lines.first_line(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise text_lines.not_utf8(path) from None
    header = recognise.split(first_line, config.dataset.delimiter)
    if not header:
        raise BadInput(f"{path}: the file is empty, or its first line is, without a header")
    wanted = source_names(config).values()
    if sum(name not in header for name in wanted) > _MOST_NOT_IN_A_HEADER:
        columns = ", ".join(f'"{name}"' for name in wanted)
        raise BadInput(
            f"{path}: the first line is no header with the columns {columns}; check dataset.delimiter, or name the "
            "columns of files without a header in dataset.header"
        )
    return _by_role(path, header, "check the header, [columns] and dataset.delimiter", config)


def first_csv_times(path: Path, position: int, n: int, config: Config) -> list[str]:
    """Return the times of the first records of a CSV file; how long or what their values are does not matter.

    Args:
        path: The file.
        position: Which of its columns has the times.
        n: How many records to look at.
        config: Gives the delimiter, and says whether there is a header.
    """
    start = 0 if config.dataset.header else 1
    records = itertools.islice(csv_records(path, config.dataset.delimiter), start, start + n)
    return [record[position].removeprefix("\ufeff") for record in records if len(record) > position]


def check_parquet_columns(path: Path, config: Config) -> None:
    """Check that a Parquet file can be read and has the five columns, with types that fit their roles.

    Raises:
        BadInput: It cannot be read, it lacks a column, or a column has a type that would be read as something else.
    """
    schema = parquet_schema(path)
    for position, role in _roles(path, schema.names, f"the file has: {', '.join(schema.names)}", config).items():
        kind = schema.field(position).type
        problem = _problem(role, kind.value_type if pat.is_dictionary(kind) else kind, path, config)
        if problem is not None:
            raise BadInput(f'{path}: column "{schema.names[position]}" (columns.{role}) has the type {kind}, {problem}')
    _check_encodings(path, config)


def parquet_schema(path: Path) -> pa.Schema:
    """Return the names and types of a Parquet file's columns.

    Raises:
        BadInput: It cannot be read.
    """
    try:
        return pq.read_schema(path)
    except pa.ArrowInvalid:
        raise BadInput(f"{path}: not a whole Parquet file; fetch it again") from None


def has_instants(kind: pa.DataType) -> bool:
    """Return whether times of a type are instants, and not texts or times without a time zone."""
    return pat.is_timestamp(kind) and kind.tz is not None


def first_of_column(path: Path, name: str, n: int) -> list[Any]:
    """Return the first entries of a column of a Parquet file; no other column is read."""
    with pq.ParquetFile(path) as file:
        batches = file.iter_batches(batch_size=n, columns=[name])
        return list(itertools.islice((one for batch in batches for one in batch.column(0).to_pylist()), n))


def spread_of_column(path: Path, name: str, n: int) -> list[Any]:
    """Return about n entries of a column of a Parquet file, evenly spread over it; no other column is read."""
    with pq.ParquetFile(path) as file:
        step = max(1, file.metadata.num_rows // n)
        return [one for batch in file.iter_batches(columns=[name]) for one in batch.column(0)[::step].to_pylist()]


def _problem(role: str, kind: pa.DataType, path: Path, config: Config) -> str | None:
    """Return what is wrong with the type of a column, and what can be read; None if nothing is."""
    columns = config.columns
    if role == "user" and pat.is_floating(kind):
        name, cast = columns.user, f'copy (select * replace ("{columns.user}"::bigint as "{columns.user}") from'
        return (
            f"which cannot be an id: {name} 12 and 12.0 would be two users, and large ids lose digits. Write it as "
            f"whole numbers or as text, for example with DuckDB: {cast} '{path.name}') to 'mended.parquet'"
        )
    if role == "value" and columns.value_type is not None:
        tests = _NUMBER if columns.value_type == "number" else _TEXT
        declared = f'and columns.value_type declares "{columns.value_type}"'
        return None if any(test(kind) for test in tests) else declared
    if role == "time" and pat.is_timestamp(kind) and (columns.time_unit or columns.time_format):
        return "which needs neither columns.time_unit nor columns.time_format: remove it"
    if any(test(kind) for test in _PARQUET_TYPES[role]):
        return None
    return f"which cannot be used; {_READABLE[role]} can be read"


def _check_encodings(path: Path, config: Config) -> None:
    """Refuse an encoding that the engine reads only if every value is null."""
    whole = pq.read_metadata(path)
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


def source_names(config: Config) -> dict[str, str]:
    """Return the name that the input files use for each role. A user that is the file's name has no column."""
    names = {role: getattr(config.columns, role) for role in ROLES}
    return {role: name for role, name in names.items() if name != OF_FILE}


def _by_role(path: Path, header: list[str], hint: str, config: Config) -> list[str]:
    roles = _roles(path, header, hint, config)
    return [roles.get(position, f"unused_{position}") for position in range(len(header))]


def _roles(path: Path, header: list[str], hint: str, config: Config) -> dict[int, str]:
    positions = {}
    for role, name in source_names(config).items():
        if header.count(name) != 1:
            problem = "no column" if name not in header else "more than one column"
            raise BadInput(f'{path}: {problem} "{name}" (columns.{role}); {hint}')
        positions[header.index(name)] = role
    return positions
