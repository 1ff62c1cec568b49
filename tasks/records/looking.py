"""Looks at the first records of a source file: its form, the names of its columns, and its times and places.

Of a record only the columns are looked at that the caller names, which are those of time and place.
"""

import gzip
import itertools
import json
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.base.config_source import Format
from tasks.base.errors import BadInput
from tasks.records import gtfs_realtime, json_documents, json_paths, recognise, structure, text_lines
from tasks.records.csv_rows import csv_records

_START = 1 << 20
_MOST_RECORDS = 5_000
_LEVELS = 32  # of a JSON value that are looked at
_LONGEST_NUMBER = 100  # digits


@dataclass(frozen=True)
class Look:
    """What a source file looks like.

    Attributes:
        format: Its format.
        names: The names of its columns, or the paths of the members of its records.
        column: Returns what the first records have in the column of a name.
        delimiter: The character between fields, of a CSV file.
        header: The names that were given for a file without a header.
        records: The path to the list of records, of a JSON document; "" if the document is the list.
        kinds: The type of each column, of a Parquet file.
    """

    format: Format
    names: list[str]
    column: Callable[[str], list[Any]]
    delimiter: str = ","
    header: tuple[str, ...] = ()
    records: str = ""
    kinds: dict[str, str] | None = None


def look_at(path: Path, header: Sequence[str] = (), declared: Format | None = None) -> Look:
    """Return what a file looks like.

    Args:
        path: The file.
        header: The names of the columns of a CSV file without a header.
        declared: Its format, if its content should not decide.

    Raises:
        BadInput: Its format or its columns cannot be recognised.
    """
    if not path.is_file():
        raise BadInput(f"{path}: there is no such file; name files, not a folder")
    start = _start(path)
    kind = declared or recognise.format_of(start)
    if kind is None:
        raise BadInput(f"{path}: its format is not recognised; it is empty, or say what it is with --format")
    if kind == "csv":
        return _csv(path, start, header)
    if kind == "parquet":
        return _parquet(path)
    return _gtfs_realtime(path) if kind == "gtfs-rt" else _json(path, kind)


def _start(path: Path) -> bytes:
    try:
        with text_lines.open_binary(path) as file:
            return file.read(_START)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise BadInput(f"{path}: the gzip file is truncated or damaged; fetch it again") from None


def _csv(path: Path, start: bytes, header: Sequence[str]) -> Look:
    text = start.decode("utf-8-sig", "replace")
    form = recognise.csv_form(text)
    names = list(header or form.header or ())
    if not names:
        raise BadInput(
            f"{path}: its first line is no header. Name its {form.n_columns} columns in order with --header, for "
            'example --header "id,time,lat,lon,speed"'
        )
    if len(names) != form.n_columns:
        raise BadInput(f"{path}: has {form.n_columns} columns, and --header names {len(names)}")
    first = 0 if header else 1
    records = itertools.islice(csv_records(path, form.delimiter), first, first + _MOST_RECORDS)
    rows = [row for row in records if len(row) == len(names)]

    def column(name: str) -> list[str]:
        position = names.index(name)
        return [row[position] for row in rows]

    return Look("csv", names, column, form.delimiter, tuple(header))


def _parquet(path: Path) -> Look:
    schema = structure.parquet_schema(path)

    def column(name: str) -> list[Any]:
        return structure.first_of_column(path, name, _MOST_RECORDS)

    kinds = {field.name: str(field.type) for field in schema}
    return Look("parquet", list(schema.names), column, kinds=kinds)


def _gtfs_realtime(path: Path) -> Look:
    feed = gtfs_realtime.read_feed(path)
    some = feed._replace(vehicles=feed.vehicles[:_MOST_RECORDS])
    return Look("gtfs-rt", gtfs_realtime.names(), lambda name: gtfs_realtime.column(some, name))


def _json(path: Path, kind: Format) -> Look:
    at, records = "", []
    if kind == "json":
        document = _document(path)
        at = recognise.record_list(document)
        if at is None:
            raise BadInput(f"{path}: the JSON document has no list of objects")
        records = _found(document, json_paths.steps_of(at) if at else [])
    else:
        with text_lines.open_binary(path) as file:
            lines = [file.readline(text_lines.LONGEST_RECORD) for _ in range(_MOST_RECORDS)]
        for line in filter(None, lines):
            with suppress(ValueError):
                records.append(_parsed(line.decode()))
    objects = [one for one in records[:_MOST_RECORDS] if isinstance(one, dict)]
    names = list(dict.fromkeys(name for one in objects[:100] for name in recognise.member_paths(one)))
    if not names:
        raise BadInput(f"{path}: has no JSON objects with members")

    def column(name: str) -> list[Any]:
        steps = [name] if name in objects[0] else json_paths.steps_of(name)
        return [_found(one, steps) for one in objects]

    return Look(kind, names, column, records=at)


def _found(record: Any, steps: Sequence[str | int]) -> Any:
    """Return what is at the end of steps through a JSON value; None if it is not there."""
    for step in steps:
        if isinstance(step, str) and isinstance(record, dict):
            record = record.get(step)
        elif isinstance(step, int) and isinstance(record, list) and step < len(record):
            record = record[step]
        else:
            return None
    return record


def _document(path: Path) -> Any:
    try:
        with text_lines.open_binary(path) as file:
            return _parsed(file.read().decode("utf-8-sig"))
    except (EOFError, gzip.BadGzipFile, zlib.error):
        problem = BadInput(f"{path}: the gzip file is truncated or damaged; fetch it again")
    except ValueError:
        problem = text_lines.unreadable(path, "json")
    raise problem


def _parsed(text: str) -> Any:
    """Return a JSON value. What Python cannot hold is null in it: no value decides what is recognised."""
    try:
        return json.loads(text, parse_int=_whole_number)
    except RecursionError:
        return json.loads(json_documents.without_deep(text, _LEVELS), parse_int=_whole_number)


def _whole_number(written: str) -> int | None:
    return int(written) if len(written) <= _LONGEST_NUMBER else None
