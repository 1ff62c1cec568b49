"""The command line as a user runs it: in this process or another, without a server, or with one of its own."""

import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import called_here, environment_of
from support import Hexveil


@pytest.fixture(scope="session")
def prefect_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("prefect")


@pytest.fixture(scope="session")
def environment(prefect_home: Path) -> dict[str, str]:
    return environment_of(prefect_home)


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
    return called_here(environment)


@pytest.fixture(scope="session")
def server(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Start a Prefect server with a home of its own, and return the environment that leads to it."""
    from deployed import free_ports  # it imports what the other tests here do not need

    home, port = tmp_path_factory.mktemp("server"), free_ports()
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
