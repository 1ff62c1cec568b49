"""Proposes how times are written: as numbers, in ISO 8601, or in another form. Days in the files' paths help.

Whether a time has a form is asked of the engine, which reads the files of each day.
"""

import datetime as dt
import itertools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from tasks.base.config_source import TimeUnit
from tasks.base.errors import BadInput
from tasks.records.init import patterns
from tasks.records.input_formats import recognise
from tasks.records.input_formats.times import (
    TEXT,
    TimeForm,
    local_days,
    n_skipped,
    of_format,
    of_unit,
    zone_names_read,
)

TIME_FORMATS = (
    "%m/%d/%Y %I:%M:%S %p",
    "%m/%d/%Y %I:%M %p",
    "%d/%m/%Y %I:%M:%S %p",
    "%d/%m/%Y %I:%M %p",
    "%m/%d/%Y %H:%M:%S",
    "%m/%d/%Y %H:%M",
    "%d/%m/%Y %H:%M:%S",
    "%d/%m/%Y %H:%M",
    "%d.%m.%Y %H:%M:%S",
    "%d.%m.%Y %H:%M",
    "%d-%m-%Y %H:%M:%S",
    "%d-%m-%Y %H:%M",
    "%m-%d-%Y %H:%M:%S",
    "%m-%d-%Y %H:%M",
    "%Y/%m/%d %H:%M:%S",
    "%Y%m%d%H%M%S",
    "%Y%m%d %H%M%S",
    "%Y%m%d %H:%M:%S",
    "%Y%m%d %H:%M",
    "%d-%b-%Y %H:%M:%S",
    "%b %d, %Y %I:%M:%S %p",
    "%a, %d %b %Y %H:%M:%S",
)
"""Forms of times that are looked for, beside ISO 8601 and numbers."""

_ENOUGH = 0.9
_FIRST_YEAR = 1000  # the engine reads 26 as the year 26
_WITH_HOUR = re.compile(r":|\d[T ]\d")
_DATE = re.compile(r"\d{4}-?\d\d-?\d\d")
"""What cannot be read, such as `soon`, has no such date, and says nothing of zones."""
_OFFSET = re.compile(r"[T ].*([+-]\d|[A-Za-z\]]\s*$)")
_ZONE_NAMED = re.compile(r"\d\s*(?![AaPp][Mm]$)([A-Z]{2,5})\s*$")
_OF_UTC = re.compile(r"utc|gmt|zulu|^base_?date_?time$", re.IGNORECASE)
"""Names of columns whose times are of UTC: the last is that of AIS at MarineCadastre."""
_NEAR = dt.timedelta(days=1)
"""How far from the date in a file's path its records may be: it may be the day in another zone, or of the copy."""
_SHARE_NEAR = 0.5
_EXAMPLE = dt.date(2026, 4, 3)


@dataclass(frozen=True)
class TimesForm:
    """How times are written, and why it is so.

    Attributes:
        unit: What they count since 1970, if they are numbers.
        form: Their form, if they are neither numbers nor ISO 8601.
        reason: Why, for people; "" if they are ISO 8601.
        time_zone: The time zone of those without an offset; None if it is that of the days.
    """

    unit: TimeUnit | None = None
    form: str | None = None
    reason: str = ""
    time_zone: str | None = None

    def days(self, times: Sequence[Any], zone: ZoneInfo) -> Counter[dt.date]:
        """Return how many of some times are of each local day; those that cannot be read are of none."""
        (days,) = _days(times, [self._read_as()], self.time_zone or zone.key, zone.key)
        return Counter(day for day in days if day is not None)

    def has_no_offset(self, times: Sequence[Sequence[Any]]) -> bool:
        """Return whether some times of each file are without an offset, so that they are of a time zone."""
        if self.unit is not None or re.search("%[zZ]", self.form or ""):
            return False
        written = (str(one) for some in times for one in some)
        return self.form is not None or any(_DATE.search(one) and not _OFFSET.search(one) for one in written)

    def n_never(self, times: Sequence[Any], zone: str) -> int:
        """Return how many of some times the clock of a zone skipped."""
        return n_skipped(times, self._read_as(), zone)

    def _read_as(self) -> TimeForm:
        if self.unit is not None:
            return of_unit(self.unit)
        return TEXT if self.form is None else of_format(self.form)


