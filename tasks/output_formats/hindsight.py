"""The table of what later days tell of the days of a week, and which release has that of a day.

A release that ends a week, or is the first after its end, has a table of the week's earlier days.
"""

import datetime as dt
from collections.abc import Iterable

import polars as pl

HINDSIGHT = "hindsight.parquet"
DATE = "date"
MOVED = "moved"
"""The column that says by how much a cell's mean is larger than its own release says."""


def over_since(dates: Iterable[dt.date], before: dt.date, now: dt.date) -> list[dt.date]:
    """Return those of some days whose week ended after one day, and by another."""
    return [date for date in dates if before < _end_of_week(date) <= now]


def holder_of(date: dt.date, holders: Iterable[dt.date]) -> dt.date | None:
    """Return which of the releases with such a table should have a day's; None if none should."""
    return min((one for one in holders if one >= _end_of_week(date) and one > date), default=None)


def of_day(table: pl.DataFrame, date: dt.date) -> pl.DataFrame | None:
    """Return what a table says of a day, as a joint table; None if nothing."""
    here = table.filter(pl.col(DATE) == date)
    return here.drop(DATE) if here.height else None


def _end_of_week(date: dt.date) -> dt.date:
    return date + dt.timedelta(days=6 - date.weekday())
