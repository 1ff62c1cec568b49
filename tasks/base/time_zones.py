"""Time zones: which names there are, and what to say of a name that is none."""

import difflib
import functools
from zoneinfo import available_timezones


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
