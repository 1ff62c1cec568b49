"""Proposes the part of a configuration that its source decides: files, form, columns, time zone and area.

It reads names, types, times and places, which are public, and no value. Each choice has a reason for people.
"""

import datetime as dt
import glob
import math
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import tzfpy

from tasks.base.config_presets import preset_columns
from tasks.base.config_source import OF_FILE, ROLES, Format, TimeUnit
from tasks.base.errors import BadInput
from tasks.records import recognise
from tasks.records.looking import Look, look_at
from tasks.records.roles import recognise_roles, unit_of
from tasks.records.source import format_by_name

_MOST_FILES = 20
_MARGIN_DEGREES = 0.5
_N_PLACES = 500


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
    """

    settings: dict[str, dict[str, Any]]
    names: list[str]
    reasons: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    unit: str | None = None
    date: dt.date | None = None


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
    looks = [look_at(path, given.header, given.format) for path in files[:_MOST_FILES]]
    first = looks[0]
    proposal = Proposal({"dataset": {}, "columns": {}, "validation": {}}, first.names)
    _files(files, folder, first, proposal)
    _columns(first, len(files), given, proposal)
    if proposal.missing:
        return proposal
    places = _places(looks, proposal)
    _time_zone(places, given, proposal)
    _times(looks, proposal)
    return proposal


def _files(files: Sequence[Path], folder: Path, look: Look, proposal: Proposal) -> None:
    dataset, reasons = proposal.settings["dataset"], proposal.reasons
    dataset["files"] = patterns = _patterns(files, folder)
    if look.format != format_by_name(files[0]):
        dataset["format"] = look.format
    if look.delimiter != ",":
        dataset["delimiter"] = look.delimiter
    if look.header:
        dataset["header"] = list(look.header)
    if look.records:
        dataset["records"] = look.records
        reasons.append(f"the list of records in each document is {look.records!r}: it is the longest one")
    n_found = sum(len(glob.glob(str(folder / one))) for one in patterns)
    more = f", and will read {n_found - len(files):,} more that are there" if n_found > len(files) else ""
    reasons.append(f"the files are {look.format}; the pattern is {', '.join(patterns)}{more}")


def _patterns(files: Sequence[Path], folder: Path) -> list[str]:
    """Return patterns relative to a folder: one for each folder and ending of several files."""
    relative = [Path(os.path.relpath(path.resolve(), folder.resolve())) for path in files]
    if len(relative) == 1:
        return [relative[0].as_posix()]
    return sorted({(path.parent / f"*{''.join(_endings(path))}").as_posix() for path in relative})


def _endings(path: Path) -> list[str]:
    return path.suffixes[-2:] if path.suffix == ".gz" else path.suffixes[-1:]


def _columns(look: Look, n_files: int, given: Given, proposal: Proposal) -> None:
    columns, reasons = proposal.settings["columns"], proposal.reasons
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
    if not len(places):
        raise BadInput("no place can be read; say which columns they are in with --latitude and --longitude")
    if (np.abs(places[:, 0]) > 90).mean() > 0.5:
        columns = settings["columns"]
        columns["latitude"], columns["longitude"] = columns["longitude"], columns["latitude"]
        places = places[:, ::-1]
        proposal.reasons.append("latitude and longitude are swapped: most latitudes were above 90 degrees")
    places = places[(np.abs(places[:, 0]) <= 90) & (np.abs(places[:, 1]) <= 180)]
    south, west = np.floor((np.quantile(places, 0.01, axis=0) - _MARGIN_DEGREES) * 10) / 10
    north, east = np.ceil((np.quantile(places, 0.99, axis=0) + _MARGIN_DEGREES) * 10) / 10
    sides = {"south": max(south, -90), "north": min(north, 90), "west": max(west, -180), "east": min(east, 180)}
    settings["validation"] = {side: round(float(degrees), 1) for side, degrees in sides.items()}
    return places


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
    proposal.settings["dataset"]["timezone"] = zone
    proposal.reasons.append(f"{n_places:,} of {len(some):,} places lie in the time zone {zone}{also}")


def _times(looks: Sequence[Look], proposal: Proposal) -> None:
    """Note the form of the times, and the day that has the most of them."""
    columns, reasons = proposal.settings["columns"], proposal.reasons
    times = [one for look in looks for one in look.column(columns["time"]) if one not in (None, "")]
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
    days = Counter(day for one in times if (day := _local_day(one, unit, form, zone)) is not None)
    proposal.date = days.most_common(1)[0][0] if days else None


def _local_day(time: Any, unit: TimeUnit | None, form: str | None, zone: ZoneInfo) -> dt.date | None:
    try:
        if unit is not None:
            return dt.datetime.fromtimestamp(float(time) / recognise.UNITS[unit], zone).date()
        if form is not None:
            return dt.datetime.strptime(str(time).strip(), form).date()
        at = time if isinstance(time, dt.datetime) else dt.datetime.fromisoformat(str(time).strip())
        return (at.astimezone(zone) if at.tzinfo else at).date()
    except (ValueError, OverflowError, OSError):
        return None
