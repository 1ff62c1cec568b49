"""Times: finds out in which form a file's times are written, from the configuration and from the times alone."""

import datetime as dt
import itertools
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from tasks.base import warehouse
from tasks.base.config import Config
from tasks.base.config_source import TimeUnit
from tasks.records.input_formats import recognise

N_LOOKED_AT = 1000
"""How many of a file's first times decide on their form."""


TimeForm = Mapping[str, Any]
"""How a file's times are written: what ``instant_of`` needs, ``micros`` and ``time_format``."""

TEXT: TimeForm = {"micros": None, "time_format": None}
"""ISO 8601, and Parquet's own times."""


def time_form(first: Sequence[Any], config: Config) -> TimeForm:
    """Return the form of a file's times: the declared one, or what the first times show.

    Args:
        first: The file's first times.
        config: Declares a unit or a form, or leaves it to be recognised.
    """
    columns = config.columns
    if columns.time_format is not None:
        return of_format(columns.time_format)
    unit = columns.time_unit or recognise.time_unit(itertools.islice(first, N_LOOKED_AT))
    return TEXT if unit is None else of_unit(unit)


def of_format(written: str) -> TimeForm:
    """Return the form of times that are written as a `columns.time_format` says."""
    return {"micros": None, "time_format": written}


def of_unit(unit: TimeUnit) -> TimeForm:
    """Return the form of times that are numbers since 1970."""
    micros = Decimal(1_000_000) / recognise.UNITS[unit]
    return {"micros": micros, "time_format": None}


def local_days(times: Sequence[Any], forms: Sequence[TimeForm], timezone: str) -> list[list[dt.date | None]]:
    """Return the local day of each time in each form, as the readers of files read it; None if they cannot.

    Args:
        times: Some times of a source, as they are written.
        forms: The forms.
        timezone: The time zone of the days, and of times without an offset.
    """
    written = pa.table({"number": range(len(times)), "written": pa.array(map(str, times), pa.string())})
    with warehouse.in_memory(timezone) as connection:
        warehouse.run(connection, "scratch/instant_of")
        warehouse.run(connection, "scratch/readable_time")
        connection.register("source_time", written)
        return [[day for (day,) in warehouse.rows(connection, "read/days_of_times", dict(form))] for form in forms]
