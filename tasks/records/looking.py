"""Looks at the first records of a source file: its form, the names of its columns, and its times and places.

Where the first ones are not enough, records from all over the file are looked at, evenly spread over it.

No value can change what is seen. The format is the one that the file's name says, or the owner. The delimiter is that
of the header. Of a record only the columns are looked at that the caller names, which are those of time and place; of
a value in JSON, only that it is there.
"""

import gzip
import itertools
import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from tasks.base.config_source import Format
from tasks.base.errors import BadInput
from tasks.records import gtfs_realtime, json_documents, json_paths, recognise, structure, text_lines
from tasks.records.csv_rows import csv_records
from tasks.records.looks import Given, Look
from tasks.records.roles import is_like_a_value
from tasks.records.source import format_by_name
from tasks.records.thinning import evenly

_MOST_RECORDS = 5_000
_LEVELS = 32  # of a JSON value that are looked at
_LONGEST_NUMBER = 100  # digits


def look_at(path: Path, given: Given) -> Look:
    """Return what a file looks like.

    Args:
        path: The file.
        given: What the owner says of it.

    Raises:
        BadInput: It cannot be opened, or its format or its columns cannot be recognised.
    """
    with _opening(path):
        if path.is_dir():
            raise BadInput(f"{path} is a folder; name the files in it, for example {path}/*.csv")
        if not path.is_file():
            raise BadInput(f"{path}: there is no such file")
        with text_lines.open_binary(path) as file:
            start = file.read(2)
        if not start:
            raise BadInput(f"{path} is empty; name a file with records")
        kind = given.format or format_by_name(path)
        if kind is None:
            raise BadInput(
                f"{path}: its name does not say its format; say it with --format: csv, parquet, ndjson, json or gtfs-rt"
            )
        if kind in ("json", "ndjson") and text_lines.utf16_of(start):
            raise text_lines.not_utf8(path)
        return _LOOKS[kind](path, given)


@contextmanager
def _opening(path: Path) -> Iterator[None]:
    """Say in plain words why a file cannot be opened."""
    try:
        yield
        return
    except PermissionError:
        problem = "you may not read it; give yourself the right, for example with chmod, or copy the file"
    except (EOFError, gzip.BadGzipFile, zlib.error):
        problem = "the gzip file is truncated or damaged; fetch it again"
    except OSError as error:
        problem = f"{error.strerror}"
    raise BadInput(f"{path}: {problem}")


def _csv(path: Path, given: Given) -> Look:
    if given.header and given.delimiter is None:
        raise BadInput("--delimiter is missing: a file without a header does not show it. For example: --delimiter ,")
    delimiter, names = _header(path, given)
    records = list(itertools.islice(_csv_rows(path, delimiter, given), _MOST_RECORDS))
    rows = [row for row in records if len(row) == len(names)]
    if records and not rows:
        n_columns = Counter(map(len, records)).most_common(1)[0][0]
        said = f"--header names {len(names)}" if given.header else f"its header has {len(names)}"
        raise BadInput(f"{path}: has {n_columns} columns, and {said}; check --header and --delimiter")

    def column(name: str) -> list[str]:
        position = names.index(name)
        return [row[position] for row in rows]

    def spread(name: str) -> list[str]:
        position = names.index(name)
        fields = (row[position] for row in _csv_rows(path, delimiter, given) if len(row) == len(names))
        return evenly(fields, _MOST_RECORDS)

    return Look("csv", list(filter(str.strip, names)), column, spread, delimiter, given.header)


def _csv_rows(path: Path, delimiter: str, given: Given) -> Iterator[list[str]]:
    """Yield the rows of a CSV file, without its header and blank lines."""
    return filter(None, itertools.islice(csv_records(path, delimiter), 0 if given.header else 1, None))


def _header(path: Path, given: Given) -> tuple[str, list[str]]:
    """Return the delimiter and the names of the columns; the first line alone decides, or the owner."""
    if given.header:
        return given.delimiter or ",", list(given.header)
    try:
        with text_lines.open_binary(path) as file:
            lines = [file.readline(text_lines.LONGEST_RECORD) for _ in range(2)]
        line = lines[0].decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError:
        raise text_lines.not_utf8(path) from None
    if not line.strip():
        raise BadInput(f"{path}: its first line is empty, and must be the header; remove it, or name another file")
    known = given.delimiter or ("\t" if path.name.endswith((".tsv", ".tsv.gz")) else None)
    if recognise.is_comment(line, lines[1].decode("utf-8", "replace").rstrip("\r\n"), known):
        raise BadInput(
            f"{path}: its first line is a comment, and must be the header; remove it, for example with sed 1d"
        )
    if not recognise.is_header(line, known):
        raise BadInput(
            f"{path}: its first line is no header: a name in it is a number, or several are empty. If it is a header, "
            "give each column a name in it. If it is a record, name the columns in order with --header, and say what "
            'stands between them, for example --header "id,time,lat,lon,speed" --delimiter ","'
        )
    if "\0" in line:
        raise text_lines.not_utf8(path)
    delimiter = known or recognise.delimiter_of(line)
    return delimiter, recognise.split(line, delimiter)


