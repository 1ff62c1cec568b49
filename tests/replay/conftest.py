"""The command line in this process, and an auditor of it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import called_here, environment_of
from fixed import draw_first_page
from replayed import Auditor


@pytest.fixture(scope="session")
def auditor(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Auditor]:
    """Return what makes an auditor of a configuration."""
    draw_first_page()
    runs = called_here(environment_of(tmp_path_factory.mktemp("prefect")))

    def make(configuration: str, **others: Any) -> Auditor:
        folder: Path = tmp_path_factory.mktemp("replayed") / "dataset"
        return Auditor(**{"folder": folder, "configuration": configuration, "runs": runs, "user": "bus03"} | others)

    return make
