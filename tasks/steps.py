"""A step: a task of the scheduler that names its dataset and day, is timed, and lets nothing private out."""

import functools
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar
from uuid import UUID

from prefect import Task, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State, TaskRun
from prefect.context import FlowRunContext

from tasks.errors import TemporaryFailure, contained

P = ParamSpec("P")
R = TypeVar("R")

_DELAYS = [10.0, 60.0]

_seconds: defaultdict[UUID | None, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))


def step(run_name: str, *, repeatable: bool = True) -> Callable[[Callable[P, R]], Task[P, R]]:
    """Make a task of a function.

    Args:
        run_name: What a run of it is called, with parameters in braces.
        repeatable: Whether it is tried again, twice, where the machine failed and not the data. What draws and charges
            is not, nor is anything cached or stored: a second draw would be a second expense, a cached one no charge.
    """

    def made(function: Callable[P, R]) -> Task[P, R]:
        return task(
            task_run_name=run_name,
            retries=len(_DELAYS) if repeatable else 0,
            retry_delay_seconds=_DELAYS if repeatable else [],
            retry_condition_fn=_failed_for_now,
            cache_policy=NO_CACHE,
            persist_result=False,
        )(_timed(contained(function)))

    return made


def step_seconds() -> dict[str, float]:
    """Return how long the steps of the flow that runs now have taken so far, in seconds, by the step's name."""
    return dict(_seconds[_flow_run_id()])


def _timed(function: Callable[P, R]) -> Callable[P, R]:
    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        began = time.monotonic()
        try:
            return function(*args, **kwargs)
        finally:
            _seconds[_flow_run_id()][function.__name__] += time.monotonic() - began

    return run


def _flow_run_id() -> UUID | None:
    context = FlowRunContext.get()
    return context.flow_run.id if context and context.flow_run else None


def _failed_for_now(_task: Task[Any, Any], _run: TaskRun, state: State[Any]) -> bool:
    """Tell whether the machine failed, so that trying again may help; what the data did, they will do again."""
    return isinstance(state.result(raise_on_failure=False), TemporaryFailure)
