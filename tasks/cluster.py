"""Cluster: where a step runs once for each file or shard: on Dask's workers, through the scheduler's own runner."""

import copy
import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from prefect import Task
from prefect.context import FlowRunContext
from prefect.server.api.server import SubprocessASGIServer
from prefect.settings import PREFECT_API_URL, temporary_settings

from tasks import disclosure
from tasks.config import Config
from tasks.errors import HexveilError, TemporaryFailure
from tasks.progress import progress

R = TypeVar("R")

Calls = Sequence[dict[str, Any]]

_OTHER_CODE = "workers of engine.address lack hexveil, or have another version than the flow; install the same"


def run_each(made: Task[..., R], calls: Calls, config: Config) -> list[R | HexveilError]:
    """Run a step once for each set of arguments, and return what came of each, in their order.

    A worker that dies has its work done again by another. Outside a flow, as for a plan that is only looked at, the
    steps run one after the other in this process: what they do is the same.

    Args:
        made: A step that replaces whole what it writes, so that it may be run again.
        calls: The arguments of each run, nothing private.
        config: Says where the cluster is.

    Raises:
        TemporaryFailure: The cluster cannot be reached.
    """
    if not calls:
        return []
    what = made.fn.__name__.replace("_", " ")
    if FlowRunContext.get() is None:
        return [_outcome(functools.partial(made.fn, **call)) for call in progress(calls, what)]
    with _runner(config) as runner:
        checked = _checked(made)
        futures = [runner.submit(checked, call) for call in calls]
        return [_outcome(future.result) for future in progress(futures, what)]


def succeeded(outcomes: list[R | HexveilError]) -> list[R]:
    """Return the outcomes, all of which must be there.

    Raises:
        HexveilError: The first that is not.
    """
    for outcome in outcomes:
        if isinstance(outcome, HexveilError):
            raise outcome
    return [outcome for outcome in outcomes if not isinstance(outcome, HexveilError)]


@contextmanager
def _runner(config: Config) -> Iterator[Any]:
    """Connect to the cluster that the configuration names, or to one of this machine that is started when needed."""
    from prefect_dask.task_runners import DaskTaskRunner  # noqa: PLC0415, it takes seconds, and is an extra

    address, security = config.engine.address, None
    if address is None:
        own = _own_cluster()
        address, security = own.scheduler_address, own.security
    # Workers tell the scheduler's server of their runs; one that is not named would be started by each for itself.
    server = PREFECT_API_URL.value() or SubprocessASGIServer().api_url
    with (
        temporary_settings({PREFECT_API_URL: server}),
        DaskTaskRunner(address=address, client_kwargs={"security": security}) as runner,
    ):
        if config.engine.address is not None:
            _check_cluster(runner, address)
        yield runner


def _check_cluster(runner: Any, address: str) -> None:
    """Refuse a cluster that cannot be reached or runs other code: the ledger names the code of this process.

    Raises:
        TemporaryFailure: It cannot be reached, or has no worker.
        HexveilError: Its workers run another version.
    """
    try:
        answers = runner.client.run(disclosure.code_hash, on_error="return").values()
    except OSError:
        answers = []
    versions = {answer for answer in answers if not isinstance(answer, OSError)}  # a worker may just have died
    if not versions:
        raise TemporaryFailure(f"no Dask scheduler with a worker answers at engine.address = {address}; start both")
    if versions != {disclosure.code_hash()}:
        raise HexveilError(_OTHER_CODE)


def _checked(made: Task[..., R]) -> Task[..., R]:
    """Return a step that a worker refuses to run by other code than is here: one may come after the others' check."""
    run, version = made.fn, disclosure.code_hash()

    @functools.wraps(run)
    def run_by_same_code(*args: Any, **kwargs: Any) -> R:
        if disclosure.code_hash() != version:
            raise HexveilError(_OTHER_CODE)
        return run(*args, **kwargs)

    checked = copy.copy(made)
    checked.fn = run_by_same_code
    return checked


@functools.cache
def _own_cluster() -> Any:
    """Start one worker per core; they end with this process.

    Keys of this run's own keep other users of the machine out, who could else have workers do anything; and there are
    none of Dask's pages, which would be open to all.
    """
    from distributed import LocalCluster  # noqa: PLC0415

    options: dict[str, Any] = {"threads_per_worker": 1, "dashboard_address": None, "security": True}
    return LocalCluster(**options)


def _outcome(result: Any) -> Any:
    from distributed import KilledWorker  # noqa: PLC0415

    try:
        return result()
    except HexveilError as error:
        return error
    except KilledWorker:
        return HexveilError(
            "a shard or file ended every worker that was given it: out of memory, say. Raise engine.n_shards, or lower "
            "storage.memory_limit, which is that of each worker"
        )
