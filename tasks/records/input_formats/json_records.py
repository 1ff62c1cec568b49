"""Records as JSON objects, whatever format they are from: what `init` sees of them, and how they are read.

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
from tasks.records.input_formats import json_documents, json_mended, json_paths, recognise
from tasks.records.input_formats.columns import called, place_form, rows_that_count, source_names
from tasks.records.input_formats.file_users import needed_user
from tasks.records.input_formats.incoming import BLANK, blaming, keep_incoming
from tasks.records.input_formats.input_format import Given, InputFormat, Left, Look, Merged
from tasks.records.input_formats.json_members import first_members
from tasks.records.input_formats.merged import merged_tables, small_content
from tasks.records.input_formats.roles import is_like_a_value, recognise_roles
from tasks.records.input_formats.thinning import MOST_RECORDS
from tasks.records.input_formats.times import N_LOOKED_AT, time_form

_LEVELS = 32  # of a JSON value that are looked at
_LONGEST_NUMBER = 100  # digits
_N_NAMED = 10
_MOST_POSITIONS = 100
FEWEST_IN_SNAPSHOT = 20
"""With how many records a snapshot must have each column at least once: at night no aircraft may have a place."""


def of_objects(
    kind: InputFormat,
    records: Sequence[Any],
    spread: Callable[[], Sequence[Any]],
    given: Given,
    at: str | None,
) -> Look:
    """Return what records look like: objects or, if none is one, lists.

    Args:
        kind: Their format.
        records: The records.
        spread: Returns some from all over the file.
        given: What the owner says.
        at: The path to their list, if it is one.
    """
    shape = dict if any(isinstance(one, dict) for one in records[:MOST_RECORDS]) else list
    objects = [one for one in records[:MOST_RECORDS] if isinstance(one, shape)]

    def members(some: Sequence[Any], name: str) -> list[Any]:
        steps = [name] if name in objects[0] else json_paths.steps_of(name)
        return [json_paths.found(one, steps) for one in some if isinstance(one, shape)]

    names = _member_names(objects, given.columns.get("value"))
    return Look(kind, names, partial(members, objects), lambda name: members(spread(), name), records=at)


def has_places(records: Sequence[Any]) -> bool:
    """Return whether the first records have a latitude and a longitude by their names, and not only in a list."""
    names = _once(name for one in records[:_N_NAMED] for name in recognise.member_paths(one, is_like_a_value))
    return {"latitude", "longitude"} <= recognise_roles([name for name in names if "]." not in name]).keys()


def _member_names(objects: Sequence[Any], value: str | None) -> list[str]:
    """Return the names of the members of records, without looking into the value.

    If it is not known which the value is, there are only the names of the outermost members.

    Args:
        objects: The records.
        value: The column of the value; None if it is the one that is named like a value.
    """
    if objects and isinstance(objects[0], list):
        return [f"[{position}]" for position in range(min(max(map(len, objects)), _MOST_POSITIONS))]
    is_value = is_like_a_value if value is None else value.__eq__
    inner = _once(name for one in objects for name in recognise.member_paths(one, is_value))
    if value == SPEED or any(map(is_value, inner)):
        return inner
    return _once(name for one in objects for name in one)


def _once(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def of_lines(lines: Iterable[bytes]) -> tuple[list[Any], bool]:
    """Return the records of those lines that can be read, and whether a line is not UTF-8."""
    records, is_other = [], False
    for line in filter(None, lines):
        try:
            records.append(parsed(line.decode("utf-8-sig")))
        except ValueError as error:
            is_other |= isinstance(error, UnicodeDecodeError)
    return records, is_other


def parsed(text: str) -> Any:
    """Return a JSON value. What Python cannot hold is null in it: no value decides what is recognised."""
    try:
        return json.loads(text, parse_int=_whole_number)
    except RecursionError:
        return parsed(json_mended.without_deep(text, _LEVELS))
    except ValueError:
        mended = json_mended.with_readable_scalars(text) if json_documents.is_whole(text) else text
    if mended == text:
        raise ValueError("it is no JSON")
    return parsed(mended)


def _whole_number(written: str) -> int | None:
    return int(written) if len(written) <= _LONGEST_NUMBER else None


def merged(paths: Sequence[Path], rows: Callable[[Path], pa.Table], config: Config, fewest: int = 1) -> list[Merged]:
    """Return some small files as few; a file that cannot be read stays alone, and is refused by its name."""
    tables, users = [], dict[int, str]()
    for which, path in enumerate(paths):
        with suppress(BadInput):
            if small_content(path) is not None and (form := _form_of_first(table := rows(path), config)) is not None:
                if config.columns.is_of_path:
                    users[which] = needed_user(path, config)
                tables.append((which, form, table))

    def read(connection: warehouse.Connection, table: pa.Table, file: dict[str, Any], config: Config) -> Left:
        return read_lines(connection, paths[0], table.slice(0, N_LOOKED_AT), table, file, config, fewest)

    return merged_tables(tables, read, users)


def _form_of_first(rows: pa.Table, config: Config) -> Hashable | None:
    """Return what must be the same in files that are merged; None if the first record does not show it.

    That is the unit of the times, if it is not declared, and which names of columns are those of members of records,
    though they look like paths.
    """
    records, _ = of_lines(line.encode("utf-8", "surrogatepass") for line in rows["line"].slice(0, 1).to_pylist())
    if not records or not isinstance(records[0], dict | list):
        return None
    first, names = records[0], source_names(config)
    whole = frozenset(name for name in names.values() if isinstance(first, dict) and name in first)
    of_time = [names[role] for role in ("time", "clock") if role in names]
    written = [json_paths.found(first, [name] if name in whole else json_paths.steps_of(name)) for name in of_time]
    declared = config.columns.time_unit or config.columns.time_format
    return whole, declared or recognise.time_unit([one for one in written if recognise.time_unit([one])][:1])


def read_lines(
    connection: warehouse.Connection,
    path: Path,
    first: pa.Table,
    lines: pa.RecordBatchReader | pa.Table,
    file: dict[str, Any],
    config: Config,
    fewest: int = 1,
) -> Left:
    """Keep the records of a file from lines of JSON, with the columns ``row_number`` and ``line``.

    Args:
        connection: Connection to the warehouse.
        path: The file.
        first: Its first lines.
        lines: All of them.
        file: The parameters of a format's ``read``.
        config: Names the columns.
        fewest: With how many lines a file must have each column at least once.

    Raises:
        BadInput: It has not.
    """
    with blaming(path, "json"):
        members = first_members(connection, path, first, config)
        written = {
            **time_form(members.times, config),
            **BLANK,
            **place_form(config),
            "only": rows_that_count(config)["only"],
            "only_members": [members.pointers[role] for role in config.columns.of_only],
            "decimal": config.dataset.decimal,
            "user_of_file": needed_user(path, config) if config.columns.is_of_path else None,
            "kind": members.kind,
        }
        connection.register("source_line", lines)
        warehouse.run(connection, "scratch/incoming_ndjson", {**members.parameters, **written})
        asked = {one: at for one, at in members.parameters.items() if one != "age"} | {"fewest": fewest}
        absent = {pointer for (pointer,) in warehouse.rows(connection, "checks/absent_members", asked)}
        for role, name in source_names(config).items():
            if members.pointers[role] in absent:
                held = ", ".join(_held_names(first, config)) or "no column"
                raise BadInput(
                    f'{path}: no column "{name}" (columns.{called(role)}) in any line. The first lines have: {held}'
                )
        n_malformed = warehouse.changed(connection, "write/quarantine_incoming", file)
    return keep_incoming(connection, file, n_malformed, config)


def _held_names(lines: pa.Table, config: Config) -> list[str]:
    """Return the names of the members of some records, as `init` shows them."""
    records, _ = of_lines(line.encode("utf-8", "surrogatepass") for line in lines["line"].to_pylist())
    return _member_names([one for one in records if isinstance(one, dict)], config.columns.value)
