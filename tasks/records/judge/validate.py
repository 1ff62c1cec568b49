"""Validate: decides which records of a day are used, by ``sql/scratch/quarantined_record.sql``, and stores those."""

import datetime as dt
import logging
from collections.abc import Sequence
from typing import Any

from tasks.base import warehouse
from tasks.base.config import Config
from tasks.base.errors import BadInput, NoRecords, OtherDays
from tasks.base.logs import say
from tasks.base.steps import step
from tasks.records.input_formats.all_formats import holds_snapshots
from tasks.records.input_formats.csv_rows import DECIMAL_COMMAS
from tasks.records.judge.count_outcomes import DUPLICATE, KEPT, LEFT_OUT, OUTSIDE_DAY, TWICE, count_rows
from tasks.records.judge.duplicates import repeated_hashes, seen_again
from tasks.records.judge.hints import OF_DAY, OF_SOURCE, hint, of_times
from tasks.records.judge.places import derive_values, use_places
from tasks.records.judge.value_forms import note_value_forms
from tasks.records.read.ingest import current_files, files_before

log = logging.getLogger("hexveil.validate")


@step("validate {config.dataset.name} {date}")
def validate_records(date: dt.date, config: Config) -> None:
    """Replace a day's quarantine, and refuse the day if too much of it is unusable. All other records are valid.

    Rules on user, place and time may quarantine a record. No rule looks at the value: a missing value stays a record,
    and a value outside the bounds counts as the nearer bound. Otherwise it would depend on a record's value whether
    the record is kept.

    Args:
        date: The local day.
        config: Gives the area, the grid, the bounds, and how much may be quarantined.

    Raises:
        BadInput: The day has no records, or more of it is quarantined than max_quarantined_share.
    """
    with warehouse.connect(config) as connection:
        day = {"date": date, "file_ids": current_files(connection, date, config)}
        with warehouse.transaction(connection):
            n_kept = write_day(connection, day, files_before(connection, date, config), config)
        counts = count_rows(connection, day, n_kept)
        judge_day(connection, day, counts, count_swapped(connection, config), config)


def judge_day(
    connection: warehouse.Connection, day: dict[str, Any], counts: dict[str, int], n_swapped: int, config: Config
) -> None:
    """Refuse a day if too much of it is unusable.

    What repeats another record does not count, nor what `columns.only` leaves out, nor a time that the clock showed
    twice. In a snapshot of a feed that is also a row of another day: the last report of a vehicle that stood still over
    midnight.

    Args:
        connection: Connection to the warehouse.
        day: The date and the file ids of the day.
        counts: Number of rows by reason.
        n_swapped: How many records would lie in the area if latitude and longitude were swapped.
        config: Gives the limit.

    Raises:
        BadInput: The day has no records, or more of it is quarantined than max_quarantined_share.
    """
    date, limit = day["date"], config.validation.max_quarantined_share
    say(log, "validated", date=date, **counts)
    note_value_forms(connection, date, counts.get(KEPT, 0), config)
    _refuse_crowded_files(connection, day["file_ids"], config)
    if not counts.get(KEPT) and not n_swapped:
        kind = BadInput if sum(counts.values()) > counts.get(LEFT_OUT, 0) else NoRecords
        raise kind(_empty_day(connection, day, counts, config))
    uncounted = (DUPLICATE, TWICE, LEFT_OUT, *((OUTSIDE_DAY,) if holds_snapshots(config) else ()))
    counted = {reason: n for reason, n in counts.items() if reason not in uncounted}
    n_rows = sum(counted.values())
    n_lost = n_rows - counts.get(KEPT, 0)
    if n_lost > limit * n_rows or not counts.get(KEPT):
        is_of_others = counted.get(OUTSIDE_DAY, 0) > limit * n_rows
        kind = OtherDays if is_of_others else BadInput
        others = {reason: n for reason, n in counts.items() if reason in uncounted}
        why = _listed(counted) + (f"; not counted: {_listed(others)}" if others else "")
        raise kind(_too_many(f"{date}: {n_lost} of {n_rows} rows are unusable ({why})", counted, n_swapped, config))


def count_swapped(connection: warehouse.Connection, config: Config) -> int:
    """Return how many records of the day just validated would lie in the area if their coordinates were swapped."""
    return int(warehouse.rows(connection, "read/n_swapped_places", _area(config))[0][0])


