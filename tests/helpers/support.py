"""Helpers of the tests: a dataset in a folder, and occupancies from tables of counts."""

import datetime as dt
import os
import random
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest
from _pytest.mark import ParameterSet
from configurations import with_settings
from templates import TEMPLATES

from dpmath.core.currency import LAPLACE
from dpmath.core.occupancy import Occupancy
from dpmath.noise.sampling import NOISES
from tasks.account.releases import find_release, released_days
from tasks.base import warehouse
from tasks.base.config import Config, load_config
from tasks.base.randomness import random_bytes
from tasks.base.steps import step
from tasks.engines.late import count_late_records
from tasks.engines.prepare import by_itself, prepare_day, while_open
from tasks.occupancy.placing import define_places
from tasks.planning.plan import plan_release
from tasks.planning.range_plans import RangePlans, Shortage, finish_plans, plan_ahead, planning_range
from tasks.proposals.mechanisms import MECHANISMS
from tasks.release.draw import release_statistics
from tasks.release.formats import FORMATS
from tasks.release.publish import publish_files

Say = Callable[[str], None]
"""Adds a line to what stands under the tests at the end: counts that a reader should see."""

Noise = Callable[[np.ndarray], np.ndarray]
"""Returns one noise per element of an array of inverse scales."""

Hexveil = Callable[..., subprocess.CompletedProcess[str]]
"""Runs the command line with arguments, in another process."""

T = TypeVar("T")

REAL_DATA = Path(__file__).parents[3] / "shared" / "data" / "capmetro"
SCREENSHOTS = Path(__file__).parents[2] / "var" / "screenshots"
DATE = dt.date(2026, 1, 15)
FURTHER = ("joint.parquet", "manifest.json", "measurements.parquet", "typical.parquet")
PUBLISHED = tuple(sorted([*FURTHER, *(one.name for one in FORMATS)]))
"""The files of a day by the default mechanism."""
HEADER = "bus,time,lat,lon,speed\n"
CONFIG = """
[dataset]
name = "test"
files = ["raw/*"]
timezone = "UTC"
[columns]
user = "bus"
time = "time"
latitude = "lat"
longitude = "lon"
value = "speed"
[value]
name = "speed"
unit = "km/h"
lower = 0.0
upper = 100.0
tick = 0.01
[grid]
h3_resolution = 7
slot_minutes = 60
[privacy]
epsilon_per_day = 2.0
[budget]
epsilon_total = 5.0
[publish]
map = false
[storage]
path = "store"
"""

WITH_MAP = CONFIG.replace("map = false", "map = true")


CLIP_USER = {"mechanism": "clip-user", "target_error": 40.0, "definition": "pure"}
"""Settings of a mechanism that promises an error and withholds cells, in losses that can be added up by hand."""


def by_the_planner(configuration: str) -> str:
    """Return the text of a deployed configuration with the planner in place of the estimate."""
    assert 'mechanism = "estimated"' in configuration
    planned = configuration.replace('mechanism = "estimated"', 'mechanism = "planned"\ntarget_error = 10.0')
    return planned.replace('definition = "zcdp"', 'definition = "pure"')


ENGINES = ("", '[engine]\nname = "dask"\nn_shards = 3\n')
"""The engine's section: the local one, and shards, which outside a flow are worked on in the same process."""


def slow(*values: object) -> ParameterSet:
    """Return a value of a parameter, or values of several, that only `make test-slow` tries."""
    return pytest.param(*values, marks=pytest.mark.slow)


def examples(few: int, many: int) -> pytest.MarkDecorator:
    """Have a test with ``n_examples`` try a few of them in `make test`, and many in `make test-slow`."""
    return pytest.mark.parametrize("n_examples", [few, slow(many)])


@dataclass(frozen=True)
class Campaign:
    """Trials of a long test, of which one run may do a share, drawn anew: many runs do nearly all.

    Attributes:
        share: What `pytest --campaign` says; 1 is all.
    """

    share: float

    def size(self, n: int) -> int:
        """Return how many of `n` trials are done."""
        return max(1, round(self.share * n))

    def of(self, trials: Sequence[T]) -> list[T]:
        """Return the trials that are done, in their order."""
        return [trials[number] for number in sorted(random.sample(range(len(trials)), self.size(len(trials))))]


