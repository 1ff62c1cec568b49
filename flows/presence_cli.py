"""What the commands do for a dataset whose users' presence is secret."""

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING

from flows import show
from flows.show import out
from tasks.account.in_words import in_days

if TYPE_CHECKING:
    from flows.presence import PresenceReport
    from flows.start import Flows
    from tasks.presence.verify import Verified as VerifiedPresence


def show_day(day: "PresenceReport") -> None:
    """Print the report on a day's release."""
    out.print(day.release_id)
    out.print(f"  cells      {day.n_published:,} of {day.n_cells:,} published: those that surely had enough users")
    out.print(f"  cost       epsilon {day.epsilon:.6f} for everybody, there or not; in all {day.epsilon_total:.6f}")
    out.print(f"  budget     pays {in_days(day.n_more_like_it)} like this")
    out.print(f"  guarantee  {day.in_words}")
    out.print(f"  files      {show.shown(day.folder)}")
    out.print("  curator    what was read and what was not used is in private/reports, and nowhere else")
    out.print()


def plan(config: Path, date: dt.date, as_json: bool) -> None:
    """Print what a day would cost and be worth, as far as that is public."""
    from tasks.presence.config import load_presence
    from tasks.presence.preview import preview_day

    settings = load_presence(config)
    summary = preview_day(date, settings)
    if as_json:
        show.print_json(summary)
        return
    out.print(show.table_about(f"{settings.name} {date}", summary))
    out.print(
        "sd_of_users_in_a_cell is the noise in the number of users of one cell if users have ten cells each and every "
        "cell is asked; neighbouring cells and earlier days make it less. learns_from_days counts the released days "
        "that it learns from: none of before area, value, cap, statistics, time zone or the estimate's model changed. "
        "What was read of the day's files is in the "
        f"report, for you alone: {show.shown(Path(summary['report']))}. Nothing was spent."
    )


def show_ledger(config: Path, as_json: bool) -> None:
    """Print every release, and what everybody has lost and has left."""
    from tasks.account.ledger import list_entries
    from tasks.account.presence_release import presence_releases
    from tasks.presence.account import account_in_words
    from tasks.presence.config import load_presence

    settings = load_presence(config)
    entries = list_entries(settings)
    if as_json:
        limit = settings.public_settings()["budget"]
        show.print_json({"entries": [entry.stated for entry in entries], "limit": limit})
        return
    rows = [
        {
            "no": entry.number,
            "release": entry.release_id,
            "cells": f"{entry.n_published:,} of {entry.n_cells:,}",
            "epsilon": f"{entry.epsilon:.6f}",
            "in all": f"{entry.epsilon_total_after:.6f}",
        }
        for entry in presence_releases(entries)
    ]
    out.print(show.table_of(rows) if rows else "Nothing was released yet.")
    out.print(account_in_words(entries, settings))


def verified_ledger(config: Path, expect: str | None, public_key: Path | None) -> "VerifiedPresence":
    """Verify the ledger, and return the result."""
    from tasks.account.anchors import check_anchor
    from tasks.presence.config import load_presence
    from tasks.presence.verify import verify_presence

    settings = load_presence(config)
    if expect is not None:
        check_anchor(expect, settings, public_key)
    return verify_presence(settings)


def write_registry(to: Path, config: Path) -> None:
    """Write the deployment in the terms of registries, and print where."""
    from tasks.account.ledger import list_entries
    from tasks.presence.config import load_presence
    from tasks.presence.registry import describe_presence
    from tasks.reporting.registry import write_described

    settings = load_presence(config)
    paths = write_described(to, describe_presence(list_entries(settings), settings))
    out.print(f"Written: {', '.join(show.shown(path.resolve()) for path in paths)}.")


def back_up(to: Path, config: Path) -> None:
    """Copy what cannot be made again, and print how many releases that is."""
    from tasks.presence.backup import back_up_presence
    from tasks.presence.config import load_presence

    out.print(f"{back_up_presence(to, load_presence(config))} releases are backed up in {show.shown(to)}.")


def backfill(
    flows: "Flows",
    config: Path,
    days: tuple[dt.datetime, dt.datetime],
    shortage: str,
    skip_missing: bool,
    as_json: bool,
) -> None:
    """Publish every day of a range, and print what is released of it."""
    first, last = (day.date() for day in days)
    try:
        flows.backfill(config.resolve(), first, last, shortage, skip_missing)
    finally:
        show_range(first, last, config, as_json)


def show_range(first: dt.date, last: dt.date, config: Path, as_json: bool) -> None:
    """Print the released days of a range."""
    from tasks.account.ledger import list_entries
    from tasks.account.presence_release import presence_releases
    from tasks.presence.config import load_presence

    settings = load_presence(config)
    entries = [one for one in presence_releases(list_entries(settings)) if first <= one.date <= last]
    rows = [
        {
            "day": str(one.date),
            "cells": one.n_published,
            "epsilon": str(one.epsilon),
            "in all": str(one.epsilon_total_after),
        }
        for one in entries
        if one.revision is None
    ]
    if as_json:
        show.print_json(rows)
        return
    out.print(show.table_of(rows) if rows else "No day was released.")
    out.print(f"{len(rows)} of {(last - first).days + 1} days are released. The budget is {settings.budget.in_words}.")