def clear_day(connection: warehouse.Connection, day: dict[str, Any]) -> None:
    """Delete the results of a day's last validation, and store the files that the next one uses."""
    warehouse.run(connection, "write/delete_quarantined_records", {"date": day["date"]})
    for table in ("value_repair", "validated_file"):
        warehouse.run_on(connection, "write/delete_days", table, {"dates": [day["date"]]})
    warehouse.run(connection, "write/validated_file", day)


def write_day(connection: warehouse.Connection, day: dict[str, Any], before: Sequence[int], config: Config) -> int:
    """Replace a day's quarantine and repairs from the raw records of any warehouse; return the number of valid records.

    That is the number of records not in quarantine. Whoever counts them in cells must check that as many are placed.
    The files of the day before, by their ids, have fixes that speeds may follow from.
    """
    date = day["date"]
    start, end = config.day_bounds(date)
    clear_day(connection, day)
    use_places(connection, config)
    apart = seen_again(config)
    connection.register("repeated_hash", repeated_hashes(connection, day, apart))
    warehouse.run(
        connection,
        "scratch/quarantined_record",
        {
            **day,
            "day_start": start,
            "day_end": end,
            **_area(config),
            "h3_resolution": config.grid.h3_resolution,
            "apart": apart,
        },
    )
    n_quarantined = warehouse.changed(connection, "write/quarantine_records", {"date": date})
    derive_values(connection, day, before, config)
    value = config.value
    source = {"factor": float(value.factor_on(date)), "missing": [float(one) for one in value.missing]}
    bounds = {"lower": float(value.lower), "upper": float(value.upper)}
    warehouse.run(connection, "scratch/means_missing")
    warehouse.run(connection, "write/value_repair", {**day, **bounds, **source})
    grid = config.grid.model_dump()
    ticks = {"lower": bounds["lower"], "tick": float(value.tick), "n_ticks": value.n_ticks, **source}
    warehouse.run(connection, "write/validated_day", {"date": date, "day_start": start, **grid, **ticks})
    return int(warehouse.rows(connection, "read/n_day_records", day)[0][0]) - n_quarantined


def _refuse_crowded_files(connection: warehouse.Connection, file_ids: list[int], config: Config) -> None:
    limit = config.validation.max_quarantined_share
    asked = {"file_ids": file_ids, "limit": float(limit), "are_snapshots": holds_snapshots(config)}
    for name, n_malformed, n_undated, n_rows, n_files in warehouse.rows(connection, "checks/crowded_files", asked):
        others = f" and {n_files - 1:,} others" if n_files > 1 else ""
        raise BadInput(
            f"{name}{others}: {n_malformed} malformed rows and {n_undated} with a time that cannot be read, of "
            f"{n_rows}, are more than validation.max_quarantined_share = {limit} allows; nothing was spent. "
            f"{OF_SOURCE} " + (DECIMAL_COMMAS if n_malformed > n_undated else of_times(config))
        )


def _area(config: Config) -> dict[str, float]:
    area = config.validation.model_dump(include={"south", "north", "west", "east"})
    return {side: float(degrees) for side, degrees in area.items()}


def _empty_day(connection: warehouse.Connection, day: dict[str, Any], counts: dict[str, int], config: Config) -> str:
    first, last = warehouse.rows(connection, "read/first_and_last_day", {"file_ids": day["file_ids"]})[0]
    why = f" ({_listed(counts)})" if sum(counts.values()) else ""
    held = f"the files hold {first} to {last}" if first else "the files hold no readable day"
    return f"{day['date']} has no valid records{why}; {held}. {hint(counts, config) or OF_DAY}"


def _too_many(problem: str, counts: dict[str, int], n_swapped: int, config: Config) -> str:
    remedy = hint(counts, config)
    if 2 * n_swapped > sum(counts.values()) - counts.get(KEPT, 0) and config.columns.latitude is not None:
        remedy = (
            "With columns.latitude and columns.longitude swapped most of these rows would lie in the area: check them."
        )
    return (
        f"{problem}, more than validation.max_quarantined_share = {config.validation.max_quarantined_share} allows; "
        f"nothing was spent. {remedy} {OF_SOURCE}"
    )


def _listed(counts: dict[str, Any]) -> str:
    return ", ".join(f"{n} {reason}" for reason, n in counts.items() if reason != KEPT)
