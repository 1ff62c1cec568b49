"""Finds members of JSON records by the paths that columns name, such as ``location.coordinates[1]``."""

import re
from collections.abc import Sequence
from typing import Any

_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")
_PATH = re.compile(r"([^.\[\]]+|\[\d+\])(\[\d+\])*(\.[^.\[\]]+(\[\d+\])*)*")


def steps_of(path: str) -> list[str | int]:
    """Return the members and positions that a path goes through; one that begins with a position is into a list.

    A name that is no path, because its brackets and dots are otherwise, is one member.
    """
    if not _PATH.fullmatch(path):
        return [path]
    return [name or int(position) for name, position in _STEP.findall(path)]


def steps_to_list(path: str | None) -> list[str | int | None]:
    """Return the steps to the list of records; None stands for every position, `[*]`, and no path for the whole."""
    first, *further = (path or "").split("[*]")
    found: list[str | int | None] = [*steps_of(first)] if first else []
    for part in further:
        found += [None, *(steps_of(part.removeprefix(".")) if part else [])]
    return found


def records_of(document: Any, path: str | None) -> list[Any] | None:
    """Return the records of all lists that a path leads to in a JSON document; None if it leads to none.

    It leads to no records where there is null on its way, or nothing of which each has a list.
    """
    values, is_empty = [document], False
    for step in steps_to_list(path):
        if step is None:
            is_empty |= any(isinstance(value, list) for value in values)
            values = [one for value in values if isinstance(value, list) for one in value]
        else:
            is_empty |= any(isinstance(value, dict) and value.get(step, ...) is None for value in values)
            values = [one for value in values if (one := found(value, [step])) is not None]
    lists = [value for value in values if isinstance(value, list)]
    return [one for records in lists for one in records] if lists or is_empty else None


def pointer_to_member(name: str) -> str:
    """Return the JSON pointer to the member of an object that has this whole name."""
    return "/" + name.replace("~", "~0").replace("/", "~1")


def pointer_by_path(path: str) -> str:
    """Return the JSON pointer to what a path leads to."""
    return "".join(pointer_to_member(str(step)) for step in steps_of(path))


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
