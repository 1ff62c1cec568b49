"""Path times: finds the date and the hour that the paths of files say, and the pattern that finds such files."""

import dataclasses
import datetime as dt
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tasks.base.file_patterns import HOUR_PLACEHOLDER, said_by_path
from tasks.records.init.patterns import ending_of, relative_paths
from tasks.records.input_formats.input_format import Look

_YEAR, _MONTH, _DAY = r"(?P<y>(?:19|20)\d\d)", r"(?P<m>0[1-9]|1[0-2])", r"(?P<d>0[1-9]|[12]\d|3[01])"
_DATES = (
    (rf"(?<!\d){_YEAR}-{_MONTH}-{_DAY}(?!\d)", "{date}"),
    (rf"year={_YEAR}/month={_MONTH}/day={_DAY}(?!\d)", "year={date:%Y}/month={date:%m}/day={date:%d}"),
    (rf"(?<!\d){_YEAR}/{_MONTH}/{_DAY}(?!\d)", "{date:%Y/%m/%d}"),
    (rf"(?<!\d){_YEAR}_{_MONTH}_{_DAY}(?!\d)", "{date:%Y_%m_%d}"),
    (rf"(?<!\d){_YEAR}{_MONTH}{_DAY}(?!\d{{3}})", "{date:%Y%m%d}"),
)
"""How the date is written in paths, the plainest first."""
_HOURS = (
    r"(?P<before>.*(?:^|[/_.-])(?:hour|hr|hh|h)[=_-]?)(?P<h>[01]?\d|2[0-3])(?!\d)",
    r"(?P<before>[-_T/ .]?)(?P<h>[01]\d|2[0-3])(?=$|[/_.hZ-](?!\d\d?[-_.:]?\d\d))",
)
"""What may follow the date up to the hour, and the hour."""

_SLASH = re.compile(r"/(?![^{}]*\})")
"""What is between folders, but not in `{date:%Y/%m/%d}`."""


class PathTimes(NamedTuple):
    """What the paths of all files say.

    Attributes:
        patterns: The patterns of such files.
        time: What stands for the name of the column of the time.
        dates: The date of each file.
    """

    patterns: list[str]
    time: str
    dates: list[dt.date]


def path_times(files: Sequence[Path], folder: Path) -> PathTimes | None:
    """Return what the paths of files say, from a folder on; None if a path says no date, or they differ in form.

    Args:
        files: The files.
        folder: Where the configuration will be.
    """
    for form, placeholder in _DATES:
        found = [_found(path.as_posix(), ending_of(path), form, placeholder) for path in relative_paths(files, folder)]
        if all(found):
            whole = [one for one in found if one is not None]
            patterns, dates = sorted({pattern for pattern, _ in whole}), [date for _, date in whole]
            have_hours = {HOUR_PLACEHOLDER in pattern for pattern in patterns}
            if len(have_hours) > 1:
                return None
            return PathTimes(patterns, "{date}T{hour}" if have_hours == {True} else "{date}", dates)
    return None


def dated_paths(files: Sequence[Path], folder: Path) -> PathTimes | None:
    """Return what paths say that have the date in a folder, as `20260302/` or `2026/03/02/`; None if not all have.

    Of a single file the name may have it, as `buses_20260302.csv`: the next day is in another file. An hour is left
    open: without a column that says so, such a number may be another one.
    """
    said = path_times(files, folder)
    is_in_folders = said is not None and all("{date" in one.rpartition("/")[0] for one in said.patterns)
    if said is None or not (is_in_folders or len(files) == 1):
        return None
    return said._replace(patterns=sorted({one.replace(HOUR_PLACEHOLDER, "*") for one in said.patterns}))


def _found(path: str, end: str, form: str, placeholder: str) -> tuple[str, dt.date] | None:
    """Return the pattern of a path, and its date; None if it has none of this form, or several."""
    dates = list(re.finditer(form, path))
    if len({(one["y"], one["m"], one["d"]) for one in dates}) != 1:
        return None
    last = dates[-1]
    before, after = re.sub(form, lambda _: placeholder, path[: last.start()]), path[last.end() :]
    hour = next(filter(None, (re.match(one, after) for one in _HOURS)), None)
    if hour is not None:
        after = f"{hour['before']}{HOUR_PLACEHOLDER}{after[hour.end() :]}"
    folders, slash, name = f"{before}{placeholder}{after}".rpartition("/")
    start, brace, rest = name.rpartition("}")
    told = f"{start}{brace}" + ("" if brace and rest == end else "*")
    try:
        date = dt.date(int(last["y"]), int(last["m"]), int(last["d"]))
    except ValueError:
        return None
    return f"{folders}{slash}{told}{end}", date


def of_folders(patterns: Sequence[str], n_above: int) -> list[str]:
    """Return patterns that leave open one folder, so many above that of a file: it is a user's."""
    found = set[str]()
    for pattern in patterns:
        parts = _SLASH.split(pattern)
        parts[-2 - n_above] = "*"
        found.add("/".join(parts))
    return sorted(found)


def with_path_time(look: Look, path: Path, date: dt.date, times: PathTimes) -> Look:
    """Return what a file looks like with a column more, which has the time that its path says."""
    said = said_by_path(times.time, path, date, times.patterns)

    def column(name: str) -> list[Any]:
        return [said] * len(look.column(look.names[0])) if name == times.time else look.column(name)

    def spread(name: str) -> list[Any]:
        return [said] * len(look.spread(look.names[0])) if name == times.time else look.spread(name)

    kinds = None if look.kinds is None else {**look.kinds, times.time: "string"}
    return dataclasses.replace(look, names=[*look.names, times.time], column=column, spread=spread, kinds=kinds)
