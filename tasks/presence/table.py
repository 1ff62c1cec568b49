"""The published table of a day: the cells that surely had enough users, with an interval for each number."""

import datetime as dt
from fractions import Fraction
from itertools import product
from zoneinfo import ZoneInfo

import numpy as np
import pandera.polars as pa
import polars as pl

from dpmath.presence.estimate import Estimate
from dpmath.presence.intervals import Number, at_least, limits
from tasks.base import schemas
from tasks.presence.config import PresenceConfig

_NORMAL_95 = 1.959964
_DECIMALS = 6
COLUMNS = {
    "h3_cell": "H3 index of the hexagon",
    "slot_start": "start of the time slot, UTC; slots are counted from local midnight by the clock on the wall, so an "
    "hour that the clock shows twice is one slot",
    "slot_minutes": "length of the slot by the clock on the wall",
    "n_users": "noisy number of users in the cell, rounded",
    "n_users_sd": "standard deviation of its error",
    "n_users_ci95_low, n_users_ci95_high": "an interval that is meant to hold the number in 95 of 100 cells",
    "n_records": "noisy number of their records with a value, at most the cap of each user, rounded",
    "n_records_sd": "standard deviation of its error",
    "n_records_ci95_low, n_records_ci95_high": "an interval that is meant to hold it in 95 of 100 cells",
    "mean": "noisy mean of these records' values, cut to the possible range",
    "mean_sd": "standard deviation of its error; the interval is 1.96 of it on either side",
    "mean_ci95_low, mean_ci95_high": "an interval that is meant to hold the mean in 95 of 100 cells",
    "epsilon": "what the whole release costs everybody, at the release's delta, rounded up",
    "release_id": "the release, to be looked up in the ledger",
    "geometry": "outline of the hexagon, longitude and latitude in WGS 84, in statistics.geojson and "
    "statistics.geoparquet; one over the 180th meridian runs on past 180 degrees",
}
"""What the published columns mean."""


def meaning(column: str) -> str:
    """Return the meaning of a published column."""
    return next(text for names, text in COLUMNS.items() if column in names.split(", "))


def table_of(
    estimate: Estimate, date: dt.date, release_id: str, epsilon: float, config: PresenceConfig
) -> pl.DataFrame:
    """Return the table to publish; it follows from noisy numbers alone. See ``cells_of``."""
    cells = cells_of(estimate, date, release_id, epsilon, config)
    return cells.filter(pl.col("is_published")).drop("is_published")


def cells_of(
    estimate: Estimate, date: dt.date, release_id: str, epsilon: float, config: PresenceConfig
) -> pl.DataFrame:
    """Return the table of all cells of the area, with which of them are published.

    Args:
        estimate: The day's estimate of every public cell.
        date: The local day.
        release_id: The id of the release.
        epsilon: What the release costs everybody.
        config: Says which cells are published.
    """
    n_cells = estimate.n_users.mean.size
    table = pl.DataFrame(
        {
            **places(date, config),
            "slot_minutes": np.full(n_cells, config.grid.slot_minutes, dtype=np.int64),
            **_count("n_users", estimate.n_users),
            **(_means(estimate, config) if config.statistics.mean else {}),
            "epsilon": np.full(n_cells, epsilon),
            "is_published": at_least(estimate.n_users, config.publish.publish_from),
        }
    ).with_columns(release_id=pl.lit(release_id), slot_start=pl.col("slot_start").cast(pl.Datetime("us", "UTC")))
    return table.drop_nulls("slot_start").sort("slot_start", "h3_cell")


def schema(config: PresenceConfig) -> pa.DataFrameSchema:
    """Return the schema of the published table."""
    number, count = pa.Column(pl.Float64, pa.Check.ge(0)), pa.Column(pl.Int64, pa.Check.ge(0))
    possible = pa.Column(pl.Float64, pa.Check.in_range(float(config.value.lower), float(config.value.upper)))
    names = ("n_users", "n_records") if config.statistics.mean else ("n_users",)
    means = {"mean": possible, "mean_sd": number, "mean_ci95_low": possible, "mean_ci95_high": possible}
    counts = {
        f"{name}{part}": kind
        for name in names
        for part, kind in {"": count, "_sd": number, "_ci95_low": count, "_ci95_high": count}.items()
    }
    columns = {
        "h3_cell": pa.Column(pl.String),
        "slot_start": pa.Column(pl.Datetime("us", "UTC")),
        "slot_minutes": pa.Column(pl.Int64, pa.Check.eq(config.grid.slot_minutes)),
        **counts,
        **(means if config.statistics.mean else {}),
        "epsilon": number,
        "release_id": pa.Column(pl.String),
    }
    return pa.DataFrameSchema(columns, strict=True, ordered=True, unique=["h3_cell", "slot_start"])


def check(table: pl.DataFrame, config: PresenceConfig) -> None:
    """Check a table against its schema; raises ``SchemaBroken``."""
    schemas.check(table, schema(config), "statistics")


def _means(estimate: Estimate, config: PresenceConfig) -> dict[str, np.ndarray]:
    mean, sd = in_unit(estimate.mean.mean, config), np.sqrt(estimate.mean.variance) * config.tick
    ends = (mean + side * _NORMAL_95 * sd for side in (-1, 1))
    low, high = (np.clip(end, float(config.value.lower), float(config.value.upper)) for end in ends)
    columns = {"mean": mean, "mean_sd": sd, "mean_ci95_low": low, "mean_ci95_high": high}
    return _count("n_records", estimate.n_records) | {name: one.round(_DECIMALS) for name, one in columns.items()}


def in_unit(ticks: np.ndarray, config: PresenceConfig) -> np.ndarray:
    """Return values of a number of ticks in the value's unit."""
    return float(Fraction(config.value.lower)) + ticks * config.tick


def _count(name: str, number: Number) -> dict[str, np.ndarray]:
    low, high = limits(number, 0.95)
    return {
        name: np.rint(number.mean).astype(np.int64),
        f"{name}_sd": np.sqrt(number.variance).round(_DECIMALS),
        f"{name}_ci95_low": low.astype(np.int64),
        f"{name}_ci95_high": high.astype(np.int64),
    }


def places(date: dt.date, config: PresenceConfig) -> dict[str, list[object]]:
    """Return the hexagon and the slot of every public cell; no slot that the clock skips."""
    starts = [_instant(date, number * config.grid.slot_minutes, config) for number in range(config.n_slots)]
    cells = list(product(config.hexagons, starts))
    return {"h3_cell": [hexagon for hexagon, _ in cells], "slot_start": [start for _, start in cells]}


def _instant(date: dt.date, minutes: int, config: PresenceConfig) -> dt.datetime | None:
    """Return the first instant of a slot that the clock does not skip; None if it skips all of it."""
    zone = ZoneInfo(config.timezone)
    for minute in range(minutes, minutes + config.grid.slot_minutes):
        written = dt.datetime.combine(date, dt.time(minute // 60, minute % 60))
        start = written.replace(tzinfo=zone).astimezone(dt.UTC)
        if start.astimezone(zone).replace(tzinfo=None) == written:
            return start
    return None
