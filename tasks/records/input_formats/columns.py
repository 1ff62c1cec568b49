"""Columns: finds in a file the columns that the configuration names, each exactly once."""

from pathlib import Path

from tasks.base.config import Config
from tasks.base.config_source import OF_FILE, ROLES
from tasks.base.errors import BadInput


def source_names(config: Config) -> dict[str, str]:
    """Return the name that the input files use for each role. A user that is the file's name has no column."""
    names = {role: getattr(config.columns, role) for role in ROLES}
    return {role: name for role, name in names.items() if name != OF_FILE}


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
            raise BadInput(f'{path}: {problem} "{name}" (columns.{role}); {hint}')
        positions[header.index(name)] = role
    return positions
