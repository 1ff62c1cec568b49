"""The estimate of a large city by itself: seconds and memory of a first and a second day, in a process of its own."""

import argparse
import datetime as dt
import json
import sys
import time
from pathlib import Path
from typing import Any

import h3
import numpy as np
import polars as pl

from dpmath.core.occupancy import IntArray, Occupancy
from dpmath.estimate.asking import ask
from dpmath.estimate.programme import programme
from dpmath.estimate.questions import PrivateDay
from dpmath.estimate.state import State
from tasks.base.config import Config, load_config
from tasks.base.randomness import random_bytes
from tasks.kinds.estimated.asked_day import Known, asked_of
from tasks.kinds.estimated.public_day import public_day
from tasks.records.synthetic import CENTRE
from tests.bench.memory import forget_peak, measured, peak_mib

ONE_CORE = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}
SIZES_OF_CITIES = ((80, 8), (250, 14), (1_430, 14))
"""Hexagons, and hours in which each is visited. The second has about as many states as a city of buses."""

_CONFIG = Path(__file__).parents[2] / "deploy" / "config" / "demo.toml"
_FIRST = dt.date(2026, 3, 2)
_N_USERS = 1_500
_USERS_OF_A_CELL = 8
_RULER = 3_000
_SEED = 20260302

Row = dict[str, Any]


def measure_scale(sizes: tuple[tuple[int, int], ...]) -> list[Row]:
    """Measure two days of cities of some sizes, each in a process of its own, on one core.

    Args:
        sizes: Hexagons and hours of each.

    Returns:
        One row for each size and day: cells, users, states, seconds, CPU seconds, peak memory in MiB, and the CPU
        seconds in the same process of a ruler, the Cholesky root of a matrix of 3,000 rows.
    """
    rows = []
    for n_hexagons, n_hours in sizes:
        command = [sys.executable, "-m", "tests.bench.scale", str(n_hexagons), str(n_hours)]
        rows += json.loads(measured(command, ONE_CORE).output)
    return rows


def estimate_days(n_hexagons: int, n_hours: int) -> list[Row]:
    """Estimate a first and a second day of a made city, and return what each took.

    Args:
        n_hexagons: Hexagons that are visited.
        n_hours: Hours in which each is visited.
    """
    config, rng = load_config(_CONFIG), np.random.default_rng(_SEED)
    cells = _cells(n_hexagons, n_hours)
    state: State | None = None
    rows = []
    for number in range(2):
        occupancy = _occupancy(cells.height, n_hours, rng)
        totals = _totals(occupancy, rng)
        forget_peak()
        began, began_cpu = time.perf_counter(), time.process_time()
        state = _estimated(number, cells, occupancy, totals, state, config)
        took: Row = {"seconds": time.perf_counter() - began, "cpu_seconds": time.process_time() - began_cpu}
        size = {"n_hexagons": n_hexagons, "n_cells": cells.height, "n_users": _N_USERS, "n_states": state.mean.size}
        took |= {"peak_mib": peak_mib(), "ruler_cpu_seconds": _ruler_seconds()}
        rows.append({"day": number + 1, **size, "n_pairs": occupancy.cell.size, **took})
    return rows


def _estimated(
    number: int,
    cells: pl.DataFrame,
    occupancy: Occupancy,
    totals: IntArray,
    state: State | None,
    config: Config,
) -> State:
    """Return the state after a day."""
    day = public_day(_FIRST + dt.timedelta(days=number), cells, occupancy, config)
    limit = config.privacy.currency.within(config.privacy.epsilon_per_day)
    asked = asked_of(day, [limit] * occupancy.n_users, Known(state, None, number, 1), config)
    private = PrivateDay(occupancy, totals, np.zeros(occupancy.cell.size, dtype=np.int64))
    estimate, _ = ask(programme(state, asked), private, random_bytes)
    return estimate.state


def _cells(n_hexagons: int, n_hours: int) -> pl.DataFrame:
    """Return the cells of a round city in the middle of the day, by slot and hexagon."""
    centre = h3.latlng_to_cell(*CENTRE, 7)
    rings = next(number for number in range(100) if 3 * number * (number + 1) + 1 >= n_hexagons)
    names = sorted(h3.str_to_int(cell) for cell in h3.grid_disk(centre, rings)[:n_hexagons])
    noon = dt.datetime.combine(_FIRST, dt.time(12), dt.UTC)
    starts = [noon + dt.timedelta(hours=hour - n_hours // 2) for hour in range(n_hours)]
    hours = pl.DataFrame({"slot_start": pl.Series(starts, dtype=pl.Datetime("us", "UTC"))})
    return hours.join(pl.DataFrame({"h3_cell": pl.Series(names, dtype=pl.UInt64)}), how="cross")


def _occupancy(n_cells: int, n_hours: int, rng: np.random.Generator) -> Occupancy:
    """Return an occupancy in which each cell has some eight users, who are in neighbouring cells each hour."""
    n_hexagons = n_cells // n_hours
    home = rng.integers(0, n_hexagons, _N_USERS)
    visits = n_cells * _USERS_OF_A_CELL // (_N_USERS * n_hours)
    way = rng.normal(0, 3 * visits + 2, (_N_USERS, n_hours, max(visits, 1))).astype(np.int64)
    hexagon = (home[:, None, None] + way) % n_hexagons
    cell = np.arange(n_hours)[None, :, None] * n_hexagons + hexagon
    user = np.broadcast_to(np.arange(_N_USERS)[:, None, None], cell.shape)
    own = np.arange(n_cells) * _N_USERS + rng.integers(0, _N_USERS, n_cells)  # so that no cell is empty
    pairs = np.union1d(cell.ravel() * _N_USERS + user.ravel(), own)
    cells, users = (each.astype(np.int64) for each in (pairs // _N_USERS, pairs % _N_USERS))
    return Occupancy(cells, users, rng.geometric(0.2, pairs.size).astype(np.int64), n_cells, _N_USERS)


def _totals(occupancy: Occupancy, rng: np.random.Generator) -> IntArray:
    """Return totals of speeds from 0 to 80 km/h, in ticks of 0.01, that differ between cells and between users."""
    of_cell, of_user = rng.normal(2_500, 900, occupancy.n_cells), rng.normal(0, 400, occupancy.n_users)
    mean = of_cell[occupancy.cell] + of_user[occupancy.user] + rng.normal(0, 600, occupancy.cell.size)
    return np.rint(mean.clip(0, 8_000) * occupancy.n_records).astype(np.int64)


def _ruler_seconds() -> float:
    matrix = np.eye(_RULER) * _RULER + 1.0
    began = time.process_time()
    np.linalg.cholesky(matrix)
    return time.process_time() - began


def main() -> None:
    """Estimate the days of one size and print what they took as JSON."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.scale", description=__doc__)
    parser.add_argument("hexagons", type=int)
    parser.add_argument("hours", type=int)
    given = parser.parse_args()
    sys.stdout.write(json.dumps(estimate_days(given.hexagons, given.hours)))
    sys.stdout.flush()


if __name__ == "__main__":
    main()
