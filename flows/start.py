"""Start: chooses where a run goes: the server of PREFECT_API_URL, else that of `hexveil up`, else this process.

For a run without a server, Prefect would start one that has no password and obeys any local user. So if no server is
configured or running, the same steps run without Prefect.
"""

import functools
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple, ParamSpec, TypeVar

from flows import interrupts, services
from tasks.base import steps
from tasks.base.logs import show_lines
from tasks.base.owner import Owner
from tasks.base.progress import show_steps

P = ParamSpec("P")
R = TypeVar("R")


class Flows(NamedTuple):
    """The functions that publish days, and ranges of days."""

    daily: Callable[..., Any]
    backfill: Callable[..., Any]


def find_flows(home: Path, settings: Path, config: Owner, *, verbose: bool) -> Flows:
    """Return the flows, set up for the place where their runs go.

    Args:
        home: The folder of `hexveil up`.
        settings: The file with Prefect's settings for a server of `hexveil up`.
        config: The dataset's configuration.
        verbose: Whether log lines are shown. If not, each step has one line when it ends.

    Raises:
        HexveilError: The server of `hexveil up` runs but does not answer.
    """
    if not verbose:
        show_steps()
    if _has_server(home, settings, config):
        _set_console(verbose)
        from flows import deployed

        return Flows(*(_within(interrupts.told_to_server, flow) for flow in (deployed.daily, deployed.backfill)))
    if verbose:
        show_lines(verbose)
    if config.kind == "presence":  # to import the other model's steps too takes a quarter of a second
        from flows import presence

        return Flows(_within(steps.run, presence.daily), _within(steps.run, presence.backfill))
    from flows.backfill import backfill
    from flows.daily import daily

    return Flows(_within(steps.run, daily), _within(steps.run, backfill))


def _has_server(home: Path, settings: Path, config: Owner) -> bool:
    """Return whether a server exists, and set its environment variables, which Prefect reads when it is imported."""
    if os.environ.get("PREFECT_API_URL"):
        return True
    local = services.running_services(home)
    if local is None:
        return False
    environment = local.environment(settings)
    if not local.serves(config):
        del environment["HEXVEIL_PUBLISHED_URL"]
    os.environ.update(environment)
    return True


def _set_console(verbose: bool) -> None:
    """Set what Prefect shows here; settings of the operator stay."""
    defaults = {
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
        "PREFECT_LOGGING_EXTRA_LOGGERS": "hexveil",
        "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "INFO" if verbose else "CRITICAL",
    }
    for name, value in defaults.items():
        os.environ.setdefault(name, value)


def _within(surroundings: Callable[[], AbstractContextManager[None]], function: Callable[P, R]) -> Callable[P, R]:
    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        with surroundings():
            return function(*args, **kwargs)

    return run
