"""Finds by the first records of a file in JSON which members its columns are. No value is looked at."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from tasks.base import warehouse
from tasks.base.config import Config
from tasks.base.errors import BadInput
from tasks.records.input_formats.columns import called, column_roles, source_names
from tasks.records.input_formats.json_paths import pointer_by_path, pointer_to_member
from tasks.records.input_formats.times import written_times

_NO_ID = "DOUBLE"


class Members(NamedTuple):
    """What the first records of a file show.

    Attributes:
        pointers: The JSON pointer to each role's member.
        parameters: The pointers that statements take.
        times: The times of these records.
        kind: What a record is, as the engine calls it.
    """

    pointers: dict[str, str]
    parameters: dict[str, str]
    times: Sequence[Any]
    kind: str


def first_rows(batches: pa.RecordBatchReader, n: int) -> pa.Table:
    """Return the first rows of some batches, however many each batch holds."""
    kept, n_kept = [], 0
    for batch in batches:
        kept.append(batch)
        n_kept += batch.num_rows
        if n_kept >= n:
            break
    return pa.Table.from_batches(kept, batches.schema).slice(0, n)


def first_members(connection: warehouse.Connection, path: Path, first: pa.Table, config: Config) -> Members:
    """Return which members the columns of a file are.

    A member whose own name has dots or brackets is meant if the first object has it; otherwise the name is a path.

    Args:
        connection: Any connection with ``readable_json``.
        path: The file.
        first: Its first lines.
        config: Names the columns.

    Raises:
        BadInput: The users are numbers with a point, or a column is a member of what is private, or that of it.
    """
    names = source_names(config)
    whole = {role: pointer_to_member(name) for role, name in names.items()}
    by_path = {role: pointer_by_path(name) for role, name in names.items()}
    connection.register("first_line", first)
    kind = "ARRAY" if all(name.startswith("[") for name in names.values()) else "OBJECT"
    roles = column_roles(config)
    roles = {"user": "user" if "user" in names else roles["latitude"], **roles}  # the user of a path has no member
    first_roles = {one: roles[one] for one in ("user", "time", "clock")}
    asked = {"members": list(whole.values()), **{one: whole[role] for one, role in first_roles.items()}, "kind": kind}
    paths = {f"{one}_path": by_path[role] for one, role in first_roles.items()}
    rows = warehouse.rows(connection, "read/first_members", {**asked, **paths})
    found = rows[0][0] if rows else []
    pointers = {role: whole[role] if whole[role] in found else by_path[role] for role in names}
    _refuse_overlap(path, pointers, config)
    user_types = [one for _, one, *_ in rows if one not in (None, "NULL")]
    if not config.columns.is_of_path and user_types[:1] == [_NO_ID]:
        raise BadInput(
            f'{path}: "{config.columns.user}" (columns.user) has numbers with a point, which cannot be ids; write them '
            f"as texts or as whole numbers, for example with jq '.{config.columns.user} |= floor'"
        )
    parameters = {one: pointers[role] for one, role in roles.items()}
    first, second = ([row[number] for row in rows] for number in (2, 3))
    return Members(pointers, parameters, written_times(connection, first, second, config), kind)


def _refuse_overlap(path: Path, pointers: dict[str, str], config: Config) -> None:
    """Refuse a column that is within the value, or holds it: who was where may not depend on a value.

    Where values are speeds, this is so of the place: it decides on them.
    """
    columns = config.columns
    private = [*columns.of_place] if columns.is_speed else ["value"]
    for role, other in ((role, other) for other in private for role in pointers if role not in private):
        pointer, of_value = f"{pointers[role]}/", f"{pointers[other]}/"
        if pointer.startswith(of_value) or of_value.startswith(pointer):
            name = source_names(config)[role]
            raise BadInput(f'{path}: "{name}" (columns.{called(role)}) and columns.{other} are parts of one another')
