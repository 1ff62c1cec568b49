"""What tests share: tiny occupancies, a dataset in a temporary folder, and the real records where they are present."""

import os

os.environ |= {"PREFECT_SERVER_ANALYTICS_ENABLED": "false", "DO_NOT_TRACK": "1"}
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command has it; other tests want the other core

import datetime as dt
import random
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import settings
from playwright.sync_api import Browser, sync_playwright
from support import CONFIG, DATE, ENGINES, HEADER, REAL_DATA, Campaign, Dataset, Say, choose, slow
from templates import TEMPLATES

from dpmath.core.occupancy import Occupancy
from tasks.records.synthetic import write_city

settings.register_profile("hexveil", deadline=None)  # no test asserts a time
settings.load_profile("hexveil")

QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

MakeOccupancy = Callable[[list[list[int]]], Occupancy]


def pytest_addoption(parser: pytest.Parser) -> None:
    text = "the share of each long campaign that is done, drawn anew at each run; 1 is all"
    parser.addoption("--campaign", type=float, default=1, metavar="SHARE", help=text)


@pytest.fixture
def campaign(request: pytest.FixtureRequest) -> Campaign:
    share: Any = request.config.getoption("campaign")
    if not 0 < share <= 1:
        raise pytest.UsageError(f"--campaign={share} must be above 0 and at most 1")
    return Campaign(share)


@pytest.fixture
def drawn(campaign: Campaign) -> None:
    """Do a test that is one long trial in such a share of the runs."""
    if random.random() >= campaign.share:
        pytest.skip("a long trial, not drawn for this share of the campaign")


@pytest.fixture
def say(request: pytest.FixtureRequest) -> Say:
    """Return a function whose lines stand under the tests at the end, from whichever process ran them."""
    return lambda line: request.node.user_properties.append(("said", line))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for report in terminalreporter.getreports("passed"):
        for name, line in report.user_properties:
            if name == "said" and report.when == "call":
                terminalreporter.write_line(line)


LONGEST = (
    "tests/operations",
    "tests/install",
    "tests/faults",
    "tests/flows",
    "tests/replay",
    "tests/tasks/test_value_domain.py",
    "tests/bench",
    "tests/paper",
    "tests/tasks",
)
"""Files and folders whose tests take longest, in order; those of all others are short."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out modules of slow tests alone where these are not wanted: they import for seconds what no others need."""
    is_wanted = config.getoption("markexpr") != "not slow" or collection_path.suffix != ".py"
    return None if is_wanted or "\npytestmark = pytest.mark.slow\n" not in collection_path.read_text() else True


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave most cases of a test to `make test-slow`, and have the longest files begin first.

    So no process is left alone with a long one at the end.
    """
    cases = defaultdict[str, list[pytest.Item]](list)
    for item in items:
        if item.get_closest_marker("quick") and not item.get_closest_marker("slow"):
            cases[item.nodeid.partition("[")[0]].append(item)
    for alike in cases.values():
        (n_quick,) = next(alike[0].iter_markers("quick")).args
        for item in alike[n_quick:]:
            item.add_marker(pytest.mark.slow)
    order = {name: number for number, name in enumerate(LONGEST)}

    def place(item: pytest.Item) -> int:
        path = item.path.relative_to(item.config.rootpath)
        return min((order.get(one.as_posix(), len(order)) for one in (path, *path.parents)), default=len(order))

    items.sort(key=place)


WATCHING = {"caplog", "capsys", "capfd"}


class Patch(pytest.MonkeyPatch):  # pyright: ignore[reportGeneralTypeIssues]
    """A patch that is known for as long as it alters something, those made by ``context`` too."""

    made: ClassVar[list["Patch"]] = []

    def __init__(self) -> None:
        super().__init__()
        self.made.append(self)

    @classmethod
    def alters(cls) -> bool:
        """Return whether anything is altered now: then no day is copied."""
        return any(one._setattr or one._setitem or one._cwd or one._savesyspath for one in cls.made)


@pytest.fixture
def monkeypatch() -> Iterator[pytest.MonkeyPatch]:
    with Patch.context() as patch:
        yield patch
    Patch.made.clear()


@pytest.fixture(autouse=True)
def copied(request: pytest.FixtureRequest) -> None:
    """Let released days be copied, unless the test watches the steps, and while nothing is altered."""
    TEMPLATES.begin(WATCHING.isdisjoint(request.fixturenames), Patch.alters)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20161125)


@pytest.fixture
def engine() -> str:
    """Return the engine's section of the configuration; a module of tests that hold for all engines names them all."""
    return ENGINES[0]


@pytest.fixture
def dataset(tmp_path: Path, engine: str) -> Dataset:
    """Return an empty dataset: write files to it, then run its steps."""
    (tmp_path / "dataset.toml").write_text(CONFIG + engine)
    return Dataset(tmp_path)


@pytest.fixture
def busy_dataset(dataset: Dataset) -> Dataset:
    """Return a dataset of one small, busy, clean day that can be released."""
    lines = []
    for bus in range(12):
        for minute in range(0, 120, 5):
            speed = 10 + (bus * 7 + minute) % 50
            lines.append(f"bus{bus:02},{DATE}T{8 + minute // 60:02}:{minute % 60:02}:00Z,47.0500,8.3100,{speed}")
    dataset.write("day.csv", HEADER + "\n".join(lines) + "\n")
    return dataset


@pytest.fixture(params=["zcdp", slow("pure")])
def either(busy_dataset: Dataset, request: pytest.FixtureRequest) -> Dataset:
    """Return the busy dataset in either definition of privacy, with Gaussian noise in the second."""
    if request.param == "zcdp":
        busy_dataset.set(definition="zcdp", noise="gaussian")
    return busy_dataset


@pytest.fixture
def uneven(dataset: Dataset) -> Dataset:
    """Return a day of three cells, in which bus b has 1 to 8 records with values of its own."""
    lines = []
    for hour in (8, 9, 10):
        for bus in range(24):
            for minute in range(1 + (bus * bus + hour) % 8):
                speed = (37 * bus + 11 * minute + hour) % 101
                lines.append(f"bus{bus:02},{DATE}T{hour:02}:{minute:02}:00Z,47.0500,8.3100,{speed}")
    dataset.write("day.csv", HEADER + "\n".join(lines) + "\n")
    return dataset


@pytest.fixture
def roaming(dataset: Dataset) -> Dataset:
    """Return a day on which buses are in several hexagons and hours; the mechanism estimates."""
    rng = np.random.default_rng(8)
    lines = [
        f"bus{bus:02},{DATE}T{hour:02}:{minute:02}:00Z,{47.05 + 0.02 * rng.integers(4)},8.31,{rng.integers(10, 60)}"
        for bus in range(20)
        for hour in range(6, 18)
        for minute in (5, 25, 50)
    ]
    dataset.write("day.csv", HEADER + "\n".join(lines) + "\n")
    choose(dataset, "estimated", epsilon="2.0")
    return dataset


@pytest.fixture(scope="session")
def city(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with one day of the synthetic city."""
    folder = tmp_path_factory.mktemp("city")
    write_city(folder, [dt.date(2026, 3, 2)])
    return folder


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Return the folder of real bus records, or skip: they are not part of the project."""
    if not REAL_DATA.is_dir():
        pytest.skip(f"the real records are not at {REAL_DATA}")
    return REAL_DATA


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Start Chromium, for one module only: while playwright runs, others find an event loop in their thread."""
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("chromium is not installed: apt-get install chromium")
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=path, args=list(QUIET))
