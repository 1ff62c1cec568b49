"""The steps of a collection from devices that trust nobody: open a period, find the bins, publish the means."""

import datetime as dt
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple
from zoneinfo import ZoneInfo

from tasks.base.errors import WITHHELD, HexveilError
from tasks.base.logs import warn
from tasks.base.progress import progress
from tasks.collect import rounds
from tasks.collect.config import CollectionConfig, load_collection
from tasks.collect.late import Late, count_late_reports
from tasks.collect.ledger import ESTIMATED, LOCALISED, OPENED, list_entries
from tasks.collect.periods import (
    check_collection,
    emit_done,
    emit_period_withheld,
    make_period_artifact,
    make_periods_artifact,
)

log = logging.getLogger("hexveil.collect")

Step = Literal["open", "localise", "estimate"]
"""A step of a period, in the order in which they are done."""

_STEPS: dict[Step, tuple[str, Callable[[dt.date, CollectionConfig], Path]]] = {
    "open": (OPENED, rounds.open_period),
    "localise": (LOCALISED, rounds.localise),
    "estimate": (ESTIMATED, rounds.estimate),
}


class Done(NamedTuple):
    """What came of a step.

    Attributes:
        folder: The folder of the published files.
        late: The rounds, of any period, that have late reports.
    """

    folder: Path
    late: list[Late]


def collect(config_file: Path, step: Step, date: dt.date) -> Done:
    """Do a step of a period; one that is done is published again, with the same bytes.

    Args:
        config_file: The collection's TOML file.
        step: ``open`` publishes the parameters of round 1; ``localise`` finds the bin of each area from the reports of
            round 1, and publishes the parameters of round 2; ``estimate`` publishes the means from those of round 2.
        date: A date in the period.

    Returns:
        The folder of the published files, and the late reports.
    """
    config = load_collection(config_file)
    folder = _told(step, date, config)
    late = _late(config)
    make_period_artifact(date, late, config)
    return Done(folder, late)


def collect_backfill(config_file: Path, first: dt.date, last: dt.date) -> list[Late]:
    """Do what can be done of every period of a range from the reports that lie there.

    A period that was never opened is left out, for no device could answer, and so is one that is not over, for its
    devices may still report. A period that is released is published again. A period that fails is reported, and the
    others are done.

    Args:
        config_file: The collection's TOML file.
        first: A date in the first period.
        last: A date in the last period.

    Returns:
        The rounds that have late reports.

    Raises:
        HexveilError: Names the periods with problems, and the problems.
    """
    config = load_collection(config_file)
    opened = {one["period"] for one in list_entries(config)}
    over = config.last_over(dt.datetime.now(ZoneInfo(config.timezone)).date())
    dates = [date for date in config.periods(first, min(last, over)) if config.period_of(date) in opened]
    if not dates:
        raise HexveilError(
            f"no period from {first} to {last} was opened and is over; hexveil collect open opens one, and a backfill "
            "closes no round while its devices may still report"
        )
    problems: dict[str, str] = {}
    for date in progress(dates, "estimating periods"):
        try:
            for step in _STEPS:
                _told(step, date, config)
        except HexveilError as error:
            problems[config.period_of(date)] = str(error)
    late = _late(config)
    make_periods_artifact(first, last, problems, late, config)
    if problems:
        listed = "\n".join(f"  {period}: {problem}" for period, problem in sorted(problems.items()))
        raise HexveilError(f"{len(problems)} of {len(dates)} periods have problems; the rest is done:\n{listed}")
    return late


def verify(config_file: Path) -> None:
    """Compute everything in the ledger of a collection again, and compare the published files.

    Raises:
        LedgerBroken: Names the first entry that disagrees, and with what; the event hexveil.verify.failed does too.
    """
    check_collection(load_collection(config_file))


def _late(config: CollectionConfig) -> list[Late]:
    """Return the late reports; what hinders counting them is said, and does not undo what was published."""
    try:
        return count_late_reports(config)
    except HexveilError as error:
        warn(log, "late reports could not be counted", problem=str(error))
        return []


def _told(step: Step, date: dt.date, config: CollectionConfig) -> Path:
    kind, do = _STEPS[step]
    try:
        folder = do(date, config)
    except WITHHELD as error:
        emit_period_withheld(date, str(error), config)
        raise
    emit_done(kind, date, config)
    return folder
