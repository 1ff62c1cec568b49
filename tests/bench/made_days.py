"""Days of real and made cities in memory, estimated as the pipeline estimates them, with what they really were."""

import datetime as dt
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from zoneinfo import ZoneInfo

import h3
import numpy as np
import polars as pl

from dpmath.core.currency import Concentrated
from dpmath.core.occupancy import Occupancy
from dpmath.estimate.asked import Asked
from dpmath.estimate.asking import ask
from dpmath.estimate.charges import charges
from dpmath.estimate.day import Day
from dpmath.estimate.design import RADIUS
from dpmath.estimate.errors import loadings_of
from dpmath.estimate.hindsight import Later, hindsight
from dpmath.estimate.law_bins import BinCounts, Bins
from dpmath.estimate.law_charges import FIRST, LATER, law_charges, limit_of_map, tells
from dpmath.estimate.law_design import Seen
from dpmath.estimate.law_shares import shares_above
from dpmath.estimate.posterior import Estimate
from dpmath.estimate.programme import programme, taken_again
from dpmath.estimate.questions import PrivateDay, Questions
from dpmath.estimate.state import POINTS, State
from dpmath.estimate.view import View
from dpmath.joint.loadings import Loadings
from tasks.answers.sums import Said, means_of, shares_of
from tasks.base.config_calendar import Calendar
from tasks.kinds.estimated.hindsight import LEARNING
from tasks.kinds.estimated.public_day import hexagon_positions
from tasks.output_formats.hindsight import MOVED
from tasks.output_formats.joint import joint_frame
from tasks.records.synthetic import TIMEZONE, pings_of_day
from tests.bench.guesses import FloatArray
from tests.bench.maps import REAL, days_from
from tests.bench.quantities import QUANTITIES, Records, records_of_day

DELTA = Decimal("1e-6")
N_USERS = 240
"""Of the made cities: with fewer, no share above a limit is told at epsilon 1."""
_TICKS = 10_000
_ZONE = ZoneInfo(TIMEZONE)
_RESOLUTION = 7


@dataclass(frozen=True)
class City:
    """A city.

    Attributes:
        name: What the tables call it.
        bounds: The least and the largest value.
        records: Returns the records of a day in a draw of the city.
        dates: Its days.
        limits: In points, the limits of shares that are asked about.
        zone: The time zone.
        holidays: Days that count as Sundays.
    """

    name: str
    bounds: tuple[float, float]
    records: Callable[[int, dt.date], Records]
    dates: tuple[dt.date, ...]
    limits: tuple[float, float]
    zone: ZoneInfo = _ZONE
    holidays: tuple[dt.date, ...] = ()

    @property
    def is_here(self) -> bool:
        """Whether its records are present: those of Austin are no part of the project."""
        return self.name != "Austin" or REAL.is_dir()


@dataclass(frozen=True)
class MadeDay:
    """A day as it is published, and as it was.

    Attributes:
        said: What is published of means, in points, and of the share above each limit that is told of.
        truth: For each of these, what it was in each cell.
    """

    said: list[Said]
    truth: list[FloatArray]


def _made(name: str, limits: tuple[float, float], n_days: int) -> City:
    quantity = QUANTITIES[name]
    bounds, dates = (quantity.lower, quantity.upper), days_from(_FIRST, n_days)
    return City(name, bounds, lambda draw, date: records_of_day(quantity, draw, date, N_USERS), dates, limits)


def _demo(draw: int, date: dt.date) -> Records:
    pings = pings_of_day(date, np.random.default_rng([draw, date.toordinal()]), draw)
    midnight = dt.datetime.combine(date, dt.time(), ZoneInfo(TIMEZONE)).timestamp()
    numbers = (pings[name].to_numpy() for name in ("lat", "lon", "speed"))
    return Records(_numbered(pings["bus"]), pings["epoch"].to_numpy() - midnight, *numbers)


