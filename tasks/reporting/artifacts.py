"""Announce: makes the scheduler's artifacts and events. All of them are public: counts, promised errors, losses.

Without a scheduler, nothing is made that only the scheduler would show.
"""

import datetime as dt
import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tasks.account.ledger import list_entries
from tasks.base import scheduler
from tasks.base.config import Config
from tasks.base.durable import sha256
from tasks.base.errors import LedgerBroken
from tasks.base.steps import step, step_seconds
from tasks.reporting import pages
from tasks.reporting.budget_report import report_budget
from tasks.reporting.burndown import burndown
from tasks.reporting.day_report import DayReport, released_entry, report_day, report_range
from tasks.upkeep.verify import verify_ledger

PUBLISHED_URL = "HEXVEIL_PUBLISHED_URL"
"""The environment variable with the address that serves the published folder; {dataset} stands for its name."""

_MAP = "map.html"


@step("artifact of {config.dataset.name} {date}")
def make_day_artifact(
    date: dt.date, late: dict[dt.date, int], config: Config, revision: str | None = None
) -> DayReport:
    """Show a day's results, the late records of any day, and the links to its files; return the results."""
    day = report_day(date, late, config, revision)
    if scheduler.in_flow_run():
        _show_day(date, day, config)
    return day


@step("event of {config.dataset.name} {date}")
def emit_released(date: dt.date, config: Config, revision: str | None = None) -> None:
    """Emit that a day is published, and if cells are withheld, that too; a run of a published day emits it again."""
    entry = released_entry(date, revision, config)
    public = {
        "date": date,
        "release_id": entry.release_id,
        "cells_published": entry.n_published,
        "cells_withheld": entry.n_withheld,
        "epsilon": entry.stated["epsilon"],
        "epsilon_left": entry.stated["epsilon_left"],
    }
    _emit("released", config, **public)
    if entry.n_withheld:
        _emit("withheld", config, **public, whole_day=False)


@step("event of {config.dataset.name} {date}, withheld")
def emit_withheld(date: dt.date, reason: str, config: Config) -> None:
    """Emit that nothing of a day is published, and why."""
    _emit("withheld", config, date=date, whole_day=True, reason=reason)


@step("artifact of {config.dataset.name} {first} to {last}")
def make_range_artifact(first: dt.date, last: dt.date, problems: dict[dt.date, str], config: Config) -> None:
    """Show the result of each day of a range."""
    if not scheduler.in_flow_run():
        return
    days = report_range(first, last, config)
    n_released = sum(day is not None for day in days.values())
    summary = f"{n_released} of {len(days)} days released"
    _markdown("backfill", pages.range_page(days, problems, config), summary, config)


@step("budget of {config.dataset.name}")
def make_budget_artifact(config: Config) -> None:
    """Show what is left of the budget and which days were released; emit an event if the budget is low."""
    if not scheduler.in_flow_run():
        return
    entries = list_entries(config)
    budget = report_budget(entries, config)
    page = pages.budget_page(entries, budget, burndown(entries, config), config)
    _markdown("budget", page, f"{float(budget.left):.6g} left of {config.budget.in_words}", config)
    if pages.is_low(budget, config):
        _emit("budget.low", config, left=budget.left, worst_used=budget.worst_used, limit=config.budget.in_words)


@step("verify {config.dataset.name}")
def check_ledger(config: Config) -> None:
    """Verify the ledger and show the result; if it does not hold, emit an event with the reason.

    Raises:
        LedgerBroken: Names the first entry that disagrees, and with what.
    """
    try:
        verified = verify_ledger(config)
    except LedgerBroken as error:
        _emit("verify.failed", config, reason=error)
        raise
    _markdown("verify", verified.in_words, verified.in_words, config)


def _show_day(date: dt.date, day: DayReport, config: Config) -> None:
    links = {path.name: _address(path, config) for path in sorted(day.folder.iterdir()) if path.is_file()}
    page = pages.day_page(date, day, links, step_seconds(), config)
    _markdown("day", page, f"{date}: {day.n_published:,} cells published, {day.n_withheld:,} withheld", config)
    if _MAP in links:
        scheduler.show_link(
            links[_MAP], f"map of {date}", artifact_key("map", config), f"The map of {date}, for a browser"
        )


def _markdown(kind: str, page: str, description: str, config: Config) -> None:
    scheduler.show_page(page, artifact_key(kind, config), description)


def artifact_key(kind: str, config: Config) -> str:
    """Return the key of an artifact, the same in all runs; the scheduler allows a-z, 0-9 and dashes.

    A dataset's name with _ gets a digest in its key, because another dataset's name may have - in that place.
    """
    name = config.dataset.name
    return f"{kind}-{name}" if "_" not in name else f"{kind}-{name.replace('_', '-')}-{sha256(name.encode())[:6]}"


def _emit(what: str, config: Config, **fields: Any) -> None:
    """Emit an event about the dataset; automations can match its labels, and show its payload."""
    name = config.dataset.name
    resource = {"prefect.resource.id": f"hexveil.dataset.{name}", "prefect.resource.name": name}
    labels = {f"hexveil.{key}": str(fields[key]).lower() for key in ("date", "whole_day") if key in fields}
    payload = {key: value if isinstance(value, int) else str(value) for key, value in fields.items()}
    scheduler.tell(f"hexveil.{what}", resource | labels, payload)


def _address(path: Path, config: Config) -> str:
    """Return the URL of a published file: below the address in the environment, or a file URL on this machine."""
    root = os.environ.get(PUBLISHED_URL, "").replace("{dataset}", config.dataset.name)
    if not root:
        return path.as_uri()
    return f"{root.rstrip('/')}/{quote(path.relative_to(config.storage_path / 'published').as_posix())}"
