"""Keeps a table of each complete week and month beside the days: made from published files, so it costs nothing."""

import datetime as dt
import itertools
import json
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl
from scipy.sparse import csr_array, hstack
from shapely.geometry.base import BaseGeometry

from tasks.account import private_files
from tasks.account.entry import Release
from tasks.account.identity import folder_name
from tasks.answers.places import WHOLE, Areas, EachHexagon, Everything
from tasks.answers.question import ANY_HOUR
from tasks.answers.rows import FALSE_DISCOVERIES, row_of, with_discoveries
from tasks.answers.sums import Label, Reader, Sums, chains_of, means_of, with_link
from tasks.answers.times import period_of
from tasks.base import durable, frames
from tasks.base.config import Config
from tasks.base.logs import say
from tasks.base.storage import MANIFEST, TABLE
from tasks.output_formats.catalogue import csv_bytes
from tasks.output_formats.hindsight import day_of, hindsight_of
from tasks.output_formats.joint import JOINT
from tasks.release.zones import OUTLINES, ZONES, outlines_of, same_zones

log = logging.getLogger("hexveil.publish")

KINDS = ("week", "month")
_CSV = "statistics.csv"
_DAYS = {"all": range(7), "weekday": range(5), "saturday": (5,), "sunday": (6,)}
"""The weekdays of each kind of day. A public holiday counts as the weekday that it is on."""
_NEAR = 1e-7
_WRITTEN = "it is made from the published files of its days, so it costs no user anything"


class _CityAndHexagons:
    """The whole city as one area, and each hexagon as another."""

    def shares(self, cells: Sequence[str]) -> tuple[list[str], csr_array]:
        (city, of_city), (each, of_each) = Everything().shares(cells), EachHexagon().shares(cells)
        return [*city, *each], csr_array(hstack([of_city, of_each]))

    def n_hexagons(self, _name: str, _resolution: int) -> None:
        return

    def outlines(self, cells: Sequence[str]) -> dict[str, BaseGeometry]:
        return EachHexagon().outlines(cells)


def write_periods(released: list[Release], date: dt.date, config: Config) -> None:
    """Write the tables that a release of a day completes or changes.

    Args:
        released: All releases.
        date: The day that was published.
        config: Says where.
    """
    days = _days(released)
    if date not in days:
        return
    known = sorted(days)
    at = known.index(date)
    near = known[max(0, at - 1) : at + 2]
    learned_of = [one for one, holder in _holders(list(days.values()), days).items() if holder.date == date]
    for kind in KINDS:
        names = {period_of(one, kind) for one in [*near, *learned_of]}
        names |= {period_of(_ends(one, kind)[1] + dt.timedelta(days=1), kind) for one in [date, *learned_of]}
        for name in sorted(names & set(_complete(known, kind))):
            _write(kind, name, days, config)


def problem_with_periods(released: list[Release], config: Config) -> str | None:
    """Return what is wrong with the tables of weeks and months; None if nothing."""
    days = _days(released)
    wanted = {f"{kind}={name}" for kind in KINDS for name in _complete(sorted(days), kind)}
    for folder in sorted(path for kind in KINDS for path in (config.storage_path / "published").glob(f"{kind}=*")):
        if folder.name not in wanted:
            return f"{folder} is of no complete period; remove it"
    for name in sorted(wanted):
        folder = config.storage_path / "published" / name
        kind, _, period = name.partition("=")
        why = _unlike(folder, *_made(kind, period, days, config))
        if why:
            return f"{folder} {why}; run a day of it again, which costs nothing and writes it"
    return None


def _days(released: list[Release]) -> dict[dt.date, Release]:
    """Return the first release of each day that says how errors go together."""
    return {one.date: one for one in released if one.revision is None and JOINT in one.files}


def _complete(dates: list[dt.date], kind: str) -> list[str]:
    """Return the periods that have released days and are over: a release is of their last day, or of a later one."""
    return sorted({period_of(one, kind) for one in dates if _ends(one, kind)[1] <= dates[-1]})


