"""Gives every flow run a name with its dataset and days, the day that it is for, and a limit on restarts."""

import datetime as dt
from pathlib import Path
from zoneinfo import ZoneInfo

from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import StateType
from prefect.runtime import flow_run

from flows.owners import load_either
from tasks.base.errors import HexveilError
from tasks.base.owner import Owner

RESUMED = "Resumed"
"""The name of the state that a run left by its worker gets when the next worker starts."""

_MOST_CRASHES = 5


def run_name() -> str:
    """Return the name of the flow run, for example "daily austin 2016-11-25"."""
    given = flow_run.parameters
    config_file = Path(given["config_file"])
    try:
        config = load_either(config_file)
    except HexveilError:
        return " ".join([flow_run.flow_name, config_file.stem, str(given.get("date") or "")]).strip()
    words = [flow_run.flow_name.replace("_", " "), given.get("step", ""), config.name]
    if "date" in given:
        words += [config.period_of(given["date"] or last_over(config)), given.get("revision") or ""]
    if "first" in given:
        words += [str(given["first"]), "to", str(given["last"])]
    return " ".join(filter(None, words))


def last_over(config: Owner) -> dt.date:
    """Return a date in the last day or period that is over at the run's scheduled start, however late it starts."""
    scheduled: dt.datetime = flow_run.scheduled_start_time
    return config.last_over(scheduled.astimezone(ZoneInfo(config.timezone)).date())


def refuse_endless_restarts() -> None:
    """End a run that was interrupted many times: it is restarted after each interruption, and may be their cause.

    Raises:
        HexveilError: The run was interrupted five times.
    """
    with get_client(sync_client=True) as client:
        states = client.read_flow_run_states(flow_run.id) if flow_run.id else []
    if sum(state.type == StateType.CRASHED or state.name == RESUMED for state in states) >= _MOST_CRASHES:
        raise HexveilError(
            f"the run was interrupted {_MOST_CRASHES} times; the worker's log says how it ended: out of memory, say. "
            "Mend the cause, then run it again: what was released is found, and nothing is charged twice"
        )