def time_formats(times: Sequence[Any], zone: str = "UTC", end: str = "") -> list[str]:
    """Return each form in ``TIME_FORMATS`` that nine in ten of the times have, and no other form reads more of them.

    Day and month cannot be told apart while no day is above the twelfth: then forms with either order are returned.

    Args:
        times: Some times.
        zone: The time zone whose abbreviations are read.
        end: What each form ends in.
    """
    forms = [form + end for form in TIME_FORMATS]
    days = _days(times, [of_format(form) for form in forms], zone, zone)
    read = {
        form: {number for number, day in enumerate(some) if day is not None}
        for form, some in zip(forms, days, strict=True)
    }
    fitting = {form: of for form, of in read.items() if of and len(of) >= _ENOUGH * len(times)}
    return [form for form, of in fitting.items() if not any(of < others for others in fitting.values())]


def are_iso(times: Sequence[Sequence[Any]], zone: str = "UTC") -> list[bool]:
    """Return of each file's times whether nine in ten are read as ISO 8601 with a date and an hour."""
    (days,) = _days(list(itertools.chain(*times)), [TEXT], zone, zone)
    read = iter(days)
    n_read = [sum(next(read) is not None and bool(_WITH_HOUR.search(str(one))) for one in some) for some in times]
    return [n > 0 and n >= _ENOUGH * len(some) for n, some in zip(n_read, times, strict=True)]


def zone_of_times(
    form: TimesForm, times: Sequence[Any], column: str, days_zone: str, is_int96: bool, given: str | None
) -> tuple[str, str]:
    """Return the time zone of times without an offset, and why, for people.

    Args:
        form: Their form.
        times: Some of them, from all over the files.
        column: What their column is called.
        days_zone: The time zone of the days.
        is_int96: Whether they are Parquet's INT96.
        given: The time zone, if the owner says it.
    """
    n_never = 0 if given or is_int96 else form.n_never(times, days_zone)
    if given is not None:
        return given, f"times have no offset, and are of {given}, as --time-zone says, or the preset"
    if is_int96:
        why = "they are INT96, which is UTC by the convention of Spark and Hive"
    elif _OF_UTC.search(column):
        why = f"their column is called {column!r}"
    elif days_zone.startswith("Etc/"):
        why = "the places are at sea, where no clock is the local one"
    elif n_never:
        why = f"{n_never:,} of {len(times):,} times do not exist in {days_zone}, where the clock was put forward"
    else:
        return days_zone, (
            f"times have no offset, and are taken for times of {days_zone}, the zone of the places. Nothing else shows "
            "it: if they are of UTC, say --time-zone UTC"
        )
    return "UTC", f"times have no offset, and are taken for UTC: {why}. If that is wrong, say --time-zone"


def _days(
    times: Sequence[Any], forms: Sequence[TimeForm], time_zone: str = "UTC", day_zone: str = "UTC"
) -> list[list[dt.date | None]]:
    """Return the day of each time in each form; None also for years of two digits, which are no forms of a source."""
    return [
        [day if day is not None and day.year >= _FIRST_YEAR else None for day in days]
        for days in local_days(times, forms, time_zone, day_zone)
    ]