def _austin(_: int, date: dt.date) -> Records:
    zone = "America/Chicago"
    table = pl.read_csv(
        REAL / "capmetro_austin_2016-11-24_27.csv.gz", columns=["user_id", "ts", "lat", "lon", "speed_kmh"]
    )
    table = table.with_columns(pl.col("ts").str.to_datetime(time_zone="UTC").dt.convert_time_zone(zone))
    table = table.filter(
        pl.col("ts").dt.date() == date,
        pl.col("lat").is_between(29.5, 31),
        pl.col("lon").is_between(-98.5, -97),
        pl.col("speed_kmh").is_between(0, 100),
    ).unique(["user_id", "ts"], keep="first", maintain_order=True)
    seconds = table["ts"].dt.hour().to_numpy() * 3600.0
    return Records(
        _numbered(table["user_id"]), seconds, *(table[name].to_numpy() for name in ("lat", "lon", "speed_kmh"))
    )


def _numbered(names: pl.Series) -> np.ndarray:
    return names.cast(pl.String).rank("dense").to_numpy().astype(np.int64) - 1


_FIRST, _THANKSGIVING = dt.date(2026, 3, 2), dt.date(2016, 11, 24)
_N_DAYS = 14
N_LONG = 28
"""Days of a city that is asked about four weeks too; the others have two."""
CITIES = (
    City(
        "Austin",
        (0, 100),
        _austin,
        days_from(_THANKSGIVING, 4),
        (30, 50),
        ZoneInfo("America/Chicago"),
        (_THANKSGIVING,),
    ),
    City("demo city", (0, 80), _demo, days_from(_FIRST, _N_DAYS), (25, 50)),
    _made("speed, rises with records", (25, 45), _N_DAYS),
    _made("temperature", (50, 55), _N_DAYS),
    _made("noise level", (35, 50), N_LONG),
)


@dataclass(frozen=True)
class _Released:
    """A released day, with what it takes to estimate it again."""

    cells: pl.DataFrame
    private: PrivateDay
    asked: Asked
    questions: Questions
    estimate: Estimate

    def known(self, later: Later | None) -> MadeDay:
        """Return it as it was released; after later days, as it is known with them."""
        day, estimate = self.asked.day, self.estimate
        mean, together = estimate.mean, None
        if later is not None:
            covariates = self.asked.covariates
            view = View.of(day, later.state, covariates)
            taken = taken_again(view, self.questions, estimate.read)
            found = hindsight(day, taken, estimate.read.shocks, later, covariates)
            mean, together = found.mean, found.together
        return _as_published(self, mean, together)


def made_days(city: City, epsilon: float, draw: int) -> Iterator[MadeDay]:
    """Yield the days of a city, released one after the other from nothing, in zCDP, as known when their week is over.

    Args:
        city: The city.
        epsilon: Of a day.
        draw: Of the noise, and of a made city.
    """
    rng, state = np.random.default_rng([draw, 4]), None
    week: list[_Released] = []
    n_learned = 0
    for date in city.dates:
        cells, day, private = _of_records(city.records(draw, date), date, city)
        asked = _asked(day, state, epsilon, city.limits)
        estimate, questions = ask(programme(state, asked), private, rng.bytes)
        state = estimate.state
        week.append(_Released(cells, private, asked, questions, estimate))
        if date.weekday() == 6 or date == city.dates[-1]:
            *earlier, last = week
            later = Later.after(state, estimate.read.cut) if date.weekday() == 6 and n_learned < LEARNING else None
            n_learned += len(week)
            yield from (one.known(later) for one in earlier)
            yield last.known(None)
            week = []


def _asked(day: Day, state: State | None, epsilon: float, limits: Sequence[float]) -> Asked:
    limit = Concentrated(DELTA).within(Decimal(str(epsilon)))
    radius = np.full(day.occupancy.n_users, RADIUS, dtype=np.int64)
    asks_law = tells(limit, radius)
    asks = (FIRST if state is None else LATER) if asks_law else {}
    of_day = (*charges(state is None, limit_of_map(limit, asks), "l2"), *law_charges(limit, asks))
    by_name = {one.name: one for one in of_day}
    return Asked(day, _TICKS, radius, by_name, "l2", limits=tuple(limits) if asks_law else None)


