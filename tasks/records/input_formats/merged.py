"""Merged: several small files of one form that are read as one, because to read a file costs much more than its rows.

Which rows are of which file is known by their numbers. A file that cannot be merged is read by itself.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa

from tasks.base import warehouse
from tasks.base.config import Config
from tasks.base.errors import BadInput
from tasks.records.input_formats.compressed import open_binary
from tasks.records.input_formats.incoming import keep_rows
from tasks.records.input_formats.input_format import Left, Merged, Part

LARGEST = 1 << 22
"""The most bytes, not compressed, of a file that is merged with others."""


def small_content(path: Path) -> bytes | None:
    """Return what a file holds, decompressed; None if that is too much to be merged."""
    with open_binary(path) as file:
        content = file.read(LARGEST + 1)
    return content if len(content) <= LARGEST else None


def note_parts(connection: warehouse.Connection, parts: Sequence[Part], ids: Sequence[int], n_before: int) -> None:
    """Let a connection know of which file each row is that is read next.

    Args:
        connection: The connection.
        parts: The parts; none if the next file is read by itself.
        ids: The file id of each of the files that were given.
        n_before: How many rows were read before of the same file, if all have one id.
    """
    is_one = len(set(ids)) == 1
    rows, number, line = [], 0, 0
    for part in parts:
        before = n_before + number if is_one else 0
        counts = (part.n_numbers, part.n_rows - part.n_numbers)
        rows.append((ids[part.which], part.which, number, *counts, before, part.first_byte, line, part.user))
        number, line = number + part.n_numbers, line + part.n_lines
    names = ("file_id", "which", "number", "n_numbers", "n_malformed", "n_before", "first_byte", "line", "user_id")
    kinds = (pa.int32(), *[pa.int64()] * 7, pa.string())
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    whole = pa.table([pa.array(list(one), kind) for one, kind in zip(columns, kinds, strict=True)], names)
    connection.register("file_part", whole)
    warehouse.run(connection, "scratch/file_of_row")


def merged_rows(
    kind: str, paths: Sequence[Path], rows: Callable[[Path], tuple[Hashable, pa.Table] | None]
) -> list[Merged]:
    """Return some files that are decoded without the engine as few.

    A file that cannot be decoded stays alone, and is refused by its name.

    Args:
        kind: The name of their format.
        paths: The files.
        rows: Returns what must be the same in files that are merged, and the rows of one as ``keep_rows`` takes them;
            None if it is not to be merged.
    """
    tables = []
    for which, path in enumerate(paths):
        with suppress(BadInput):
            if (found := rows(path)) is not None:
                tables.append((which, *found))

    def read(connection: warehouse.Connection, table: pa.Table, file: dict[str, Any], config: Config) -> Left:
        return keep_rows(connection, paths[0], kind, table, file, config)

    return merged_tables(tables, read)


def merged_tables(
    tables: Sequence[tuple[int, Hashable, pa.Table]],
    read: Callable[[warehouse.Connection, pa.Table, dict[str, Any], Config], Left],
    users: Mapping[int, str] = MappingProxyType({}),
) -> list[Merged]:
    """Return tables of rows, with the column ``row_number`` from 1 on, as few.

    Args:
        tables: Each with the position of its file, and with what files have in common that are merged.
        read: Reads a table.
        users: The user of each file by its position, if paths name users.
    """
    groups: dict[Hashable, list[tuple[int, pa.Table]]] = {}
    for which, form, table in tables:
        groups.setdefault(form, []).append((which, table))
    return [_of_tables(group, read, users) for group in groups.values()]


def _of_tables(group: list[tuple[int, pa.Table]], read: Callable[..., Left], users: Mapping[int, str]) -> Merged:
    whole = pa.concat_tables([table for _, table in group])
    numbers = pa.array(np.arange(1, whole.num_rows + 1))
    whole = whole.set_column(whole.column_names.index("row_number"), "row_number", numbers)
    parts = [Part(which, table.num_rows, table.num_rows, user=users.get(which)) for which, table in group]
    return Merged(lambda connection, file, config: read(connection, whole, file, config), parts)
