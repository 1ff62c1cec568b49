"""The command line as a user runs it: another process, with a Prefect home of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import Hexveil


@pytest.fixture(scope="session")
def prefect_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("prefect")


@pytest.fixture(scope="session")
def environment(prefect_home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    return kept | {"PREFECT_HOME": str(prefect_home), "COLUMNS": "200"}


@pytest.fixture(scope="session")
def hexveil(environment: dict[str, str]) -> Hexveil:
    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "flows.cli", *map(str, arguments)]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)

    return run
