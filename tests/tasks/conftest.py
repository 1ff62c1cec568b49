"""Fixtures that several modules here share."""

import shutil
from pathlib import Path

import pytest
from answered import ZONE
from estimates import day, write_day
from screened import MODES, screen
from support import Dataset, slow


@pytest.fixture(params=MODES, ids="-".join)
def screened(dataset: Dataset, request: pytest.FixtureRequest) -> Dataset:
    """Return a screened dataset, in each definition and mechanism."""
    return screen(dataset, *request.param)


@pytest.fixture
def one(dataset: Dataset) -> Dataset:
    """Return one screened dataset."""
    return screen(dataset, "zcdp", "estimated")


@pytest.fixture(params=["zcdp", slow("pure")])
def estimated(dataset: Dataset, request: pytest.FixtureRequest) -> Dataset:
    """Return a dataset of three days that are to be estimated, in each definition."""
    dataset.set(mechanism="estimated")
    dataset.set(target_error=None)
    dataset.set(definition=request.param)
    dataset.set(epsilon_per_day=4.0)
    dataset.set(epsilon_total=40.0)
    for number in range(3):
        write_day(dataset, day(number), seed=number)
    return dataset


@pytest.fixture
def published(dataset: Dataset, tmp_path: Path) -> Path:
    """Return the published files of three days, away from all that is private."""
    # the statistics have values of larger areas, the joint table cells' own
    dataset.set(mechanism="estimated", target_error=2.0, epsilon_per_day=4.0, epsilon_total=40.0, timezone=ZONE)
    for number in range(3):
        write_day(dataset, day(number), seed=number)
    for number in range(3):
        dataset.run_day(day(number))
    return Path(shutil.copytree(dataset.folder / "store" / "published", tmp_path / "elsewhere"))
