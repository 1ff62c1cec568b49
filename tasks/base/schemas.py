"""The schemas of tables between steps: pandera rules, checked on whole columns by polars."""

import pandera.polars as pa
import polars as pl
from pandera.errors import SchemaErrors

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


def table_schema(columns: dict[str, pa.Column], config: Config) -> pa.DataFrameSchema:
    """Return the schema of a published table, one row per cell: the columns that every kind of release has, in order.

    Args:
        columns: What a kind of release publishes of each cell; they stand between place and size, and the cost.
        config: Gives the grid and the limit of a day.
    """
    columns = {
        "h3_cell": pa.Column(pl.String, pa.Check.str_length(min_value=15, max_value=16)),
        "slot_start": pa.Column(_UTC),
        "slot_minutes": pa.Column(pl.Int64, pa.Check.eq(config.grid.slot_minutes)),
        "n_records": pa.Column(pl.Int64, pa.Check.ge(1)),
        "n_users": pa.Column(pl.Int64, pa.Check.ge(1)),
        **columns,
        "epsilon": pa.Column(
            pl.Float64, pa.Check.in_range(0, float(config.privacy.epsilon_per_day) + _ROUNDED_UP, include_min=False)
        ),
        "release_id": pa.Column(pl.String),
    }
    return pa.DataFrameSchema(columns, strict=True, ordered=True, unique=["h3_cell", "slot_start"])


def possible_values(config: Config) -> pa.Check:
    """Return the rule that a number is a possible value of a record."""
    return pa.Check.in_range(float(config.value.lower), float(config.value.upper))


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