def _parquet(path: Path, _: Given) -> Look:
    schema = structure.parquet_schema(path)

    def column(name: str) -> list[Any]:
        return structure.first_of_column(path, name, _MOST_RECORDS)

    def spread(name: str) -> list[Any]:
        return structure.spread_of_column(path, name, _MOST_RECORDS)

    kinds = {field.name: str(field.type) for field in schema}
    return Look("parquet", list(schema.names), column, spread, kinds=kinds)


def _gtfs_realtime(path: Path, _: Given) -> Look:
    feed = gtfs_realtime.read_feed(path)
    first = feed._replace(vehicles=feed.vehicles[:_MOST_RECORDS])
    spread = feed._replace(vehicles=evenly(feed.vehicles, _MOST_RECORDS))
    first_of, spread_of = partial(gtfs_realtime.column, first), partial(gtfs_realtime.column, spread)
    return Look("gtfs-rt", gtfs_realtime.names(), first_of, spread_of)


def _json(path: Path, given: Given) -> Look:
    document = _document(path)
    lists = recognise.record_lists(document)
    found = ", ".join(f'"{one}"' for one in lists) or "none"
    if given.records is None and not lists:
        raise BadInput(
            f"{path}: the JSON document has no list of objects; name a file with records. If it has one object per "
            "line, say --format ndjson"
        )
    at = lists[0] if given.records is None else given.records
    records = _found(document, json_paths.steps_of(at) if at else [])
    if not isinstance(records, list):
        raise BadInput(f'{path}: there is no list at --records "{at}"; lists of objects are at: {found}')
    spread = evenly(records, _MOST_RECORDS)
    return _of_objects("json", records, lambda: spread, given, at)


def _ndjson(path: Path, given: Given) -> Look:
    with text_lines.open_binary(path) as file:
        lines = [file.readline(text_lines.LONGEST_RECORD) for _ in range(_MOST_RECORDS)]
    records, is_other = _of_lines(lines)
    if is_other and not records:
        raise text_lines.not_utf8(path)
    if not any(isinstance(one, dict) for one in records):
        raise BadInput(f"{path}: has no JSON object in a line. If it is one document, say --format json")

    def spread() -> list[Any]:
        with text_lines.open_binary(path) as file:
            lines = iter(lambda: file.readline(text_lines.LONGEST_RECORD), b"")
            return _of_lines(evenly(lines, _MOST_RECORDS))[0]

    return _of_objects("ndjson", records, spread, given, "")


def _of_lines(lines: Iterable[bytes]) -> tuple[list[Any], bool]:
    """Return the records of those lines that can be read, and whether a line is not UTF-8."""
    records, is_other = [], False
    for line in filter(None, lines):
        try:
            records.append(_parsed(line.decode("utf-8-sig")))
        except ValueError as error:
            is_other |= isinstance(error, UnicodeDecodeError)
    return records, is_other


def _of_objects(
    kind: Format, records: Sequence[Any], spread: Callable[[], Sequence[Any]], given: Given, at: str
) -> Look:
    objects = [one for one in records[:_MOST_RECORDS] if isinstance(one, dict)]

    def members(some: Sequence[Any], name: str) -> list[Any]:
        steps = [name] if name in objects[0] else json_paths.steps_of(name)
        return [_found(one, steps) for one in some if isinstance(one, dict)]

    names = _member_names(objects, given.columns.get("value"))
    return Look(kind, names, partial(members, objects), lambda name: members(spread(), name), records=at)


def _member_names(objects: Sequence[dict[str, Any]], value: str | None) -> list[str]:
    """Return the names of the members of records, without looking into the value.

    If it is not known which the value is, there are only the names of the outermost members.

    Args:
        objects: The records.
        value: The column of the value; None if it is the one that is named like a value.
    """
    is_value = is_like_a_value if value is None else value.__eq__
    inner = _once(name for one in objects for name in recognise.member_paths(one, is_value))
    return inner if any(map(is_value, inner)) else _once(name for one in objects for name in one)


def _once(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


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
    except UnicodeDecodeError:
        problem = text_lines.not_utf8(path)
    except ValueError:
        problem = BadInput(
            f"{path}: is no whole JSON document; fetch it again. If it has one object per line, say --format ndjson"
        )
    raise problem


def _parsed(text: str) -> Any:
    """Return a JSON value. What Python cannot hold is null in it: no value decides what is recognised."""
    try:
        return json.loads(text, parse_int=_whole_number)
    except RecursionError:
        return _parsed(json_documents.without_deep(text, _LEVELS))
    except ValueError:
        mended = json_documents.with_readable_scalars(text) if json_documents.is_whole(text) else text
    if mended == text:
        raise ValueError("it is no JSON")
    return _parsed(mended)


def _whole_number(written: str) -> int | None:
    return int(written) if len(written) <= _LONGEST_NUMBER else None


_LOOKS: dict[Format, Callable[[Path, Given], Look]] = {
    "csv": _csv,
    "parquet": _parquet,
    "ndjson": _ndjson,
    "json": _json,
    "gtfs-rt": _gtfs_realtime,
}
