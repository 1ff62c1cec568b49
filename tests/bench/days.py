"""Days of any size: vehicles on their routes through a city, a few driving most of it, written as Parquet or CSV.

The numbers of records, vehicles and cells are set apart from one another, so that growth in each can be measured.
"""

import argparse
import datetime as dt
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tasks.records.synthetic import TIMEZONE, located

FIRST = dt.date(2026, 3, 2)

_CHUNK = 1_000_000
_ROW_GROUP = 250_000
_SERVICE_HOURS = (5, 24)
_SEED = 20260302
_SCHEMA = pa.schema(
    {
        "bus": pa.dictionary(pa.int32(), pa.string()),
        "time": pa.timestamp("ms", "UTC"),
        "lat": pa.float64(),
        "lon": pa.float64(),
        "speed": pa.float64(),
    }
)
_CONFIG = """\
[dataset]
name = "bench"
files = ["raw/day_{{date}}.{kind}"]
timezone = "{timezone}"
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
h3_resolution = {resolution}
slot_minutes = {slot_minutes}
[validation]
south = 46.0
north = 48.0
west = 7.0
east = 10.0
[privacy]
definition = "pure"
epsilon_per_day = 2.0
mechanism = "planned"
target_error = 10.0
[budget]
epsilon_total = 100.0
[storage]
path = "store"
memory_limit = "{memory_limit}"
"""

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Size:
    """How large a day is.

    Attributes:
        n_records: Rows of a day's file.
        n_users: Vehicles. How many records each has is heavy-tailed.
        radius_km: Spread of the routes' ends about the centre; the number of cells grows with its square.
        h3_resolution: Of the hexagons.
        slot_minutes: Of the slots.
    """

    n_records: int
    n_users: int = 2_000
    radius_km: float = 7.0
    h3_resolution: int = 7
    slot_minutes: int = 60


@dataclass(frozen=True)
class _Routes:
    """One straight route for each vehicle, which is driven to and fro."""

    share: FloatArray
    start: FloatArray
    way: FloatArray
    period_hours: FloatArray
    phase: FloatArray


def write_dataset(
    folder: Path,
    size: Size,
    kind: str = "parquet",
    n_days: int = 1,
    memory_limit: str = "2GiB",
    alike: bool = False,
) -> tuple[Path, list[dt.date]]:
    """Write days of one size and the configuration that names them; the same arguments give the same records.

    Args:
        folder: Where to: ``dataset.toml``, and ``raw/`` with a file for each day.
        size: Of each day.
        kind: ``parquet`` or ``csv``.
        n_days: How many days, in a row.
        memory_limit: What DuckDB may use, for the configuration.
        alike: Whether the days have the same records but for their date.

    Returns:
        The configuration file, and the days.
    """
    (folder / "raw").mkdir(parents=True, exist_ok=True)
    config = folder / "dataset.toml"
    config.write_text(
        _CONFIG.format(
            kind=kind,
            timezone=TIMEZONE,
            resolution=size.h3_resolution,
            slot_minutes=size.slot_minutes,
            memory_limit=memory_limit,
        )
    )
    dates = [FIRST + dt.timedelta(days=n) for n in range(n_days)]
    for date in dates:
        write_day(folder / "raw" / f"day_{date}.{kind}", date, size, kind, _SEED if alike else date.toordinal())
    return config, dates


def write_day(path: Path, date: dt.date, size: Size, kind: str, seed: int) -> None:
    """Write one day; the same arguments give the same records."""
    with pacsv.CSVWriter(path, _plain(_SCHEMA)) if kind == "csv" else pq.ParquetWriter(path, _SCHEMA) as writer:
        for table in _chunks(date, size, seed):
            if kind == "csv":
                writer.write_table(table.cast(_plain(_SCHEMA)))
            else:
                writer.write_table(table, row_group_size=_ROW_GROUP)


def _plain(schema: pa.Schema) -> pa.Schema:
    """Return the schema with texts for the dictionary, which a CSV file cannot have."""
    return schema.set(0, pa.field("bus", pa.string()))


