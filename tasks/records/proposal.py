"""Proposes the part of a configuration that its source decides: files, form, columns, time zone and area.

It reads names, types, times and places, which are public, and no value. Each choice has a reason for people.
"""

import datetime as dt
import glob
import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import tzfpy

from tasks.base.config import DATE_PLACEHOLDER
from tasks.base.config_presets import preset_columns
from tasks.base.config_source import OF_FILE, ROLES, Format, TimeUnit
from tasks.base.errors import BadInput
from tasks.base.time_zones import zone_problem
from tasks.records import patterns, recognise
from tasks.records.looking import Look, look_at
from tasks.records.roles import recognise_roles, unit_of
from tasks.records.source import format_by_name

_MOST_FILES = 20
_MARGIN_DEGREES = 0.5
_N_PLACES = 500
_SHARE_OF_DAY = 0.9
"""How many of a file's records must be of the local day in its path for it to be a file of that day."""
_SHARE_OF_SNAPSHOTS = 0.5
"""The same in snapshots, which repeat old reports of vehicles that stand still."""


@dataclass
class Proposal:
    """What a source looks like, and why.

    Attributes:
        settings: The sections dataset, columns and validation, without what cannot be recognised.
        reasons: Why each choice was made, in sentences.
        missing: The roles for which no column was recognised.
        names: The names of all columns.
        unit: The unit that the name of the value's column says, or that a preset has; None if it is not known.
        date: The local day with the most of the records that were looked at.
        holds_snapshots: Whether the files are snapshots of a feed, which repeat old reports.
    """

    settings: dict[str, dict[str, Any]]
    names: list[str]
    reasons: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    unit: str | None = None
    date: dt.date | None = None
    holds_snapshots: bool = False


@dataclass(frozen=True)
class Given:
    """What the owner says himself.

    Attributes:
        header: The names of the columns of CSV files without a header.
        format: The format of the files.
        columns: The column of each role that is given.
        timezone: The time zone.
    """

    header: tuple[str, ...] = ()
    format: Format | None = None
    columns: dict[str, str] = field(default_factory=dict)
    timezone: str | None = None


def propose_source(files: Sequence[Path], folder: Path, given: Given) -> Proposal:
    """Return what a configuration in a folder should say of some files.

    Args:
        files: Files of the same form.
        folder: Where the configuration will be.
        given: What is not to be recognised.

    Raises:
        BadInput: A file cannot be recognised, or has no readable times or places.
    """
    if given.timezone is not None and (problem := zone_problem(given.timezone)):
        raise BadInput(f"--timezone {given.timezone} {problem}")
    looks = [look_at(path, given.header, given.format) for path in files[:_MOST_FILES]]
    first = looks[0]
    proposal = Proposal({"dataset": {}, "columns": {}, "validation": {}}, first.names)
    proposal.holds_snapshots = first.format in ("json", "gtfs-rt")
    _form(files, first, proposal)
    _columns(first, len(files), given, proposal)
    if proposal.missing:
        return proposal
    places = _places(looks, proposal)
    _time_zone(places, given, proposal)
    days = _times(looks, proposal)
    proposal.date = max(sum(days, Counter()).items(), key=lambda day: day[1], default=(None, 0))[0]
    _patterns(files, folder, days, proposal)
    return proposal


def _form(files: Sequence[Path], look: Look, proposal: Proposal) -> None:
    dataset, reasons = proposal.settings["dataset"], proposal.reasons
    dataset["files"] = [str(path) for path in files]
    reasons.append(f"the files are {look.format}")
    if look.format != format_by_name(files[0]):
        dataset["format"] = look.format
    if look.delimiter != ",":
        dataset["delimiter"] = look.delimiter
    if look.header:
        dataset["header"] = list(look.header)
    if look.records:
        dataset["records"] = look.records
        reasons.append(f"the list of records in each document is {look.records!r}: it is the longest one")


