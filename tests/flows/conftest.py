"""The command line as a user runs it: in this process or another, without a server, or with one of its own."""

import io
import logging
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path

import pytest
from support import Hexveil

from flows.cli import main


@pytest.fixture(scope="session")
def prefect_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("prefect")


@pytest.fixture(scope="session")
def environment(prefect_home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    nobody = {"PREFECT_HOME": str(prefect_home), "HEXVEIL_HOME": str(prefect_home / "no-local")}
    return kept | nobody | {"COLUMNS": "200"}


@pytest.fixture(scope="session")
def process(environment: dict[str, str]) -> Hexveil:
    """Return the command line run in another process, for claims about that."""

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "flows.cli", *map(str, arguments)]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=1200)

    return run


@pytest.fixture(scope="session")
def hexveil(environment: dict[str, str]) -> Hexveil:
    """Return the command line run in this process, which saves the seconds in which another one starts."""

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        words, out, err, code = ["hexveil", *map(str, arguments)], io.StringIO(), io.StringIO(), 0
        with ExitStack() as surroundings:
            patched = surroundings.enter_context(pytest.MonkeyPatch.context())
            patched.setattr(sys, "argv", words)
            patched.setattr(sys, "stdin", io.StringIO())
            surroundings.callback(partial(_set_environment, os.environ.copy()))
            _set_environment(environment)
            patched.setattr(logging.getLogger("hexveil"), "handlers", [])
            surroundings.enter_context(redirect_stdout(out))
            surroundings.enter_context(redirect_stderr(err))
            try:
                main()
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else int(end.code is not None)
        return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())

    return run


def _set_environment(environment: dict[str, str]) -> None:
    """Make the variables of this process those, in place: libraries hold on to the mapping."""
    os.environ.clear()
    os.environ.update(environment)


@pytest.fixture(scope="session")
def server(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Start a Prefect server with a home of its own, and return the environment that leads to it."""
    home = tmp_path_factory.mktemp("server")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}/api"
    there = environment | {"PREFECT_HOME": str(home), "PREFECT_SERVER_ANALYTICS_ENABLED": "false"}
    command = [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port)]
    log = home / "server.log"
    with log.open("w") as out, subprocess.Popen(command, env=there, stdout=out, stderr=out) as process:
        for _ in range(600):
            try:
                urllib.request.urlopen(f"{url}/health", timeout=5)
                break
            except OSError:
                assert process.poll() is None, log.read_text()
                time.sleep(0.2)
        yield there | {"PREFECT_API_URL": url}
        process.terminate()
