"""Outcomes: counts the rows of a day that were kept or quarantined, by reason."""

import datetime as dt
from typing import Any

from tasks.base import warehouse
from tasks.base.config import Config
from tasks.base.errors import contained

KEPT = "kept"
DUPLICATE = "duplicate"
LEFT_OUT = "left_out"
NEVER, TWICE = "time_never", "time_twice"
OUTSIDE_DAY = "time_outside_day"
_MOST_NAMED = 5


def count_rows(connection: warehouse.Connection, day: dict[str, Any], n_kept: int) -> dict[str, int]:
    """Return the number of a day's rows by reason, from its quarantine and its number of valid records."""
    return dict(warehouse.rows(connection, "read/day_outcomes", {**day, "n_kept": n_kept}))


@contained
def prepared_rows(date: dt.date, config: Config) -> dict[str, int]:
    """Return the number of a prepared day's rows by outcome: "kept", or the reason for quarantine."""
    with warehouse.connect(config) as connection:
        return dict(warehouse.rows(connection, "read/prepared_outcomes", {"date": date}))


@contained
def rows_without_day(date: dt.date, config: Config) -> dict[str, tuple[int, int]]:
    """Return how many rows of a day's files belong to no day: malformed, and without a readable time, by file name.

    Of many files only those with the most such rows are named, and the others are counted together.
    """
    with warehouse.connect(config) as connection:
        found = warehouse.rows(connection, "read/rows_without_day", {"date": date})
    if len(found) > _MOST_NAMED:
        others = found[_MOST_NAMED - 1 :]
        of_others = f"{len(others):,} other files", *(sum(one[number] for one in others) for number in (1, 2))
        found = [*found[: _MOST_NAMED - 1], of_others]
    return {name: (n_malformed, n_undated) for name, n_malformed, n_undated in found}


@contained
def late_records(config: Config) -> dict[dt.date, int]:
    """Return the number of late records of each day that has any."""
    with warehouse.connect(config) as connection:
        return dict(warehouse.rows(connection, "read/late_days"))
