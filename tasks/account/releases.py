"""Find which days have been released, and which may be."""

import datetime as dt
import logging
from dataclasses import dataclass

from tasks.account import ledger
from tasks.account.amendments import check_budget
from tasks.account.identity import find_entry, of_day
from tasks.account.screenings import find_stop, why_stopped
from tasks.base.config import Config
from tasks.base.errors import HexveilError
from tasks.base.logs import say
from tasks.base.steps import step

log = logging.getLogger("hexveil.releases")

_MOST_DAYS = 3660


@dataclass(frozen=True)
class ReleasedRange:
    """What has been released of a range of days.

    Attributes:
        dates: Every day, in order.
        released: The id of each release that exists.
        problems: What is wrong with each day that was released with another grid or other statistics.
    """

    dates: list[dt.date]
    released: dict[dt.date, str]
    problems: dict[dt.date, str]


@step("released days of {config.dataset.name} {first} to {last}")
def released_days(first: dt.date, last: dt.date, config: Config) -> ReleasedRange:
    """Return which days of a range were released.

    Raises:
        HexveilError: The range is empty or longer than ten years, or some days would be released under a looser budget.
    """
    n_days = (last - first).days + 1
    if not 1 <= n_days <= _MOST_DAYS:
        raise HexveilError(f"the range from {first} to {last} must hold 1 to {_MOST_DAYS} days, not {n_days}")
    with ledger.locked(config):
        entries = ledger.read_entries(config)
    of_range = ReleasedRange([first + dt.timedelta(days=shift) for shift in range(n_days)], {}, {})
    for date in of_range.dates:
        try:
            entry = find_entry(date, None, entries, config)
        except HexveilError as error:
            of_range.problems[date] = str(error)
            continue
        if entry is not None:
            of_range.released[date] = entry.release_id
    if len(of_range.released) + len(of_range.problems) < n_days:
        check_budget(entries, config)
    return of_range


@step("stopped days of {config.dataset.name}")
def stopped_days(dates: list[dt.date], config: Config) -> dict[dt.date, str]:
    """Return why some days were stopped under the configuration's settings: they are not asked or planned again."""
    entries, settings = ledger.read_entries(config), config.public_settings()
    found = {date: find_stop(date, None, entries, settings) for date in dates}
    return {date: str(why_stopped(stop)) for date, stop in found.items() if stop is not None}


@step("find {config.dataset.name} {date}")
def find_release(date: dt.date, config: Config, revision: str | None = None) -> str | None:
    """Return the id of the day's release or of one of its revisions; None if it does not exist.

    Raises:
        HexveilError: The day was released with another grid or other statistics, there is nothing to revise, or the
            budget was loosened without an amendment.
    """
    with ledger.locked(config):
        entries = ledger.read_entries(config)
    entry = find_entry(date, revision, entries, config)
    if entry is None and revision is not None and not of_day(date, entries):
        raise HexveilError(f"{date} has not been released, so there is nothing to revise; run it without --revision")
    if entry is None:
        check_budget(entries, config)
        return None
    say(log, "was released before, and costs nothing now", date=date, n_earlier_releases=1)
    return entry.release_id
