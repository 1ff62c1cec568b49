"""Cities whose users' presence is secret: how good maps and counts are, beside bounded noisy sums at the same loss.

Days are asked in memory, by the programme that a release runs. Of the bounded sums, bounds are chosen by looking at the
truth, and cells that they cannot tell are given the true mean of the city: no publisher could do as well with them.
"""

import datetime as dt
import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import h3
import numpy as np
import polars as pl

from dpmath.core.currency import Concentrated
from dpmath.estimate.areas import HALF_WIDTH
from dpmath.presence.basis import FloatArray, Grid
from dpmath.presence.intervals import Number, limits
from dpmath.presence.programme import asked_for_real, programme
from dpmath.presence.state import asked_of
from dpmath.presence.user_cells import UserCells, capped
from tasks.records.synthetic_people import N_SLOTS, VALUE_RANGE, a_day, city_at, in_km, public_hexagons
from tests.bench import made_days
from tests.bench.maps import days_from
from tests.bench.quantities import QUANTITIES, Records, records_of_day

EPSILONS = (1, 2, 5)
N_DAYS = 4
CURRENCY = Concentrated(Decimal("1e-6"))
_CAP = 20
_RESOLUTION = 7
_FIRST, _N_VEHICLES = dt.date(2026, 3, 2), 500
_SECONDS = 86_400 // N_SLOTS
_BOUNDS, _THRESHOLDS = (0.3, 0.6, 0.9), (0.5, 1, 2, 4, 8)
"""Of lengths of users' vectors, the quantile that is the bound; and deviations of noise below which nothing is told."""

Row = dict[str, Any]
Days = tuple[FloatArray, list[UserCells]]
"""Where hexagons are, in km, and days in a row."""


@dataclass(frozen=True)
class City:
    """A city.

    Attributes:
        name: What the table calls it.
        days: Returns the days of a draw.
        is_here: Whether its records are present.
    """

    name: str
    days: Callable[[int], Days]
    is_here: bool = True


def _phones(draw: int) -> Days:
    hexagons = public_hexagons()
    position = _placed(hexagons)
    city, n_cells = city_at(position, 20_000, draw + 1), len(hexagons) * N_SLOTS
    return position, [capped(*a_day(city, day, draw + 1), n_cells, _CAP, VALUE_RANGE) for day in range(N_DAYS)]


def _of_records(records: Callable[[int], Sequence[Records]]) -> Callable[[int], Days]:
    """Return days from records; the area is every hexagon that has any, and those next to it."""

    def days(draw: int) -> Days:
        found = records(draw)
        seen = [
            [h3.latlng_to_cell(*at, _RESOLUTION) for at in zip(day.latitude, day.longitude, strict=True)]
            for day in found
        ]
        area = sorted({near for one in set(itertools.chain(*seen)) for near in h3.grid_disk(one, 1)})
        number = {one: place for place, one in enumerate(area)}
        n_cells = len(area) * N_SLOTS
        both = zip(found, seen, strict=True)
        return _placed(area), [_paired(day, [number[one] for one in at], n_cells) for day, at in both]

    return days