def _patterns(files: Sequence[Path], folder: Path, days: list[Counter[dt.date]], proposal: Proposal) -> None:
    """Note the pattern of the files, with ``{date}`` where the path of each says the local day that it holds."""
    dataset, reasons = proposal.settings["dataset"], proposal.reasons
    found, why = patterns.patterns(files, folder), ""
    dates = None if proposal.settings["columns"]["user"] == OF_FILE else patterns.dates_of(files, folder)
    if dates is not None:
        needed = _SHARE_OF_SNAPSHOTS if proposal.holds_snapshots else _SHARE_OF_DAY
        if all(of[date] >= needed * sum(of.values()) for date, of in zip(dates, days, strict=False)):
            found = patterns.dated_patterns(files, folder)
            why = ". Each file holds the local day in its path, and a day reads only its own files"
        else:
            why = ". The paths have dates, but these are not the local days of the records: every day reads all files"
    dataset["files"] = found
    n_found = len({path for one in found for path in glob.glob(str(folder / one.replace(DATE_PLACEHOLDER, "*")))})
    more = f", and will read {n_found - len(files):,} more that are there" if n_found > len(files) else ""
    reasons.append(f"the pattern is {', '.join(found)}{more}{why}")


def _columns(look: Look, n_files: int, given: Given, proposal: Proposal) -> None:
    columns, reasons = proposal.settings["columns"], proposal.reasons
    if OF_FILE in given.columns.values() and (look.format != "csv" or given.columns.get("user") != OF_FILE):
        raise BadInput(f"{OF_FILE} can be the user of CSV files alone; name a column: {', '.join(look.names)}")
    absent = [name for name in given.columns.values() if name not in (*look.names, OF_FILE)]
    if absent:
        raise BadInput(f'there is no column "{absent[0]}"; there are: {", ".join(look.names)}')
    preset = next((name for name, of in preset_columns().items() if _fits(of, look)), None)
    if preset and given.columns.get("value", preset_columns()[preset]["value"]) == preset_columns()[preset]["value"]:
        proposal.settings["dataset"]["preset"] = preset
        columns.update({**preset_columns()[preset], **given.columns})
        proposal.unit = "km/h"
        reasons.append(f"the columns are those of {preset}, which the preset knows, with the unit of its speeds")
        return
    found = recognise_roles([name for name in look.names if name not in given.columns.values()])
    columns.update({**found, **given.columns})
    if "user" not in columns and look.format == "csv" and n_files > 1:
        columns["user"] = OF_FILE
        reasons.append("no column is named like an id of a user: each file is taken for one user, by its name")
    for role in ROLES:
        if role in found and role not in given.columns:
            kind = f", of type {look.kinds[found[role]]}" if look.kinds else ""
            reasons.append(f"{role} is {found[role]!r}, by its name{kind}")
    proposal.missing = [role for role in ROLES if role not in columns]
    proposal.unit = unit_of(columns.get("value", ""))


def _fits(columns: dict[str, str], look: Look) -> bool:
    return (
        look.format == "gtfs-rt"
        if "position.latitude" in columns.values()
        else set(columns.values()) <= set(look.names)
    )


