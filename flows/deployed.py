"""The flows as Prefect runs them: with a name for each run, a limit on restarts, and only on a configured server."""

import datetime as dt
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from prefect import Flow
from prefect.settings import PREFECT_API_URL

from flows import backfill as of_range
from flows import collect as of_collection
from flows import daily as of_day
from flows import verify as of_ledger
from flows.owners import load_either
from flows.presence import PresenceReport
from flows.runs import last_over, refuse_endless_restarts, run_name
from tasks.base import steps
from tasks.base.errors import WITHHELD, HexveilError, Withheld
from tasks.reporting.day_report import DayReport

P = ParamSpec("P")
R = TypeVar("R")


class _Flow(Flow[P, R]):
    """A flow that does not let Prefect start its own server, because that server would have no password."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not PREFECT_API_URL.value():
            raise HexveilError(
                "PREFECT_API_URL is not set, and a flow runs at a server only: set it, or start one with `hexveil up`; "
                "`hexveil run` and `hexveil backfill` need none"
            )
        return super().__call__(*args, **kwargs)


def _deployed(function: Callable[P, R]) -> _Flow[P, R]:
    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        refuse_endless_restarts()
        with steps.run():
            try:
                return function(*args, **kwargs)
            except WITHHELD as error:
                withheld = Withheld(str(error))
        raise withheld  # here, without the error that it is made of: all of it would be stored

    return _Flow(run, name=function.__name__, flow_run_name=run_name, log_prints=False, persist_result=False)


@_deployed
def daily(config_file: Path, date: dt.date | None = None, revision: str | None = None) -> DayReport | PresenceReport:
    """Publish one local day; a day that was released already is only published again, with the same bytes.

    Args:
        config_file: The dataset's TOML file.
        date: The local day; None for the day before the scheduled start, in the dataset's time zone.
        revision: Name of a deliberate further release of a released day, with its own charge.

    Returns:
        The report on the release.
    """
    return of_day.daily(config_file, date or last_over(load_either(config_file)), revision)


@_deployed
def collect(config_file: Path, step: of_collection.Step, date: dt.date | None = None) -> of_collection.Done:
    """Do a step of a collection's period; one that is done is published again, with the same bytes.

    Args:
        config_file: The collection's TOML file.
        step: ``open``, ``localise`` or ``estimate``.
        date: A date in the period; None for the last period that is over at the scheduled start.

    Returns:
        The folder of the published files, and the late reports.
    """
    return of_collection.collect(config_file, step, date or last_over(load_either(config_file)))


backfill = _deployed(of_range.backfill)
verify = _deployed(of_ledger.verify)
collect_backfill = _deployed(of_collection.collect_backfill)
