"""Prepares Prefect's server for deployments, and restarts the runs that a worker left when it ended."""

import contextlib
import datetime as dt
from pathlib import Path

import yaml
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.client.schemas.filters import (
    FlowRunFilter,
    FlowRunFilterState,
    FlowRunFilterStateType,
    FlowRunFilterTags,
)
from prefect.client.schemas.objects import StateType
from prefect.events.schemas.automations import AutomationCore
from prefect.exceptions import ObjectAlreadyExists, ObjectNotFound
from prefect.states import Scheduled

from flows.notifications import arrange_automation, arrange_notifications
from flows.runs import RESUMED
from flows.services import POOL
from tasks.base.owner import Owner


def arrange_server(automations: Path, config: Owner) -> None:
    """Create the work pool, a queue for the dataset that runs one flow at a time, and the automations, once each.

    Limits, and whether an automation is enabled, do not change: operators set them in the pages.

    Raises:
        HexveilError: An address of ``monitoring.notify`` is missing or cannot be used.
    """
    definitions = automations.read_text(encoding="utf-8")
    with get_client(sync_client=True) as client:
        with contextlib.suppress(ObjectAlreadyExists):
            client.create_work_pool(WorkPoolCreate(name=POOL, type="process"))
        _arrange_queue(client, f"runs-{config.name}")
        for wanted in yaml.safe_load(definitions)["automations"]:
            arrange_automation(client, AutomationCore.model_validate(wanted))
        arrange_notifications(client, definitions, config)


def _arrange_queue(client: SyncPrefectClient, name: str) -> None:
    try:
        client.read_work_queue_by_name(name, work_pool_name=POOL)
    except ObjectNotFound:
        client.create_work_queue(name, work_pool_name=POOL, concurrency_limit=1)


def resume_interrupted() -> list[str]:
    """Restart the runs that a worker left when it ended, and return their names. Call this only while no worker runs.

    The server does not know that these runs must go on: it lists them as running, or as crashed and done.
    """
    left = [StateType.PENDING, StateType.RUNNING, StateType.CRASHED]
    wanted = FlowRunFilter(
        tags=FlowRunFilterTags(all_=["hexveil"]),
        state=FlowRunFilterState(type=FlowRunFilterStateType(any_=left)),
    )
    an_hour_ago = dt.datetime.now(dt.UTC) - dt.timedelta(hours=1)
    with get_client(sync_client=True) as client:
        runs = client.read_flow_runs(flow_run_filter=wanted, limit=200)
        interrupted = [run for run in runs if run.end_time is None or run.end_time > an_hour_ago]
        for run in interrupted:
            client.set_flow_run_state(run.id, Scheduled(name=RESUMED, message="Its worker had ended."), force=True)
    return [run.name for run in interrupted]
