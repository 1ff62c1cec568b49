"""Patterns: which pattern names the files of a feed, and where in it the date stands."""

import datetime as dt
import itertools
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tasks.base.file_patterns import DATE_PLACEHOLDER
from tasks.records.input_formats.all_formats import format_by_name
from tasks.records.input_formats.archives import PACK
from tasks.records.input_formats.compressed import PACKINGS

_MOST_PATTERNS = 5
_DATE = re.compile(r"(?<!\d)\d{4}-\d\d-\d\d(?!\d)")
_HOUR_FOLDER = re.compile(
    rf"((?:^|/)(?:hour|hr|hh|h)[=_-]?|{re.escape(DATE_PLACEHOLDER)}/)(?:[01]?\d|2[0-3])(?=/|$)", re.IGNORECASE
)
"""A folder of an hour, by its name or below one of a date: another day has other hours."""
_WRITTEN_DATE = re.compile(r"(?<!\d)(\d{4})([-_.]?)(\d\d)\2(\d\d)(?!\d)")


def patterns(files: Sequence[Path], folder: Path, start: str = "") -> list[str]:
    """Return patterns relative to a folder: one for each folder and ending of several files, whose names start so."""
    relative = relative_paths(files, folder)
    if len(relative) == 1:
        return [relative[0].as_posix()]
    folders = [_HOUR_FOLDER.sub(r"\1*", path.parent.as_posix()) for path in relative]
    named = zip(folders, relative, strict=True)
    return _alike({(Path(folder) / f"{start}*{ending_of(path)}").as_posix() for folder, path in named})


def _alike(found: set[str]) -> list[str]:
    """Return patterns in order, or one that leaves open the folders in which they differ, if they are too many."""
    parts = [one.split("/") for one in sorted(found)]
    if len(found) <= _MOST_PATTERNS or len({(len(one), one[-1]) for one in parts}) > 1:
        return sorted(found)
    return ["/".join(same[0] if len({*same}) == 1 else "*" for same in zip(*parts, strict=True))]


def start_of(files: Sequence[Path]) -> str:
    """Return the words that all names start with, up to the first digit, as `new_` in those of `new_abboip.txt`."""
    first, last = min(path.name for path in files), max(path.name for path in files)
    n_same = len([*itertools.takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))])
    words = re.match(r"[^\d*?\[\]{}]*[-_. ]", first[:n_same])
    return words[0] if words else ""


def patterns_of_folders(files: Sequence[Path], folder: Path, n_above: int) -> list[str]:
    """Return patterns relative to a folder that leave open one folder, so many above that of a file."""
    found = set[str]()
    for path in relative_paths(files, folder):
        parts = list(path.parent.parts)
        parts[-1 - n_above] = "*"
        found.add(Path(*parts, f"*{ending_of(path)}").as_posix())
    return sorted(found)


def dates_of(files: Sequence[Path], folder: Path) -> list[dt.date] | None:
    """Return the one date that each path holds, in the form YYYY-MM-DD; None if a path holds none, or several.

    The folders decide, if they hold a date: a snapshot in the folder of its local day is named by its instant in UTC.
    """
    found = [
        set(_DATE.findall(path.parent.as_posix()) or _DATE.findall(path.name)) for path in relative_paths(files, folder)
    ]
    try:
        return [dt.date.fromisoformat(date) for (date,) in found]
    except ValueError:
        return None


def day_in(path: Path, folder: Path) -> dt.date | None:
    """Return the one date that a path from a folder on holds, also in forms such as YYYYMMDD; None if it holds none."""
    (relative,) = relative_paths([path], folder)
    written = {(year, month, day) for year, _, month, day in _WRITTEN_DATE.findall(relative.as_posix())}
    try:
        ((year, month, day),) = written
        return dt.date(int(year), int(month), int(day))
    except ValueError:
        return None


def dated_patterns(files: Sequence[Path], folder: Path) -> list[str]:
    """Return patterns with ``{date}`` for files each of whose paths holds one date.

    Beside the date the pattern has what all names have there. What follows the date and has digits is left open: it may
    be a time, or another number on the next day.
    """
    parts = [_parts(path) for path in relative_paths(files, folder)]
    starts, ends = {one.start for one in parts}, {one.end for one in parts}
    start = starts.pop() if len(starts) == 1 else f"*{DATE_PLACEHOLDER}"
    end = ends.pop() if len(ends) == 1 and not re.search(r"\d", parts[0].end) else "*"
    return _alike({(Path(one.folder) / f"{start}{end}{one.ending}").as_posix() for one in parts})


class _Parts(NamedTuple):
    """A path that holds a date: its folder, its name up to the date, and what follows; ``{date}`` is the date."""

    folder: str
    start: str
    end: str
    ending: str


def _parts(path: Path) -> _Parts:
    folder, ending = _DATE.sub(DATE_PLACEHOLDER, path.parent.as_posix()), ending_of(path)
    name = path.name.removesuffix(ending)
    if DATE_PLACEHOLDER in folder:
        return _Parts(_HOUR_FOLDER.sub(r"\1*", folder), "", name, ending)
    start, end = _DATE.split(name, maxsplit=1)
    return _Parts(folder, start + DATE_PLACEHOLDER, end, ending)


def relative_paths(files: Sequence[Path], folder: Path) -> list[Path]:
    """Return paths as they are from a folder on."""
    return [Path(os.path.relpath(path.resolve(), folder.resolve())) for path in files]


def ending_of(path: Path) -> str:
    """Return what names like this one end in; that of a pack of a feed's snapshots is theirs."""
    if path.name.endswith(PACK) and format_by_name(inner := Path(path.name.removesuffix(PACK))):
        return ending_of(inner)
    return "".join(path.suffixes[-2:] if path.suffix in PACKINGS else path.suffixes[-1:])