def _ends(date: dt.date, kind: str) -> tuple[dt.date, dt.date]:
    """Return the first and last day of the period that has a date."""
    if kind == "week":
        first = date - dt.timedelta(days=date.weekday())
        return first, first + dt.timedelta(days=6)
    first = date.replace(day=1)
    return first, (first + dt.timedelta(days=31)).replace(day=1) - dt.timedelta(days=1)


def _write(kind: str, name: str, days: dict[dt.date, Release], config: Config) -> None:
    folder = config.storage_path / "published" / f"{kind}={name}"
    here, before = _of_period(kind, name, days)
    made_from = _made_from(here, before, _holders([*before, *here], days))
    if (folder / MANIFEST).exists() and json.loads((folder / MANIFEST).read_bytes()).get("made_from") == made_from:
        return
    table, zones, manifest = _made(kind, name, days, config)
    (folder / MANIFEST).unlink(missing_ok=True)  # it is written last, so a folder with one is whole
    durable.make_folder(folder)
    contents = {TABLE: frames.parquet_bytes(table), _CSV: csv_bytes(table)}
    if zones is None:
        (folder / ZONES).unlink(missing_ok=True)
    else:
        contents[ZONES] = csv_bytes(zones)
    contents[MANIFEST] = durable.readable_json(manifest)
    for file, content in contents.items():
        durable.write_whole(folder / file, content, mode=0o644)
    say(log, "published a period", period=name, rows=table.height)


def _of_period(kind: str, name: str, days: dict[dt.date, Release]) -> tuple[list[Release], list[Release]]:
    """Return the releases of a period, and those of the period before."""
    here = [days[date] for date in sorted(days) if period_of(date, kind) == name]
    before = period_of(_ends(here[0].date, kind)[0] - dt.timedelta(days=1), kind)
    return here, [days[date] for date in sorted(days) if period_of(date, kind) == before]


def _holders(some: list[Release], days: dict[dt.date, Release]) -> dict[dt.date, Release]:
    """Return the release that says of some days what was learned of them when their week was over, where one does."""
    holders = {date: one for one in days.values() for name in one.files if (date := day_of(name))}
    return {one.date: holders[one.date] for one in some if one.date in holders}


def _made_from(here: list[Release], before: list[Release], holders: dict[dt.date, Release]) -> dict[str, str]:
    of_days = {f"{folder_name(one.date, None)}/{JOINT}": one.files[JOINT] for one in [*before, *here]}
    for date, one in holders.items():
        of_days[f"{folder_name(one.date, None)}/{hindsight_of(date)}"] = one.files[hindsight_of(date)]
    zoned = _zoned(here)
    return of_days | ({f"{folder_name(zoned.date, None)}/{OUTLINES}": zoned.files[OUTLINES]} if zoned else {})


def _zoned(here: list[Release]) -> Release | None:
    """Return the last release of a period that has zones, which are those of the period."""
    return next((one for one in reversed(here) if OUTLINES in one.files), None)


def _made(
    kind: str, name: str, days: dict[dt.date, Release], config: Config
) -> tuple[pl.DataFrame, pl.DataFrame | None, dict[str, Any]]:
    """Return the table of a period, that of its zones if it has any, and its manifest."""
    here, before = _of_period(kind, name, days)
    zoned = _zoned(here)
    holders = _holders([*before, *here], days)
    table = _table(_CityAndHexagons(), here, before, holders, config)
    zones = None
    if zoned is not None:
        outlines = outlines_of(private_files.read(private_files.releases(config), zoned.files[OUTLINES]))
        zones = _table(outlines, here, before, holders, config).rename({"area": "zone"}, strict=False)
    return (
        table,
        zones,
        {
            kind: name,
            "days": [str(one.date) for one in here],
            "compared_with": [str(one.date) for one in before],
            "unit": config.value.unit,
            "false_discovery_rate": str(FALSE_DISCOVERIES),
            "cost": _WRITTEN,
            "made_from": _made_from(here, before, holders),
        },
    )


