"""Time zones: which names there are, what to say of a name that is none, and when their clocks change."""

import datetime as dt
import difflib
import functools
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple
from zoneinfo import ZoneInfo, available_timezones

_FIRST, _LAST = dt.datetime(1970, 1, 2, tzinfo=dt.UTC), dt.datetime(2100, 1, 1, tzinfo=dt.UTC)
_RECENT = dt.datetime(1990, 1, 1, tzinfo=dt.UTC)
_STEP = dt.timedelta(days=4)
_SECOND = dt.timedelta(seconds=1)


@functools.cache
def time_zones() -> frozenset[str]:
    """Return the names of all time zones. This reads about a thousand files, so it is cached."""
    return frozenset(available_timezones() - {"localtime", "Factory", "posixrules"})


def zone_problem(name: str) -> str | None:
    """Return what is wrong with the name of a time zone, with the closest name that is right; None if nothing is."""
    if name in time_zones():
        return None
    close = difflib.get_close_matches(name, time_zones(), n=1)
    return "must be an IANA time zone" + (f"; did you mean {close[0]}?" if close else "")


def known_zone(value: str) -> str:
    """Return the name of a time zone.

    Raises:
        ValueError: There is no such zone.
    """
    if problem := zone_problem(value):
        raise ValueError(problem)
    return value


class ClockChange(NamedTuple):
    """A change of a zone's clock.

    Attributes:
        instant: When it is.
        before: What the clock is ahead of UTC before it.
        after: The same after it. If that is more, the times between are skipped; if less, they are shown twice.
    """

    instant: dt.datetime
    before: dt.timedelta
    after: dt.timedelta


@functools.cache
def clock_changes(name: str) -> tuple[ClockChange, ...]:
    """Return all changes of a zone's clock from 1970 to 2100."""
    return tuple(_changes(ZoneInfo(name)))


@functools.cache
def abbreviations(name: str) -> dict[str, dt.timedelta]:
    """Return what each abbreviation of a zone's clock since 1990, such as CET, is ahead of UTC, if it is one thing."""
    zone, found = ZoneInfo(name), defaultdict[str, set[dt.timedelta]](set)
    for at in (*(one.instant for one in clock_changes(name) if one.instant >= _RECENT), _RECENT):
        local = at.astimezone(zone)
        found[local.tzname() or ""].add(local.utcoffset() or dt.timedelta())
    return {one: shifts.pop() for one, shifts in found.items() if one.isalpha() and len(shifts) == 1}


def _changes(zone: ZoneInfo) -> Iterator[ClockChange]:
    here = _FIRST
    while here < _LAST:
        if _ahead(here, zone) == _ahead(here + _STEP, zone):
            here += _STEP
            continue
        low, high = here, here + _STEP
        while high - low > _SECOND:
            middle = low + dt.timedelta(seconds=(high - low) // _SECOND // 2)
            low, high = (middle, high) if _ahead(middle, zone) == _ahead(here, zone) else (low, middle)
        yield ClockChange(high, _ahead(low, zone), _ahead(high, zone))
        here = high


def _ahead(instant: dt.datetime, zone: ZoneInfo) -> dt.timedelta:
    return instant.astimezone(zone).utcoffset() or dt.timedelta()
