"""Quantities of other kinds in made cities: published through the command line, and compared with the true means.

Users wander between places they like, and leave a record from time to time, each as often as it does. The truth is made
of waves, of places of their own, of a course of the day and of its weather: nothing of it is the model of the estimate.
"""

import datetime as dt
import itertools
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import h3
import numpy as np
import polars as pl

from dpmath.core.occupancy import IntArray
from tasks.base.config import Config
from tasks.records.synthetic import TIMEZONE, located
from tasks.upkeep.evaluate import evaluate_day
from tests.bench.guesses import FloatArray
from tests.bench.maps import as_installed, proposed

DEFINITIONS = ("zcdp", "pure")
N_DAYS = 3
_NOTHING = 1e-9
_FIRST = dt.date(2026, 3, 2)
_FOLDER = Path("var/bench/quantities")
_N_USERS, _HOURS, _RADIUS_KM = 150, (6, 22), 9.0

Row = dict[str, Any]


@dataclass(frozen=True)
class Truth:
    """What values can depend on, each of shape (n,), one number a record.

    Attributes:
        place: How much the place differs, with a standard deviation of about 1.
        course: The hour's, between -1 and 1.
        weather: The day's, the same for all records of a day.
        stay: The log of how many records the user leaves within the hour, standardised.
        user: The user's, standard normal.
        noise: The record's, standard normal.
        chance: The record's, between 0 and 1.
    """

    place: FloatArray
    course: FloatArray
    weather: FloatArray
    stay: FloatArray
    user: FloatArray
    noise: FloatArray
    chance: FloatArray


@dataclass(frozen=True)
class Quantity:
    """A quantity and its public bounds.

    Attributes:
        unit: Of its values.
        lower: Of its values.
        upper: Of its values.
        values: Makes the values.
    """

    unit: str
    lower: float
    upper: float
    values: Callable[[Truth], FloatArray]


def _speed(link: float) -> Callable[[Truth], FloatArray]:
    return lambda one: 32 + 9 * one.place - 5 * one.course + 3 * one.user + 8 * one.noise + 8 * link * one.stay


QUANTITIES = {
    "temperature": Quantity(
        "°C",
        -30,
        50,
        lambda one: 12 + 1.5 * one.place + 4 * one.course + 3 * one.weather + 0.5 * one.user + 0.5 * one.noise,
    ),
    "noise level": Quantity(
        "dB", 30, 110, lambda one: 62 + 5 * one.place + 4 * one.course + 2 * one.user + 5 * one.noise
    ),
    "particulates": Quantity(
        "ug/m3",
        0,
        300,
        lambda one: 18 * np.exp(0.4 * one.place + 0.3 * one.course + 0.4 * one.weather + 0.5 * one.noise),
    ),
    "0 or 1": Quantity(
        "share", 0, 1, lambda one: (one.chance < 1 / (1 + np.exp(0.8 - one.place - 0.6 * one.course))).astype(float)
    ),
    "constant": Quantity("km/h", 0, 100, lambda one: np.full(one.place.size, 37.0)),
    "speed, falls with records": Quantity("km/h", 0, 100, _speed(-1)),
    "speed, rises with records": Quantity("km/h", 0, 100, _speed(1)),
}


def measure_quantities(epsilons: tuple[float, ...], n_draws: int) -> Iterator[Row]:
    """Yield one row for each quantity, definition of privacy, epsilon, draw and day: how good its map is.

    Args:
        epsilons: Of a day.
        n_draws: How often the days are released, each draw from nothing, in a city of another seed.
    """
    dates = [_FIRST + dt.timedelta(days=number) for number in range(N_DAYS)]
    for draw in range(n_draws):
        for name, quantity in QUANTITIES.items():
            shutil.rmtree(_FOLDER, ignore_errors=True)
            (_FOLDER / "raw").mkdir(parents=True)
            files = [_write_day(quantity, draw, date) for date in dates]
            text = proposed(_FOLDER / "city", files, _options(quantity))
            for definition, epsilon in itertools.product(DEFINITIONS, epsilons):
                changes = {
                    'definition = "zcdp"': f'definition = "{definition}"',
                    "epsilon_per_day = 2\n": f"epsilon_per_day = {epsilon}\n",
                    "[storage]": "[publish]\nmap = false\n[storage]",
                }
                if not all(one in text for one in changes):
                    raise ValueError("what init writes has another form")
                config = as_installed(_FOLDER / "city", text, changes, dates)
                about = {"quantity": name, "definition": definition, "epsilon": epsilon, "draw": draw}
                for date in dates:
                    yield about | {"day": (date - _FIRST).days + 1} | _measured(date, config)
    shutil.rmtree(_FOLDER)


def _options(quantity: Quantity) -> list[str]:
    bounds = [f"--lower={quantity.lower}", f"--upper={quantity.upper}"]
    about = ["--value", "value", "--quantity", "quantity", "--unit", quantity.unit]
    return ["--timezone", TIMEZONE, "--epsilon", "2", *about, *bounds]


def _measured(date: dt.date, config: Config) -> Row:
    """Return how good the map of a day is; errors and widths as shares of the range."""
    found, _ = evaluate_day(date, None, config)
    span = float(config.value.upper - config.value.lower)
    return {
        "cells": found["cells"],
        "skill": found["skill"],
        "error": found["mean_absolute_error"] / span,
        "error_of_best_constant": found["mean_absolute_error_of_best_constant"] / span,
        "held": found["coverage_of_cells"],
        "width": found["median_interval_width"] / span,
    }


