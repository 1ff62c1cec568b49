"""The schemas of tables between steps: pandera rules, checked on whole columns by polars."""

import pandera.polars as pa
import polars as pl
from pandera.errors import SchemaErrors

from dpmath.estimate.areas import AREAS
from tasks.base.config import Config
from tasks.base.errors import SchemaBroken

_UTC = pl.Datetime("us", "UTC")
_ROUNDED_UP = 1e-6
"""By how much an epsilon of zCDP may be rounded up."""


def record_schema(config: Config) -> pa.DataFrameSchema:
    """Return the schema of valid records. Every step after validation relies on it."""
    return pa.DataFrameSchema(
        {
            "local_date": pa.Column(pl.Date),
            "slot_start": pa.Column(_UTC),
            "h3_cell": pa.Column(pl.UInt64, pa.Check.gt(0)),
            "user_id": pa.Column(pl.String, pa.Check.str_length(min_value=1)),
            "value_ticks": pa.Column(pl.Int64, pa.Check.in_range(0, config.value.n_ticks)),
        },
        strict=True,
    )


def statistic_schema(config: Config) -> pa.DataFrameSchema:
    """Return the schema of a published table: its columns in order, and their ranges."""
    columns = {
        "h3_cell": pa.Column(pl.String, pa.Check.str_length(min_value=15, max_value=16)),
        "slot_start": pa.Column(_UTC),
        "slot_minutes": pa.Column(pl.Int64, pa.Check.eq(config.grid.slot_minutes)),
        "n_records": pa.Column(pl.Int64, pa.Check.ge(1)),
        "n_users": pa.Column(pl.Int64, pa.Check.ge(1)),
    }
    possible = pa.Check.in_range(float(config.value.lower), float(config.value.upper))
    if config.privacy.planned_by.estimates:
        columns |= _columns_of_estimate(possible)
    else:
        promises = config.privacy.planned_by.promises
        columns |= _estimate_columns("mean", float(config.value.lower), float(config.value.upper), promises)
    if config.privacy.planned_by.interval is not None:
        columns |= {f"mean_clip_{end}": pa.Column(pl.Float64, possible) for end in ("low", "high")}
    if config.statistics.variance:
        columns |= _estimate_columns("variance", 0.0, float(config.value.span**2 / 4))
    columns |= {
        "epsilon": pa.Column(
            pl.Float64, pa.Check.in_range(0, float(config.privacy.epsilon_per_day) + _ROUNDED_UP, include_min=False)
        ),
        "release_id": pa.Column(pl.String),
    }
    return pa.DataFrameSchema(columns, strict=True, ordered=True, unique=["h3_cell", "slot_start"])


def _columns_of_estimate(possible: pa.Check) -> dict[str, pa.Column]:
    """Return the columns of a mean that is estimated from the whole map."""
    return {
        "mean": pa.Column(pl.Float64, possible),
        "mean_sd": pa.Column(pl.Float64, pa.Check.gt(0)),
        "mean_ci95_low": pa.Column(pl.Float64, possible),
        "mean_ci95_high": pa.Column(pl.Float64, possible),
        "support": pa.Column(pl.String, pa.Check.isin(["measured", "modelled", "coarse"])),
        "mean_area": pa.Column(pl.String, pa.Check.isin(AREAS)),
        "mean_day_share": pa.Column(pl.Float64, pa.Check.in_range(0, 1)),
        "typical_mean": pa.Column(pl.Float64, possible),
    }


def _estimate_columns(name: str, lower: float, upper: float, always_noise: bool = True) -> dict[str, pa.Column]:
    """Return the columns of an estimate. Without noise is possible only if the interval is a single point."""
    possible = pa.Check.in_range(lower, upper)
    return {
        name: pa.Column(pl.Float64, possible),
        f"{name}_noise_scale": pa.Column(pl.Float64, pa.Check.gt(0) if always_noise else pa.Check.ge(0)),
        f"{name}_error_bound": pa.Column(pl.Float64, pa.Check.gt(0)),
        f"{name}_ci95_low": pa.Column(pl.Float64, possible),
        f"{name}_ci95_high": pa.Column(pl.Float64, possible),
    }


def check(frame: pl.DataFrame, schema: pa.DataFrameSchema, table: str) -> None:
    """Check that a table matches its schema.

    Raises:
        SchemaBroken: The table breaks a rule. The message names the rules and how often, never a row: pandera's own
            error contains the frame.
    """
    try:
        schema.validate(frame, lazy=True)
        return
    except SchemaErrors as error:
        broken = error.failure_cases.group_by("column", "check").len().sort("column", "check").rows()
    rules = "; ".join(f"{column}: {rule} ({n} times)" for column, rule, n in broken)
    raise SchemaBroken(f"{table} does not match its schema: {rules}. This is a defect, report it.")
