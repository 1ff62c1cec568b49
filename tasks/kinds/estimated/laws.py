"""The published columns of percentiles and shares above limits, and the private counts that they are asked of."""

import datetime as dt
import logging
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandera.polars as pa
import polars as pl

from dpmath.core.accounting import ExactIntArray
from dpmath.core.occupancy import Occupancy
from dpmath.estimate.areas import AREAS
from dpmath.estimate.asked import Asked
from dpmath.estimate.charges import limit_of, reach_of
from dpmath.estimate.law_bins import BinCounts, Bins
from dpmath.estimate.law_charges import FIRST, LATER, share_noise, tells
from dpmath.estimate.law_design import Seen
from dpmath.estimate.law_output import Distributions, distributions, law_areas
from dpmath.estimate.posterior import Estimate
from dpmath.estimate.state import POINTS
from dpmath.joint.factors import Factors
from tasks.account.ledger import read_entries
from tasks.base import schemas
from tasks.base.config import Config
from tasks.base.errors import BadInput, HexveilError
from tasks.base.logs import warn
from tasks.kinds.estimated.asked_day import limits_in_points, norm_of
from tasks.kinds.estimated.owner_covariates import covariate_names
from tasks.kinds.estimated.states import known_before
from tasks.occupancy.cells import parents_of
from tasks.output_formats.columns import share_above

log = logging.getLogger("hexveil.estimate")

AREA = "distribution_area"


@dataclass(frozen=True)
class Column:
    """A statistic's columns: its name, and whether it is a share."""

    name: str
    is_share: bool

    @property
    def names(self) -> tuple[str, str, str]:
        """The names of its value and of the ends of its interval."""
        return self.name, f"{self.name}_ci95_low", f"{self.name}_ci95_high"


def columns_of(config: Config) -> list[Column]:
    """Return the statistics that are published beside the mean, in their order."""
    return [Column(f"p{one}", is_share=False) for one in config.statistics.percentiles] + [
        Column(share_above(one), is_share=True) for one in config.statistics.limits
    ]


def law_schema(config: Config) -> dict[str, pa.Column]:
    """Return the schema of the columns; all of them may be empty."""
    found = {}
    for column in columns_of(config):
        possible = pa.Check.in_range(0, 1) if column.is_share else schemas.possible_values(config)
        found |= {name: pa.Column(pl.Float64, possible, nullable=True) for name in column.names}
    return found | ({AREA: pa.Column(pl.String, pa.Check.isin(AREAS), nullable=True)} if found else {})


def with_laws(table: pl.DataFrame, estimate: Estimate, asked: Asked, errors: Factors, config: Config) -> pl.DataFrame:
    """Return the table of an estimate with the columns of percentiles and shares before that of the cost.

    Args:
        table: The table.
        estimate: The estimate of the day.
        asked: What its questions were made from.
        errors: How the errors of the day's cells go together.
        config: Says which percentiles and shares.
    """
    if not config.statistics.of_laws:
        return table
    before = table.columns.index("epsilon")
    found = law_frame(laws_of(estimate, asked, errors, config), config)
    return table.select(table.columns[:before]).hstack(found).hstack(table.select(table.columns[before:]))


def without_laws(table: pl.DataFrame, config: Config) -> pl.DataFrame:
    """Return a released table without these columns, as far as it has them."""
    return table.drop(law_schema(config), strict=False)


def laws_of(estimate: Estimate, asked: Asked, errors: Factors, config: Config, slack: float = 0.0) -> Distributions:
    """Return the percentiles and shares of a day.

    Args:
        estimate: The estimate of the day.
        asked: What its questions were made from.
        errors: How the errors of the day's cells go together.
        config: Says which percentiles and shares.
        slack: By how much of its range an interval may be wider than the rule allows.
    """
    seen = seen_of(estimate, asked)
    areas = law_areas(estimate, asked.day, parents_of(asked.day.names), errors)
    return distributions(
        seen, areas, Bins(asked.value_range), config.statistics.percentiles, limits_in_points(config), slack
    )


def seen_of(estimate: Estimate, asked: Asked) -> Seen:
    """Return a day's cells as the shapes expect them."""
    shapes = estimate.state.shapes
    if shapes is None:
        raise ValueError("the law of records was never asked about")
    return Seen(estimate, shapes.with_hexagons(asked.day))


