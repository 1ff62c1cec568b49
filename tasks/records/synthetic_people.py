"""Makes days of a city of people who do not exist: homes, work and ways, with phones, fares and scooters."""

import datetime as dt
import gzip
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from zoneinfo import ZoneInfo

import h3
import numpy as np
import polars as pl

N_SLOTS = 24
VALUE_RANGE = 1000
"""Ticks of a tenth of a Mbit/s."""


@dataclass(frozen=True)
class City:
    """A city's places and people; all but the places is secret.

    Attributes:
        position: Where each hexagon is, in km, shape (H, 2).
        home: The hexagon of each person's home, shape (N,).
        work: The same of its work.
        busy: How often each person's phone says something, shape (N,).
        phone: How fast each person's phone is, in ticks, shape (N,).
        fast: How fast a connection is at each hexagon and hour, in ticks, shape (H, 24).
    """

    position: np.ndarray
    home: np.ndarray
    work: np.ndarray
    busy: np.ndarray
    phone: np.ndarray
    fast: np.ndarray


def city_at(position: np.ndarray, n_people: int, seed: int = 1) -> City:
    """Return a city of hexagons about a centre at 0, 0.

    Args:
        position: Where each hexagon is, in km, shape (H, 2).
        n_people: How many people live there.
        seed: Which city.
    """
    rng = np.random.default_rng([31, seed])
    far = np.hypot(*position.T)
    n = len(position)

    def drawn(scale: float, rough: float) -> np.ndarray:
        weight = np.exp(-far / scale + rough * _smooth(position, rng) + 0.6 * rng.normal(size=n))
        return rng.choice(n, n_people, p=weight / weight.sum())

    home, work = drawn(9.0, 0.8), drawn(4.5, 0.8)
    work = np.where(rng.random(n_people) < 0.3, home, work)
    place = 350 + 120 * _smooth(position, rng) + 60 * rng.normal(size=n)
    hours = np.arange(N_SLOTS)
    crowd = 0.5 * np.exp(-((hours - 20) ** 2) / 18) + 0.3 * np.exp(-((hours - 9) ** 2) / 8)
    dip = 1 - crowd[None, :] * np.clip(1 + 0.5 * _smooth(position, rng), 0.2, 2)[:, None]
    fast = np.clip(place[:, None] * dip + 25 * rng.normal(size=(n, N_SLOTS)), 30, 900)
    return City(position, home, work, rng.gamma(1.5, 1 / 1.5, n_people), 80 * rng.normal(size=n_people), fast)


