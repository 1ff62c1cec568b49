"""The one data set on which the peers and hexveil are compared: few users, few cells, heavy tails."""

import datetime as dt
from pathlib import Path

import h3
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

N_USERS = 500
N_CELLS = 200
N_RECORDS = 1_000_000
UPPER = 65.0
DATE = dt.date(2026, 3, 2)

_SEED = 20260302
_HOURS = 8
_CENTRE = h3.latlng_to_cell(47.05, 8.31, 7)
_CONFIG = """\
[dataset]
name = "peers"
files = ["data.parquet"]
timezone = "UTC"
[columns]
user = "user_id"
time = "time"
latitude = "lat"
longitude = "lon"
value = "value"
[value]
name = "speed"
unit = "km/h"
lower = 0.0
upper = 65.0
tick = 0.01
[grid]
h3_resolution = 7
slot_minutes = 60
[privacy]
epsilon_per_day = {epsilon}
{settings}
[budget]
epsilon_total = 1000.0
[publish]
map = false
[storage]
path = "{store}"
"""


def write_data(path: Path) -> dict[int, float]:
    """Write the records and return the true mean of each cell.

    The median of a user and cell is about 29 records and the largest some thousands. ``cell`` is what the peers group
    by; time and place say the same to hexveil.
    """
    rng = np.random.default_rng(_SEED)
    popularity = 1 / np.arange(1, N_CELLS + 1) ** 0.6
    n_visited = np.clip(rng.geometric(1 / 21, N_USERS), 1, 150)
    pairs = [
        (user, cell)
        for user, n in enumerate(n_visited)
        for cell in rng.choice(N_CELLS, n, replace=False, p=popularity / popularity.sum())
    ]
    pair_user, pair_cell = np.array(pairs).T
    weight = rng.lognormal(np.log(29), 1.55, len(pairs))
    n_records = np.maximum(1, np.rint(weight * N_RECORDS / weight.sum())).astype(np.int64)
    pair = rng.permutation(np.repeat(np.arange(len(pairs)), n_records))
    cell_speed, user_speed = rng.uniform(5, 50, N_CELLS), rng.normal(0, 5, N_USERS)
    cell, user = pair_cell[pair], pair_user[pair]
    value = np.round((cell_speed[cell] + user_speed[user] + rng.normal(0, 8, pair.size)).clip(0, UPPER), 1)
    _write(path, user, cell, value, rng)
    means = np.bincount(cell, value, minlength=N_CELLS) / np.bincount(cell, minlength=N_CELLS)
    return dict(enumerate(means.tolist()))


def write_config(folder: Path, name: str, epsilon: float, settings: str) -> Path:
    """Write a configuration of hexveil for the data, with a storage of its own, and return its path.

    Args:
        folder: Where to.
        name: Of the file and of the storage.
        epsilon: Of the day.
        settings: Further lines of the section [privacy], and sections after it.
    """
    path = folder / f"{name}.toml"
    path.write_text(_CONFIG.format(epsilon=epsilon, settings=settings, store=name))
    return path


def cell_number(hexagon: str, hour: int) -> int:
    """Return which cell of the peers a published hexagon and hour are."""
    return _hexagons().index(hexagon) * _HOURS + hour


def _hexagons() -> list[str]:
    return sorted(h3.grid_disk(_CENTRE, 3))[: N_CELLS // _HOURS]


def _write(path: Path, user: np.ndarray, cell: np.ndarray, value: np.ndarray, rng: np.random.Generator) -> None:
    centres = np.array([h3.cell_to_latlng(one) for one in _hexagons()])
    midnight = dt.datetime.combine(DATE, dt.time(), dt.UTC).timestamp()
    second = rng.permutation(cell.size) * (3600 / cell.size)
    time = midnight + cell % _HOURS * 3600 + second
    table = pa.table(
        {
            "user_id": user,
            "cell": cell,
            "value": value,
            "time": pa.array((time * 1e6).astype(np.int64), pa.timestamp("us", "UTC")),
            "lat": centres[cell // _HOURS, 0],
            "lon": centres[cell // _HOURS, 1],
        }
    )
    pq.write_table(table, path)
