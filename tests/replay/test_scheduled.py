"""The same with the scheduler, all of whose database is compared, and with worker processes of a cluster."""

import logging
import re
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from neighbours import LATER, check, configured, write_days
from prefect.logging.handlers import APILogHandler
from prefect.settings import PREFECT_RESULTS_LOCAL_STORAGE_PATH, get_current_settings, temporary_settings
from prefect.testing.utilities import prefect_test_harness
from present import with_and_without
from replayed import Auditor
from support import DATE, ENGINES

from flows import deployed
from tasks.base.errors import HexveilError

pytestmark = pytest.mark.slow

_OTHER_EACH_TIME = re.compile(
    r"[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}"  # ids
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d[0-9:.]*(\+00:00|Z)?|\d{10}\.\d+"  # times
    r"|(?<=[a-z]-)[0-9a-f]{3}\b|127\.0\.0\.1:\d+"  # short ids, ports
    r'|(?<=resource.name": ")[a-z]+-[a-z]+(?=")'  # names of runs that have none yet
)
_SECONDS = re.compile(r"\b\d+\.\d+\b")
_OF_PREFECT = ("block_type", "block_schema", "block_schema_reference")


def called(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a flow as the scheduler does."""
    command, _, config_file, *given = arguments
    code, said = 0, ""
    try:
        if command == "run":
            deployed.daily(Path(str(config_file)), given[1])  # pyright: ignore[reportArgumentType]
        else:
            deployed.verify(Path(str(config_file)))
    except HexveilError as error:
        code, said = 1, str(error)
    return subprocess.CompletedProcess([], code, said, "")


@contextmanager
def scheduled(folder: Path) -> Iterator[dict[str, bytes]]:
    """Run flows at a server of their own, and keep what it stored."""
    found, handler, logger = dict[str, bytes](), APILogHandler(), logging.getLogger("hexveil")
    with (
        temporary_settings({PREFECT_RESULTS_LOCAL_STORAGE_PATH: folder}),
        prefect_test_harness(server_startup_timeout=600),
    ):
        url = get_current_settings().server.database.connection_url
        database = url.get_secret_value().partition("///")[2] if url else ""
        logger.addHandler(handler)
        yield found
        logger.removeHandler(handler)
    found |= rows_of(Path(database))


def rows_of(database: Path) -> dict[str, bytes]:
    """Return the different rows of each table, without what is another each time."""
    found = {}
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        for (name,) in connection.execute("select name from sqlite_master where type = 'table'").fetchall():
            if name in _OF_PREFECT:
                continue
            rows = connection.execute(f'select * from "{name}"').fetchall()
            lines = {_OTHER_EACH_TIME.sub("*", "|".join(map(str, row))) for row in rows}
            if name not in ("log", "artifact", "artifact_collection"):
                lines = {_SECONDS.sub("*", line) for line in lines}
            found[f"prefect: {name}"] = "\n".join(sorted(lines)).encode()
    return found


RUNS = (("run", "--date", DATE), ("run", "--date", DATE), ("run", "--date", LATER), ("verify",))


def test_the_schedulers_database_tells_nothing(auditor: Callable[..., Auditor], tmp_path: Path) -> None:
    """The budget is spent after a day, so that a failure and what is stored of it are compared too."""
    text = configured("estimated", epsilon_total=41.0)
    replay = auditor(text, runs=called, around=lambda: scheduled(tmp_path)).replay(write_days, *RUNS)
    check(replay)
    assert replay.first["2 run: code"] == b"1"
    assert b"released" in replay.first["prefect: log"]
    assert b"epsilon" in replay.first["prefect: artifact"]


def test_of_secret_presence_the_schedulers_database_tells_nothing(tmp_path: Path) -> None:
    given = {"runs": called, "commands": RUNS, "around": lambda: scheduled(tmp_path / "results")}
    moved, first = with_and_without(tmp_path / "dataset", "every cell", "csv", 1, 20, **given)
    assert moved > 0
    assert b"released" in first["prefect: log"]
    assert b"everybody" in first["prefect: artifact"]


def test_worker_processes_of_a_cluster_tell_nothing(auditor: Callable[..., Auditor]) -> None:
    text = configured("estimated") + ENGINES[1]
    check(auditor(text).replay(write_days, ("run", "--date", DATE, "--verbose"), ("ledger verify",)))
