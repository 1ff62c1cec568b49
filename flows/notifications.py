"""Tells people what somebody should look at: automations of Prefect's server, which notice even if no worker runs."""

import os
from collections.abc import Iterator
from itertools import count
from string import Template
from typing import Any

import yaml
from apprise import Apprise
from prefect.blocks.notifications import SlackWebhook
from prefect.client.orchestration import SyncPrefectClient
from prefect.events import emit_event
from prefect.events.schemas.automations import AutomationCore
from prefect.exceptions import ObjectNotFound
from pydantic import SecretStr

from flows.owners import schedule_of
from tasks.base.announcing import artifact_key
from tasks.base.errors import HexveilError
from tasks.base.owner import Owner


def arrange_automation(client: SyncPrefectClient, automation: AutomationCore) -> None:
    """Create an automation, or update that of its name; whether that is enabled does not change."""
    held = client.read_automations_by_name(automation.name)
    if held:
        client.update_automation(held[0].id, automation.model_copy(update={"enabled": held[0].enabled}))
    else:
        client.create_automation(automation)


def arrange_notifications(client: SyncPrefectClient, definitions: str, config: Owner) -> None:
    """Create or update what tells the addresses of ``monitoring.notify``, or remove it if there are none.

    Args:
        client: The client of the server.
        definitions: The text of the file with the automations.
        config: The dataset's configuration.

    Raises:
        HexveilError: An address is missing or cannot be used.
    """
    blocks = list(_stored_channels(client, _addresses(config), config))
    for wanted in yaml.safe_load(_filled(definitions, config))["notifications"]:
        told = {key: wanted.pop(key) for key in ("subject", "body")}
        actions = [{"type": "send-notification", "block_document_id": block, **told} for block in blocks]
        if actions:
            arrange_automation(client, AutomationCore.model_validate({**wanted, "actions": actions}))
        else:
            for held in client.read_automations_by_name(wanted["name"]):
                client.delete_automation(held.id)


def begin_to_watch(config: Owner) -> None:
    """Let the hours of silence begin now, if no release has begun them before."""
    emit_event("hexveil.watched", {"prefect.resource.id": config.resource, "prefect.resource.name": config.name})


def _addresses(config: Owner) -> list[str]:
    """Return the addresses. An error does not quote them: they may hold passwords."""
    addresses = []
    for number, address in enumerate(config.monitoring.notify, start=1):
        variable = address.removeprefix("$")
        found = os.environ.get(variable, "") if variable != address else address
        if not found:
            raise HexveilError(f"monitoring.notify names the environment variable {variable}; set it to an address")
        if not Apprise().add(found):
            raise HexveilError(f"address {number} of monitoring.notify is none that Apprise knows; see appriseit.com")
        addresses.append(found)
    return addresses


def _stored_channels(client: SyncPrefectClient, addresses: list[str], config: Owner) -> Iterator[str]:
    """Yield the ids of the blocks that hold the addresses, encrypted; remove the blocks of earlier addresses.

    The block of Prefect for Slack hands over any address to Apprise. There is none without the name of a service.
    """
    for number in count(1):
        name = f"{artifact_key('notify', config)}-{number}"
        if number <= len(addresses):
            block = SlackWebhook(url=SecretStr(addresses[number - 1]), notify_type="warning")
            yield str(block.save(name, overwrite=True))
            continue
        try:
            left: Any = client.read_block_document_by_name(name, SlackWebhook.get_block_type_slug())
        except ObjectNotFound:
            return
        client.delete_block_document(left.id)


def _filled(definitions: str, config: Owner) -> str:
    hours = config.monitoring.silence_hours
    runs = [f"{flow}-{config.name}" for flow in schedule_of(config).flows]
    return Template(definitions).safe_substitute(
        RUNS=runs[-1],
        NIGHTS=", ".join(runs),
        DATASET=config.name,
        RESOURCE=config.resource,
        SILENCE_HOURS=f"{hours:f}",
        SILENCE_SECONDS=round(hours * 3600),
    )
