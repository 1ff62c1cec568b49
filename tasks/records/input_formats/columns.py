"""Columns: finds in a file the columns that the configuration names, each exactly once."""

from pathlib import Path

from tasks.base.config import Config
from tasks.base.config_source import OF_PATH, SPEED
from tasks.base.errors import BadInput

DEGREES = (
    "Latitudes must be degrees from -90 to 90, and longitudes from -180 to 180: if they go to 360, subtract 360 from "
    "those above 180; if they are metres of a projection, convert them to WGS 84."
)
"""What to do about places that are outside the world."""
GEOMETRY = "A geometry, such as POINT (8.3 47.05), must be written as two columns, for example by ST_Y and ST_X in SQL."
"""What to do about places in one column."""


def source_names(config: Config) -> dict[str, str]:
    """Return the name that the input files use for each role. What is derived has no column."""
    return {role: name for role, name in config.columns.by_role.items() if name not in (*OF_PATH, SPEED)}


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
            name_of_role = "time" if role == "clock" else role
            raise BadInput(f'{path}: {problem} "{name}" (columns.{name_of_role}); {_in_path(path, name) or hint}')
        positions[header.index(name)] = role
    return positions


def _in_path(path: Path, name: str) -> str | None:
    """Return what to do if a column is only in the names of folders, as Hive writes it; None if it is not there."""
    if not any(part.startswith(f"{name}=") for part in path.parts):
        return None
    return (
        "it is in the path alone, which is not read; write it into the files, for example with DuckDB: "
        "copy (from read_parquet('raw/**/*.parquet', hive_partitioning = true)) to 'whole.parquet'"
    )