def _of_records(records: Records, date: dt.date, city: City) -> tuple[pl.DataFrame, Day, PrivateDay]:
    """Return the cells of a day by hour and hexagon, what is public of it, and its values."""
    lower, upper = city.bounds
    ticks = np.rint((np.clip(records.value, lower, upper) - lower) / (upper - lower) * _TICKS)
    places = zip(records.latitude, records.longitude, strict=True)
    hexagon = np.array([h3.str_to_int(h3.latlng_to_cell(*place, _RESOLUTION)) for place in places], dtype=np.uint64)
    every = pl.DataFrame(
        {
            "slot": (records.seconds // 3600).astype(np.int64),
            "hexagon": hexagon,
            "user": records.user,
            "ticks": ticks.astype(np.int64),
        }
    ).with_columns(pl.col("user").rank("dense").cast(pl.Int64) - 1, bin=(pl.col("ticks") * 100 + _TICKS - 1) // _TICKS)
    cells = every.select("slot", "hexagon").unique().sort("slot", "hexagon").with_row_index("cell")
    every = every.join(cells, on=["slot", "hexagon"])
    pairs = every.group_by("cell", "user").agg(n=pl.len(), total=pl.col("ticks").sum()).sort("cell", "user")
    pairs = pairs.with_row_index("pair")
    bins = (
        every.group_by("cell", "user", "bin").agg(count=pl.len()).join(pairs, on=["cell", "user"]).sort("pair", "bin")
    )
    cell, user, n_records, total = (pairs[name].to_numpy().astype(np.int64) for name in ("cell", "user", "n", "total"))
    occupancy = Occupancy(cell, user, n_records, cells.height, int(user.max()) + 1)
    names, number = np.unique(cells["hexagon"].to_numpy(), return_inverse=True)
    kind = Calendar(holidays=city.holidays).kind_of_day(date)
    spacing = h3.average_hexagon_edge_length(_RESOLUTION) * math.sqrt(3)
    day = Day(
        occupancy, number.astype(np.int64), cells["slot"].to_numpy(), names, hexagon_positions(names), spacing, 24, kind
    )
    pair, number_of_bin, count = (bins[name].to_numpy().astype(np.int64) for name in ("pair", "bin", "count"))
    counts = BinCounts(pair, number_of_bin, count, cell.size)
    midnight = dt.datetime.combine(date, dt.time(), city.zone)
    starts = [(midnight + dt.timedelta(hours=slot)).astimezone(dt.UTC) for slot in cells["slot"]]
    named = pl.DataFrame({"h3_cell": [h3.int_to_str(one) for one in cells["hexagon"]], "slot_start": starts})
    return named, day, PrivateDay(occupancy, total, np.zeros_like(total), bins=counts)


def _as_published(one: _Released, mean: FloatArray, known: Loadings | None) -> MadeDay:
    """Return what the joint tables say, in points, beside what was.

    Args:
        one: The day as it was released.
        mean: The mean of each cell.
        known: How errors of the means go together after later days; None if they are as released.
    """
    cells, private, asked, estimate = one.cells, one.private, one.asked, one.estimate
    day, limits = asked.day, asked.limits or ()
    occupancy, n_records = day.occupancy, pl.Series(day.occupancy.cell_records)
    together = loadings_of(estimate, day)
    numbers = {"n_records": n_records, "cell_mean": mean, MOVED: mean - estimate.mean}
    joint = joint_frame(cells, numbers, known or together, 1.0)
    of_cells = np.bincount(occupancy.cell, private.totals) / occupancy.cell_records
    said, truth = [means_of(joint)], [of_cells * POINTS / _TICKS]
    for limit in limits:
        found = shares_above(_seen(estimate, day), Bins(_TICKS), limit)
        numbers = {"limit": np.full(cells.height, limit), "share_above": found.above, "by_mean": found.by_mean}
        said.append(shares_of(joint, joint_frame(cells, numbers, found.apart, 1.0), limit))
        truth.append(_true_shares(occupancy, private, limit))
    return MadeDay([replace(each, again=(known or together).again) for each in said], truth)


def _seen(estimate: Estimate, day: Day) -> Seen:
    if estimate.state.shapes is None:
        raise ValueError("the law of records was never asked about")
    return Seen(estimate, estimate.state.shapes.with_hexagons(day))


def _true_shares(occupancy: Occupancy, private: PrivateDay, limit: float) -> FloatArray:
    """Return the share of each cell's records above a limit, which is the end of a bin."""
    if private.bins is None:
        raise ValueError("a day whose shares are told has bins")
    counts = private.bins
    above = np.bincount(occupancy.cell[counts.pair], counts.count * (counts.number > limit), occupancy.n_cells)
    return np.asarray(above / occupancy.cell_records)