def a_day(city: City, number: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return a day's user, cell, number of records and total of ticks: one row per person and cell.

    A cell is hexagon times 24 plus hour. About 72 people of 100 are there. Days 5 and 6 of each week are a weekend.
    """
    rng = np.random.default_rng([32, seed, number])
    n, is_weekend = city.home.size, number % 7 >= 5
    here = np.flatnonzero(rng.random(n) < 0.72)
    leaves = np.where(is_weekend, rng.normal(11, 2.5, n), rng.normal(7.6, 1.0, n))[here]
    stays = np.where(is_weekend, rng.gamma(2, 1.2, n), rng.normal(8.7, 1.2, n))[here]
    off = rng.random(here.size) < (0.5 if is_weekend else 0.15)
    near = _near(city.position)
    target = np.where(
        rng.random(here.size) < (0.6 if is_weekend else 0.0),
        near[city.home[here], rng.integers(0, 12, here.size)],
        city.work[here],
    )
    target = np.where(off, city.home[here], target)
    parts = []
    for hour in range(N_SLOTS):
        at_home = (hour < np.floor(leaves)) | (hour > np.floor(leaves + stays + 1))
        hexagon = np.where(at_home, city.home[here], target)
        awake = 0.12 if hour < 6 or hour == 23 else 0.55
        chance = 1 - np.exp(-awake * city.busy[here] * 1.3)
        seen = rng.random(here.size) < chance
        parts.append((here[seen], hexagon[seen] * N_SLOTS + hour, city.busy[here[seen]]))
        moving = np.flatnonzero(((hour == np.floor(leaves)) | (hour == np.floor(leaves + stays + 1))) & ~off)
        for step in (0.25, 0.5, 0.75):  # on the way
            spot = city.position[city.home[here[moving]]] * (1 - step) + city.position[target[moving]] * step
            passed = _nearest(city.position, spot)
            told = rng.random(moving.size) < chance[moving] * 0.8
            parts.append((here[moving[told]], passed[told] * N_SLOTS + hour, 0.4 * city.busy[here[moving[told]]]))
    user, cell, busy = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    _, first = np.unique(user * (city.position.shape[0] * N_SLOTS) + cell, return_index=True)
    user, cell, busy = user[first], cell[first], busy[first]
    records = 1 + rng.poisson(4 * busy * rng.gamma(1.0, 1.0, user.size))
    course = 15 * rng.normal(size=N_SLOTS)[cell % N_SLOTS] + 12 * rng.normal(size=city.fast.size)[cell]
    mean = city.fast.ravel()[cell] + city.phone[user] + course + 60 * rng.normal(size=user.size)
    value = np.clip(mean + 110 * rng.normal(size=user.size) / np.sqrt(records), 0, VALUE_RANGE)
    return user, cell, records, np.rint(value * records).astype(np.int64)


def _smooth(position: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a smooth surface of about unit size."""
    distance = np.hypot(*(position[:, None] - position[None]).T)
    return np.linalg.cholesky(np.exp(-distance / 5) + 1e-9 * np.eye(len(position))) @ rng.normal(size=len(position))


def _near(position: np.ndarray) -> np.ndarray:
    return np.argsort(np.hypot(*(position[:, None] - position[None]).T), axis=0).T[:, 1:13]


def _nearest(position: np.ndarray, spot: np.ndarray) -> np.ndarray:
    if not len(spot):
        return np.zeros(0, dtype=np.int64)
    return np.argmin(((spot[:, None] - position[None]) ** 2).sum(axis=2), axis=1)


CENTRE = (47.05, 8.31)
TIMEZONE = "Europe/Zurich"
_RESOLUTION = 7
_N_RINGS = 9
_N_PEOPLE = 20_000
_KM_A_DEGREE = 111.2
Columns = dict[str, np.ndarray]


def public_hexagons() -> list[str]:
    """Return the hexagons of the city's area."""
    return h3.grid_disk(h3.latlng_to_cell(*CENTRE, _RESOLUTION), _N_RINGS)


def in_km(places: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """Return kilometres east and north of a centre, from latitudes and longitudes, each of shape (n, 2)."""
    return _KM_A_DEGREE * (places - centre)[:, ::-1] * [np.cos(np.radians(centre[0])), 1]


def write_people(folder: Path, dates: list[dt.date]) -> dict[str, int]:
    """Write files of phones, fares and scooters, one of each for each day, and return how many rows each kind has.

    Args:
        folder: Where to write ``phones_<date>.csv.gz`` and so on, and rides as ``scooters_<date>.json.gz``.
        dates: Local days.
    """
    places = np.array([h3.cell_to_latlng(one) for one in public_hexagons()])
    city = city_at(in_km(places, np.array(CENTRE)), _N_PEOPLE)
    kinds: dict[str, Callable[[City, int, np.random.Generator], Columns]] = {
        "phones": _phones,
        "fares": _fares,
        "scooters": _scooters,
    }
    n_rows = dict.fromkeys(kinds, 0)
    for date, (number, (kind, columns_of)) in ((date, one) for date in dates for one in enumerate(kinds.items())):
        rng = np.random.default_rng([33, number, date.toordinal()])
        columns = columns_of(city, date.toordinal() - 1, rng)  # day 0 of a week is a Monday
        table = _rows(date, columns, places, rng)
        (_write_rides if kind == "scooters" else _write)(folder / f"{kind}_{date}", table)
        n_rows[kind] += table.height
    return n_rows


def _phones(city: City, number: int, rng: np.random.Generator) -> Columns:
    user, cell, n_records, total = a_day(city, number)
    row = np.repeat(np.arange(user.size), n_records)
    value = (total / n_records)[row] / 10 + rng.normal(0, 2, row.size)
    return {"phone": user[row], "cell": cell[row], "mbit": np.clip(value, 0, 100)}


def _fares(city: City, number: int, rng: np.random.Generator) -> Columns:
    """Return boardings: in the morning at home, later at work, and some more."""
    rides = np.flatnonzero(rng.random(city.home.size) < (0.15 if number % 7 >= 5 else 0.4))
    leaves = np.clip(np.rint(rng.normal(7.6, 1.2, rides.size)), 4, 12)
    returns = np.clip(np.rint(leaves + rng.normal(8.7, 1.4, rides.size)), 13, 23)
    more = rides[rng.random(rides.size) < 0.3]
    user = np.concatenate([rides, rides, more])
    hexagon = np.concatenate([city.home[rides], city.work[rides], city.work[more]])
    hour = np.concatenate([leaves, returns, rng.integers(9, 22, more.size)]).astype(np.int64)
    distance = np.hypot(*(city.position[city.home[user]] - city.position[city.work[user]]).T)
    fare = 2.6 + 0.35 * distance + rng.choice([0.0, -0.8], user.size, p=[0.7, 0.3])
    return {"card": user, "cell": hexagon * N_SLOTS + hour, "fare": np.maximum(np.round(fare * 5) / 5, 1.8)}


def _scooters(city: City, _: int, rng: np.random.Generator) -> Columns:
    """Return rides: where they begin, and for how many minutes they last."""
    near = np.exp(-np.hypot(*city.position[city.work].T) / 5)
    riders = np.flatnonzero(rng.random(city.home.size) < 0.35 * near)
    user = np.repeat(riders, 1 + rng.poisson(0.8, riders.size))
    hexagon = np.where(rng.random(user.size) < 0.6, city.work[user], city.home[user])
    hour = np.clip(np.rint(rng.normal(15, 4.5, user.size)), 5, 23).astype(np.int64)
    minutes = rng.gamma(3, 3 + np.hypot(*city.position[hexagon].T) / 4)
    return {"rider": user, "cell": hexagon * N_SLOTS + hour, "minutes": np.clip(minutes, 1, 60)}


def _rows(date: dt.date, columns: Columns, places: np.ndarray, rng: np.random.Generator) -> pl.DataFrame:
    """Return a day's rows in order of time."""
    (who, user), (_, cell), (what, value) = columns.items()
    midnight = int(dt.datetime.combine(date, dt.time(), ZoneInfo(TIMEZONE)).timestamp())
    second = cell % N_SLOTS * 3600 + rng.integers(0, 3600, cell.size)
    spot = places[cell // N_SLOTS] + rng.uniform(-0.008, 0.008, (cell.size, 2))
    table = pl.DataFrame(
        {
            who: user,
            "time": pl.from_epoch(pl.Series(midnight + second), "s"),
            "lat": spot[:, 0].round(5),
            "lon": spot[:, 1].round(5),
            what: value.round(1),
        }
    )
    return table.sort("time", who)


def _write(path: Path, table: pl.DataFrame) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    table.write_csv(f"{path}.csv.gz", compression="gzip", datetime_format="%Y-%m-%dT%H:%M:%SZ")


def _write_rides(path: Path, table: pl.DataFrame) -> None:
    """Write a document as operators have it, in the form of MDS, with who rode."""
    trips = table.select(
        pl.col("rider").cast(pl.String).alias("rider_id"),
        pl.col("time").dt.epoch("ms").alias("start_time"),
        pl.struct(lat="lat", lng="lon").alias("start_location"),
        (60 * pl.col("minutes")).round().cast(pl.Int64).alias("duration"),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = f'{{"version": "2.0.0", "data": {{"trips": {trips.write_json()}}}}}'
    path.with_name(f"{path.name}.json.gz").write_bytes(gzip.compress(whole.encode(), mtime=0))
