"""A step: a part of a run that names its dataset and day, is timed, and lets nothing private out."""

import functools
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Generic, ParamSpec, TypeVar

from tasks.base import scheduler
from tasks.base.errors import TemporaryFailure, contained
from tasks.base.logs import warn

P = ParamSpec("P")
R = TypeVar("R")

_DELAYS = [10.0, 60.0]

_seconds: ContextVar[dict[str, float] | None] = ContextVar("seconds", default=None)

log = logging.getLogger("hexveil.steps")


class Step(Generic[P, R]):
    """A function as a part of a run: a task of Prefect's within a flow run, and else a call that is tried as often.

    Attributes:
        fn: The function alone, contained and timed.
        delays: The seconds before it is tried again, where the machine failed and not the data.
    """

    def __init__(self, function: Callable[P, R], run_name: str, delays: list[float]) -> None:
        """Make a step of a function; ``step`` says what for."""
        functools.update_wrapper(self, function)
        self.fn = _timed(contained(function))
        self.delays = delays
        self._run_name = run_name

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the step."""
        if scheduler.in_flow_run():
            return self._task(*args, **kwargs)
        for delay in self.delays:
            try:
                return self.fn(*args, **kwargs)
            except TemporaryFailure as error:
                problem = str(error)
            warn(log, "a step failed and is tried again", step=self.fn.__name__, seconds=delay, reason=problem)
            time.sleep(delay)
        return self.fn(*args, **kwargs)

    def __reduce__(self) -> str:
        """Let the step be found by its name where it is sent to."""
        return self.fn.__qualname__

    def as_task(self, function: Callable[P, R]) -> Any:
        """Return the task of Prefect's that runs a function in place of the step's own."""
        return scheduler.as_task(function, self._run_name, self.delays)

    @functools.cached_property
    def _task(self) -> Any:
        return self.as_task(self.fn)


def step(run_name: str, *, repeatable: bool = True) -> Callable[[Callable[P, R]], Step[P, R]]:
    """Make a step of a function.

    Args:
        run_name: What a run of it is called, with parameters in braces.
        repeatable: Whether it is tried again, twice, where the machine failed and not the data. What draws and charges
            is not, nor is anything cached or stored: a second draw would be a second expense, a cached one no charge.
    """
    return lambda function: Step(function, run_name, _DELAYS if repeatable else [])


@contextmanager
def run() -> Iterator[None]:
    """Let what is done within be one run: a flow run of Prefect's, or one of this process alone."""
    token = _seconds.set(defaultdict(float))
    try:
        yield
    finally:
        _seconds.reset(token)


def in_run() -> bool:
    """Tell whether this is done within a run, and not by itself."""
    return _seconds_of_run() is not None


def step_seconds() -> dict[str, float]:
    """Return how long the steps of this run have taken so far, in seconds, by the step's name."""
    return dict(_seconds_of_run() or {})


def _seconds_of_run() -> dict[str, float] | None:
    """Return the seconds of this run; what is sent to workers holds this function, for what it reads cannot be sent."""
    return _seconds.get()


def _timed(function: Callable[P, R]) -> Callable[P, R]:
    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        seconds, began = _seconds_of_run(), time.monotonic()
        try:
            return function(*args, **kwargs)
        finally:
            if seconds is not None:
                seconds[function.__name__] += time.monotonic() - began

    return run
