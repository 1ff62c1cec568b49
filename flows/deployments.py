"""What the server must hold before anything can be deployed: the work pool, its queues, and the automations."""

import contextlib
from pathlib import Path

import yaml
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.events.schemas.automations import AutomationCore
from prefect.exceptions import ObjectAlreadyExists, ObjectNotFound

from flows.services import POOL
from tasks.config import Config


def arrange_server(automations: Path, config: Config) -> None:
    """Create the work pool, a queue for the dataset that runs one thing at a time, and the automations, once each.

    What is there already is left as it is: operators change limits and automations in the pages.
    """
    with get_client(sync_client=True) as client:
        with contextlib.suppress(ObjectAlreadyExists):
            client.create_work_pool(WorkPoolCreate(name=POOL, type="process"))
        _arrange_queue(client, config.dataset.name)
        _arrange_automations(client, automations)


def _arrange_queue(client: SyncPrefectClient, name: str) -> None:
    try:
        client.read_work_queue_by_name(name, work_pool_name=POOL)
    except ObjectNotFound:
        client.create_work_queue(name, work_pool_name=POOL, concurrency_limit=1)


def _arrange_automations(client: SyncPrefectClient, automations: Path) -> None:
    for wanted in yaml.safe_load(automations.read_text(encoding="utf-8"))["automations"]:
        if not client.read_automations_by_name(wanted["name"]):
            client.create_automation(AutomationCore.model_validate(wanted))
