"""Steps: parts of a run that name their dataset and day, are timed, and let no private value out."""

import functools
import inspect
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Generic, ParamSpec, TypeVar

from tasks.base import scheduler
from tasks.base.errors import HexveilError, TemporaryFailure, contained
from tasks.base.logs import STEPS, counting, say, warn

P = ParamSpec("P")
R = TypeVar("R")

_DELAYS = [10.0, 60.0]
_LONG_SECONDS = 1.0

_seconds: ContextVar[dict[str, float] | None] = ContextVar("seconds", default=None)

log = logging.getLogger(STEPS)


class Step(Generic[P, R]):
    """A function as a part of a run: a Prefect task in a flow run, otherwise a call with the same retries.

    Attributes:
        fn: The plain function, contained and timed.
        delays: The seconds before each retry. Only a failure of the machine, not of the data, is tried again.
    """

    def __init__(self, function: Callable[P, R], run_name: str, delays: list[float]) -> None:
        """Make a step from a function; see ``step``."""
        functools.update_wrapper(self, function)
        self.fn = _timed(contained(function))
        self.delays = delays
        self._run_name = run_name

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the step, and say how it ended. A step that counted nothing and took no time is not worth a line."""
        began = time.monotonic()
        with counting() as counts:
            try:
                result = self._run(*args, **kwargs)
            except HexveilError:
                warn(log, "failed", step=self._name(args, kwargs), seconds=time.monotonic() - began)
                raise
        seconds = time.monotonic() - began
        if counts or seconds >= _LONG_SECONDS:
            say(log, "done", step=self._name(args, kwargs), seconds=seconds, **counts)
        return result

    def _name(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """Return the name of a run of the step, the same as Prefect shows."""
        return self._run_name.format(**inspect.signature(self.fn).bind(*args, **kwargs).arguments)

    def _run(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if scheduler.in_flow_run():
            return self._task(*args, **kwargs)
        for delay in self.delays:
            try:
                return self.fn(*args, **kwargs)
            except TemporaryFailure as error:
                problem = str(error)
            name = self._name(args, kwargs)
            warn(log, "a step failed and is tried again", step=name, seconds=delay, reason=problem)
            time.sleep(delay)
        return self.fn(*args, **kwargs)

    def __reduce__(self) -> str:
        """Return the step's name, so that pickle stores the name and finds the step by it."""
        return self.fn.__qualname__

    def as_task(self, function: Callable[P, R]) -> Any:
        """Return a Prefect task that runs a function in place of the step's own."""
        return scheduler.as_task(function, self._run_name, self.delays)

    @functools.cached_property
    def _task(self) -> Any:
        return self.as_task(self.fn)


def step(run_name: str, *, repeatable: bool = True) -> Callable[[Callable[P, R]], Step[P, R]]:
    """Make a step from a function.

    Args:
        run_name: The name of a run of it, with parameters in braces.
        repeatable: Whether it is tried again, twice, after a failure of the machine. A step that draws noise and
            charges users is not: a second draw would cost the users again. Nothing is cached or stored either, because
            a cached draw would not be charged.
    """
    return lambda function: Step(function, run_name, _DELAYS if repeatable else [])


@contextmanager
def run() -> Iterator[None]:
    """Treat all that happens in the block as one run: a Prefect flow run, or a run of this process alone."""
    token = _seconds.set(defaultdict(float))
    try:
        yield
    finally:
        _seconds.reset(token)


def in_run() -> bool:
    """Return whether this code runs inside ``run``."""
    return _seconds_of_run() is not None


def step_seconds() -> dict[str, float]:
    """Return how long the steps of this run have taken so far, in seconds, by step name."""
    return dict(_seconds_of_run() or {})


def _seconds_of_run() -> dict[str, float] | None:
    """Return the seconds of this run. A function, because the variable that it reads cannot be pickled for workers."""
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
