"""The whole map on real days and made ones: released for real, several times, and compared with simpler guesses."""

import datetime as dt
import glob
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h3
import numpy as np
import polars as pl

from tasks.account import private_files
from tasks.account.identity import find_entry
from tasks.account.ledger import read_entries
from tasks.base import warehouse
from tasks.base.config import Config, load_config
from tasks.base.errors import NothingToPublish
from tasks.base.storage import TABLE
from tasks.engines.prepare import by_itself, prepare_day
from tasks.occupancy.user_cells import build_occupancy
from tasks.planning.plan import plan_release
from tasks.records.synthetic import write_city
from tasks.release.draw import release_statistics
from tasks.upkeep.evaluate import evaluate_day
from tests.bench.guesses import FloatArray, TrueDay, best_constant, noisy_means, precise_constant, shrunk, true_day
from tests.bench.measure import ALONE, HEXVEIL

EPSILONS = (0.39, 1, 2, 5)
SCREENED_FROM = 5
"""The epsilon from which maps are also made with the screening asked that ``init`` writes: below, few cities have users
enough for it."""
N_DRAWS = 3
REAL = Path(__file__).parents[3] / "shared" / "data" / "capmetro"
STORES = Path("var/bench/maps")
GROUPS = {"by_published_mean": "published mean", "by_records": "records", "by_hour_utc": "hour"}

_NAME = "city.toml"
_CONFIGS = Path(__file__).parents[2] / "deploy" / "config"
_PLANNED = {"mechanism": "planned", "target_error": 10, "definition": "pure", "delta": None}
"""In pure epsilon it carries more cells of a single day than in zCDP at the same epsilon."""
_PAIRS = """
select slot_start, h3_cell, user_id, n_records, n_missing, total_ticks::bigint as total_ticks
from user_cell
where local_date = $date
"""

_NOTHING = {"slot_start": pl.Datetime("us", "UTC"), "h3_cell": pl.String, "mean": pl.Float64}

Row = dict[str, Any]


@dataclass(frozen=True)
class City:
    """Days in a row, the first of which knows of none before it.

    Attributes:
        name: What the tables call them.
        config: File of the configuration, in ``deploy/config``.
        files: Where their records are.
        dates: The days, in order.
    """

    name: str
    config: str
    files: str
    dates: tuple[dt.date, ...]

    @property
    def is_here(self) -> bool:
        """Whether its records are present: those of Austin are no part of the project."""
        return self.config != "austin.toml" or REAL.is_dir()


def days_from(first: dt.date, n_days: int) -> tuple[dt.date, ...]:
    """Return days in a row."""
    return tuple(first + dt.timedelta(days=number) for number in range(n_days))


_BUSES = f"{REAL}/*.csv.gz"
_MADE = STORES / "raw" / "city_{date}.csv.gz"
CITIES = (
    City("Austin, four days", "austin.toml", _BUSES, days_from(dt.date(2016, 11, 24), 4)),
    City("Austin, one day", "austin.toml", _BUSES, days_from(dt.date(2015, 9, 6), 1)),
    City("demo city", "demo.toml", str(_MADE.resolve()), days_from(dt.date(2026, 3, 2), 4)),
)


def measure_maps(city: City, epsilons: Sequence[float], n_draws: int) -> tuple[list[Row], list[Row]]:
    """Release the days of a city several times at several privacy losses, and compare.

    Args:
        city: The city, whose records must be here.
        epsilons: Of a day.
        n_draws: How often its days are released, from the first one anew.

    Returns:
        One row for each epsilon, draw, day and guess: its skill and mean absolute error over all records, cells
        published and the error over these. And one row for each group of an estimate's cells: its error, bias and
        coverage.
    """
    rows: list[Row] = []
    groups: list[Row] = []
    shutil.rmtree(STORES, ignore_errors=True)
    prepared = _prepared(city)
    for epsilon in epsilons:
        theirs = _ready(prepared, city, epsilon)
        for draw in range(n_draws):
            setting = {"city": city.name, "epsilon": epsilon, "draw": draw}
            found, found_groups = _compared(city, epsilon, theirs)
            rows += [setting | row for row in found]
            groups += [setting | row for row in found_groups]
    shutil.rmtree(STORES)
    return rows, groups


def config_of(city: City, store: Path, epsilon: float, privacy: Row) -> Config:
    """Return a city's deployed configuration with other privacy settings and another place to keep things.

    Args:
        city: The city.
        store: The folder of the warehouse and the ledger.
        epsilon: Of a day.
        privacy: Further settings of its section.
    """
    path = _CONFIGS / city.config
    whole = load_config(path).model_dump(mode="json", exclude={"engine"})
    whole["privacy"] |= {"epsilon_per_day": epsilon, **privacy}
    whole["budget"]["epsilon_total"] = 1000
    whole["storage"]["path"] = str(store.resolve())
    whole["dataset"]["files"] = [city.files]
    return Config.model_validate(whole | {"folder": str(path.parent)}, strict=False)


def _prepared(city: City) -> Config:
    """Read a city's days into a warehouse, once."""
    config = config_of(city, STORES / "prepared", 1, {})
    if city.config == "demo.toml":
        _MADE.parent.mkdir(parents=True)
        write_city(_MADE.parent, list(city.dates))
    for date in city.dates:
        prepare_day(date, config, by_itself)
    return config


def _ready(prepared: Config, city: City, epsilon: float) -> Config:
    """Copy a prepared warehouse to where the planner has its own, with the occupancy made for it."""
    config = config_of(city, STORES / "planned", epsilon, _PLANNED)
    _replace(config.storage_path, prepared.storage_path)
    with warehouse.kept_open(config):
        for date in city.dates:
            build_occupancy.fn(date, config)
    _replace(_untouched(config), config.storage_path)
    return config


