"""Types of Parquet columns: which of them can be read in which role."""

from pathlib import Path

import pyarrow as pa
import pyarrow.types as pat

from tasks.base.config import Config
from tasks.records.input_formats.columns import GEOMETRY, called

_TEXT = (pat.is_string, pat.is_large_string, pat.is_string_view)
_NUMBER = (pat.is_integer, pat.is_floating, pat.is_decimal)
_BYTES = (pat.is_binary, pat.is_large_binary, pat.is_binary_view)
_TYPES = {
    "user": (*_TEXT, pat.is_integer, *_BYTES),
    "time": (*_TEXT, *_NUMBER, pat.is_timestamp),
    "clock": (*_TEXT, *_NUMBER, pat.is_timestamp, pat.is_date, pat.is_time),
    "latitude": (*_TEXT, *_NUMBER),
    "longitude": (*_TEXT, *_NUMBER),
    "h3": (*_TEXT, pat.is_integer),
    "geometry": (*_TEXT, *_BYTES),
    "value": (*_TEXT, *_NUMBER, pat.is_boolean, pat.is_null),
    "age": (*_TEXT, *_NUMBER, pat.is_null),
    "only": (*_TEXT, pat.is_integer, pat.is_floating, pat.is_boolean, pat.is_null),
}
_READABLE = {
    "user": "texts, whole numbers and bytes",
    "time": "timestamps, texts, and numbers since 1970 (columns.time_unit)",
    "clock": "times, texts, and numbers of hours",
    "latitude": "numbers and texts",
    "longitude": "numbers and texts",
    "h3": "texts and whole numbers",
    "geometry": "WKB and texts",
    "value": "numbers, texts and truth values",
    "age": "numbers and texts",
    "only": "texts, numbers and truth values",
}


def type_problem(role: str, kind: pa.DataType, path: Path, config: Config) -> str | None:
    """Return what is wrong with the type of a column, and what can be read; None if nothing is."""
    columns = config.columns
    if role == "user" and pat.is_floating(kind):
        name, cast = columns.user, f'copy (select * replace ("{columns.user}"::bigint as "{columns.user}") from'
        return (
            f"which cannot be an id: {name} 12 and 12.0 would be two users, and large ids lose digits. Write it as "
            f"whole numbers or as text, for example with DuckDB: {cast} '{path.name}') to 'mended.parquet'"
        )
    if role == "value" and columns.value_type is not None:
        tests = _NUMBER if columns.value_type == "number" else _TEXT
        declared = f'and columns.value_type declares "{columns.value_type}"'
        return None if any(test(kind) for test in tests) else declared
    if (
        role == "time"
        and pat.is_timestamp(kind)
        and len(columns.of_time) == 1
        and (columns.time_unit or columns.time_format)
    ):
        return "which needs neither columns.time_unit nor columns.time_format: remove it"
    read_as = "clock" if role in ("time", "clock") and len(columns.of_time) > 1 else called(role)
    if any(test(kind) for test in _TYPES[read_as]):
        return None
    remedy = f". {GEOMETRY}" if role in ("latitude", "longitude") else ""
    return f"which cannot be used; {_READABLE[read_as]} can be read{remedy}"
