"""File patterns: what `{date}` and `{hour}` stand for in the paths of files, and which time a path says."""

import datetime as dt
import fnmatch
import re
from collections.abc import Sequence
from pathlib import PurePath

DATE_PLACEHOLDER, HOUR_PLACEHOLDER = "{date}", "{hour}"
_DATE = re.compile(r"\{date(?::([^{}]+))?\}")
_ANY = re.compile(r"\{[^{}]*\}")
_HOURS = ("[0-9]", "[0-2][0-9]")
_MARK = "hourhour"
_DAYS = [dt.date(2026, 1, 15), dt.date(2026, 1, 16), dt.date(2026, 2, 15), dt.date(2027, 1, 15)]


def has_date(pattern: str) -> bool:
    """Return whether each file of a pattern is for one day."""
    return _DATE.search(pattern) is not None


def filled(pattern: str, date: dt.date) -> list[str]:
    """Return the patterns of a day's files: with its date, and with hours of one and of two digits."""
    dated = _dated(pattern, date)
    if HOUR_PLACEHOLDER not in dated:
        return [dated]
    return [dated.replace(HOUR_PLACEHOLDER, hour) for hour in _HOURS]


def is_of_path(name: str) -> bool:
    """Return whether what stands for the name of a column says that the path has the time."""
    return DATE_PLACEHOLDER in name or HOUR_PLACEHOLDER in name


def pattern_problem(pattern: str) -> str | None:
    """Return what is wrong with the placeholders of a pattern; None if nothing is."""
    if has_date(pattern) and len({_dated(pattern, day) for day in _DAYS}) < len(_DAYS):
        return "must have year, month and day, as in {date} or {date:%Y/%m/%d}"
    _, *rest = pattern.split(HOUR_PLACEHOLDER)
    if len(rest) > 1 or "**" in "".join(rest):
        return "may have {hour} once, and no ** after it"
    return None


def time_problem(written: str, patterns: Sequence[str]) -> str | None:
    """Return why a path cannot say a time; None if it can.

    Args:
        written: What stands for the name of a column, such as `{date}T{hour}`.
        patterns: Those of the files.
    """
    left = _ANY.sub("", written.replace(DATE_PLACEHOLDER, "").replace(HOUR_PLACEHOLDER, ""))
    if len(left) < len(written.replace(DATE_PLACEHOLDER, "").replace(HOUR_PLACEHOLDER, "")):
        return "may have {date} and {hour} alone in braces"
    if DATE_PLACEHOLDER in written and not all(map(has_date, patterns)):
        return "takes the date from the path, and a pattern of dataset.files has no {date}"
    if HOUR_PLACEHOLDER in written and not all(HOUR_PLACEHOLDER in one for one in patterns):
        return "takes the hour from the path, and a pattern of dataset.files has no {hour}"
    return None


def said_by_path(written: str, path: PurePath, date: dt.date | None, patterns: Sequence[str]) -> str | None:
    """Return the time that the path of a file says, in the form that stands for the name of a column.

    Args:
        written: The form, such as `{date}T{hour}`.
        path: The file.
        date: The day that the file is for.
        patterns: Those of the files.

    Returns:
        The time as a text; None if the path is of no pattern.
    """
    dated = written if date is None else written.replace(DATE_PLACEHOLDER, date.isoformat())
    if HOUR_PLACEHOLDER not in dated:
        return dated
    for pattern in patterns:
        parts = (pattern if date is None else _dated(pattern, date)).replace(HOUR_PLACEHOLDER, _MARK).split("/")
        at = next((number for number, part in enumerate(reversed(parts)) if _MARK in part), len(path.parts))
        form = fnmatch.translate(parts[-1 - at]).replace(_MARK, r"(\d\d?)(?!\d)") if at < len(parts) else "(?!)"
        found = re.match(form, path.parts[-1 - at]) if at < len(path.parts) else None
        if found is not None:
            return dated.replace(HOUR_PLACEHOLDER, f"{int(found[1]):02}")
    return None


def _dated(pattern: str, date: dt.date) -> str:
    return _DATE.sub(lambda found: date.strftime(found[1] or "%Y-%m-%d"), pattern)
