"""Finds input files and checks, before the engine reads them, that they are complete and have the right columns."""

import csv
import datetime as dt
import glob
import hashlib
import itertools
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as pat

from tasks.base.config import DATE_PLACEHOLDER, Config
from tasks.base.config_types import is_remote, shown
from tasks.base.errors import BadInput
from tasks.records import text_lines
from tasks.records.csv_rows import count_csv_rows

ROLES = ("user", "time", "latitude", "longitude", "value")
_FORMATS = {
    ".csv": "csv",
    ".csv.gz": "csv",
    ".parquet": "parquet",
    ".ndjson": "ndjson",
    ".ndjson.gz": "ndjson",
    ".jsonl": "ndjson",
    ".jsonl.gz": "ndjson",
}
_LEAST_OF_A_HEADER = 4  # if the header is missing, a value of the first record could equal a column's name
_TEXT = (pat.is_string, pat.is_large_string, pat.is_string_view)
_NUMBER = (pat.is_integer, pat.is_floating, pat.is_decimal)
_PARQUET_TYPES = {
    "user": (*_TEXT, pat.is_integer, pat.is_binary, pat.is_large_binary),
    "time": (*_TEXT, pat.is_timestamp),
    "latitude": (*_TEXT, *_NUMBER),
    "longitude": (*_TEXT, *_NUMBER),
    "value": (*_TEXT, *_NUMBER, pat.is_boolean, pat.is_null),
}


def find_files(date: dt.date, config: Config, needed: bool = True) -> list[tuple[Path, dt.date | None]]:
    """Return the files for a day on the file system, sorted, each with the day it is for if its pattern has one.

    Raises:
        BadInput: No such file exists although one is needed, or its path cannot be used.
    """
    found: dict[Path, dt.date | None] = {}
    for pattern in itertools.filterfalse(is_remote, config.dataset.files):
        file_date = date if DATE_PLACEHOLDER in pattern else None
        dated = pattern.replace(DATE_PLACEHOLDER, date.isoformat())
        filled = dated if Path(dated).is_absolute() else f"{glob.escape(str(config.folder))}/{dated}"
        found |= {Path(path).resolve(): file_date for path in glob.glob(filled, recursive=True)}
    if needed and not found:
        patterns = ", ".join(config.dataset.files)
        raise BadInput(
            f"no file for {date} matches dataset.files = {patterns} in {config.folder}; run the day again once the "
            "file is there, or mend dataset.files"
        )
    for path in found:
        if str(path) != shown(str(path)):
            raise BadInput(f"{shown(str(path))}: control characters cannot be part of a file's path; rename it")
        if glob.escape(str(path)) != str(path):
            raise BadInput(f"{path}: the characters * ? [ cannot be part of a file's path; rename it")
        if not path.is_file():
            raise BadInput(f"{path}: is a folder or no longer there; dataset.files must name only files")
    return sorted(found.items())


def file_format(path: Path) -> str:
    """Return csv, parquet or ndjson.

    Raises:
        BadInput: The name has none of the known endings.
    """
    for ending, name in _FORMATS.items():
        if path.name.endswith(ending):
            return name
    raise BadInput(f"{path}: unknown kind of file; its name must end in one of {', '.join(_FORMATS)}")


def content_hash(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal. It depends on private values."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def count_rows(path: Path, kind: str, config: Config) -> int:
    """Return how many rows a file has, counted without the engine; reads a text file to its end.

    The engine notices a truncated gzip file but not a wrong checksum, and silently drops lines beyond some length. So
    every text file is read once here, and any record longer than 64 KiB is refused. Blank lines are not rows.

    Raises:
        BadInput: The file is truncated or damaged, or a record is too long.
    """
    if kind == "parquet":
        return parquet_rows(path)
    return text_lines.count_lines(path) if kind == "ndjson" else count_csv_rows(path, config.dataset.delimiter)


def parquet_rows(path: Path) -> int:
    """Return how many rows a Parquet file has.

    Raises:
        BadInput: It is incomplete.
    """
    try:
        return int(pq.read_metadata(path).num_rows)
    except pa.ArrowInvalid:
        raise BadInput(f"{path}: not a whole Parquet file; fetch it again") from None


def csv_columns(path: Path, config: Config) -> list[str]:
    """Return a CSV file's columns in the file's order; the five that are read are named by their role.

    Raises:
        BadInput: The header is missing, not UTF-8, or lacks a column. If the header is missing, the first line is a
            record: then the message depends on none of its fields.
    """
    try:
        first_line = text_lines.first_line(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadInput(f"{path}: not UTF-8; convert the file, for example with iconv") from None
    header = next(csv.reader([first_line], delimiter=config.dataset.delimiter), [])
    if not header:
        raise BadInput(f"{path}: the file is empty, or its first line is, without a header")
    wanted = source_names(config).values()
    if sum(name in header for name in wanted) < _LEAST_OF_A_HEADER:
        columns = ", ".join(f'"{name}"' for name in wanted)
        raise BadInput(f"{path}: the first line is no header with the columns {columns}; check dataset.delimiter")
    roles = _roles(path, header, "check the header, [columns] and dataset.delimiter", config)
    return [roles.get(position, f"unused_{position}") for position in range(len(header))]


def check_parquet_columns(path: Path, config: Config) -> None:
    """Check that a Parquet file can be read and has the five columns, with types that fit their roles.

    Raises:
        BadInput: It cannot be read, it lacks a column, or a column has a type that would be read as something else.
    """
    try:
        schema = pq.read_schema(path)
    except pa.ArrowInvalid:
        raise BadInput(f"{path}: not a whole Parquet file; fetch it again") from None
    for position, role in _roles(path, schema.names, f"the file has: {', '.join(schema.names)}", config).items():
        kind = schema.field(position).type
        kind = kind.value_type if pat.is_dictionary(kind) else kind
        if not any(test(kind) for test in _PARQUET_TYPES[role]):
            name = source_names(config)[role]
            raise BadInput(f'{path}: column "{name}" (columns.{role}) has the type {kind}, which cannot be used')
    _check_encodings(path, config)


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


def has_instants(path: Path, config: Config) -> bool:
    """Return whether the times in a Parquet file are instants, and not texts or times without a time zone."""
    kind = pq.read_schema(path).field(config.columns.time).type
    return pat.is_timestamp(kind) and kind.tz is not None


def json_pointers(config: Config) -> dict[str, str]:
    """Return the JSON pointer to each role's member of an object, with the special characters of names escaped."""
    names = source_names(config).items()
    return {role: "/" + name.replace("~", "~0").replace("/", "~1") for role, name in names}


def source_names(config: Config) -> dict[str, str]:
    """Return the name that the input files use for each role."""
    return {role: getattr(config.columns, role) for role in ROLES}


def _roles(path: Path, header: list[str], hint: str, config: Config) -> dict[int, str]:
    positions = {}
    for role, name in source_names(config).items():
        if header.count(name) != 1:
            problem = "no column" if name not in header else "more than one column"
            raise BadInput(f'{path}: {problem} "{name}" (columns.{role}); {hint}')
        positions[header.index(name)] = role
    return positions
