"""What every flow run has: a name that says dataset and days, the day that it is for, and an end to restarts."""

import datetime as dt
from pathlib import Path
from zoneinfo import ZoneInfo

from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import StateType
from prefect.runtime import flow_run

from tasks.base.config import Config, load_config
from tasks.base.errors import HexveilError

RESUMED = "Resumed"
"""The name of the state that a run left by its worker is given when the next one starts."""

_MOST_CRASHES = 5


def run_name() -> str:
    """Return what the flow run is called, for example "daily austin 2016-11-25"."""
    given = flow_run.parameters
    config_file = Path(given["config_file"])
    try:
        config = load_config(config_file)
    except HexveilError:
        return f"{flow_run.flow_name} {config_file.stem}"
    words = [flow_run.flow_name, config.dataset.name]
    if "date" in given:
        words += [str(given["date"] or day_before(config)), given["revision"] or ""]
    if "first" in given:
        words += [str(given["first"]), "to", str(given["last"])]
    return " ".join(filter(None, words))


def day_before(config: Config) -> dt.date:
    """Return the local day before the one that the run was scheduled for, however late or often it is started."""
    scheduled: dt.datetime = flow_run.scheduled_start_time
    return scheduled.astimezone(ZoneInfo(config.dataset.timezone)).date() - dt.timedelta(days=1)


def refuse_endless_restarts() -> None:
    """End a run that was interrupted time and again; it is started anew after each, and may be what brings them about.

    Raises:
        HexveilError: It was interrupted five times.
    """
    with get_client(sync_client=True) as client:
        states = client.read_flow_run_states(flow_run.id) if flow_run.id else []
    if sum(state.type == StateType.CRASHED or state.name == RESUMED for state in states) >= _MOST_CRASHES:
        raise HexveilError(
            f"the run was interrupted {_MOST_CRASHES} times; the worker's log says how it ended: out of memory, say. "
            "Mend the cause, then run the day again: what was released is found, and nothing is charged twice"
        )
