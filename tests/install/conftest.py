"""One wheel for all tests here."""

from pathlib import Path

import pytest
from wheels import ROOT, Environment, build_wheel, environment_with_the_tests_libraries, rival_wheel

OURS = ("dpmath", "flows", "sql", "tasks")


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Return an environment with the wheel, and with another project that has packages of the same names."""
    made = environment_with_the_tests_libraries(tmp_path_factory.mktemp("environment"))
    made.install("--no-deps", wheel)
    made.install("--no-deps", rival_wheel(tmp_path_factory.mktemp("rival"), *OURS))
    return made


@pytest.fixture(scope="session")
def alone(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Return an environment that pip filled, with a rival installed after hexveil."""
    made = Environment(tmp_path_factory.mktemp("alone"))
    made.create()
    made.install("--constraint", ROOT / "constraints.txt", wheel)
    made.install("--no-deps", rival_wheel(tmp_path_factory.mktemp("rival"), "tasks"))
    return made
