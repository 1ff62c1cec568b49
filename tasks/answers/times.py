"""The days and hours that are asked about, and the periods that answers are of."""

import datetime as dt
import re

from tasks.base.errors import HexveilError

WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
PERIODS = ("day", "week", "month")


def weekdays_of(text: str) -> frozenset[int]:
    """Return the weekdays of `mon-fri` or `sat,sun`, Monday being 0.

    Raises:
        HexveilError: It is no such text.
    """
    found: set[int] = set()
    for part in text.lower().split(","):
        first, _, last = part.strip().partition("-")
        if first not in WEEKDAYS or (last or first) not in WEEKDAYS:
            raise HexveilError(f"days={text} must be like mon-fri or sat,sun")
        begin, end = WEEKDAYS.index(first), WEEKDAYS.index(last or first)
        found.update(day % 7 for day in range(begin, end + 1 + 7 * (end < begin)))
    return frozenset(found)


def hours_of(text: str) -> frozenset[int]:
    """Return the local hours of `7-11`, which begins at 7 and ends at 11, of `22-5`, or of a list of such.

    Raises:
        HexveilError: It is no such text.
    """
    found: set[int] = set()
    for part in text.split(","):
        matched = re.fullmatch(r"\s*(\d{1,2})(?:-(\d{1,2}))?\s*", part)
        begin, end = (int(matched[1]), int(matched[2] or int(matched[1]) + 1)) if matched else (24, 0)
        if begin > 23 or end > 24 or begin == end:
            raise HexveilError(f"hours={text} must be like 7-11, which ends at 11:00, or 22-5")
        found.update(hour % 24 for hour in range(begin, end + 24 * (end < begin)))
    return frozenset(found)


def date_of(text: str) -> dt.date:
    """Return the day of `2026-03-02`.

    Raises:
        HexveilError: It is no such text.
    """
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        raise HexveilError(f"{text} must be a day like 2026-03-02") from None


def range_of(text: str) -> tuple[dt.date, dt.date]:
    """Return the days of `2026-03-02:2026-03-08`, both included.

    Raises:
        HexveilError: It is no such text.
    """
    first, _, last = text.partition(":")
    found = date_of(first), date_of(last or first)
    if found[1] < found[0]:
        raise HexveilError(f"{text} must be like 2026-03-02:2026-03-08, the first day before the last")
    return found


def period_of(date: dt.date, kind: str | None) -> str:
    """Return the name of the day, ISO week or month that has a date; empty if answers are of all days together."""
    if kind == "day":
        return date.isoformat()
    if kind == "week":
        year, week, _ = date.isocalendar()
        return f"{year}-W{week:02}"
    return f"{date:%Y-%m}" if kind == "month" else ""


def check_slots(minutes: int, hours: frozenset[int], date: dt.date) -> None:
    """Refuse hours that cut a slot: how a slot's records lie within it is not published.

    Raises:
        HexveilError: They do.
    """
    for begin in range(0, 24 * 60, minutes):
        first, end = begin // 60, -(-(begin + minutes) // 60)
        if len({hour in hours for hour in range(first, end)}) > 1:
            slot = f"{first}-{end}"
            raise HexveilError(f"{date} is published in slots of {minutes} minutes: hours must not cut one, as {slot}")


def n_slots(minutes: int, hours: frozenset[int]) -> int:
    """Return how many slots of a usual day begin in some local hours."""
    return sum(begin // 60 in hours for begin in range(0, 24 * 60, minutes))
