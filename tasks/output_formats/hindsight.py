"""The tables of what later days tell of a day: a joint table for each day of a week, in the release that ended it."""

import datetime as dt
import re
from collections.abc import Iterable

MOVED = "moved"
"""The column that says by how much a cell's mean is larger than its own release says."""
_NAME = re.compile(r"hindsight-(\d{4}-\d{2}-\d{2})\.parquet")


def hindsight_of(date: dt.date) -> str:
    """Return the name of the table of a day."""
    return f"hindsight-{date}.parquet"


def day_of(name: str) -> dt.date | None:
    """Return the day that a file is such a table of; None if it is none."""
    found = _NAME.fullmatch(name)
    return dt.date.fromisoformat(found[1]) if found else None


def over_since(dates: Iterable[dt.date], before: dt.date, now: dt.date) -> list[dt.date]:
    """Return those of some days whose week ended after one day, and by another, in their order."""
    return sorted(date for date in dates if before < date + dt.timedelta(days=6 - date.weekday()) <= now)
