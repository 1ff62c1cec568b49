"""Proposes the patterns of a feed's files: whether the date in each path says which local day the file holds."""

import datetime as dt
import glob
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tasks.base.file_patterns import DATE_PLACEHOLDER
from tasks.records.init import patterns

_ANY_DATE = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]"
_MOST_OF_OTHER_DAYS = 0.05
"""How many of a file's records may be of other days than its path's: what is usually allowed to be unusable."""
_MOST_OF_EARLIER_DAYS = 0.5
"""The same of earlier days in snapshots, which repeat old reports of vehicles that stand still."""

NOT_THEIR_DAYS = "The paths have dates, but these are not the local days of all records: every day reads all files"


class NamedFiles(NamedTuple):
    """The patterns of some files, and why they are so."""

    patterns: list[str]
    reason: str


def are_of_day(date: dt.date, days: Counter[dt.date], *, holds_snapshots: bool) -> bool:
    """Return whether the records of a file are of the local day in its path, but for a few stray ones.

    Args:
        date: The day in the path.
        days: How many of its records are of each day.
        holds_snapshots: Whether the file is a snapshot. It repeats reports of earlier days, but of no later one.
    """
    n_records = sum(days.values())
    n_earlier = sum(n for day, n in days.items() if day < date)
    n_other = n_records - days[date] - (n_earlier if holds_snapshots else 0)
    return n_other <= _MOST_OF_OTHER_DAYS * n_records and n_earlier <= _MOST_OF_EARLIER_DAYS * n_records


def are_days_of_utc(
    dates: Sequence[dt.date], days: Sequence[Counter[dt.date]], days_of_utc: Sequence[Counter[dt.date]]
) -> bool:
    """Return whether files hold days of UTC, and not local ones: then the same hour of each day would be lost.

    Args:
        dates: The day in the path of each file.
        days: How many of its records are of each local day.
        days_of_utc: How many are of each day of UTC.
    """
    is_other = any(of.keys() - {date} for date, of in zip(dates, days, strict=True))
    return is_other and all(of.keys() <= {date} for date, of in zip(dates, days_of_utc, strict=True))


def dated_files(files: Sequence[Path], folder: Path, found: list[str] | None) -> NamedFiles:
    """Return patterns with ``{date}``, those found or else made, for files that each hold the local day in its path."""
    why = "Each file holds the local day in its path, and a day reads only its own files"
    return _named(files, folder, found or patterns.dated_patterns(files, folder), why)


def undated_files(files: Sequence[Path], folder: Path, why: str = "") -> NamedFiles:
    """Return patterns without a date: every day reads all files. Where there are others, names must start alike."""
    found = patterns.patterns(files, folder)
    if _n_found(folder, found) > len(files):
        found = patterns.patterns(files, folder, patterns.start_of(files))
    return _named(files, folder, found, why)


def files_of_folders(files: Sequence[Path], folder: Path, n_above: int) -> NamedFiles:
    """Return patterns for files of users who have a folder each, so many folders above that of a file."""
    return _named(files, folder, patterns.patterns_of_folders(files, folder, n_above), "Each folder is a user's")


def _named(files: Sequence[Path], folder: Path, found: list[str], why: str) -> NamedFiles:
    n_found = _n_found(folder, found)
    more = f", and will read {n_found - len(files):,} more that are there" if n_found > len(files) else ""
    return NamedFiles(found, f"the pattern is {', '.join(found)}{more}{why and f'. {why}'}")


def _n_found(folder: Path, found: Sequence[str]) -> int:
    """Return how many files there are of some patterns."""
    return len({path for one in found for path in glob.glob(str(folder / one.replace(DATE_PLACEHOLDER, _ANY_DATE)))})
