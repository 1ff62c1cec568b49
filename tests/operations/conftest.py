"""One deployed dataset for all tests here, started and stopped by the command line."""

import datetime as dt
from collections.abc import Iterator

import pytest
from configurations import with_settings
from deployed import FIRST, N_DAYS, ZONE, Deployed, day_rows, free_ports
from support import CLIP_USER, WITH_MAP, Dataset


@pytest.fixture(scope="session")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    folder = tmp_path_factory.mktemp("deployed")
    settings = WITH_MAP.replace('timezone = "UTC"', f'timezone = "{ZONE}"').replace("raw/*", "raw/day_{date}.csv")
    (folder / "dataset.toml").write_text(with_settings(settings, **CLIP_USER, epsilon_total=100.0))
    dataset = Dataset(folder)
    for day in range(N_DAYS):
        dataset.write(f"day_{FIRST + dt.timedelta(days=day)}.csv", day_rows(FIRST + dt.timedelta(days=day)))
    made = Deployed(dataset, tmp_path_factory.mktemp("home"), free_ports())
    made.up()
    yield made
    made.down()
