"""Finds members of JSON records by the paths that columns name, such as ``location.coordinates[1]``."""

import re
from collections.abc import Sequence
from typing import Any

_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")
_PATH = re.compile(r"[^.\[\]]+(\[\d+\])*(\.[^.\[\]]+(\[\d+\])*)*")


def steps_of(path: str) -> list[str | int]:
    """Return the members and positions that a path goes through.

    A name that is no path, because its brackets and dots are otherwise, is one member.
    """
    if not _PATH.fullmatch(path):
        return [path]
    return [name or int(position) for name, position in _STEP.findall(path)]


def found(record: Any, steps: Sequence[str | int]) -> Any:
    """Return what is at the end of steps through a JSON value; None if it is not there."""
    for step in steps:
        if isinstance(step, str) and isinstance(record, dict):
            record = record.get(step)
        elif isinstance(step, int) and isinstance(record, list) and step < len(record):
            record = record[step]
        else:
            return None
    return record


def pointer(name: str, example: Any) -> str:
    """Return the JSON pointer to the member that a column names.

    A member whose own name has dots or brackets is meant if the example has it; otherwise they make a path.

    Args:
        name: The column's name.
        example: A record of the file.
    """
    is_member = isinstance(example, dict) and name in example
    steps = [name] if is_member else steps_of(name)
    return "".join(f"/{_escaped(str(step))}" for step in steps)


def _escaped(step: str) -> str:
    return step.replace("~", "~0").replace("/", "~1")