def _table(
    areas: Areas, here: list[Release], before: list[Release], holders: dict[dt.date, Release], config: Config
) -> pl.DataFrame:
    """Return what a period says of areas, by kind of day, in all hours and in each."""
    both = [*before, *here]
    chains = chains_of([one.stated for one in both])
    found = {
        one.date: _read(areas, one, joint, chain, config)
        for one, joint, chain in zip(both, _joints(both, holders, config), chains, strict=True)
    }
    rows = []
    for of_days, weekdays in _DAYS.items():
        dates, earlier = ([one.date for one in some if one.date.weekday() in weekdays] for some in (here, before))
        if _kinds(dates) != _kinds(earlier):
            earlier = []  # a week against a weekend differs by the kinds of its days alone
        labels = {label for date in dates for label in found[date]}
        for area, hour in sorted(labels, key=_in_order):
            of_each = [(date, found[date].get((area, hour))) for date in sorted({*dates, *earlier})]
            row = row_of(of_each, dates, earlier) or row_of(of_each, dates, [])
            del row["present"]
            rows.append({"area": area, "kind_of_day": of_days, "hour": hour, **row})
    keys = {"area": pl.String, "kind_of_day": pl.String, "hour": pl.Int64}
    return _with_changes(pl.DataFrame(rows, infer_schema_length=None)) if rows else pl.DataFrame(schema=keys)


def _kinds(dates: Sequence[dt.date]) -> set[int]:
    """Return which kinds of day there are: weekdays count as one."""
    return {max(date.weekday(), 4) for date in dates}


def _in_order(label: Label) -> tuple[bool, str, int]:
    """Return where a label stands: the city first, and all hours together before each."""
    area, hour = label
    return area != WHOLE, area, -1 if hour is None else hour


def _with_changes(table: pl.DataFrame) -> pl.DataFrame:
    """Return the table with which areas changed: a list for each kind of day, of all hours and of single ones."""
    if "p_value" not in table.columns:
        return table
    lists = [some for _, some in table.group_by("kind_of_day", pl.col("hour").is_null(), maintain_order=True)]
    return pl.concat(with_discoveries(one) for one in lists)


def _joints(some: list[Release], holders: dict[dt.date, Release], config: Config) -> Iterator[pl.DataFrame]:
    """Yield the joint table of each of some days, as known when its week was over, if a release says so."""
    for one in some:
        holder = holders.get(one.date)
        name = one.files[JOINT] if holder is None else holder.files[hindsight_of(one.date)]
        yield private_files.read_frame(private_files.releases(config), name)


def _read(areas: Areas, release: Release, joint: pl.DataFrame, chain: int, config: Config) -> dict[Label, Sums]:
    """Return what is known of a day's areas, hour by hour and in all; its estimate is of one chain with some others."""
    said = means_of(joint)
    said = with_link(said, chain, release.stated)
    zone = ZoneInfo(config.dataset.timezone)
    readers = (Reader(areas, ANY_HOUR, zone, by_hour) for by_hour in (False, True))
    return dict(itertools.chain.from_iterable(reader.of_day(said).items() for reader in readers))


def _unlike(folder: Path, table: pl.DataFrame, zones: pl.DataFrame | None, manifest: dict[str, Any]) -> str | None:
    """Return in what a folder differs from the period that is made again; None if in nothing."""
    try:
        found = pl.read_parquet(folder / TABLE, hive_partitioning=False)
        stated = json.loads((folder / MANIFEST).read_bytes())
        text = (folder / _CSV).read_bytes()
        are_zones = zones is None or same_zones((folder / ZONES).read_bytes(), zones)
    except (OSError, ValueError, pl.exceptions.PolarsError):
        return "is missing a file, or one cannot be read"
    if stated != manifest:
        return f"has a {MANIFEST} that is not that of its days"
    if {path.name for path in folder.glob("[!.]*")} != {TABLE, _CSV, MANIFEST, *([] if zones is None else [ZONES])}:
        return "holds a file of no period, or lacks one"
    if found.schema != table.schema or found.height != table.height or text != csv_bytes(found) or not are_zones:
        return "does not follow from the published days"
    for column, dtype in table.schema.items():
        ours, theirs = table[column], found[column]
        same = ((ours - theirs).abs() <= _NEAR * (1 + ours.abs())) if dtype.is_float() else ours == theirs
        if ours.null_count() != theirs.null_count() or not same.fill_null(value=True).all():
            return "does not follow from the published days"
    return None