def _untouched(config: Config) -> Path:
    return config.storage_path.with_name(f"{config.storage_path.name}-untouched")


def _replace(folder: Path, by: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(by, folder)


def _compared(city: City, epsilon: float, theirs: Config) -> tuple[list[Row], list[Row]]:
    """Release days once by the estimate and once by the planner, from nothing, and compare them with other guesses."""
    rows: list[Row] = []
    groups: list[Row] = []
    before: pl.DataFrame | None = None
    mine = _as_installed(city, epsilon, screened=False)
    screened = _as_installed(city, epsilon, screened=True) if epsilon >= SCREENED_FROM else None
    _replace(theirs.storage_path, _untouched(theirs))
    for date in city.dates:
        published, day = _published(date, mine), _true_day(date, mine)
        guesses = {"estimated": published, "planned": _released(date, theirs)}
        if screened is not None:
            guesses["estimated, screened"] = _published(date, screened)
        if before is not None:
            guesses["yesterday's release"] = before
        means = {name: _means(day, guess) for name, guess in guesses.items()} | _others(day, mine)
        rows += [{"date": date, "guess": name, **_errors(day, guess)} for name, guess in means.items()]
        evaluation, _ = evaluate_day(date, None, mine)
        for key, name in GROUPS.items():
            groups += [{"date": date, "by": name, **group} for group in evaluation[key]]
        before = published.with_columns(pl.col("slot_start").dt.offset_by("1d"))
    return rows, groups


def _as_installed(city: City, epsilon: float, *, screened: bool) -> Config:
    folder = STORES / ("screened" if screened else "estimated")
    files = sorted(glob.glob(city.files.format(date="*")))
    zone = load_config(_CONFIGS / city.config).timezone
    text = proposed(folder, files, ["--timezone", zone, "--epsilon", str(epsilon)])
    return as_installed(folder, text, {"screen = true": f"screen = {str(screened).lower()}"}, city.dates)


def proposed(folder: Path, files: Sequence[str], options: Sequence[str]) -> str:
    """Return the configuration that ``init`` writes.

    Args:
        folder: Where it is to stand; emptied before.
        files: Of the feed.
        options: Of ``init``, beside that it asks nothing.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    _say(["init", *files, "--yes", "--to", str(folder / _NAME), "--total", "1000", *options])
    return (folder / _NAME).read_text("utf-8")


def as_installed(folder: Path, text: str, changes: dict[str, str], dates: Sequence[dt.date]) -> Config:
    """Publish days from nothing by the command line.

    Args:
        folder: For the configuration and all else; emptied before.
        text: The configuration.
        changes: Texts of it, and what stands in their place.
        dates: The days, in order.

    Returns:
        The configuration.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for old, new in changes.items():
        text = text.replace(old, new)
    (folder / _NAME).write_text(text, "utf-8")
    _say(["backfill", "--config", str(folder / _NAME), "--from", str(dates[0]), "--to", str(dates[-1])])
    return load_config(folder / _NAME)


def _say(command: list[str]) -> None:
    subprocess.run([HEXVEIL, *command], env=ALONE, check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)


def _published(date: dt.date, config: Config) -> pl.DataFrame:
    entry = find_entry(date, None, read_entries(config), config)
    if entry is None:
        raise ValueError(f"{date} was not released")
    return private_files.read_frame(private_files.releases(config), entry.files[TABLE])


def _released(date: dt.date, config: Config) -> pl.DataFrame:
    """Plan and release a day as the daily flow does, and return the published table; empty if it is withheld."""
    with warehouse.kept_open(config):
        try:
            release_statistics.fn(date, plan_release.fn(date, config), config)
        except NothingToPublish:
            return pl.DataFrame(schema=_NOTHING)
    return _published(date, config)


def _true_day(date: dt.date, config: Config) -> TrueDay:
    with warehouse.connect(config) as connection:
        pairs = connection.sql(_PAIRS, params={"date": date}).pl()
    return true_day(pairs.with_columns(pl.col("slot_start").dt.convert_time_zone("UTC")), config)


def _means(day: TrueDay, published: pl.DataFrame) -> FloatArray:
    """Return the published mean of each cell of a day, not a number where none is published."""
    names = pl.Series("h3_cell", [h3.int_to_str(cell) for cell in day.cells["h3_cell"]], dtype=pl.String)
    cells = day.cells.select("slot_start", names)
    found = cells.join(published, on=["slot_start", "h3_cell"], how="left", maintain_order="left")
    return found["mean"].cast(pl.Float64).fill_null(float("nan")).to_numpy()


def _others(day: TrueDay, config: Config) -> dict[str, FloatArray]:
    noisy = noisy_means(day, config)
    return {
        "best constant": best_constant(day),
        "precision-weighted constant": precise_constant(noisy),
        "James-Stein": shrunk(noisy, config),
    }


def _errors(day: TrueDay, guess: FloatArray) -> Row:
    """Return skill and errors of a guess. A cell without one counts as the mean of those that have one."""
    has = np.isfinite(guess)
    whole = np.where(has, guess, np.average(guess[has], weights=day.records[has]) if has.any() else day.middle)
    error, of_constant = whole - day.mean, best_constant(day) - day.mean
    squared = (np.average(each**2, weights=day.records) for each in (error, of_constant))
    return {
        "skill": 1 - float(next(squared) / next(squared)),
        "error": float(np.average(np.abs(error), weights=day.records)),
        "cells": int(has.sum()),
        "covered_records": float(day.records[has].sum() / day.records.sum()),
        "covered_error": float(np.average(np.abs(error[has]), weights=day.records[has])) if has.any() else None,
    }
