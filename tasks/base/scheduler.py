"""All calls to Prefect that steps make in a flow run. Without a scheduler Prefect is not imported."""

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
    """Return whether this code runs in a Prefect flow run. It cannot if Prefect is not imported."""
    if "prefect" not in sys.modules:
        return False
    from prefect.context import FlowRunContext

    return FlowRunContext.get() is not None


def as_task(function: Callable[P, R], run_name: str, delays: list[float]) -> "Task[P, R]":
    """Make a Prefect task from a function. Nothing that it returns is cached or stored.

    Args:
        function: The function that the task runs.
        run_name: The name of a run of it, with parameters in braces.
        delays: The seconds before each retry. Only a failure of the machine, not of the data, is tried again.
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
    """Yield the runner of this flow run's tasks on the workers of a Dask scheduler.

    Raises:
        HexveilError: No Prefect server is configured. Each worker would start its own, without a password.
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
    """Show a Markdown page under a key that is the same in all runs. Does nothing outside a flow run."""
    if not in_flow_run():
        return
    from prefect.artifacts import create_markdown_artifact

    create_markdown_artifact(page, key=key, description=description)


def show_link(address: str, words: str, key: str, description: str) -> None:
    """Show a link with a text, under a key that is the same in all runs. Does nothing outside a flow run."""
    if not in_flow_run():
        return
    from prefect.artifacts import create_link_artifact

    create_link_artifact(address, words, key=key, description=description)


def show_progress(share: float, what: str, shown: Any) -> Any:
    """Show progress from 0 to 1. Return what to pass as ``shown`` in the next call; pass None first."""
    from prefect.artifacts import create_progress_artifact, update_progress_artifact

    if shown is None:
        return create_progress_artifact(progress=100 * share, description=what)
    update_progress_artifact(shown, progress=100 * share)
    return shown


def tell(event: str, resource: dict[str, str], payload: dict[str, Any]) -> None:
    """Send an event to Prefect's automations."""
    if not in_flow_run():
        return
    from prefect.events import emit_event

    emit_event(event, resource, payload=payload)


def _failed_for_now(_task: "Task[Any, Any]", _run: "TaskRun", state: "State[Any]") -> bool:
    """Return whether the machine failed, so that a retry may help. A failure from the data would only happen again."""
    return isinstance(state.result(raise_on_failure=False), TemporaryFailure)
