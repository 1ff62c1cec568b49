"""Files of OziExplorer's tracks, as those of GeoLife: six lines about the track, then a line for each fix.

A line has latitude, longitude, a code, the altitude, the days since 30 December 1899 in UTC, and date and time as text.
The days tell the time, because the texts have several forms.
"""

import math
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from tasks.base import warehouse
from tasks.base.config import Config
from tasks.records.input_formats.columns import roles_of
from tasks.records.input_formats.compressed import packed, whole
from tasks.records.input_formats.file_users import needed_user
from tasks.records.input_formats.incoming import keep_rows
from tasks.records.input_formats.input_format import Given, InputFormat, Left, Look, Merged
from tasks.records.input_formats.merged import merged_rows, small_content
from tasks.records.input_formats.thinning import MOST_RECORDS, evenly

_LARGEST = 1 << 28  # bytes
_N_ABOUT = 6  # lines
_NAMES = ["latitude", "longitude", "time"]
_POSITIONS = {"latitude": 0, "longitude": 1, "time": 4}
_DAYS_TO_1970 = 25_569
_MILLISECONDS = 86_400_000
_BEGIN = (b"Geolife trajectory", b"OziExplorer Track")


def _look(path: Path, _: Given) -> Look:
    fixes = _fixes(path)

    def column(some: list[list[str]], name: str) -> list[Any]:
        return [_read_field(name, fix) for fix in some]

    names = _NAMES if fixes else []
    return Look(PLT, names, partial(column, fixes[:MOST_RECORDS]), partial(column, evenly(fixes, MOST_RECORDS)))


def _fixes(path: Path) -> list[list[str]]:
    """Return the fields of each line with a fix, or with what should be one.

    Raises:
        BadInput: The file is damaged, or too large.
    """
    content = whole(path, _LARGEST, "a track of more than 256 MiB; divide it")
    lines = content.decode("utf-8", "replace").splitlines()[_N_ABOUT:]
    return [line.split(",") for line in lines if line.strip()]


def _read_field(name: str, fix: Sequence[str]) -> float | int | None:
    """Return a degree, or a time in milliseconds since 1970; None if it cannot be read."""
    with suppress(ValueError, IndexError, OverflowError):
        number = float(fix[_POSITIONS[name]])
        if name == "time":
            return round((number - _DAYS_TO_1970) * _MILLISECONDS)
        return number if math.isfinite(number) else None
    return None


def _rows(path: Path, config: Config) -> pa.Table:
    roles = roles_of(path, _NAMES, f"a track has: {', '.join(_NAMES)}", config)
    fixes = _fixes(path)
    columns: dict[str, Any] = {
        "row_number": pa.array(range(1, len(fixes) + 1), pa.int64()),
        "is_whole": pa.array([len(fix) > _POSITIONS["time"] for fix in fixes], pa.bool_()),
        "user": pa.array([needed_user(path, config)] * len(fixes), pa.string()),
    }
    for position, role in roles.items():
        kind = pa.int64() if role == "time" else pa.float64()
        columns[role] = pa.array([_read_field(_NAMES[position], fix) for fix in fixes], kind)
    return pa.table(columns)


def _read(connection: warehouse.Connection, path: Path, file: dict[str, Any], config: Config) -> Left:
    return keep_rows(connection, path, "plt", _rows(path, config), file, config)


def _merged(paths: Sequence[Path], _: Path, config: Config) -> list[Merged]:
    return merged_rows("plt", paths, lambda path: None if small_content(path) is None else (None, _rows(path, config)))


PLT = InputFormat(
    name="plt",
    endings=packed(".plt"),
    domain="in PLT none: values follow from positions",
    begins=lambda start: start.startswith(_BEGIN),
    look=_look,
    count=lambda path, _: len(_fixes(path)),
    read=_read,
    merge=_merged,
    can_name_user=True,
)
