"""Report: summarises a day's release in numbers that are public."""

import datetime as dt
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import polars as pl

from tasks.account import ledger, private_files
from tasks.account.chain import releases
from tasks.account.entry import Entry, Release
from tasks.account.identity import find_entry, published_folder
from tasks.base.config import Config
from tasks.base.errors import contained
from tasks.base.storage import TABLE
from tasks.kinds.table import kind_named, load_plan
from tasks.output_formats.columns import expected_errors
from tasks.planning.cautions import SHOWN, cautions, no_better, row_cautions
from tasks.planning.other_files import zone_cautions
from tasks.planning.presence import known_of, presence_cautions, presence_of
from tasks.planning.released_spread import released_spread
from tasks.records.judge.count_outcomes import KEPT, LEFT_OUT, late_records, rows_without_day
from tasks.release.zones import OUTLINES, said_of_zones


@dataclass(frozen=True)
class DayReport:
    """A released day in numbers.

    Attributes:
        release_id: The release's id in the ledger.
        rows: Number of rows of the day by outcome: "kept", "left_out", or the reason for quarantine.
        n_published: Number of cells published.
        n_withheld: Number of cells whose error would be larger than promised.
        worst_error: Largest promised or expected error of a published mean, in the value's unit.
        median_error: Median promised or expected error of a published mean, in the value's unit.
        n_coarse: Number of cells that have the value of a larger area, because their own would be too uncertain.
        is_promise: Whether these errors are promised, whatever the values are; an estimate's are expected.
        epsilon: The most that any one user lost by this release.
        epsilon_total: The most that any one user has lost by all releases up to this one.
        in_words: The guarantee of this release and of all up to it, in a sentence.
        n_more_like_it: How many more days that cost as much the budget paid when the day was released.
        folder: Where the files are.
        said_first: What a reader must know before the numbers, in sentences; None if nothing.
        late: Number of records that came after their day's release, by day; may include other days.
        n_covered: Number of records in the cells that are published.
        n_users: Number of users with records that were used; None if the warehouse no longer has just these records.
            Known only of a report on one day, as the next three.
        without_day: Numbers of malformed rows and of rows without a readable time that belong to no day, by file.
        unread: What is wrong with files that cannot be read, so that late records in them are not counted.
        cautions: What a person should look at, in sentences.
    """

    release_id: str
    rows: dict[str, int]
    n_published: int
    n_withheld: int
    worst_error: float
    median_error: float
    n_coarse: int
    is_promise: bool
    epsilon: Decimal
    epsilon_total: Decimal
    n_more_like_it: int
    in_words: str
    folder: Path
    said_first: str | None
    late: dict[dt.date, int]
    n_covered: int
    n_users: int | None = None
    without_day: dict[str, tuple[int, int]] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    cautions: list[str] = field(default_factory=list)

    @property
    def as_json(self) -> dict[str, Any]:
        """All of it by name, for programs; what is exact is a text."""
        return {**asdict(self), "late": {str(date): n for date, n in self.late.items()}}

    @property
    def n_rows(self) -> int:
        """Number of rows of the day that were read."""
        return sum(self.rows.values())

    @property
    def n_kept(self) -> int:
        """Number of records of the day that were used."""
        return self.rows.get(KEPT, 0)

    @property
    def n_left_out(self) -> int:
        """Number of rows of the day that `columns.only` leaves out."""
        return self.rows.get(LEFT_OUT, 0)

    @property
    def quarantined(self) -> dict[str, int]:
        """Number of rows of the day that could not be used, by reason."""
        return {reason: n for reason, n in self.rows.items() if reason not in (KEPT, LEFT_OUT)}


@contained
def report_day(date: dt.date, late: dict[dt.date, int], config: Config, revision: str | None = None) -> DayReport:
    """Return the report on a released day, or on a revision of it, from the ledger, its files and its late records."""
    entries = ledger.read_entries(config)
    entry = _entry_of(date, revision, entries, config)
    day, settings = _report(entry, late, config), config.with_settings(entry.settings)
    plan = load_plan(entry.plan, config)
    table = _table(entry, config)
    error = float(np.average(expected_errors(table).to_numpy(), weights=table["n_records"].to_numpy()))
    before = [one for one in entries if one.number < entry.number]
    shared = presence_of(date, config, list(plan.losses), known_of(date, before, config))
    spread = released_spread(before, settings)
    outlines = entry.files.get(OUTLINES)
    zones = None if outlines is None else private_files.read(private_files.releases(config), outlines)
    wide = [] if spread is None or error < spread else [no_better(error, spread, SHOWN, None, settings)]
    return replace(
        day,
        n_users=shared.n_users if shared.n_records == day.n_kept else None,
        without_day=rows_without_day(date, config),
        cautions=[
            *wide,
            *presence_cautions(shared, settings),
            *row_cautions(entry.rows, settings),
            *zone_cautions(date, settings),
            *said_of_zones(plan.cells, zones),
            *cautions(plan.cells, before, settings, len(plan.charges)),
        ],
    )


@contained
def released_entry(date: dt.date, revision: str | None, config: Config) -> Release:
    """Return the ledger entry of a released day, or of a revision of it."""
    return _entry_of(date, revision, ledger.read_entries(config), config)


def _entry_of(date: dt.date, revision: str | None, entries: list[Entry], config: Config) -> Release:
    entry = find_entry(date, revision, entries, config)
    if entry is None:
        raise LookupError(f"{date} has not been released")
    return entry


@contained
def report_range(first: dt.date, last: dt.date, config: Config) -> dict[dt.date, DayReport | None]:
    """Return the report on each day of a range, None for a day that has not been released.

    The released days come first, in the order of their releases, in which what users lost adds up.
    """
    released = releases(ledger.read_entries(config))
    entries = {entry.date: entry for entry in released if entry.revision is None}
    dates = [first + dt.timedelta(days=shift) for shift in range((last - first).days + 1)]
    late = late_records(config)
    found = {date: entries.get(date) for date in sorted(dates, key=lambda day: _order(entries.get(day)))}
    return {
        date: _report(entry, {date: late[date]} if date in late else {}, config) if entry else None
        for date, entry in found.items()
    }


def _order(entry: Release | None) -> tuple[bool, int]:
    return (True, 0) if entry is None else (False, entry.number)


def _report(entry: Release, late: dict[dt.date, int], config: Config) -> DayReport:
    table = _table(entry, config)
    errors = expected_errors(table).to_list()
    return DayReport(
        release_id=entry.release_id,
        rows=entry.rows,
        n_published=entry.n_published,
        n_withheld=entry.n_withheld,
        worst_error=max(errors),
        median_error=median(errors),
        n_coarse=int((table["support"] == "coarse").sum()) if "support" in table.columns else 0,
        is_promise=kind_named(entry.settings["privacy"]["mechanism"]).words.error == "promised",
        epsilon=entry.epsilon,
        epsilon_total=entry.epsilon_total_after,
        n_more_like_it=entry.n_more_like_it,
        in_words=entry.in_words,
        folder=published_folder(entry.date, entry.revision, config),
        said_first=entry.said_first,
        late=late,
        n_covered=int(table["n_records"].sum()),
    )


def _table(entry: Release, config: Config) -> pl.DataFrame:
    return private_files.read_frame(private_files.releases(config), entry.files[TABLE])
