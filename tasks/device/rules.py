"""What devices and their collectors must agree on: names, numbers and periods. It imports the standard library alone.

A device refuses parameters that break these rules, and a collector refuses a configuration that would.
"""

import datetime as dt
import re

LONGEST_NAME = 64
"""The most characters of the name of an area or of a device."""
LARGEST_ALPHA = 100
"""A report at a larger alpha says nearly what the device knows."""
MOST_BINS = 1 << 15
"""A ballot with more bins would not fit into the line of a report."""

_NUMBER = re.compile(r"-?[0-9]{1,15}([./][0-9]{1,15})?")
_PERIOD = re.compile(r"[0-9]{4}-([0-9]{2}-[0-9]{2}|W[0-9]{2})")
_DAYS_OF_A_WEEK = 7


def is_label(text: str) -> bool:
    """Return whether a text can be the name of an area or of a device: short, and printable."""
    return 0 < len(text) <= LONGEST_NAME and text.isprintable()


def is_number(text: str) -> bool:
    """Return whether a text is a number that devices read, like 0.6 or 3/5, with at most 15 digits on each side."""
    return _NUMBER.fullmatch(text) is not None


def days_of(period: str) -> range:
    """Return the days of a period, as ordinals of the calendar. Each period has one spelling.

    Args:
        period: A date such as ``2026-03-02``, or an ISO week such as ``2026-W10``.

    Raises:
        ValueError: It is neither.
    """
    if not _PERIOD.fullmatch(period):
        raise ValueError("a period must be a date such as 2026-03-02, or a week such as 2026-W10")
    is_week = "W" in period
    first = dt.date.fromisoformat(f"{period}-1" if is_week else period).toordinal()
    return range(first, first + (_DAYS_OF_A_WEEK if is_week else 1))


def has_begun(period: str) -> bool:
    """Return whether a period has begun somewhere on earth: before that no device has values of it."""
    tomorrow = dt.datetime.now(dt.UTC).toordinal() + 1
    return days_of(period).start <= tomorrow
