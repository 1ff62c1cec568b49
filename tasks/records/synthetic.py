"""Makes a small synthetic city: buses on routes that share corridors, slow and fast streets, and dirty records."""

import datetime as dt
import gzip
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tasks.base.durable import write_whole

CENTRE = (47.05, 8.31)
TIMEZONE = "Europe/Zurich"

_N_ROUTES = 12
_BUSES_PER_ROUTE = 10
_PING_SECONDS = 60
_SERVICE = (5, 23)
_KM_PER_DEGREE = 111.2
_CENTRE_KM = 4.0
_RUSH = 0.65
_SEED = 20260302

FloatArray = NDArray[np.float64]


def write_city(folder: Path, dates: list[dt.date]) -> int:
    """Write one gzipped CSV file per day, ``city_<date>.csv.gz``, and return how many rows they hold in total.

    The same date always gives the same bytes, so a file that exists already is overwritten with itself.

    Args:
        folder: Where to write.
        dates: Local days.
    """
    return sum(_write_day(folder / f"city_{date}.csv.gz", date) for date in dates)


def located(east: FloatArray, north: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return latitudes and longitudes of places by their kilometres east and north of the centre."""
    return CENTRE[0] + north / _KM_PER_DEGREE, CENTRE[1] + east / (_KM_PER_DEGREE * np.cos(np.radians(CENTRE[0])))


def _write_day(path: Path, date: dt.date) -> int:
    rng = np.random.default_rng([_SEED, date.toordinal()])
    lines = _with_dirt(pings_of_day(date, rng), date, rng)
    header = "bus,time,lat,lon,speed_kmh\n"
    write_whole(path, gzip.compress((header + "\n".join(lines) + "\n").encode(), mtime=0), mode=0o644)
    return len(lines)


def pings_of_day(date: dt.date, rng: np.random.Generator, city: int = _SEED) -> pl.DataFrame:
    """Return one row per ping of every bus, in order of time.

    Args:
        date: The local day.
        rng: Of the day.
        city: Seed of the routes.
    """
    routes = _routes(np.random.default_rng(city))
    midnight = dt.datetime.combine(date, dt.time(), ZoneInfo(TIMEZONE)).timestamp()
    buses = [
        _bus(f"bus-{route:02}-{bus:02}", points, bus / _BUSES_PER_ROUTE, midnight, date.weekday() < 5, rng)
        for route, points in enumerate(routes)
        for bus in range(_BUSES_PER_ROUTE)
    ]
    return pl.concat(buses).sort("epoch", "bus")


def _routes(rng: np.random.Generator) -> list[FloatArray]:
    """Return each route's stops in km east and north of the centre, from one suburb through the centre to another.

    The middle part of each route is one of three corridors, so that buses of several routes meet in its cells.
    """
    corridors = rng.normal(0, 1.2, (3, 4, 2)).cumsum(axis=1)
    routes = []
    for _ in range(_N_ROUTES):
        angle, reach = rng.uniform(0, 2 * np.pi, 2), rng.uniform(4, 9, 2)
        ends = np.stack([np.cos(angle), np.sin(angle)], axis=1) * reach[:, None]
        routes.append(np.vstack([ends[0], corridors[rng.integers(3)], ends[1]]))
    return routes


def _bus(
    name: str, points: FloatArray, phase: float, midnight: float, is_weekday: bool, rng: np.random.Generator
) -> pl.DataFrame:
    """Return the pings of one bus that drives back and forth on its route, and not at night.

    Streets are slow in the centre and fast outside it, and slower still in rush hours. So a bus spends more of its time
    in slow streets, and leaves more records there.
    """
    seconds = np.arange(_SERVICE[0] * 3600, _SERVICE[1] * 3600, _PING_SECONDS) + rng.integers(_PING_SECONDS)
    if phase >= 0.6:
        seconds = seconds[_is_rush(seconds / 3600)]
    legs = np.hypot(*np.diff(points, axis=0).T)
    stops = np.concatenate([[0.0], np.cumsum(legs)])
    street = _street_speeds(points, stops)
    flowing = np.where(_is_rush(seconds / 3600) & is_weekday, _RUSH, 1.0)
    deviation = np.where(rng.random(seconds.size) < 0.12, -np.inf, rng.normal(0, 5, seconds.size))
    place, speed = np.zeros(seconds.size), np.zeros(seconds.size)
    travelled = phase * 2 * stops[-1]
    for ping in range(seconds.size):
        place[ping] = abs(travelled % (2 * stops[-1]) - stops[-1])
        fast = street[int(place[ping] / stops[-1] * (street.size - 1))] * flowing[ping]
        speed[ping] = min(max(fast + deviation[ping], 0.0), 75.0)
        travelled += speed[ping] * _PING_SECONDS / 3600
    latitude, longitude = located(*(np.interp(place, stops, points[:, axis]) for axis in (0, 1)))
    return pl.DataFrame(
        {
            "bus": [name] * seconds.size,
            "epoch": midnight + seconds,
            "lat": latitude,
            "lon": longitude,
            "speed": speed,
        }
    )


def _street_speeds(points: FloatArray, stops: FloatArray) -> FloatArray:
    """Return the usual speed at many places along a route: slow in the centre, fast outside."""
    along = np.linspace(0, stops[-1], 400)
    from_centre = np.hypot(*(np.interp(along, stops, points[:, axis]) for axis in (0, 1)))
    return np.asarray(13 + 30 * (1 - np.exp(-((from_centre / _CENTRE_KM) ** 2))))


def _is_rush(hour: FloatArray) -> NDArray[np.bool_]:
    return ((hour >= 6.5) & (hour < 9)) | ((hour >= 16) & (hour < 19))


def _with_dirt(pings: pl.DataFrame, date: dt.date, rng: np.random.Generator) -> list[str]:
    """Return CSV lines; after about one line in a hundred comes a dirty one, of a kind that real sources have."""
    zone = ZoneInfo(TIMEZONE)
    lines = []
    for bus, epoch, lat, lon, speed in pings.iter_rows():
        time = dt.datetime.fromtimestamp(epoch, zone).isoformat(timespec="seconds")
        line = f"{bus},{time},{lat:.5f},{lon:.5f},{speed:.1f}"
        lines.append(line)
        if rng.random() < 0.01:
            dirty = (
                line,
                f",{time},{lat:.5f},{lon:.5f},{speed:.1f}",
                f"{bus},{time},0,0,{speed:.1f}",
                f"{bus},{time},91.5,{lon:.5f},{speed:.1f}",
                f"{bus},yesterday,{lat:.5f},{lon:.5f},{speed:.1f}",
                f"{bus},{date - dt.timedelta(days=400)}T12:00:00Z,{lat:.5f},{lon:.5f},{speed:.1f}",
                f"{bus},{time},{lat:.5f},{lon:.5f},{speed:.1f},extra",
                f"{bus},{time},{lat + 0.001:.5f},{lon:.5f},",
                f"{bus},{time},{lat + 0.002:.5f},{lon:.5f},NaN",
                f"{bus},{time},{lat + 0.003:.5f},{lon:.5f},-12",
                f"{bus},{time},{lat + 0.004:.5f},{lon:.5f},999",
            )
            lines.append(dirty[rng.integers(len(dirty))])
    return lines
