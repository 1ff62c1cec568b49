"""Files of JSON: documents with a list of records, and files with one record per line.

Of a value only is looked at that it is there: no value can change what is seen.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from tasks.base import warehouse
from tasks.base.config import Config
from tasks.base.config_presets import preset_records
from tasks.base.errors import BadInput, NoRecords
from tasks.records.input_formats import json_documents, json_paths, recognise, text_lines
from tasks.records.input_formats.compressed import open_binary, packed
from tasks.records.input_formats.input_format import Given, InputFormat, Left, Look, Merged, Snapshot
from tasks.records.input_formats.json_members import first_rows
from tasks.records.input_formats.json_records import (
    FEWEST_IN_SNAPSHOT,
    has_places,
    merged,
    of_lines,
    of_objects,
    parsed,
    read_lines,
)
from tasks.records.input_formats.roles import is_like
from tasks.records.input_formats.thinning import MOST_RECORDS, evenly
from tasks.records.input_formats.times import N_LOOKED_AT


def _begins_lines(start: bytes) -> bool:
    text = recognise.without_blanks(start)
    if not text.startswith(b"{") or b"\n" not in text.rstrip():
        return False
    return json_documents.is_whole(text.partition(b"\n")[0].decode("utf-8", "replace"))


def _begins_document(start: bytes) -> bool:
    return recognise.without_blanks(start).startswith((b"[", b"{")) and not _begins_lines(start)


def _look_at_document(path: Path, given: Given) -> Look:
    _refuse_utf16(path)
    document = _document(path)
    lists = _record_lists(document)
    found = ", ".join(f'"{one}"' for one in lists) or "none"
    if given.records is None and not lists:
        raise NoRecords(
            f"{path}: the JSON document has no list of objects; name a file with records. If it has one object per "
            "line, say --format ndjson"
        )
    at = lists[0] if given.records is None else given.records
    records = json_paths.records_of(document, at)
    if records is None:
        raise BadInput(f'{path}: there is no list at --records "{at}"; lists of objects are at: {found}')
    beside = _times_beside(document, at)
    spread = evenly([_with(beside, one) for one in evenly(records, MOST_RECORDS)], MOST_RECORDS)
    records = [_with(beside, one) for one in records[:MOST_RECORDS]]
    return of_objects(JSON, records, lambda: spread, given, at)


def _record_lists(document: Any) -> list[str]:
    """Return the paths to lists of records, those with places first; that of a preset may go through other lists."""
    lists = recognise.record_lists(document)
    known = [at for at in preset_records() if "[" in at and json_paths.records_of(document, at) is not None]
    return sorted([*known, *lists], key=lambda at: not has_places(json_paths.records_of(document, at) or []))


def _times_beside(document: Any, at: str) -> dict[str, Any]:
    """Return the times that a document has beside the list of its records, by the paths to them."""
    lists = {at.partition(".")[0].partition("[")[0]}
    outer = {name: one for name, one in document.items() if name not in lists} if isinstance(document, dict) else {}
    names = [name for name in recognise.member_paths(outer) if name and is_like(name, "time")]
    return {name: json_paths.found(outer, json_paths.steps_of(name)) for name in names}


def _with(beside: dict[str, Any], record: Any) -> Any:
    if not isinstance(record, dict):
        return record
    return {**record, **{name: one for name, one in beside.items() if name not in record}}


def _look_at_lines(path: Path, given: Given) -> Look:
    _refuse_utf16(path)
    with open_binary(path) as file:
        lines = [file.readline(text_lines.LONGEST_RECORD) for _ in range(MOST_RECORDS)]
    records, is_other = of_lines(lines)
    if is_other and not records:
        raise text_lines.not_utf8(path)
    if not any(isinstance(one, dict) for one in records):
        raise BadInput(f"{path}: has no JSON object in a line. If it is one document, say --format json")

    def spread() -> list[Any]:
        with open_binary(path) as file:
            lines = iter(lambda: file.readline(text_lines.LONGEST_RECORD), b"")
            return of_lines(evenly(lines, MOST_RECORDS))[0]

    return of_objects(NDJSON, records, spread, given, None)


def _refuse_utf16(path: Path) -> None:
    with open_binary(path) as file:
        start = file.read(2)
    if text_lines.utf16_of(start):
        raise text_lines.not_utf8(path)


def _document(path: Path) -> Any:
    text = json_documents.whole_text(path)
    try:
        return parsed(text)
    except ValueError:
        problem = BadInput(
            f"{path}: is no whole JSON document; fetch it again. If it has one object per line, say --format ndjson"
        )
    raise problem


def _read_document(connection: warehouse.Connection, path: Path, file: dict[str, Any], config: Config) -> Left:
    lines = _numbered_records(path, config)
    return read_lines(connection, path, lines.slice(0, N_LOOKED_AT), lines, file, config, FEWEST_IN_SNAPSHOT)


def _numbered_records(path: Path, config: Config) -> pa.Table:
    return json_documents.numbered_records(path, config.dataset.records, config.columns.of_time)


def _read_each_line(connection: warehouse.Connection, path: Path, file: dict[str, Any], config: Config) -> Left:
    first = first_rows(text_lines.numbered_lines(path), N_LOOKED_AT)
    return read_lines(connection, path, first, text_lines.numbered_lines(path), file, config)


def _merged_documents(paths: Sequence[Path], _: Path, config: Config) -> list[Merged]:
    return merged(paths, lambda path: _numbered_records(path, config), config, FEWEST_IN_SNAPSHOT)


def _merged_lines(paths: Sequence[Path], _: Path, config: Config) -> list[Merged]:
    def lines(path: Path) -> pa.Table:
        whole = text_lines.numbered_lines(path).read_all()
        is_row = [bool(line.strip(text_lines.BLANK)) for line in whole["line"].to_pylist()]
        return whole.filter(pa.array(is_row, pa.bool_()))

    return merged(paths, lines, config)


def _snapshot(_: bytes, whole: Callable[[], bytes]) -> Snapshot | None:
    text = whole().decode("utf-8", "replace")
    if not json_documents.is_whole(text, with_list=True):
        return None
    lists = json_documents.outer_lists(text)
    with_objects = frozenset(place for place, has_objects in lists.items() if has_objects)
    return Snapshot(with_objects or frozenset(lists), bool(with_objects))


NDJSON = InputFormat(
    name="ndjson",
    endings=packed(".ndjson", ".jsonl"),
    domain="in NDJSON any JSON value on the record's line, which has at most 64 KiB",
    begins=_begins_lines,
    look=_look_at_lines,
    count=lambda path, _: text_lines.count_lines(path),
    read=_read_each_line,
    merge=_merged_lines,
    has_members=True,
    has_columns=True,
    can_name_user=True,
)
JSON = InputFormat(
    name="json",
    endings=packed(".json"),
    domain="in a JSON document of at most 256 MiB any JSON value",
    begins=_begins_document,
    look=_look_at_document,
    count=lambda path, config: json_documents.count_records(path, config.dataset.records),
    read=_read_document,
    merge=_merged_documents,
    snapshot=_snapshot,
    holds_snapshots=True,
    has_members=True,
    has_columns=True,
    can_name_user=True,
)
