"""The published columns, and the meaning of each."""

import math
import re
from decimal import Decimal

import polars as pl

from tasks.base.errors import HexveilError

INSTANT = "%Y-%m-%dT%H:%M:%SZ"
"""How an instant, in UTC, is written in a text file."""


def expected_errors(statistics: pl.DataFrame) -> pl.Series:
    """Return the expected absolute error of each published mean: what is promised, or what an estimate expects."""
    if "mean_error_bound" in statistics.columns:
        return statistics["mean_error_bound"]
    return statistics["mean_sd"] * math.sqrt(2 / math.pi)


COLUMNS = {
    "h3_cell": "H3 index of the hexagon",
    "slot_start": "start of the time slot, UTC; slots are counted from local midnight",
    "slot_minutes": "length of the slot; the last one of a day with a clock change may be shorter",
    "n_records": "records in the cell, exact",
    "n_users": "users in the cell, exact",
    "mean": "noisy mean of the records' values, cut to the possible range",
    "mean_noise_scale": "scale of the noise in the mean: b of Laplace noise, or sigma of Gaussian noise",
    "mean_error_bound": "promise: the expected absolute error is at most this, whatever the values are; where an "
    "interval is drawn, given that interval",
    "mean_clip_low, mean_clip_high": "where an interval is drawn (levy, quantile), what array means were projected to",
    "mean_ci95_low, mean_ci95_high": "holds the true mean with probability at least 0.95, whatever the values "
    "are: clipping bias and noise are both counted; an estimate's interval is meant to hold it in 95 of 100 cells, if "
    "values are like those released before",
    "mean_sd": "of an estimate: standard deviation of its error; the interval is 1.96 of it on either side",
    "support": "of an estimate: coarse, if mean_area is larger than the cell; else measured, if the day's own data "
    "removed a tenth of the uncertainty or more, or modelled",
    "mean_area": "of an estimate: what mean, mean_sd, its interval, mean_day_share and typical_mean are of: the cell; "
    "or, where the cell's interval would be wider than privacy.target_error allows, a larger area that holds it, as a "
    "mean over its records of the day: hexagon_4h, the hexagon in the 4 hours of local time in which the slot begins; "
    "parent, the next coarser H3 hexagon in the slot; parent_4h, that one in the 4 hours",
    "mean_day_share": "of an estimate: how much of the uncertainty the day's own data removed",
    "typical_mean": "of an estimate: what is expected of mean_area on such a kind of day",
    "unusual": "of an estimate: whether the cell is in an area that surely departs from what is usual, by more than a "
    "quarter of what cells differ by (unusual_beyond in the manifest); areas are the city, its hours, and places for "
    "the day, in parts of it and in slots; of the areas listed, at most a tenth do not, on average",
    "variance, variance_...": "the same for the variance, where it is published; its noise scale is that of the "
    "second moment about the middle of the range",
    "p15, p50, ...": "where percentiles are published: the percentile of the records of distribution_area on the day; "
    "empty where it would say less than one number for the whole city does",
    "share_above_30, ...": "where limits are published: the share of these records above the limit, from 0 to 1",
    "p15_ci95_low, ..._high": "interval of a percentile or share, meant to hold that of the day's records in 95 of "
    "100 areas",
    "distribution_area": "what percentiles and shares are of: the cell if it has 20 records, else the first of "
    "hexagon_4h, parent and parent_4h (see mean_area) that has; empty if none has",
    "zone, hour": "in zones.csv: the owner's zone, and the local hour, none for the whole day; other columns as above, "
    "over the records in it, where a hexagon on its edge counts by the share inside",
    "epsilon": "the most that any one user loses: of an estimate by the whole release, as its ledger entry says; "
    "else by this cell alone; in zCDP at the release's delta, rounded up",
    "release_id": "the release, to be looked up in the ledger",
    "geometry": "outline of the hexagon, longitude and latitude in WGS 84, in statistics.geojson and "
    "statistics.geoparquet; one over the 180th meridian runs on past 180 degrees",
}


def share_above(limit: Decimal) -> str:
    """Return the name of the column of the share of records above a limit."""
    return "share_above_" + format(limit, "f").replace(".", "_").replace("-", "minus_")


_NAMED_BY_SETTINGS = {
    r"variance.*": "variance, variance_...",
    r"(p\d+|share_above_\w+)_ci95_(low|high)": "p15_ci95_low, ..._high",
    r"p\d+": "p15, p50, ...",
    r"share_above_\w+": "share_above_30, ...",
}


def meaning(column: str) -> str:
    """Return the meaning of a published column.

    Raises:
        HexveilError: It has none here.
    """
    for pattern, names in _NAMED_BY_SETTINGS.items():
        if re.fullmatch(pattern, column):
            return COLUMNS[names]
    found = next((text for names, text in COLUMNS.items() if column in names.split(", ")), None)
    if found is None:
        raise HexveilError(f"the published column {column} has no meaning in COLUMNS; nothing is released")
    return found