def law_frame(found: Distributions, config: Config) -> pl.DataFrame:
    """Return the columns of a day's percentiles and shares."""
    lower, point = float(config.value.lower), float(config.value.span) / POINTS
    series = []
    for column, one in zip(columns_of(config), [*found.percentiles, *found.shares], strict=True):
        for name, numbers in zip(column.names, (one.value, one.low, one.high), strict=True):
            in_unit = numbers if column.is_share else np.clip(lower + numbers * point, lower, float(config.value.upper))
            series.append(pl.Series(name, in_unit).fill_nan(None))
    names = pl.Series(AREA, np.array([*AREAS, None], dtype=object)[found.area].tolist(), dtype=pl.String)
    return pl.DataFrame([*series, names])


def unlike_laws(
    table: pl.DataFrame, estimate: Estimate, asked: Asked, errors: Factors, config: Config, tolerance: float
) -> Iterator[str]:
    """Yield the first thing in which a released table's percentiles and shares differ from those made again.

    Whether an interval is too wide may follow from its last digit, in which machines differ. So what is empty must be
    nearly too wide, and what is not, nearly narrow enough.
    """
    if not config.statistics.of_laws:
        return
    if not set(law_schema(config)) <= set(table.columns):
        yield "columns of percentiles or shares are missing"
        return
    narrow, wide = (
        law_frame(laws_of(estimate, asked, errors, config, slack), config) for slack in (-tolerance, tolerance)
    )
    if not wide[AREA].equals(table[AREA]):
        yield f"{AREA} does not follow from the records of the areas"
        return
    for column in columns_of(config):
        span = 1.0 if column.is_share else float(config.value.span)
        for name in column.names:
            given, ours = table[name].is_not_null(), wide[name].is_not_null()
            off = (table[name] - wide[name]).abs().max()
            if (narrow[name].is_not_null() & ~given).any() or (given & ~ours).any():
                yield f"{name} is empty, or is not, against what its intervals say"
                return
            if isinstance(off, float) and not off <= tolerance * span:
                yield f"{name} does not follow from the noisy answers"
                return


def share_taken(date: dt.date, cells: pl.DataFrame, losses: ExactIntArray, config: Config) -> float:
    """Return which share of a day's rho the questions about percentiles and limits take; 0 if none is asked.

    Args:
        date: The local day.
        cells: One row per cell, with the owner's covariates.
        losses: What the day is charged to each user, shape (L,).
        config: Says which percentiles and shares, and what a day may cost.

    Raises:
        BadInput: There are too few users for the epsilon, and no earlier day told of the law of records.
    """
    if not config.statistics.of_laws:
        return 0.0
    known = known_before(date, covariate_names(cells), read_entries(config), config)
    is_known = known.state is not None and known.state.shapes is not None
    limit = limit_of(losses, config.privacy.loss_per_day, norm_of(config))
    radius = reach_of(losses, limit, losses.size, norm_of(config))
    if tells(limit, radius):
        return sum((LATER if is_known else FIRST).values()) / 1000
    noise = f"{100 * share_noise(limit, radius):.0f} points"
    if not is_known:
        raise BadInput(
            f"{date}: statistics.percentiles and statistics.limits cannot be told of {losses.size:,} users at "
            f"privacy.epsilon_per_day = {config.privacy.epsilon_per_day}: the share of all records below a value would "
            f"be known only to {noise}. Remove both settings, or raise epsilon_per_day; nothing was spent."
        )
    warn(
        log,
        "too few users for this epsilon: no percentile or limit is asked about, and nothing of the day is spent on "
        "them; they are those that earlier days tell of",
        date=date,
        noise=noise,
    )
    return 0.0


def bin_counts(occupancy: Occupancy, pairs: pl.DataFrame, n_missing: np.ndarray, private: pl.DataFrame) -> BinCounts:
    """Return how many records of each pair are in each bin.

    Args:
        occupancy: The occupancy array.
        pairs: One row per pair, in its order: slot_start, h3_cell, user_hash.
        n_missing: How many of each pair's values are missing, shape (P,).
        private: What ``sql/read/user_bin.sql`` returns.

    Raises:
        HexveilError: They are not the records of these pairs.
    """
    numbered = private.join(pairs.with_row_index("pair"), on=pairs.columns).sort("pair", "private_bin")
    pair, number, count = (
        numbered[name].cast(pl.Int64).to_numpy() for name in ("pair", "private_bin", "private_n_values")
    )
    held = np.bincount(pair, count, occupancy.cell.size).astype(np.int64)
    if not np.array_equal(held, occupancy.n_records - n_missing):
        raise HexveilError("the records in bins are not those of the plan; run the day again")
    return BinCounts(pair, number, count, occupancy.cell.size)
