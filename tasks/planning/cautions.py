"""Cautions: what a person should look at before a day is published, found from public numbers alone."""

import datetime as dt
from collections.abc import Mapping, Sequence
from decimal import Decimal
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl

from tasks.account.chain import releases
from tasks.account.entry import Entry
from tasks.account.screenings import changed_value, screening_of
from tasks.base.config import Config
from tasks.kinds.table import kind_of
from tasks.records.input_formats.all_formats import holds_snapshots
from tasks.records.judge.count_outcomes import DUPLICATE, KEPT, NEVER, TWICE

SHOWN, GUESSED = "earlier releases show", "a guess, nothing being released yet, is"
_NIGHT = slice(1, 5)
_AWAKE = range(6, 20)
"""Hours in which no city begins to sleep."""
_QUIET_HOURS = 4
_QUIET_SHARE = 0.1
_LONGEST_SLOT = 180
_FEWEST_TO_BE_THIN = 1000


def cautions(cells: pl.DataFrame, entries: Sequence[Entry], config: Config, n_asked: int = 0) -> list[str]:
    """Return what to look at, in sentences; none if all is well.

    Args:
        cells: One row per cell of the day: slot_start, n_records.
        entries: The ledger's entries before the day.
        config: Gives the budget, the time zone and the value.
        n_asked: How many users the plan asks for the count that screens the day.
    """
    found = (
        _other_value(entries, config),
        _small_total(config),
        _wrong_zone(cells, config),
        _thin(cells, config),
        _unscreened(n_asked, config),
    )
    return [caution for caution in found if caution is not None]


def _thin(cells: pl.DataFrame, config: Config) -> str | None:
    n_single = int((cells["n_records"] == 1).sum())
    if cells.height < _FEWEST_TO_BE_THIN or 2 * n_single <= cells.height:
        return None
    return (
        f"{n_single:,} of {cells.height:,} cells have one record: make hexagons larger (grid.h3_resolution = "
        f"{max(config.grid.h3_resolution - 1, 0)} or less) or slots longer, or most of the map is a guess."
    )


def _other_value(entries: Sequence[Entry], config: Config) -> str | None:
    last = next((entry for entry in reversed(releases(entries)) if entry.revision is None), None)
    changed = [] if last is None else changed_value(last.settings, config.public_settings())
    if last is None or not changed:
        return None
    return (
        f"since the release of {last.date} {', and '.join(changed)} was changed: days before and after mean another "
        "thing, and what earlier releases tell is not used. The ledger's entry and the registry say so."
    )


def row_cautions(rows: Mapping[str, int], config: Config) -> list[str]:
    """Return what the numbers of a day's rows by outcome say of their times: of their zone, and how exact they are."""
    n_never, n_twice, zone = rows.get(NEVER, 0), rows.get(TWICE, 0), config.time_zone
    never = (
        f"{n_never:,} rows have times that do not exist in {zone}, where the clock was put forward over them: so the "
        "times are likely of another zone, such as UTC. Set columns.time_zone."
    )
    twice = (
        f"{n_twice:,} rows are of an hour that occurs twice in {zone}, and the order of the rows does not tell in "
        "which they were: they are not used. Times with an offset, or in UTC, are never twice."
    )
    return [never] * bool(n_never) + [twice] * bool(n_twice) + _repeated(rows, config)


def _repeated(rows: Mapping[str, int], config: Config) -> list[str]:
    """Return a caution if a third of the rows or more repeat others, where these are no snapshots of a feed."""
    n_repeated, n_kept = rows.get(DUPLICATE, 0), rows.get(KEPT, 0)
    if holds_snapshots(config) or 2 * n_repeated < max(1, n_kept):
        return []
    return [
        f"{n_repeated:,} rows beside {n_kept:,} that are kept have the user, time and place of another: of these only "
        "the first counts. They may be records of their own: if times are whole hours or days, give them times to the "
        "second; if rows are of several quantities, keep those of one with columns.only."
    ]