@dataclass(frozen=True)
class Dataset:
    """A dataset in a temporary folder, with its steps run in this process without a scheduler."""

    folder: Path

    @property
    def config_file(self) -> Path:
        return self.folder / "dataset.toml"

    @property
    def config(self) -> Config:
        return load_config(self.config_file)

    def set(self, **settings: Any) -> None:
        """Change settings: ``set(epsilon_per_day=40.0, target_error=None)``, as ``with_settings`` says."""
        self.config_file.write_text(with_settings(self.config_file.read_text(), **settings))

    def edit(self, old: str, new: str) -> None:
        """Replace text of the configuration file, which must be there: for what is about the text itself."""
        text = self.config_file.read_text()
        assert old in text
        self.config_file.write_text(text.replace(old, new))

    def write(self, name: str, content: str | bytes) -> Path:
        path = self.folder / "raw" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def with_map(self) -> None:
        """Draw the map too, which takes longer than all else of so small a day."""
        self.set(map=True)

    def prepare(self, date: dt.date = DATE) -> None:
        prepare_day(date, self.config, by_itself)

    def release(self, date: dt.date = DATE, noise: Noise | None = None) -> str:
        """Prepare, plan, release and publish a day; return the release's id. An equal day is copied."""
        if noise is None:
            return TEMPLATES.of(self.folder, ("release", date), partial(self._release, date, None))
        return self._release(date, noise)

    def _release(self, date: dt.date, noise: Noise | None) -> str:
        with while_open(self.config):  # saves two thirds of the times that it is opened, a sixth of a day's seconds
            self.prepare(date)
            plan_hash = plan_release.fn(date, self.config)
            with with_noise(noise) if noise else nullcontext():
                identity = release_statistics.fn(date, plan_hash, self.config)
        publish_files.fn(identity, self.config)
        return identity

    def run_day(self, date: dt.date = DATE, revision: str | None = None) -> str:
        """Do what the daily flow does, below the scheduler; return the release's id. An equal day is copied."""
        return TEMPLATES.of(self.folder, ("run", date, revision), partial(self._run_day, date, revision))

    def _run_day(self, date: dt.date, revision: str | None) -> str:
        identity = find_release.fn(date, self.config, revision)
        with while_open(self.config):
            if identity is None:
                self.prepare(date)
                plan_hash = plan_release.fn(date, self.config)
                identity = release_statistics.fn(date, plan_hash, self.config, revision)
            publish_files.fn(identity, self.config)
            count_late_records.fn(date, self.config)
        return identity

    def plan_range(self, dates: list[dt.date], shortage: Shortage = "refuse") -> RangePlans:
        """Prepare and plan days as the backfill does, below the scheduler."""
        with planning_range(dates, shortage, self.config) as plans:
            for date in dates:
                self.prepare(date)
                plan_ahead.fn(date, self.config)
            finish_plans.fn(self.config)
        return plans

    def run_range(self, dates: list[dt.date]) -> None:
        """Do what the backfill does, below the scheduler."""
        released = released_days.fn(dates[0], dates[-1], self.config).released
        planned = self.plan_range([date for date in dates if date not in released]).plans
        for date in dates:
            identity = released.get(date) or release_statistics.fn(date, planned[date], self.config)
            publish_files.fn(identity, self.config)
            count_late_records.fn(date, self.config)

    def once(self, what: str, make: Callable[[], str]) -> str:
        """Do what ``make`` does to this dataset, or copy what it did to an equal one; return its result."""
        return TEMPLATES.of(self.folder, (what,), make)

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        with warehouse.connect(self.config) as connection:
            define_places(connection)
            return connection.execute(sql).fetchall()

    def published(self, name: str, date: dt.date = DATE) -> Path:
        return self.folder / "store" / "published" / f"date={date}" / name


OF_SUMS = tuple(name for name, row in MECHANISMS.items() if row.kind != "estimated")
"""The mechanisms that publish a noisy sum of each cell."""

IN_BRIEF = ("planned", "array-averaging", "quantile")
OF_SUMS_IN_BRIEF = [name if name in IN_BRIEF else slow(name) for name in OF_SUMS]
"""Where what a mechanism does is tried elsewhere: one of each way to clip in `make test`, all in `make test-slow`."""


def choose(dataset: Dataset, mechanism: str, epsilon: str = "40.0", cell_epsilon: str = "8.0") -> None:
    """Have a dataset released by a mechanism, with what that needs."""
    dataset.set(mechanism=mechanism, epsilon_per_day=float(epsilon), epsilon_total=float(epsilon))
    dataset.set(target_error=40.0 if MECHANISMS[mechanism].promises else None)
    if MECHANISMS[mechanism].needs:
        dataset.set(cell_epsilon=float(cell_epsilon))


@step("die")
def die() -> None:
    """End the process that this is run by, whichever it is."""
    os.kill(os.getpid(), signal.SIGKILL)


def occupancy_of(table: list[list[int]]) -> Occupancy:
    """Return the occupancy with ``table[cell][user]`` records; every cell must have some."""
    counts = np.array(table, dtype=np.int64)
    cell, user = np.nonzero(counts)
    return Occupancy(cell, user, counts[cell, user], *counts.shape)


def random_occupancy(rng: np.random.Generator, n_cells: int, n_users: int, most: int = 9) -> Occupancy:
    """Return an occupancy in which about half of the pairs have records and every cell has some."""
    counts = rng.integers(1, most + 1, (n_cells, n_users)) * (rng.random((n_cells, n_users)) < 0.5)
    counts[np.arange(n_cells), rng.integers(0, n_users, n_cells)] += 1
    return occupancy_of(counts.tolist())


def silence(inverse_scale: np.ndarray) -> np.ndarray:
    return np.zeros(inverse_scale.size, dtype=object)


@contextmanager
def with_noise(noise: Noise) -> Iterator[None]:
    """Have the noisy sums of cells get some other noise."""
    with patch.dict(NOISES, dict.fromkeys(NOISES, lambda inverse_scale, _: noise(inverse_scale))):
        yield


def drawn_noise(inverse_scale: np.ndarray, noise: str = LAPLACE) -> np.ndarray:
    """Return the noise of a release, as it is drawn."""
    return NOISES[noise](inverse_scale, random_bytes).astype(object)


def table(dataset: Dataset, date: dt.date = DATE) -> pl.DataFrame:
    return pl.read_parquet(dataset.published("statistics.parquet", date), hive_partitioning=False)


def all_files(dataset: Dataset) -> dict[str, bytes]:
    """Return the published files of all releases, without the page over all days."""
    folder = dataset.folder / "store" / "published"
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.glob("date=*/**/*") if path.is_file()}


def later_day(dataset: Dataset, n: int) -> dt.date:
    """Write the busy day's records again, n days later, and return that day."""
    date = DATE + dt.timedelta(days=n)
    text = (dataset.folder / "raw" / "day.csv").read_text().replace(str(DATE), str(date))
    dataset.write(f"day{n}.csv", text)
    return date