def _places(looks: Sequence[Look], proposal: Proposal) -> np.ndarray:
    """Note the decimal mark and the area, and return places, latitude and longitude, shape (n, 2)."""
    settings = proposal.settings
    written = [
        [one for look in looks for one in look.column(settings["columns"][role])] for role in ("latitude", "longitude")
    ]
    texts = [one for column in written for one in column if isinstance(one, str)]
    mark = recognise.decimal_mark(texts)
    if mark == ",":
        settings["dataset"]["decimal"] = ","
        proposal.reasons.append("places are written with a decimal comma")
    places = np.array([[_number(one, mark) for one in pair] for pair in zip(*written, strict=True)]).reshape(-1, 2)
    places = places[np.isfinite(places).all(axis=1) & (places != 0).any(axis=1)]
    if len(places) and (np.abs(places[:, 0]) > 90).mean() > 0.5 and _on_earth(places[:, ::-1]).any():
        columns = settings["columns"]
        columns["latitude"], columns["longitude"] = columns["longitude"], columns["latitude"]
        places = places[:, ::-1]
        proposal.reasons.append("latitude and longitude are swapped: most latitudes were above 90 degrees")
    places = places[_on_earth(places)]
    if not len(places):
        raise BadInput(
            "no place can be read in the first records: latitudes are from -90 to 90 degrees, longitudes from -180 to "
            "180; say which columns they are in with --latitude and --longitude"
        )
    south, west = np.floor((np.quantile(places, 0.01, axis=0) - _MARGIN_DEGREES) * 10) / 10
    north, east = np.ceil((np.quantile(places, 0.99, axis=0) + _MARGIN_DEGREES) * 10) / 10
    sides = {"south": max(south, -90), "north": min(north, 90), "west": max(west, -180), "east": min(east, 180)}
    settings["validation"] = {side: round(float(degrees), 1) for side, degrees in sides.items()}
    return places


def _on_earth(places: np.ndarray) -> np.ndarray:
    return (np.abs(places[:, 0]) <= 90) & (np.abs(places[:, 1]) <= 180)


def _number(written: Any, mark: str) -> float:
    try:
        return float(str(written).replace(mark, "."))
    except ValueError:
        return math.nan


def _time_zone(places: np.ndarray, given: Given, proposal: Proposal) -> None:
    if given.timezone is not None:
        proposal.settings["dataset"]["timezone"] = given.timezone
        return
    some = places[:: max(1, len(places) // _N_PLACES)]
    zones = Counter(tzfpy.get_tz(longitude, latitude) for latitude, longitude in some)
    (zone, n_places), *others = zones.most_common()
    also = f"; others lie in {', '.join(name for name, _ in others[:3])}" if others else ""
    if zone_problem(zone):
        raise BadInput("the places lie in no time zone that is known; give --timezone")
    proposal.settings["dataset"]["timezone"] = zone
    proposal.reasons.append(f"{n_places:,} of {len(some):,} places lie in the time zone {zone}{also}")


def _times(looks: Sequence[Look], proposal: Proposal) -> list[Counter[dt.date]]:
    """Note the form of the times, and return how many of each file's first ones are of each local day."""
    columns, reasons = proposal.settings["columns"], proposal.reasons
    of_files = [[one for one in look.column(columns["time"]) if one not in (None, "")] for look in looks]
    times = list(itertools.chain(*of_files))
    unit, zone = recognise.time_unit(times), ZoneInfo(proposal.settings["dataset"]["timezone"])
    form = None
    if unit is not None:
        columns.setdefault("time_unit", unit)
        reasons.append(f"times are numbers since 1970 in {unit}: in this unit they are of the years 1990 to 2100")
    elif not all(isinstance(one, dt.datetime) for one in times) and not recognise.is_iso(times):
        forms = recognise.time_formats(times)
        if not forms:
            raise BadInput(f'the times in "{columns["time"]}" have no form that is recognised; name another column')
        form = columns["time_format"] = forms[0]
        others = f"; {', '.join(forms[1:])} would fit too: check which it is" if forms[1:] else ""
        reasons.append(f"times have the form {form}{others}")
    return [Counter(day for one in some if (day := _local_day(one, unit, form, zone)) is not None) for some in of_files]


def _local_day(time: Any, unit: TimeUnit | None, form: str | None, zone: ZoneInfo) -> dt.date | None:
    try:
        if unit is not None:
            return dt.datetime.fromtimestamp(float(time) / recognise.UNITS[unit], zone).date()
        if form is not None:
            return dt.datetime.strptime(str(time).strip(), form).date()
        at = time if isinstance(time, dt.datetime) else dt.datetime.fromisoformat(str(time).strip())
        return (at.astimezone(zone) if at.tzinfo else at).date()
    except (TypeError, ValueError, OverflowError, OSError):
        return None
