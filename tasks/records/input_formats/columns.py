"""Columns: finds in a file the columns that the configuration names, each exactly once."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from tasks.base.config import Config
from tasks.base.config_source import OF_PATH, SPEED, Columns, Dataset
from tasks.base.errors import BadInput
from tasks.base.file_patterns import is_of_path

DEGREES = (
    "Latitudes must be degrees from -90 to 90, and longitudes from -180 to 180: if these go to 360, set "
    "columns.longitude_to = 360; if places are whole numbers such as 473456789, set columns.per_degree; if they are "
    "metres of a projection, convert them to WGS 84."
)
"""What to do about places that are outside the world."""
GEOMETRY = "A point, such as POINT (8.3 47.05), is a column for columns.geometry, and an H3 cell one for columns.h3."
"""What to do about places in one column."""
_WHOLE_NUMBER = re.compile(r"-?\d+")
USUAL_PLACE: dict[str, Any] = {"kind": "degrees", "per_degree": 1.0, "is_round": False}
"""The form of places that every format may have."""


def source_names(config: Config) -> dict[str, str]:
    """Return the name that the input files use for each role. What is derived, or in a path, has no column."""
    of_files = {role: name for role, name in config.columns.by_role.items() if name not in (*OF_PATH, SPEED)}
    return {role: name for role, name in of_files.items() if role not in ("time", "clock") or not is_of_path(name)}


class _WithPlaces(Protocol):
    """What says how places are written: a configuration of either model."""

    @property
    def columns(self) -> Columns: ...
    @property
    def dataset(self) -> Dataset: ...


def place_roles(config: _WithPlaces) -> dict[str, str]:
    """Return the roles of the columns of latitude and longitude, as parameters: of a cell or a point both are one."""
    roles = list(config.columns.of_place)
    return {"latitude": roles[0], "longitude": roles[-1]}


def column_roles(config: Config) -> dict[str, str]:
    """Return the role of the column for each parameter of a statement: one that needs none has that of another."""
    names, places = source_names(config), place_roles(config)
    time = "time" if "time" in names else places["latitude"]
    clock = "clock" if "clock" in names else time
    further = {role: role if role in names else places["latitude"] for role in ("value", "age")}
    return {"time": time, "clock": clock, **places, **further}


def rows_that_count(config: _WithPlaces, named: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return which rows count, as the parameters of statements: ``only`` for ``is_among``, and its columns.

    A whole number is the same with ``.0`` behind it, as where it went through a floating-point one.

    Args:
        config: Says which.
        named: What statements call the column of each role, if that is not the role.
    """
    texts = {(named or {}).get(role, role): _also_with_point(some) for role, some in config.columns.of_only.items()}
    latitude = place_roles(config)["latitude"]
    any_column = (named or {}).get(latitude, latitude)
    return {"only_columns": [*texts] or [any_column], "only": {"key": [*texts], "value": [*texts.values()]}}


def _also_with_point(texts: Iterable[str]) -> list[str]:
    return [one for text in texts for one in (text, f"{text}.0")[: 1 + bool(_WHOLE_NUMBER.fullmatch(text))]]


def place_form(config: _WithPlaces) -> dict[str, Any]:
    """Return how places are written, as the parameter that ``place_of`` takes."""
    columns = config.columns
    kind = "h3" if columns.h3 is not None else "geometry" if columns.geometry is not None else "degrees"
    numbers = {"per_degree": float(columns.per_degree), "is_round": columns.longitude_to == 360}
    return {"place": {"kind": kind, "decimal": config.dataset.decimal, **numbers}}


def roles_of(path: Path, header: list[str], hint: str, config: Config) -> dict[int, str]:
    """Return the role of each column of a file that is read, by its position.

    Args:
        path: The file.
        header: The names of its columns.
        hint: What to do if a column is not there.
        config: Names the columns.

    Raises:
        BadInput: A column is not there, or more than once.
    """
    positions = {}
    for role, name in source_names(config).items():
        if header.count(name) != 1:
            problem = "no column" if name not in header else "more than one column"
            raise BadInput(f'{path}: {problem} "{name}" (columns.{called(role)}); {_in_path(path, name) or hint}')
        positions[header.index(name)] = role
    return positions


def called(role: str) -> str:
    """Return the setting that names the column of a role."""
    return "time" if role == "clock" else role.partition("_")[0]


def _in_path(path: Path, name: str) -> str | None:
    """Return what to do if a column is only in the names of folders, as Hive writes it; None if it is not there."""
    if not any(part.startswith(f"{name}=") for part in path.parts):
        return None
    return (
        "it is in the path alone, of which columns.time can have {date} and {hour}; write it into files, for example "
        "with DuckDB: copy (from read_parquet('raw/**/*.parquet', hive_partitioning = true)) to 'whole.parquet'"
    )
