"""Time columns: which columns have the time of a record, one or two, and what they have together."""

import datetime as dt
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from tasks.records.input_formats import recognise
from tasks.records.input_formats.input_format import Look
from tasks.records.input_formats.roles import is_like
from tasks.records.input_formats.times import joined_times

_ENOUGH, _MOSTLY = 0.9, 0.5
_CLOCK = re.compile(r"\s*(\d\d?:?\d\d(:?\d\d([.,]\d+)?)?( ?[AaPp][Mm])?|([01]?\d|2[0-4])(\.0*)?)\s*")
_DATE_ALONE = re.compile(r"\s*(\d{4}-\d\d?-\d\d?([T ]00:00(:00(\.0+)?)?(Z|[+-]00:?00)?)?|(19|20)\d{6})\s*")
_HAS_DATE = re.compile(r".*\d{4}.*", re.DOTALL)
_CLOCKS = (
    "hour",
    "hr",
    "hourofday",
    "localhour",
    "hh",
    "timeofday",
    "time",
    "localtime",
    "clock",
    "utchour",
    "hourutc",
)
_INSTANT = re.compile(
    r"\s*((?P<y>(?:19|20)\d\d)[-/. ]?(?P<m>\d\d?)[-/. ]?(?P<d>\d\d?)"
    r"|(?P<a>\d\d?)[-/. ](?P<b>\d\d?)[-/. ](?P<z>(?:19|20)\d\d))"
    r"[T ,]*\d\d?:?\d\d.*"
)
"""A date with a time of day behind it, the year first or last."""
_DAY = dt.timedelta(days=1)
_OF_DATES = "{date}"
_DATES = ("date", "day", "servicedate", "localdate", "gpsdate", "utcdate", "recorddate", "eventdate", "datestamp")
_NONE: tuple[Any, ...] = (None, "", 0)


def of_time(columns: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the columns of the time: one, or those of date and time."""
    time = columns["time"]
    return (time,) if isinstance(time, str) else tuple(time)


def written_times(look: Look, columns: Mapping[str, Any], *, spread: bool = False) -> list[Any]:
    """Return the times of a file's first records, or of some all over it, as the engine joins them."""
    some = [look.spread(name) if spread else look.column(name) for name in of_time(columns)] if look.names else []
    if len(some) < 2:
        return some[0] if some else []
    return joined_times(some[0], some[1])


def other_column(look: Look, columns: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the columns of date and time of day, if that of the time has one of them; None if it has both."""
    times = [str(one) for one in look.column(columns["time"]) if one not in (None, "")]
    free = [name for name in look.own_names if name not in columns.values()]
    named = {re.sub(r"[^a-z]", "", name.rpartition(".")[2].lower()): name for name in free}
    if _most(_CLOCK, times):
        date = next((named[one] for one in _DATES if one in named), None)
        return None if date is None else (date, columns["time"])
    if not _most(_DATE_ALONE, times):
        return None
    clocks = [named[one] for one in _CLOCKS if one in named]
    clock = next((one for one in clocks if _most(_CLOCK, [str(at) for at in look.column(one) if at is not None])), None)
    return None if clock is None else (columns["time"], clock)


def hour_column(look: Look, columns: Mapping[str, Any]) -> str | None:
    """Return the column of the hour; None if there is none."""
    return (other_column(_dated(look), {**columns, "time": _OF_DATES}) or (None, None))[1]


def columns_of_instants(
    look: Look, columns: Mapping[str, Any], dates: Collection[dt.date]
) -> tuple[list[str], list[str]]:
    """Return the columns that no role has and that have a date and a time of day, on one of some dates or next to it.

    They are looked for where the column of the value is known: it is never looked into.

    Returns:
        Those that mostly are of these dates, then the others, which may have another time, as of an upload.
    """
    near = {date + n * _DAY for date in dates for n in (-1, 0, 1)}
    free = [name for name in look.own_names if name not in columns.values()] if "value" in columns else []
    found = [name for name in free if _share_of(look.column(name), near) >= _ENOUGH]
    of_them = [name for name in found if _share_of(look.column(name), dates) >= _MOSTLY]
    return of_them, [name for name in found if name not in of_them]


def _share_of(entries: Sequence[Any], dates: Collection[dt.date]) -> float:
    """Return which share of the entries that are no blanks are times on some dates."""
    held = [one for one in entries if one not in _NONE]
    return sum(any(day in dates for day in _days_of(one)) for one in held) / max(1, len(held))


def _days_of(written: Any) -> set[dt.date]:
    """Return which days an entry may be of: two, if it is not known which number is the month; none, if of none."""
    unit = recognise.time_unit([written])
    if unit is not None:
        return {dt.datetime.fromtimestamp(float(written) / recognise.UNITS[unit], dt.UTC).date()}
    found = _INSTANT.fullmatch(str(written))
    if found is None:
        return set()
    year, one, other = (found["y"], found["m"], found["d"]) if found["y"] else (found["z"], found["a"], found["b"])
    days = set()
    for month, day in [(one, other)] if found["y"] else [(one, other), (other, one)]:
        with suppress(ValueError):  # there is no such day
            days.add(dt.date(int(year), int(month), int(day)))
    return days


def _dated(look: Look) -> Look:
    """Return what a file looks like with a column of dates more."""
    own = look.column
    return replace(look, column=lambda name: ["2026-01-15"] if name == _OF_DATES else own(name))


def _most(form: re.Pattern[str], texts: Sequence[str]) -> bool:
    return bool(texts) and sum(bool(form.fullmatch(one)) for one in texts) >= _ENOUGH * len(texts)


def column_instead(look: Look, columns: Mapping[str, Any]) -> str | None:
    """Return a column with a time of the records that have none in theirs; None if there is none, or all have one."""
    lacking = [number for number, one in enumerate(look.column(columns["time"])) if one in _NONE]
    if not lacking:
        return None
    form = _form_of(look.column(columns["time"]))
    for name in (one for one in look.own_names if one not in columns.values() and is_like(one, "time")):
        entries = look.column(name)
        if all(entries[number] not in _NONE for number in lacking) and _form_of(entries) == form:
            return name
    return None


def _form_of(times: Sequence[Any]) -> str | None:
    """Return what times count that are numbers since 1970, or that they have a date; None if neither is seen."""
    held = [one for one in times if one not in _NONE]
    return recognise.time_unit(held) or ("date" if _most(_HAS_DATE, [str(one) for one in held]) else None)