def no_better(error: float | None, spread: float, by: str, enough: Decimal | None, config: Config) -> str:
    """Return that a day is no better than a constant, and what would help.

    Args:
        error: What the day promises or expects over the records that it publishes, in the value's unit.
        spread: What the best constant errs.
        by: What shows that.
        enough: Which epsilon_per_day would be enough; None if it is not known.
        config: Gives the unit, the kind of release and its target.
    """
    unit, privacy, stated = config.value.unit, config.privacy, kind_of(config).words.error
    remedy = "Raise privacy.epsilon_per_day, or make the cells larger in [grid]"
    if privacy.target_error is not None and stated == "promised":
        remedy = "Lower privacy.target_error, raise privacy.epsilon_per_day, or make the cells larger in [grid]"
    if enough is not None:
        times = float(enough / privacy.epsilon_per_day)
        remedy = f"An epsilon_per_day of about {enough:f}, or {times:.2g} times as many users, would make it better"
    guess = "" if config.value.typical is not None else " The owner's value.typical and value.spread help first days."
    return (
        f"the {stated} error of {error:.3g} {unit} is no better than that of a constant: {by} that the best single "
        f"number for a whole day errs {spread:.3g} {unit}. {remedy}; `hexveil explore` compares settings."
        + (guess if enough is not None else "")
    )


def _small_total(config: Config) -> str | None:
    total, day = config.budget.epsilon_total, config.privacy.epsilon_per_day
    if total >= day:
        return None
    return (
        f"budget.epsilon_total = {total} is below privacy.epsilon_per_day = {day}: not even one day can have what it "
        "asks for, so each is paid in part or withheld. Lower epsilon_per_day, or raise epsilon_total."
    )


def _unscreened(n_asked: int, config: Config) -> str | None:
    screening = screening_of(config)
    if screening is None or n_asked:
        return None
    return (
        "too few users have budget for value.screen: at this epsilon_per_day its noisy count cannot tell anything of "
        f"fewer than {2 * screening.margin + 1:,}. So it is not asked and costs nothing, and a day whose values cannot "
        "be read is published as if they were as expected. Look into private/values/ first, or raise epsilon_per_day."
    )


def _wrong_zone(cells: pl.DataFrame, config: Config) -> str | None:
    """Return a caution if the records pause by day and not at night. Only slots short enough to tell are looked at."""
    minutes, zone = config.grid.slot_minutes, config.dataset.timezone
    if minutes > _LONGEST_SLOT or not cells.height:
        return None
    by_hour = _records_by_hour(cells, minutes, ZoneInfo(zone))
    usual = by_hour.mean()
    around = np.append(by_hour, by_hour[: _QUIET_HOURS - 1])
    within = np.convolve(around, np.full(_QUIET_HOURS, 1 / _QUIET_HOURS), "valid")  # from each hour on
    quiet = int(within.argmin())
    if quiet not in _AWAKE or within[quiet] > _QUIET_SHARE * usual or by_hour[_NIGHT].mean() < usual / 2:
        return None
    end = (quiet + _QUIET_HOURS) % 24
    return (
        f"users are active from {_NIGHT.start} to {_NIGHT.stop} o'clock at night in {zone}, and hardly from {quiet} to "
        f"{end}. If they do not work at night, dataset.timezone is wrong, or the times of the source "
        "are in another zone, such as UTC."
    )


def _records_by_hour(cells: pl.DataFrame, minutes: int, zone: ZoneInfo) -> np.ndarray:
    """Return the number of records in each hour of the local day, shape (24,). Slots are spread over their hours."""
    found = np.zeros(24)
    by_slot = cells.group_by("slot_start").agg(pl.col("n_records").sum())
    step = min(minutes, 60)
    for start, n_records in by_slot.iter_rows():
        times = [start + dt.timedelta(minutes=shift) for shift in range(0, minutes, step)]
        for time in times:
            found[time.astimezone(zone).hour] += n_records / len(times)
    return found