def form_of_times(
    files: Sequence[Path], folder: Path, times: Sequence[list[Any]], column: str, given: str | None, zone: str = "UTC"
) -> TimesForm:
    """Return the form that the times of all files have.

    Args:
        files: The files.
        folder: Dates are looked for in the paths from here on.
        times: Some times of each file.
        column: What the column is called.
        given: The form, if the owner says it.
        zone: The time zone whose abbreviations are read.

    Raises:
        BadInput: They have none that is known, files differ, or two forms fit and only the owner knows which it is.
    """
    seen = list(itertools.chain(*times))
    if given is not None:
        if seen and not any(day is not None for day in _days(seen, [of_format(given)], zone, zone)[0]):
            raise BadInput(f'no time in "{column}" has the form that --time-format says, {given}; check both')
        return TimesForm(form=given, reason=f"times have the form {given}, as --time-format says, or the preset")
    units: list[TimeUnit | None] = [recognise.time_unit(some) for some in times]
    found = zip(files, times, units, are_iso(times, zone), strict=False)
    kinds: dict[Path, tuple[TimeUnit | None, bool]] = {
        path: (unit, unit is None and is_iso) for path, some, unit, is_iso in found if some
    }
    if len(set(kinds.values())) > 1:
        (one, its), (other, others) = next(
            pair for pair in itertools.combinations(kinds.items(), 2) if pair[0][1] != pair[1][1]
        )
        raise BadInput(
            f'the files are not of one form: times in "{column}" are {_named(its)} in {one}, and {_named(others)} in '
            f"{other}; write a configuration for each form"
        )
    unit, is_iso = next(iter(kinds.values()), (None, True))
    if unit is not None:
        reason = f"times are {_named((unit, False))}: in this unit they are of 1990 to 2100"
        return TimesForm(unit, reason=reason)
    return TimesForm() if is_iso else _by_form(files, folder, times, column, zone)


def _named(kind: tuple[TimeUnit | None, bool]) -> str:
    unit, is_iso = kind
    return f"numbers since 1970 in {unit}" if unit else "ISO 8601" if is_iso else "of another form"


def _by_form(files: Sequence[Path], folder: Path, times: Sequence[list[Any]], column: str, zone: str) -> TimesForm:
    """Return the one form that fits; where day and month may be swapped, the dates in the paths decide."""
    seen = list(itertools.chain(*times))
    found = (time_formats(seen, zone, end) for end in ("", " %Z", " %z"))
    forms = next(filter(None, found), [])
    if not forms:
        raise BadInput(
            f'the times in "{column}" have no form that is recognised; say it with --time-format, for example '
            f'--time-format "%m/%d/%Y %H:%M:%S", or name another column with --time{_about_zones(seen, zone)}'
        )
    if len(forms) == 1:
        return TimesForm(form=forms[0], reason=f"times have the form {forms[0]}")
    days = [patterns.day_in(path, folder) for path in files]
    read = _days(seen, [of_format(form) for form in forms], zone, zone)
    near = [form for form, of in zip(forms, read, strict=True) if _is_near(of, days, times)]
    if len(near) == 1:
        reason = f"times have the form {near[0]}: read so, they are of the days in the files' paths"
        return TimesForm(form=near[0], reason=reason)
    ways = ", or ".join(
        f'--time-format "{form}" ({_EXAMPLE.day} April 2026 is {_EXAMPLE:{form[:8]}})' for form in forms
    )
    raise BadInput(
        f'the times in "{column}" can be read with either order of day and month, and no date in the files\' paths '
        f"tells which it is. Say it: {ways}"
    )


def _about_zones(times: Sequence[Any], zone: str) -> str:
    """Return what to do if times end in an abbreviation of a zone; "" if they do not."""
    named = next((found[1] for one in times if (found := _ZONE_NAMED.search(str(one)))), None)
    if named is None:
        return ""
    return (
        f". If {named} is a time zone, several are called so: name a place that has it with --time-zone. Of zones "
        f"are read {zone_names_read(zone)}"
    )


def _is_near(read: Sequence[dt.date | None], days: Sequence[dt.date | None], times: Sequence[list[Any]]) -> bool:
    """Return whether most times of each file are of about the day in its path; no if none has one.

    Args:
        read: The day of each time of each file, as one form reads it.
        days: The day in each file's path.
        times: The times of each file.
    """
    shares, all_read = [], iter(read)
    for day, some in zip(days, times, strict=False):
        found = list(itertools.islice(all_read, len(some)))
        if day is not None and some:
            shares.append(sum(of is not None and abs(of - day) <= _NEAR for of in found) / len(some))
    return bool(shares) and min(shares) >= _SHARE_NEAR
