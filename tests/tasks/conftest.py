"""Fixtures that several modules here share."""

import pytest
from screened import MODES, screen
from support import Dataset


@pytest.fixture(params=MODES, ids="-".join)
def screened(dataset: Dataset, request: pytest.FixtureRequest) -> Dataset:
    """Return a screened dataset, in each definition and mechanism."""
    return screen(dataset, *request.param)


@pytest.fixture
def one(dataset: Dataset) -> Dataset:
    """Return one screened dataset."""
    return screen(dataset, "zcdp", "estimated")
