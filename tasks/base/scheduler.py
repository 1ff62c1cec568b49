"""The scheduler: what steps ask of Prefect in a flow run of its own. Without one Prefect is not even imported."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from tasks.base.errors import HexveilError, TemporaryFailure

if TYPE_CHECKING:
    from prefect import Task
    from prefect.client.schemas.objects import State, TaskRun

P = ParamSpec("P")
R = TypeVar("R")


def in_flow_run() -> bool:
    """Tell whether this code runs within a flow run of Prefect; it cannot where nobody imported Prefect."""
    if "prefect" not in sys.modules:
        return False
    from prefect.context import FlowRunContext

    return FlowRunContext.get() is not None


def as_task(function: Callable[P, R], run_name: str, delays: list[float]) -> "Task[P, R]":
    """Make a task of a function; nothing that it returns is cached or stored.

    Args:
        function: What it runs.
        run_name: What a run of it is called, with parameters in braces.
        delays: The seconds before it is tried again, where the machine failed and not the data.
    """
    from prefect import task
    from prefect.cache_policies import NO_CACHE

    return task(
        task_run_name=run_name,
        retries=len(delays),
        retry_delay_seconds=delays,
        retry_condition_fn=_failed_for_now,
        cache_policy=NO_CACHE,
        persist_result=False,
    )(function)


@contextmanager
def dask_runner(address: str, security: Any) -> Iterator[Any]:
    """Return what runs tasks of the flow run that goes on, on the workers of a Dask scheduler.

    Raises:
        HexveilError: No server is configured; each worker would start one for itself, without a password.
    """
    from prefect.settings import PREFECT_API_URL, temporary_settings
    from prefect_dask.task_runners import DaskTaskRunner

    server = PREFECT_API_URL.value()
    if server is None:
        raise HexveilError("PREFECT_API_URL is not set, and workers must tell Prefect's server of their tasks: set it")
    with (
        temporary_settings({PREFECT_API_URL: server}),
        DaskTaskRunner(address=address, client_kwargs={"security": security}) as runner,
    ):
        yield runner


def show_page(page: str, key: str, description: str) -> None:
    """Show a page in markdown, under a key that it has over all runs; outside a flow run there is nobody to see it."""
    if not in_flow_run():
        return
    from prefect.artifacts import create_markdown_artifact

    create_markdown_artifact(page, key=key, description=description)


def show_link(address: str, words: str, key: str, description: str) -> None:
    """Show a link as some words, under a key that it has over all runs."""
    if not in_flow_run():
        return
    from prefect.artifacts import create_link_artifact

    create_link_artifact(address, words, key=key, description=description)


def show_progress(share: float, what: str, shown: Any) -> Any:
    """Show how far something has got, from 0 to 1; return what to give as ``shown`` the next time, at first None."""
    from prefect.artifacts import create_progress_artifact, update_progress_artifact

    if shown is None:
        return create_progress_artifact(progress=100 * share, description=what)
    update_progress_artifact(shown, progress=100 * share)
    return shown


def tell(event: str, resource: dict[str, str], payload: dict[str, Any]) -> None:
    """Tell automations of an event."""
    if not in_flow_run():
        return
    from prefect.events import emit_event

    emit_event(event, resource, payload=payload)


def _failed_for_now(_task: "Task[Any, Any]", _run: "TaskRun", state: "State[Any]") -> bool:
    """Tell whether the machine failed, so that trying again may help; what the data did, they will do again."""
    return isinstance(state.result(raise_on_failure=False), TemporaryFailure)
