"""Times: finds out in which form a file's times are written, from the configuration and from the times alone."""

import datetime as dt
import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from tasks.base import warehouse
from tasks.base.config import Config
from tasks.base.config_source import TimeUnit
from tasks.base.errors import BadInput
from tasks.base.file_patterns import is_of_path, said_by_path
from tasks.base.time_zones import abbreviations, clock_changes
from tasks.records.input_formats import recognise

N_LOOKED_AT = 1000
"""How many of a file's first times decide on their form."""


_MACROS = (
    "scratch/has_date",
    "scratch/is_whole_time",
    "scratch/joined_time",
    "scratch/written_time",
    "scratch/iso_instant",
    "scratch/ends_in_name",
    "scratch/zone_name",
    "scratch/without_bracket",
    "scratch/without_own_zone",
    "scratch/named_instant",
    "scratch/formed_instant",
    "scratch/instant_of",
    "scratch/parted_instant",
    "scratch/readable_time",
)

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


def use_parts(connection: warehouse.Connection, path: Path | None, date: dt.date | None, config: Config) -> None:
    """Let a connection know which parts the times of a file have, and what its path says of them.

    Args:
        connection: The connection, with which one file is read next, or several whose paths say nothing.
        path: The file; None for several.
        date: The day that it is for, if it is for one.
        config: Says where the times are.

    Raises:
        BadInput: The path says no hour, and it should.
    """
    of_time = config.columns.of_time
    said = [_said(name, path, date, config) for name in of_time]
    is_parted = len(of_time) > 1 or said != [None]
    variables = {"is_parted": is_parted, "has_clock": len(of_time) > 1}
    for name, one in {**variables, **dict(zip(("path_time", "path_clock"), (*said, None), strict=False))}.items():
        connection.execute(f"set variable {name} = $said", {"said": one})


def _said(name: str, path: Path | None, date: dt.date | None, config: Config) -> str | None:
    if path is None or not is_of_path(name):
        return None
    said = said_by_path(name, path, date, config.dataset.files)
    if said is None:
        raise BadInput(f"{path}: no pattern of dataset.files finds the {{hour}} in it; mend them")
    return said


def written_times(
    connection: warehouse.Connection, first: Sequence[Any], second: Sequence[Any], config: Config
) -> Sequence[Any]:
    """Return the times of some records as they are read from two columns, which are one if the time has one.

    The connection is one with ``use_parts``.
    """
    if len(config.columns.of_time) < 2 and not any(map(is_of_path, config.columns.of_time)):
        return first
    parts = {"first": list(first), "second": list(second), "time_format": config.columns.time_format}
    return [written for (written,) in warehouse.rows(connection, "read/written_times", parts)]


def define_times(connection: warehouse.Connection) -> None:
    """Let a connection read times as they are written."""
    for made in _MACROS:
        warehouse.run(connection, made)


def use_zones(connection: warehouse.Connection, of_times: str, of_days: str) -> None:
    """Let a connection read times without an offset in one zone, and count days in another."""
    connection.execute("set TimeZone = $zone", {"zone": of_times})
    connection.execute("set variable day_zone = $zone", {"zone": of_days})
    shifts = abbreviations(of_times)
    connection.execute("set variable time_zone = $zone", {"zone": of_times})
    connection.execute(
        "set variable zone_shifts = map($names, $shifts)",
        {"names": list(shifts), "shifts": [shift // dt.timedelta(microseconds=1) for shift in shifts.values()]},
    )
    words = rf"(^|[^A-Za-z/])({'|'.join(shifts)})($|[^A-Za-z/])" if shifts else r"\b\B"
    connection.execute("set variable zone_words = $words", {"words": words})
    warehouse.run(connection, "scratch/local_day")


def zone_names_read(zone: str) -> str:
    """Return which names of zones are read in times, in words, where those without an offset are of a zone."""
    own = " and ".join(sorted(abbreviations(zone).keys() - {"UTC", "GMT"}))
    return "offsets, UTC, GMT and names such as Europe/Paris" + (f", {own} as those of {zone}" if own else "")


def note_clock_changes(connection: warehouse.Connection, zone: str) -> None:
    """Let a connection know which times the clock of a zone skipped or showed twice."""
    connection.execute("set variable clock_changes = $spans", {"spans": _doubtful_spans(zone)})
    for made in ("scratch/clock_hour", "scratch/clock_shift", "scratch/naive_micros"):
        warehouse.run(connection, made)


@functools.cache
def _doubtful_spans(zone: str) -> list[tuple[int, int, int]]:
    """Return the first and the next microsecond of each such span, and by how many the clock went forward there."""
    micro, start = dt.timedelta(microseconds=1), dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    changes = [((one.instant - start) // micro, one.before // micro, one.after // micro) for one in clock_changes(zone)]
    return [(at + min(before, after), at + max(before, after), after - before) for at, before, after in changes]


def local_days(
    times: Sequence[Any], forms: Sequence[TimeForm], time_zone: str, day_zone: str
) -> list[list[dt.date | None]]:
    """Return the local day of each time in each form, as the readers of files read it; None if they cannot.

    Args:
        times: Some times of a source, as they are written.
        forms: The forms.
        time_zone: The time zone of times without an offset.
        day_zone: The time zone of the days.
    """
    with _with_times(times, time_zone, day_zone) as connection:
        return [[day for (day,) in warehouse.rows(connection, "read/days_of_times", dict(form))] for form in forms]


def joined_times(first: Sequence[Any], second: Sequence[Any]) -> list[str | None]:
    """Return the times of some records of a source as they are read from two columns."""
    texts = [[None if one is None else str(one) for one in some] for some in (first, second)]
    with _with_times([], "UTC", "UTC") as connection:
        connection.execute("set variable has_clock = true")
        parts = {"first": texts[0], "second": texts[1], "time_format": None}
        return [written for (written,) in warehouse.rows(connection, "read/written_times", parts)]


def n_skipped(times: Sequence[Any], form: TimeForm, zone: str) -> int:
    """Return how many times without an offset the clock of a zone skipped, so that they are not of that zone."""
    with _with_times(times, zone, zone) as connection:
        note_clock_changes(connection, zone)
        return int(warehouse.rows(connection, "read/n_skipped_times", dict(form))[0][0])


@contextmanager
def _with_times(times: Sequence[Any], time_zone: str, day_zone: str) -> Iterator[warehouse.Connection]:
    """Yield an empty database with some times, as they are written, in ``source_time``."""
    written = pa.table({"number": range(len(times)), "written": pa.array(map(str, times), pa.string())})
    with warehouse.in_memory(time_zone) as connection:
        use_zones(connection, time_zone, day_zone)
        define_times(connection)
        connection.register("source_time", written)
        yield connection
