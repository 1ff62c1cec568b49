"""Files of JSON: documents with a list of records, and files with one record per line.

Of a value only is looked at that it is there: no value can change what is seen.
"""

import json
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from tasks.base import warehouse
from tasks.base.config import Config
from tasks.base.config_source import SPEED
from tasks.base.errors import BadInput
from tasks.records.input_formats import json_documents, json_paths, recognise, text_lines
from tasks.records.input_formats.columns import place_form, source_names
from tasks.records.input_formats.compressed import open_binary, packed
from tasks.records.input_formats.incoming import BLANK, blaming, keep_incoming
from tasks.records.input_formats.input_format import Given, InputFormat, Left, Look, Merged, Snapshot
from tasks.records.input_formats.json_members import first_members, first_rows
from tasks.records.input_formats.merged import merged_tables, small_content
from tasks.records.input_formats.roles import is_like, is_like_a_value
from tasks.records.input_formats.thinning import MOST_RECORDS, evenly
from tasks.records.input_formats.times import N_LOOKED_AT, time_form

_LEVELS = 32  # of a JSON value that are looked at
_LONGEST_NUMBER = 100  # digits


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
    lists = recognise.record_lists(document)
    found = ", ".join(f'"{one}"' for one in lists) or "none"
    if given.records is None and not lists:
        raise BadInput(
            f"{path}: the JSON document has no list of objects; name a file with records. If it has one object per "
            "line, say --format ndjson"
        )
    at = lists[0] if given.records is None else given.records
    records = json_paths.found(document, json_paths.steps_of(at) if at else [])
    if not isinstance(records, list):
        raise BadInput(f'{path}: there is no list at --records "{at}"; lists of objects are at: {found}')
    beside = _times_beside(document, at)
    spread = evenly([_with(beside, one) for one in evenly(records, MOST_RECORDS)], MOST_RECORDS)
    records = [_with(beside, one) for one in records[:MOST_RECORDS]]
    return _of_objects(JSON, records, lambda: spread, given, at)


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
    records, is_other = _of_lines(lines)
    if is_other and not records:
        raise text_lines.not_utf8(path)
    if not any(isinstance(one, dict) for one in records):
        raise BadInput(f"{path}: has no JSON object in a line. If it is one document, say --format json")

    def spread() -> list[Any]:
        with open_binary(path) as file:
            lines = iter(lambda: file.readline(text_lines.LONGEST_RECORD), b"")
            return _of_lines(evenly(lines, MOST_RECORDS))[0]

    return _of_objects(NDJSON, records, spread, given, None)


def _refuse_utf16(path: Path) -> None:
    with open_binary(path) as file:
        start = file.read(2)
    if text_lines.utf16_of(start):
        raise text_lines.not_utf8(path)


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
    kind: InputFormat, records: Sequence[Any], spread: Callable[[], Sequence[Any]], given: Given, at: str | None
) -> Look:
    objects = [one for one in records[:MOST_RECORDS] if isinstance(one, dict)]

    def members(some: Sequence[Any], name: str) -> list[Any]:
        steps = [name] if name in objects[0] else json_paths.steps_of(name)
        return [json_paths.found(one, steps) for one in some if isinstance(one, dict)]

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
    return inner if value == SPEED or any(map(is_value, inner)) else _once(name for one in objects for name in one)


