"""Cluster: runs a step once for each file or shard on Dask workers, with or without Prefect."""

import functools
import logging
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any, TypeVar

from tasks.base import provenance, scheduler
from tasks.base.child_processes import undisturbed
from tasks.base.config import Config
from tasks.base.errors import HexveilError, TemporaryFailure
from tasks.base.progress import progress
from tasks.base.steps import Step, in_run

R = TypeVar("R")

Calls = Sequence[dict[str, Any]]

_OTHER_CODE = "workers of engine.address lack hexveil, or have another version than the flow; install the same"


def run_each(made: Step[..., R], calls: Calls, config: Config) -> list[R | HexveilError]:
    """Run a step once for each set of arguments, and return the outcomes in the same order.

    If a worker dies, another repeats its work. Outside a run, for example to preview a plan, the steps run one after
    the other in this process and do the same work.

    Args:
        made: A step that replaces all that it writes, so that it may be run again.
        calls: The arguments of each run, nothing private.
        config: Gives the address of the cluster.

    Raises:
        TemporaryFailure: The cluster cannot be reached.
    """
    if not calls:
        return []
    what = made.fn.__name__.replace("_", " ")
    if not (scheduler.in_flow_run() or in_run()):
        return [_answer(functools.partial(made.fn, **call)) for call in progress(calls, what)]
    with _workers(config) as workers:
        futures = [workers.submit(made, call) for call in calls]
        return [_outcome(future) for future in progress(futures, what)]


def succeeded(outcomes: list[R | HexveilError]) -> list[R]:
    """Return the outcomes, if no run failed.

    Raises:
        HexveilError: The first outcome that is an error.
    """
    for outcome in outcomes:
        if isinstance(outcome, HexveilError):
            raise outcome
    return [outcome for outcome in outcomes if not isinstance(outcome, HexveilError)]


class _Tasks:
    """Gives work to a cluster as tasks of the current flow run; workers report each task to Prefect's server."""

    def __init__(self, runner: Any) -> None:
        self._runner = runner

    @property
    def client(self) -> Any:
        return self._runner.client

    def submit(self, made: Step[..., Any], call: dict[str, Any]) -> Any:
        return self._runner.submit(made.as_task(_by_same_code(made, once=True)), call)


class _Calls:
    """Gives work to a cluster without a flow run. Errors are returned: Dask logs the arguments of calls that raise."""

    def __init__(self, address: str, security: Any) -> None:
        self._address, self._security = address, security

    @functools.cached_property
    def client(self) -> Any:
        from distributed import Client  # noqa: PLC0415

        return Client(self._address, security=self._security, set_as_default=False)

    def submit(self, made: Step[..., Any], call: dict[str, Any]) -> Any:
        work = functools.partial(_by_same_code(made, once=False), **call)
        return self.client.submit(_answer, work, key=f"{made.fn.__name__}-{uuid.uuid4().hex}", pure=False)

    def close(self) -> None:
        if "client" in vars(self):
            self.client.close()


@contextmanager
def _workers(config: Config) -> Iterator[_Tasks | _Calls]:
    """Connect to the cluster that the configuration names, or to a local one, which is started when needed."""
    address, security = config.engine.address, None
    if address is None:
        own = _own_cluster()
        address, security = own.scheduler_address, own.security
    with _connected(address, security) as workers:
        if config.engine.address is not None:
            _check_cluster(workers, address)
        yield workers


@contextmanager
def _connected(address: str, security: Any) -> Iterator[_Tasks | _Calls]:
    if scheduler.in_flow_run():
        with scheduler.dask_runner(address, security) as runner:
            yield _Tasks(runner)
    else:
        with closing(_Calls(address, security)) as calls:
            yield calls


def _check_cluster(workers: _Tasks | _Calls, address: str) -> None:
    """Refuse a cluster that cannot be reached or runs other code, because the ledger names the code of this process.

    Raises:
        TemporaryFailure: The cluster cannot be reached, or has no worker.
        HexveilError: The workers run another version.
    """
    try:
        answers = workers.client.run(provenance.code_hash, on_error="return").values()
    except OSError:
        answers = []
    versions = {answer for answer in answers if not isinstance(answer, OSError)}  # a worker may just have died
    if not versions:
        raise TemporaryFailure(f"no Dask scheduler with a worker answers at engine.address = {address}; start both")
    if versions != {provenance.code_hash()}:
        raise HexveilError(_OTHER_CODE)


def _by_same_code(made: Step[..., R], *, once: bool) -> Callable[..., R]:
    """Return a step's work that fails on a worker with other code: a worker may join after the cluster was checked.

    If the machine fails, the worker repeats the work, unless Prefect does that (``once``).
    """
    version = provenance.code_hash()

    @functools.wraps(made, updated=())  # the worker finds the step, with its attributes, by its name
    def run_by_same_code(*args: Any, **kwargs: Any) -> R:
        if provenance.code_hash() != version:
            raise HexveilError(_OTHER_CODE)
        return (made.fn if once else made)(*args, **kwargs)

    return run_by_same_code


def _answer(work: Callable[[], R]) -> R | HexveilError:
    try:
        return work()
    except HexveilError as error:
        return error


@functools.cache
def _own_cluster() -> Any:
    """Start one worker per core; they end with this process.

    Keys made for this run keep out other users of the machine, who could otherwise run any code on the workers. Dask
    opens a port for its web pages whatever its options are, so all pages are removed, and the port is any free one:
    the usual one may belong to another run, of which Dask would warn on the terminal. Workers do not log: failures are
    outcomes, and after an interrupt they would only complain that the scheduler is gone.
    """
    from dask.config import set as settings  # noqa: PLC0415
    from distributed import LocalCluster  # noqa: PLC0415

    options: dict[str, Any] = {
        "threads_per_worker": 1,
        "dashboard_address": "127.0.0.1:0",
        "scheduler_kwargs": {"dashboard": False},  # an address alone would bring the pages back
        "security": True,
        "silence_logs": logging.CRITICAL,
    }
    no_pages = {f"distributed.{role}.http.routes": [] for role in ("scheduler", "worker")}
    with undisturbed(), settings(no_pages):
        return LocalCluster(**options)


def _outcome(future: Any) -> Any:
    from distributed import KilledWorker  # noqa: PLC0415

    try:
        return _answer(future.result)
    except KilledWorker:
        return HexveilError(
            "a shard or file stopped every worker that worked on it, probably because memory ran out. Raise "
            "engine.n_shards, or lower storage.memory_limit, the limit of each worker"
        )
