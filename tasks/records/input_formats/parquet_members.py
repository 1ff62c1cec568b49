"""Members of Parquet columns: what paths such as ``location.lat`` and ``coordinates[1]`` lead to, as flat columns."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as pat

from tasks.base import warehouse
from tasks.records.input_formats import json_paths
from tasks.records.input_formats.incoming import blaming

_BATCH_ROWS = 1 << 16
_LEVELS = 8
_LIST_MEMBERS = 3
_MEMORY = "1GB"
_LISTS = (pat.is_list, pat.is_large_list, pat.is_fixed_size_list)


def columns_of(schema: pa.Schema, asked: Iterable[str] = ()) -> list[tuple[str, pa.DataType]]:
    """Return the names and types of a file's columns, and after a column with members the paths to these.

    Args:
        schema: The file's.
        asked: Paths that may be to other members, those of lists beyond the first ones.
    """
    found = [one for field in schema for one in _named(field.name, field.type, _LEVELS)]
    others = [name for name in asked if name not in dict(found)]
    return found + [
        (name, kind) for name in others if (kind := _reached(schema, json_paths.steps_of(name))) is not None
    ]


def is_whole(name: str, schema: pa.Schema) -> bool:
    """Return whether a name is that of a column, and no path to a member of one."""
    return name in schema.names


def entries(path: Path, name: str, step: int, n: int) -> list[Any]:
    """Return n entries of a column or member, of every so many-th row, read in bounded memory.

    A file may say less of its pages than they become.
    """
    steps: Sequence[str | int] = [name] if is_whole(name, pq.read_schema(path)) else json_paths.steps_of(name)
    with blaming(path, "parquet"), warehouse.in_memory("UTC") as connection:
        connection.execute(f"set memory_limit = '{_MEMORY}'")
        found = warehouse.frame(
            connection, "read/parquet_entries", {"path": str(path), "name": steps[0], "step": step, "n": n}
        )
    return [json_paths.found(one, steps[1:]) for one in found["entry"].to_list()]


def write_flat(path: Path, names: Iterable[str], to: Path) -> None:
    """Write some columns and members of a Parquet file into another, in which each is a column of its name."""
    with pq.ParquetFile(path) as file:
        schema = file.schema_arrow
        names = list(dict.fromkeys(names))
        kinds = dict(columns_of(schema, names))
        steps = {name: [name] if is_whole(name, schema) else json_paths.steps_of(name) for name in names}
        flat = pa.schema([pa.field(name, kinds[name]) for name in steps])
        with pq.ParquetWriter(to, flat) as writer:
            for batch in file.iter_batches(_BATCH_ROWS, columns=sorted({str(first) for first, *_ in steps.values()})):
                columns = [_inner(batch.column(first), rest) for first, *rest in steps.values()]
                writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=flat))


def _named(name: str, kind: pa.DataType, levels: int) -> Iterator[tuple[str, pa.DataType]]:
    yield name, kind
    if levels and pat.is_struct(kind):
        for field in kind:
            yield from _named(f"{name}.{field.name}", field.type, levels - 1)
    elif levels and _is_list(kind):
        for position in range(_LIST_MEMBERS):
            yield from _named(f"{name}[{position}]", kind.value_type, levels - 1)


def _reached(schema: pa.Schema, steps: Sequence[str | int]) -> pa.DataType | None:
    """Return the type of what steps lead to; None if it is not there."""
    first, *rest = steps
    kind = schema.field(first).type if schema.names.count(first) == 1 else None
    for step in rest:
        if isinstance(step, int):
            kind = kind.value_type if kind is not None and _is_list(kind) else None
        else:
            is_member = kind is not None and pat.is_struct(kind) and kind.get_field_index(step) >= 0
            kind = kind.field(step).type if is_member and kind is not None else None
    return kind


def _is_list(kind: pa.DataType) -> bool:
    return any(test(kind) for test in _LISTS)


def _inner(column: pa.Array, steps: Sequence[str | int]) -> pa.Array:
    """Return what steps lead to in each entry of a column; null where it is not there."""
    for step in steps:
        column = (
            pc.call_function("struct_field", [column], pc.StructFieldOptions([step]))
            if isinstance(step, str)
            else _element(column, step)
        )
    return column


def _element(column: pa.Array, position: int) -> pa.Array:
    """Return the element of each list at a position."""
    if pat.is_fixed_size_list(column.type):
        column = column.cast(pa.list_(column.type.value_type))
    offsets = np.asarray(column.offsets)
    is_there = (np.diff(offsets) > position) & np.asarray(column.is_valid())
    return column.values.take(pa.array(offsets[:-1] + position, mask=~is_there))
