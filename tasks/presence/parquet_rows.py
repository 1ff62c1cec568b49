"""The rows of Parquet files, batch by batch, with the columns that are read; their types are structure."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import types

from tasks.base.errors import BadInput
from tasks.presence.config import PresenceConfig
from tasks.records.input_formats.columns import called

_BATCH_ROWS = 1 << 17
_FIRST, _LAST = -62_135_596_800, 253_402_300_799
"""The years 1 to 9999, in seconds since 1970: the engine fails at a few times beyond, as it does at none within."""
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_IS_TEXT: tuple[Callable[[pa.DataType], bool], ...] = (types.is_string, types.is_large_string, types.is_string_view)
_IS_NUMBER: tuple[Callable[[pa.DataType], bool], ...] = (types.is_integer, types.is_floating, types.is_decimal128)
_ALLOWED = {
    "user": (*_IS_TEXT, types.is_integer),
    "time": (*_IS_TEXT, *_IS_NUMBER, types.is_timestamp),
    **dict.fromkeys(("latitude", "longitude", "value"), (*_IS_TEXT, *_IS_NUMBER)),
    "h3": (*_IS_TEXT, types.is_integer),
    "geometry": (*_IS_TEXT, types.is_binary, types.is_large_binary),
    "only": (*_IS_TEXT, types.is_integer, types.is_floating, types.is_boolean),
}


def parquet_rows(paths: list[Path], config: PresenceConfig) -> pa.RecordBatchReader:
    """Return the rows of a day's files: a column for each role; of a cell or a point latitude and longitude are it.

    Raises:
        BadInput: A file lacks a column, has it in a type that cannot be read, or in another one than the first file.
    """
    roles = {role: name for role, name in config.by_role.items() if role != "clock"}
    for role in {"h3", "geometry"} & roles.keys():
        roles |= dict.fromkeys(("latitude", "longitude"), roles.pop(role))
    schema = _common([_schema(pq.read_schema(path), roles, config) for path in paths])
    return pa.RecordBatchReader.from_batches(schema, _batches(paths, list(roles.values()), schema))


def _common(schemas: list[pa.Schema]) -> pa.Schema:
    """Return the columns of all files. One without a type holds nothing there, as pandas writes no rows."""
    fields = []
    for of_role in zip(*schemas, strict=True):
        kinds = {one.type for one in of_role if not types.is_null(one.type)}
        if len(kinds) > 1:
            raise BadInput(
                "the Parquet files of a day must have the columns that are read in one type each; make them alike"
            )
        fields.append(pa.field(of_role[0].name, kinds.pop() if kinds else pa.string()))
    return pa.schema(fields)


def _schema(held: pa.Schema, roles: dict[str, str], config: PresenceConfig) -> pa.Schema:
    lacking = [name for name in roles.values() if name not in held.names]
    if lacking:
        raise BadInput(f"a file has no column {', '.join(lacking)}; mend [columns]")
    alone = next((role for role in ("h3", "geometry") if role in config.by_role), None)
    of_place = ("latitude", "longitude") if config.is_measured else ("latitude", "longitude", "value")
    kinds: dict[str, str] = {} if alone is None else dict.fromkeys(of_place, alone)
    fields = []
    for role, name in roles.items():
        kind = held.field(name).type
        kind = kind.value_type if types.is_dictionary(kind) else kind
        kind = pa.float32() if types.is_float16(kind) else kind  # which the engine cannot read
        allowed = (types.is_null, *_ALLOWED[kinds.get(role, called(role))])
        if not any(is_allowed(kind) for is_allowed in allowed):
            raise BadInput(
                f"the column {name} is of the Parquet type {kind}, which cannot be read as {called(role)}; convert it"
            )
        is_number = any(is_one(kind) for is_one in _IS_NUMBER)
        if role == "time" and is_number and config.columns.time_unit is None:
            raise BadInput(
                f"the times in {name} are numbers: say in columns.time_unit what they count, s, ms, us or ns"
            )
        fields.append(pa.field(role, kind))
    return pa.schema(fields)


def _batches(paths: list[Path], names: list[str], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for path in paths:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(_BATCH_ROWS, columns=list(dict.fromkeys(names))):
                columns = [
                    _readable(batch.column(name).cast(field.type)) for name, field in zip(names, schema, strict=True)
                ]
                yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _readable(column: pa.Array) -> pa.Array:
    """Return a column without times that no calendar has, and with text in UTF-8: no row stops the day."""
    if any(is_text(column.type) for is_text in _IS_TEXT):
        return _in_utf_8(column)
    if not types.is_timestamp(column.type):
        return column
    least, most = (bound * _PER_SECOND[column.type.unit] for bound in (_FIRST, _LAST))
    if column.type.unit == "ns":
        least, most = -(1 << 63) + 1, (1 << 63) - 1
    number = column.view(pa.int64()).fill_null(0).to_numpy()
    absent = (number < least) | (number > most) | column.is_null().to_numpy(zero_copy_only=False)
    return pa.array(number, pa.int64(), mask=absent).view(column.type)


def _in_utf_8(column: pa.Array) -> pa.Array:
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        held = column.cast(pa.large_binary()).to_pylist()
        return pa.array([None if one is None else one.decode(errors="replace") for one in held], column.type)
    return column