def _once(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _document(path: Path) -> Any:
    text = json_documents.whole_text(path)
    try:
        return _parsed(text)
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


def _read_document(connection: warehouse.Connection, path: Path, file: dict[str, Any], config: Config) -> Left:
    lines = json_documents.numbered_records(path, config.dataset.records, config.columns.of_time)
    return _read_lines(connection, path, lines.slice(0, N_LOOKED_AT), lines, file, config)


def _read_each_line(connection: warehouse.Connection, path: Path, file: dict[str, Any], config: Config) -> Left:
    first = first_rows(text_lines.numbered_lines(path), N_LOOKED_AT)
    return _read_lines(connection, path, first, text_lines.numbered_lines(path), file, config)


def _merged_documents(paths: Sequence[Path], _: Path, config: Config) -> list[Merged]:
    def records(path: Path) -> pa.Table:
        return json_documents.numbered_records(path, config.dataset.records, config.columns.of_time)

    return _merged(paths, records, config)


def _merged_lines(paths: Sequence[Path], _: Path, config: Config) -> list[Merged]:
    def lines(path: Path) -> pa.Table:
        whole = text_lines.numbered_lines(path).read_all()
        is_row = [bool(line.strip(text_lines.BLANK)) for line in whole["line"].to_pylist()]
        return whole.filter(pa.array(is_row, pa.bool_()))

    return _merged(paths, lines, config)


def _merged(paths: Sequence[Path], rows: Callable[[Path], pa.Table], config: Config) -> list[Merged]:
    """Return some small files as few; a file that cannot be read stays alone, and is refused by its name."""
    tables = []
    for which, path in enumerate(paths):
        with suppress(BadInput):
            if small_content(path) is not None and (form := _form_of_first(table := rows(path), config)) is not None:
                tables.append((which, form, table))

    def read(connection: warehouse.Connection, table: pa.Table, file: dict[str, Any], config: Config) -> Left:
        return _read_lines(connection, paths[0], table.slice(0, N_LOOKED_AT), table, file, config)

    return merged_tables(tables, read)


def _form_of_first(rows: pa.Table, config: Config) -> Hashable | None:
    """Return what must be the same in files that are merged; None if the first record does not show it.

    That is the unit of the times, if it is not declared, and which names of columns are those of members of records,
    though they look like paths.
    """
    records, _ = _of_lines(line.encode("utf-8", "surrogatepass") for line in rows["line"].slice(0, 1).to_pylist())
    if not records or not isinstance(records[0], dict):
        return None
    first, names = records[0], source_names(config)
    of_time = [names[role] for role in ("time", "clock") if role in names]
    written = [json_paths.found(first, [name] if name in first else json_paths.steps_of(name)) for name in of_time]
    declared = config.columns.time_unit or config.columns.time_format
    unit = declared or recognise.time_unit([one for one in written if recognise.time_unit([one])][:1])
    return frozenset(name for name in names.values() if name in first), unit


def _read_lines(
    connection: warehouse.Connection,
    path: Path,
    first: pa.Table,
    lines: pa.RecordBatchReader | pa.Table,
    file: dict[str, Any],
    config: Config,
) -> Left:
    """Keep the records of a file from lines of JSON, with the columns ``row_number`` and ``line``."""
    with blaming(path, "json"):
        members = first_members(connection, path, first, config)
        written = {
            **time_form(members.times, config),
            **BLANK,
            **place_form(config),
            "decimal": config.dataset.decimal,
        }
        connection.register("source_line", lines)
        warehouse.run(connection, "scratch/incoming_ndjson", {**members.parameters, **written})
        absent = {pointer for (pointer,) in warehouse.rows(connection, "checks/absent_members", members.parameters)}
        for role, name in source_names(config).items():
            if members.pointers[role] in absent:
                held = ", ".join(_held_names(first, config)) or "no column"
                raise BadInput(f'{path}: no column "{name}" (columns.{role}) in any line. The first lines have: {held}')
        n_malformed = warehouse.changed(connection, "write/quarantine_incoming", file)
    return keep_incoming(connection, file, n_malformed, config)


def _held_names(lines: pa.Table, config: Config) -> list[str]:
    """Return the names of the members of some records, as `init` shows them."""
    records, _ = _of_lines(line.encode("utf-8", "surrogatepass") for line in lines["line"].to_pylist())
    return _member_names([one for one in records if isinstance(one, dict)], config.columns.value)


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
    begins=_begins_lines,
    look=_look_at_lines,
    count=lambda path, _: text_lines.count_lines(path),
    read=_read_each_line,
    merge=_merged_lines,
    has_members=True,
    has_columns=True,
)
JSON = InputFormat(
    name="json",
    endings=packed(".json"),
    begins=_begins_document,
    look=_look_at_document,
    count=lambda path, config: json_documents.count_records(path, config.dataset.records),
    read=_read_document,
    merge=_merged_documents,
    snapshot=_snapshot,
    holds_snapshots=True,
    has_members=True,
    has_columns=True,
)
