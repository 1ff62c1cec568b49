"""Announce: makes the scheduler's artifacts and events. All of them are public: counts, promised errors, losses.

Without a scheduler, nothing is made that only the scheduler would show.
"""

import datetime as dt
from collections.abc import Sequence
from dataclasses import replace

from tasks.account.in_words import PAID_IN_PART
from tasks.account.ledger import list_entries
from tasks.base import scheduler
from tasks.base.announcing import address, artifact_key, emit, show_markdown, show_verified, tell_if_low
from tasks.base.config import Config
from tasks.base.steps import step, step_seconds
from tasks.reporting import pages
from tasks.reporting.budget_report import report_budget
from tasks.reporting.burndown import burndown
from tasks.reporting.day_report import DayReport, released_entry, report_day, report_range
from tasks.upkeep.verify import verify_ledger

_MAP = "map.html"


@step("artifact of {config.dataset.name} {date}")
def make_day_artifact(
    date: dt.date, late: dict[dt.date, int], config: Config, revision: str | None = None, unread: Sequence[str] = ()
) -> DayReport:
    """Show a day's results, the late records of any day, and the links to its files; return the results."""
    day = replace(report_day(date, late, config, revision), unread=list(unread))
    if scheduler.in_flow_run():
        _show_day(date, day, config)
    return day


@step("event of {config.dataset.name} {date}")
def emit_released(date: dt.date, config: Config, revision: str | None = None) -> None:
    """Emit that a day is published, and if cells are withheld, that too; a run of a published day emits it again."""
    entry = released_entry(date, revision, config)
    part = entry.stated.get(PAID_IN_PART)
    public = {
        **({} if part is None else {"paid_in_part": entry.paid_in_part, "users_short": part["users_short"]}),
        "date": date,
        "release_id": entry.release_id,
        "cells_published": entry.n_published,
        "cells_withheld": entry.n_withheld,
        "epsilon": entry.stated["epsilon"],
        "epsilon_left": entry.stated["epsilon_left"],
    }
    emit("released", config, **public)
    if entry.n_withheld:
        emit("withheld", config, **public, whole_day=False)


@step("event of {config.dataset.name} {date}, withheld")
def emit_withheld(date: dt.date, reason: str, config: Config) -> None:
    """Emit that nothing of a day is published, and why."""
    emit("withheld", config, date=date, whole_day=True, reason=reason)


@step("artifact of {config.dataset.name} {first} to {last}")
def make_range_artifact(first: dt.date, last: dt.date, problems: dict[dt.date, str], config: Config) -> None:
    """Show the result of each day of a range."""
    if not scheduler.in_flow_run():
        return
    days = report_range(first, last, config)
    n_released = sum(day is not None for day in days.values())
    summary = f"{n_released} of {len(days)} days released"
    show_markdown("backfill", pages.range_page(days, problems, config), summary, config)


@step("budget of {config.dataset.name}")
def make_budget_artifact(config: Config) -> None:
    """Show what the budget pays and which days were released; emit that it is low once, until it pays more again."""
    if not scheduler.in_flow_run():
        return
    entries = list_entries(config)
    budget = report_budget(entries, config)
    page = pages.budget_page(entries, budget, burndown(entries, config), config)
    show_markdown("budget", page, f"The budget {budget.pays_in_words}", config)
    pays = {"days_left": budget.n_days_left, "pays": f"the budget {budget.pays_in_words}"}
    tell_if_low(pages.is_low(budget, config), config, **pays, left=budget.left, limit=config.budget.in_words)


@step("verify {config.dataset.name}")
def check_ledger(config: Config) -> None:
    """Verify the ledger and show the result; if it does not hold, emit an event with the reason.

    Raises:
        LedgerBroken: Names the first entry that disagrees, and with what.
    """
    show_verified(lambda: verify_ledger(config), config)


def _show_day(date: dt.date, day: DayReport, config: Config) -> None:
    links = {path.name: address(path, config) for path in sorted(day.folder.iterdir()) if path.is_file()}
    page = pages.day_page(date, day, links, step_seconds(), config)
    cells = f"{date}: {day.n_published:,} cells published, {day.n_withheld:,} withheld"
    show_markdown("day", page, f"{day.said_first} {cells}" if day.said_first else cells, config)
    if _MAP in links:
        scheduler.show_link(
            links[_MAP], f"map of {date}", artifact_key("map", config), f"The map of {date}, for a browser"
        )
