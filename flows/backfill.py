"""The backfill: publishes a range of days, and plans all of them before the first one spends."""

import datetime as dt
from pathlib import Path

from flows import presence
from flows.owners import is_presence
from tasks.account.releases import released_days, stopped_days
from tasks.base.config import Config, load_config
from tasks.base.errors import WITHHELD, BudgetExceeded, HexveilError, NoRecords
from tasks.base.progress import progress
from tasks.engines.late import count_late_records
from tasks.engines.prepare import prepare_day
from tasks.planning.range_plans import Shortage, finish_plans, plan_ahead, planning_range
from tasks.planning.spread import spread_budget
from tasks.release.draw import release_statistics
from tasks.release.publish import publish_files
from tasks.reporting.artifacts import emit_released, emit_withheld, make_budget_artifact, make_range_artifact


def backfill(
    config_file: Path, first: dt.date, last: dt.date, shortage: Shortage = "refuse", skip_missing: bool = False
) -> list[str]:
    """Publish every local day of a range: prepare and plan all days first, in parallel, then release them in order.

    A day that was released already is only published again. A day that fails is reported, and the others are done. To
    go on after an interruption, run the backfill again.

    Args:
        config_file: The dataset's TOML file.
        first: The first local day.
        last: The last local day.
        shortage: What to do if the budget does not pay every day in full: "refuse" before anything is spent, "spread"
            it evenly over the range, or "clip" users to what they have left.
        skip_missing: Whether days without a file or a row are no problems.

    Returns:
        What is wrong with files of released days that cannot be read, so that late records in them are not counted.

    Raises:
        BudgetExceeded: The budget does not pay every day in full; nothing was spent.
        HexveilError: Names the days with problems, and the problems.
    """
    if is_presence(config_file):
        presence.backfill(config_file, first, last, shortage, skip_missing)
        return []
    config = load_config(config_file)
    days = released_days(first, last, config)
    spending = spread_budget(days.dates, config) if shortage == "spread" else config
    unreleased = [date for date in days.dates if date not in days.released]
    problems = stopped_days(unreleased, spending) | days.problems
    wanted = [date for date in unreleased if date not in problems]
    plans, unplanned = _prepare_and_plan(wanted, shortage, skip_missing, spending)
    problems |= unplanned
    to_release = [date for date in days.dates if date in days.released or date in plans]
    unread: dict[str, None] = {}
    for date in progress([date for date in to_release if date not in problems], "releasing days"):
        try:
            publish_files(days.released.get(date) or release_statistics(date, plans[date], spending), config)
            unread |= dict.fromkeys(count_late_records(date, config)[1])
            if date not in days.released:
                emit_released(date, config)
        except HexveilError as error:
            problems[date] = str(error)
            if isinstance(error, WITHHELD):
                emit_withheld(date, str(error), config)
    make_range_artifact(first, last, problems, config)
    make_budget_artifact(config)
    if problems:
        listed = "\n".join(f"  {date}: {problem}" for date, problem in sorted(problems.items()))
        listed += "".join(f"\n  late records in a file that cannot be read were not counted: {one}" for one in unread)
        raise HexveilError(f"{len(problems)} of {len(days.dates)} days have problems, the others are done:\n{listed}")
    return list(unread)


def _prepare_and_plan(
    dates: list[dt.date], shortage: Shortage, skip_missing: bool, config: Config
) -> tuple[dict[dt.date, str], dict[dt.date, str]]:
    """Prepare days, and plan each while the next are prepared; return the plans, and the problems of other days."""
    problems: dict[dt.date, str] = {}
    with planning_range(dates, shortage, config) as plans:
        try:
            for date in progress(dates, "preparing and planning days"):
                try:
                    prepare_day(date, config)
                except HexveilError as error:
                    if not (skip_missing and isinstance(error, NoRecords)):
                        problems[date] = str(error)
                else:
                    plan_ahead(date, config)
            finish_plans(config)
        except BudgetExceeded:
            make_budget_artifact(config)
            raise
    for date in plans.withheld:
        emit_withheld(date, plans.problems[date], config)
    return plans.plans, problems | plans.problems
