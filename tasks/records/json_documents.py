"""Reads JSON documents that hold a list of records, and JSON records for their structure."""

import gzip
import itertools
import json
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa

from tasks.base.config import Config
from tasks.base.errors import BadInput
from tasks.records import json_paths, text_lines
from tasks.records.structure import source_names

_LARGEST = 1 << 28  # bytes: Python needs some ten times as much to hold the document


def records(path: Path, at: str | None) -> list[Any]:
    """Return the list of records of a document.

    Args:
        path: The file.
        at: The path to the list; None if the document is the list itself.

    Raises:
        BadInput: The file is no JSON document in UTF-8, is too large, or has no list there.
    """
    found = json_paths.found(_document(path), json_paths.steps_of(at) if at else [])
    if isinstance(found, list):
        return found
    where = f'at dataset.records = "{at}"' if at else "at its top; set dataset.records to the path of the list"
    raise BadInput(f"{path}: the document has no list {where}")


def numbered_records(path: Path, at: str | None) -> pa.Table:
    """Return the records of a document as one line of JSON each, numbered from 1 as ``row_number``."""
    lines = [json.dumps(one) for one in records(path, at)]
    return pa.table(
        {"row_number": pa.array(range(1, len(lines) + 1), pa.int64()), "line": pa.array(lines, pa.string())}
    )


def first_records(path: Path, kind: str, n: int, config: Config) -> list[Any]:
    """Return the first records of a file in JSON; lines that are no JSON are left out."""
    if kind == "json":
        return records(path, config.dataset.records)[:n]
    with text_lines.open_binary(path) as file:
        lines = [file.readline(text_lines.LONGEST_RECORD) for _ in range(n)]
    return [one for line in lines if (one := _parsed(line)) is not None]


def pointers(first: list[Any], config: Config) -> dict[str, str]:
    """Return the JSON pointer to each role's member of a record, by the first object of a file."""
    example = next(filter(_is_object, first), None)
    return {role: json_paths.pointer(name, example) for role, name in source_names(config).items()}


def first_of_role(role: str, first: list[Any], config: Config) -> list[Any]:
    """Return what the first records have for a role."""
    name = source_names(config)[role]
    objects = list(filter(_is_object, first))
    steps = [name] if objects and name in objects[0] else json_paths.steps_of(name)
    return [json_paths.found(one, steps) for one in objects]


def refuse_ids_as_doubles(path: Path, first: list[Any], config: Config) -> None:
    """Refuse a file whose users are numbers with a point: 12 and 12.0 would be two users.

    Raises:
        BadInput: The first id is such a number.
    """
    ids = itertools.dropwhile(lambda one: one is None, first_of_role("user", first, config))
    if isinstance(next(ids, None), float):
        raise BadInput(
            f'{path}: "{config.columns.user}" (columns.user) has numbers with a point, which cannot be ids; write them '
            f"as texts or as whole numbers, for example with jq '.{config.columns.user} |= floor'"
        )


def _document(path: Path) -> Any:
    try:
        with text_lines.open_binary(path) as file:
            content = file.read(_LARGEST + 1)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise BadInput(f"{path}: the gzip file is truncated or damaged; fetch it again") from None
    if len(content) > _LARGEST:
        raise BadInput(f"{path}: a JSON document of more than 256 MiB; write one object per line, as .ndjson")
    try:
        return json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        problem = text_lines.unreadable(path, "json")
    raise problem


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _is_object(record: Any) -> bool:
    return isinstance(record, dict)
