"""Places and times in all their forms: from file to map by `hexveil init` and `hexveil run`, with no script."""

import shutil
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from forms import FEEDS, Feed, cells_in_parquet, cells_of, e7, texts_of_points
from support import DATE, Dataset, slow
from typer.testing import CliRunner

from flows.cli import app
from tasks.records.judge.count_outcomes import prepared_rows

TABLES = ("user_cell", "quarantine", "prepared_count")


EACH_WAY = (cells_in_parquet, texts_of_points, e7)
"""A feed in Parquet, in CSV and in JSON; of cells, of points and of numbers in two columns."""


def named(feed: Feed) -> str:
    return feed.write.__name__


@pytest.fixture(params=FEEDS, ids=named)
def feed(request: pytest.FixtureRequest) -> Feed:
    return request.param


def said(*command: object) -> str:
    done = CliRunner().invoke(app, [str(one) for one in command])
    assert done.exit_code == 0, (done.output, done.exception)
    return done.output


def begun(feed: Feed, folder: Path) -> Dataset:
    (folder / "raw").mkdir()
    files = feed.write(folder / "raw")
    said("init", *files, "--to", folder / "dataset.toml", "--yes", "--unit", "km/h", *feed.options)
    dataset = Dataset(folder)
    dataset.set(map=False)
    return dataset


def held(dataset: Dataset) -> dict[str, list[str]]:
    return {name: sorted(map(str, dataset.query(f"from {name}"))) for name in TABLES}


@pytest.mark.quick(1)
def test_a_feed_is_published_by_init_and_run(feed: Feed, tmp_path: Path) -> None:
    dataset = begun(feed, tmp_path)
    config = dataset.config
    said("run", "--config", dataset.config_file, "--date", DATE)
    (published,) = (tmp_path / config.storage.path / "published").glob("date=*/statistics.parquet")
    table = pl.read_parquet(published, hive_partitioning=False)
    hours = table["slot_start"].dt.convert_time_zone(config.timezone).dt.hour()
    found = dict(zip(zip(table["h3_cell"], hours, strict=True), table["n_records"], strict=True))
    assert Counter(found) == cells_of(feed.pings(), config.grid.h3_resolution, feed.cells)
    rows = prepared_rows(DATE, config)
    assert {reason: n for reason, n in rows.items() if reason != "kept"} == feed.reasons


@pytest.mark.quick(1)
@pytest.mark.parametrize("feed", [one if one.write in EACH_WAY else slow(one) for one in FEEDS], ids=named)
def test_shards_count_the_same(feed: Feed, tmp_path: Path) -> None:
    dataset = begun(feed, tmp_path)
    dataset.prepare()
    alone = held(dataset)
    shutil.rmtree(dataset.config.storage_path)
    dataset.config_file.write_text(dataset.config_file.read_text() + '\n[engine]\nname = "dask"\nn_shards = 3\n')
    dataset.prepare()
    assert held(dataset) == alone
    assert len(alone["user_cell"]) > 30


@pytest.mark.slow
def test_cells_are_explored_and_planned_no_finer_than_they_are(tmp_path: Path) -> None:
    feed = next(one for one in FEEDS if one.cells == 6)
    dataset = begun(feed, tmp_path)
    where = ("--config", dataset.config_file, "--date", DATE)
    explored = said("explore", *where, "--slot", "60")
    assert "h3_resolution" not in said("plan", *where)
    assert dataset.config.grid.h3_resolution == 6
    resolutions = {line.split()[0] for line in explored.splitlines() if line.strip()[:1].isdigit()}
    assert resolutions == {"6"}
    refused = CliRunner().invoke(app, ["explore", *map(str, where), "--resolution", "8"])
    assert "cells of resolution 6 as places, which cannot be divided" in str(refused.exception)