@dataclass(frozen=True)
class Records:
    """The records of a day, each of shape (n,).

    Attributes:
        user: Number of the user.
        seconds: Since local midnight.
        latitude: Of the place.
        longitude: Of the place.
        value: The value, within the quantity's bounds.
    """

    user: IntArray
    seconds: FloatArray
    latitude: FloatArray
    longitude: FloatArray
    value: FloatArray


def records_of_day(quantity: Quantity, draw: int, date: dt.date, n_users: int = _N_USERS) -> Records:
    """Return the records of a day in a city of a seed."""
    city, rng = np.random.default_rng([draw, 1]), np.random.default_rng([draw, 2, date.toordinal()])
    likes = city.normal(0, _RADIUS_KM / 3, (n_users, 4, 2))
    every = np.exp(city.normal(np.log(90), 0.6, n_users))
    lasting = city.normal(size=n_users)
    days = [_of_user(likes[user], every[user], rng) for user in range(n_users)]
    user = np.repeat(np.arange(n_users), [len(one) for one in days])
    seconds, east, north, stay = np.concatenate(days).T
    latitude, longitude = located(east, north)
    truth = Truth(
        place=_places(latitude, longitude, east, north, draw),
        course=np.sin(2 * np.pi * (seconds / 3600 - 9) / 24),
        weather=np.full(user.size, rng.normal()),
        stay=(stay - stay.mean()) / stay.std(),
        user=lasting[user],
        noise=rng.normal(size=user.size),
        chance=rng.random(user.size),
    )
    values = np.clip(quantity.values(truth), quantity.lower, quantity.upper)
    return Records(user, seconds, latitude, longitude, values)


def _write_day(quantity: Quantity, draw: int, date: dt.date) -> str:
    """Write the records of a day, and return the file."""
    records = records_of_day(quantity, draw, date)
    midnight = dt.datetime.combine(date, dt.time(), ZoneInfo(TIMEZONE)).timestamp()
    path = _FOLDER / "raw" / f"day_{date}.csv"
    times = pl.Series(midnight + records.seconds).cast(pl.Int64)
    pl.DataFrame(
        {
            "user": [f"user{one}" for one in records.user],
            "time": pl.from_epoch(times, "s").dt.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "lat": records.latitude.round(5),
            "lon": records.longitude.round(5),
            "value": records.value.round(2),
        }
    ).write_csv(path)
    return str(path)


def _of_user(likes: FloatArray, every: float, rng: np.random.Generator) -> FloatArray:
    """Return seconds of the day, km east and north, and the log of the hour's records, of each record, shape (n, 4)."""
    found = []
    for hour in range(*_HOURS):
        n_records = rng.poisson(3600 / every * rng.gamma(2, 0.5))
        if n_records:
            goes = np.sort(rng.random(n_records))
            start, end = likes[rng.integers(4, size=2)]
            place = start + goes[:, None] * (end - start) + rng.normal(0, 0.2, (n_records, 2))
            found.append(np.column_stack([3600 * (hour + goes), place, np.full(n_records, np.log(n_records))]))
    return np.concatenate(found) if found else np.empty((0, 4))


def _places(latitude: FloatArray, longitude: FloatArray, east: FloatArray, north: FloatArray, draw: int) -> FloatArray:
    """Return waves over the city, of several lengths, and what each hexagon has by itself."""
    rng = np.random.default_rng([draw, 3])
    waves = np.zeros(east.size)
    for length in (4.0, 8.0, 20.0):
        angle, phase = rng.uniform(0, 2 * np.pi, 2)
        waves += np.sin(2 * np.pi / length * (east * np.cos(angle) + north * np.sin(angle)) + phase)
    hexagons = [h3.latlng_to_cell(*one, 7) for one in zip(latitude, longitude, strict=True)]
    names, number = np.unique(hexagons, return_inverse=True)
    own = np.array([np.random.default_rng([draw, h3.str_to_int(name)]).normal() for name in names])
    return 0.6 * waves + 0.6 * own[number]


def caption(rows: pl.DataFrame) -> str:
    """Return what the table shows."""
    return (
        "Skill on the first day (the worst draw's), on later days (the worst); per cent of intervals that hold; "
        f"{rows['draw'].n_unique()} draws. Of a constant: how far later days are off, as a share of the range"
    )


def table(rows: pl.DataFrame) -> pl.DataFrame:
    """Return one row for each quantity and definition: means over draws, of the first day and of later ones."""
    keys = ["quantity", "definition", "epsilon"]
    later = pl.col("day") > 1
    skill, held = pl.col("skill").clip(-9.99), (100 * pl.col("held")).round(0).cast(pl.Int64)
    means = rows.group_by(keys, maintain_order=True).agg(
        first=skill.filter(~later).mean().round(2),
        worst=skill.filter(~later).min().round(2),
        later=skill.filter(later).mean().round(2),
        worst_later=skill.filter(later).min().round(2),
        held=held.mean().round(0).cast(pl.Int64),
        error=(100 * pl.col("error").filter(later).mean()).round(1),
        is_constant=pl.col("error_of_best_constant").max() < _NOTHING,
    )
    shown = means.with_columns(
        shown=pl.when("is_constant")
        .then(pl.format("off by {} %; {}", "error", "held"))
        .otherwise(pl.format("{} ({}), {} ({}); {}", "first", "worst", "later", "worst_later", "held"))
    )
    wide = shown.pivot("epsilon", index=["quantity", "definition"], values="shown")
    return wide.rename({name: f"epsilon {float(name):g}" for name in wide.columns[2:]})