def _paired(day: Records, hexagon: list[int], n_cells: int) -> UserCells:
    slot, ticks = (day.seconds // _SECONDS).astype(np.int64) % N_SLOTS, np.rint(10 * day.value)
    pairs = pl.DataFrame(
        {"user": day.user, "cell": np.array(hexagon) * N_SLOTS + slot, "ticks": ticks.astype(np.int64)}
    )
    sums = pairs.group_by("user", "cell").agg(pl.len().cast(pl.Int64), pl.col("ticks").sum())
    user, cell, number, total = (sums[name].to_numpy() for name in ("user", "cell", "len", "ticks"))
    return capped(user, cell, number, total, n_cells, _CAP, VALUE_RANGE)


def _placed(hexagons: Sequence[str]) -> FloatArray:
    places = np.array([h3.cell_to_latlng(one) for one in hexagons])
    return in_km(places, places.mean(axis=0))


def _vehicles(draw: int) -> list[Records]:
    speed, dates = QUANTITIES["speed, falls with records"], days_from(_FIRST, N_DAYS)
    return [records_of_day(speed, draw, date, _N_VEHICLES) for date in dates]


def _of_made(city: made_days.City) -> Callable[[int], Days]:
    return _of_records(lambda draw: [city.records(draw, date) for date in city.dates[:N_DAYS]])


_AUSTIN, _BUSES = made_days.CITIES[:2]
CITIES = (
    City("14,000 phones", _phones),
    City("500 vehicles, values fall with records", _of_records(_vehicles)),
    City("120 buses of the demo city", _of_made(_BUSES)),
    City("150 buses of Austin", _of_made(_AUSTIN), _AUSTIN.is_here),
)


def measure_presence(cities: Sequence[City], epsilons: Sequence[float], n_draws: int) -> Iterator[Row]:
    """Yield one row for each city, epsilon, draw and day: how good maps, counts and their intervals are.

    Args:
        cities: The cities.
        epsilons: Of a day, in zCDP with a delta of 1e-6.
        n_draws: How often days are asked, from the first one anew.
    """
    for city, draw in itertools.product(cities, range(n_draws)):
        position, days = city.days(draw)
        for epsilon in epsilons:
            loss, state = CURRENCY.within(Decimal(str(epsilon))), None
            asked = asked_of(Grid(position, N_SLOTS), _CAP, VALUE_RANGE, loss)
            for number, day in enumerate(days, start=1):
                found = asked_for_real(programme(state, asked), day, os.urandom).estimate
                state, truth = found.state, Truth.of(day)
                yield {
                    "city": city.name,
                    "epsilon": epsilon,
                    "draw": draw,
                    "day": number,
                    "means": truth.skill(found.mean.mean),
                    "means_hold": truth.held(found.mean.mean, found.mean.variance),
                    "n_users": _explained(found.n_users.mean, truth.users),
                    "n_users_hold": _held(found.n_users, truth.users),
                    "n_records": _explained(found.n_records.mean, truth.records),
                    "bounded_sums": bounded_sums(day, truth, loss) if number == 1 else None,
                }


@dataclass(frozen=True)
class Truth:
    """What there was in each cell, shapes (G,)."""

    users: FloatArray
    records: FloatArray
    means: FloatArray

    @classmethod
    def of(cls, day: UserCells) -> "Truth":
        users, records, totals = (
            np.bincount(day.cell, weights=one, minlength=day.n_cells).astype(np.float64)
            for one in (np.ones(day.cell.size), day.n_records, day.total)
        )
        return cls(users, records, totals / np.maximum(records, 1))

    @property
    def constant(self) -> float:
        """The mean over all records."""
        return float(np.average(self.means, weights=self.records))

    def skill(self, means: FloatArray) -> float:
        """Return what part of the differences between cells means explain, over records."""
        off, whole = (float(self.records @ (one - self.means) ** 2) for one in (means, self.constant))
        return 1 - off / whole

    def held(self, means: FloatArray, variance: FloatArray) -> float:
        """Return the share of cells with records whose interval holds."""
        there = self.records > 0
        return float((np.abs(means - self.means) <= HALF_WIDTH * np.sqrt(variance))[there].mean())


def _explained(found: FloatArray, true: FloatArray) -> float:
    return 1 - float(((found - true) ** 2).sum() / ((true - true.mean()) ** 2).sum())


def _held(found: Number, true: FloatArray) -> float:
    low, high = limits(found, 0.95)
    return float(((low <= true) & (true <= high))[true > 0].mean())


def bounded_sums(day: UserCells, truth: Truth, loss: int) -> float:
    """Return the best skill of noisy sums of values and of records, each user's in one ball.

    Args:
        day: The day.
        truth: What there was, by which bounds, thresholds and the centre are chosen.
        loss: What both sums cost together, in units of 2^-101 of rho.
    """
    sigma, best = 1 / np.sqrt(2 * loss / 2 / 2.0**101), 0.0
    rng, middle = np.random.default_rng(), truth.constant
    kept = {}
    for name, numbers in (("records", day.n_records.astype(float)), ("values", day.total - middle * day.n_records)):
        length = np.sqrt(np.bincount(day.user, weights=numbers**2))
        for share in _BOUNDS:
            bound = float(np.quantile(length, share))
            scaled = numbers * np.minimum(1, bound / np.maximum(length, 1e-9))[day.user]
            sums = np.bincount(day.cell, weights=scaled, minlength=day.n_cells)
            kept[name, share] = sums + bound * sigma * rng.normal(size=day.n_cells), bound * sigma
    for of_records, of_values, threshold in itertools.product(_BOUNDS, _BOUNDS, _THRESHOLDS):
        (records, noise), (values, _) = kept["records", of_records], kept["values", of_values]
        told = records > threshold * noise
        means = np.where(told, middle + values / np.where(told, records, 1.0), middle)
        best = max(best, truth.skill(np.clip(means, 0, VALUE_RANGE)))
    return best


def caption(rows: pl.DataFrame) -> str:
    """Return what the table shows."""
    return (
        f"Presence is secret; means of {rows['draw'].n_unique()} draws. Skill of means on each day; of noisy bounded "
        "sums on the first; of `n_users` and `n_records` on the last; per cent of cells with records whose intervals "
        "hold, on the first day and later"
    )


def table(rows: pl.DataFrame) -> pl.DataFrame:
    """Return one row for each city and epsilon."""
    found = []
    for (city, epsilon), of_city in rows.group_by("city", "epsilon", maintain_order=True):
        days = of_city.group_by("day").agg(pl.col(pl.Float64).mean()).sort("day")
        later = days.filter(pl.col("day") > 1)
        first, last = days.row(0, named=True), days.row(-1, named=True)
        found.append(
            {
                "city": city,
                "epsilon": f"{epsilon:g}",
                "means, day by day": " ".join(f"{one:.2f}" for one in days["means"]),
                "bounded sums": f"{first['bounded_sums']:.2f}",
                "users": f"{last['n_users']:.2f}",
                "records": f"{last['n_records']:.2f}",
                "means hold": _both(first["means_hold"], later["means_hold"]),
                "users hold": _both(first["n_users_hold"], later["n_users_hold"]),
            }
        )
    return pl.DataFrame(found)


def _both(first: float, later: pl.Series) -> str:
    return f"{100 * first:.0f} / {100 * (later.to_numpy().mean() if len(later) else np.nan):.0f}"