def _chunks(date: dt.date, size: Size, seed: int) -> Iterator[pa.Table]:
    """Yield a day in the order of time, so many records at once that memory stays the same at any size."""
    rng = np.random.default_rng([_SEED, seed])
    routes = _routes(size)
    names = pa.array([f"bus-{number:06}" for number in range(size.n_users)])
    noon = dt.datetime.combine(date, dt.time(12), ZoneInfo(TIMEZONE)).timestamp()  # some midnights are not 12 h before
    edges = np.linspace(0, size.n_records, -(-size.n_records // _CHUNK) + 1).astype(np.int64)
    first_hour, last_hour = _SERVICE_HOURS
    for begin, end in itertools.pairwise(edges):
        share = np.sort(rng.uniform(begin, end, end - begin)) / size.n_records
        columns = _records(first_hour + share * (last_hour - first_hour), routes, rng)
        user, hour, lat, lon, speed = _with_dirt(columns, rng)
        time = np.rint((noon + (hour - 12) * 3600) * 1000).astype(np.int64)
        n_missing = speed.size // 1000
        missing = np.zeros(speed.size, dtype=bool)
        missing[rng.integers(0, speed.size, n_missing)] = True
        yield pa.Table.from_arrays(
            [
                pa.DictionaryArray.from_arrays(user.astype(np.int32), names),
                pa.array(time, pa.timestamp("ms", "UTC")),
                pa.array(lat),
                pa.array(lon),
                pa.array(speed, mask=missing),
            ],
            schema=_SCHEMA,
        )


def _routes(size: Size) -> _Routes:
    rng = np.random.default_rng([_SEED, size.n_users])
    weight = 0.05 + rng.pareto(1.5, size.n_users)
    ends = rng.normal(0, size.radius_km, (2, size.n_users, 2))
    way = ends[1] - ends[0]
    length = np.hypot(*way.T)
    return _Routes(weight / weight.sum(), ends[0], way, 2 * length / 22.0, rng.random(size.n_users))


def _records(hour: FloatArray, routes: _Routes, rng: np.random.Generator) -> list[NDArray[Any]]:
    """Return vehicle, hour of the day, latitude, longitude and speed of a record at each time."""
    user = np.searchsorted(np.cumsum(routes.share), rng.random(hour.size)).clip(0, routes.share.size - 1)
    along = np.abs((hour / routes.period_hours[user] + routes.phase[user]) % 1 * 2 - 1)
    east, north = ((routes.start[user, axis] + along * routes.way[user, axis]) for axis in (0, 1))
    north, east = (one + rng.normal(0, 0.01, hour.size) for one in (north, east))
    lat, lon = located(east, north)
    is_rush = ((hour >= 6.5) & (hour < 9)) | ((hour >= 16) & (hour < 19))
    speed = (np.where(is_rush, 16.0, 27.0) + rng.normal(0, 7, hour.size)).clip(0, 90)
    speed[rng.random(hour.size) < 0.2] = 0.0
    return [user, hour, np.round(lat, 5), np.round(lon, 5), np.round(speed, 1)]


def _with_dirt(columns: list[NDArray[Any]], rng: np.random.Generator) -> list[NDArray[Any]]:
    """Make one record in a thousand the copy of the one before, and one in a thousand lie at 0, 0."""
    n_records = columns[0].size
    copied = 1 + rng.integers(0, n_records - 1, n_records // 1000)
    for column in columns:
        column[copied] = column[copied - 1]
    lost = rng.integers(0, n_records, n_records // 1000)
    for place in columns[2:4]:
        place[lost] = 0
    return columns


def main() -> None:
    """Write days by hand, to look at or to profile on."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.days", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--users", type=int, default=Size.n_users)
    parser.add_argument("--radius", type=float, default=Size.radius_km)
    parser.add_argument("--kind", choices=("parquet", "csv"), default="parquet")
    parser.add_argument("--days", type=int, default=1)
    parser.add_argument("--memory-limit", default="2GiB")
    given = parser.parse_args()
    size = Size(given.records, given.users, given.radius)
    write_dataset(given.folder, size, given.kind, given.days, given.memory_limit)


if __name__ == "__main__":
    main()
