"""How anything is shown and told in the scheduler: keys of artifacts, addresses of files, events."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

from tasks.base import scheduler
from tasks.base.durable import sha256, write_whole
from tasks.base.errors import HexveilError
from tasks.base.owner import Owner
from tasks.base.storage import can_write, check_there

PUBLISHED_URL = "HEXVEIL_PUBLISHED_URL"
"""The environment variable with the address that serves the published folder; {dataset} stands for its name."""


class Verified(Protocol):
    """The result of a check without problems."""

    @property
    def in_words(self) -> str:
        """The result as text."""
        ...


def show_markdown(kind: str, page: str, description: str, config: Owner) -> None:
    """Show a page under the key of its kind."""
    scheduler.show_page(page, artifact_key(kind, config), description)


def artifact_key(kind: str, config: Owner) -> str:
    """Return the key of an artifact, the same in all runs; the scheduler allows a-z, 0-9 and dashes.

    A dataset's name with _ gets a digest in its key, because another dataset's name may have - in that place.
    """
    name = config.name
    return f"{kind}-{name}" if "_" not in name else f"{kind}-{name.replace('_', '-')}-{sha256(name.encode())[:6]}"


def emit(what: str, config: Owner, **fields: Any) -> None:
    """Emit an event about a dataset or a collection; automations can match its labels, and show its payload."""
    resource = {"prefect.resource.id": config.resource, "prefect.resource.name": config.name}
    labels = {f"hexveil.{key}": str(fields[key]).lower() for key in ("date", "whole_day") if key in fields}
    payload = {key: value if isinstance(value, int) else str(value) for key, value in fields.items()}
    scheduler.tell(f"hexveil.{what}", resource | labels, payload)


def tell_if_low(is_low: bool, config: Owner, **fields: Any) -> None:
    """Emit once that the budget is low, until it pays more again; the event has some fields."""
    told = config.storage_path / "private" / "told-that-the-budget-is-low"
    if not is_low:
        if can_write(told.parent):
            told.unlink(missing_ok=True)
    elif not told.exists():
        emit("budget.low", config, type="warning", **fields)
        if can_write(told.parent):
            write_whole(told, b"")


def show_verified(verify: Callable[[], Verified], config: Owner) -> None:
    """Verify a ledger and show the result; if it does not hold, or cannot be looked at, emit an event with the reason.

    Raises:
        HexveilError: The storage is not there.
        LedgerBroken: Names the first entry that disagrees, and with what.
    """
    try:
        check_there(config)
        verified = verify()
    except HexveilError as error:
        emit("verify.failed", config, reason=error)
        raise
    show_markdown("verify", verified.in_words, verified.in_words, config)


def address(path: Path, config: Owner) -> str:
    """Return the URL of a published file: below the address in the environment, or a file URL on this machine."""
    root = os.environ.get(PUBLISHED_URL, "").replace("{dataset}", config.name)
    if not root:
        return path.as_uri()
    return f"{root.rstrip('/')}/{quote(path.relative_to(config.storage_path / 'published').as_posix())}"
