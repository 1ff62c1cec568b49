"""Proposes the part of a configuration that its source decides: files, form, columns, time zone and area.

It reads names, types, times and places, which are public, and no value. Each choice has a reason for people.
"""

import dataclasses
import datetime as dt
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import tzfpy

from tasks.base.config_presets import preset_columns, preset_format
from tasks.base.config_source import OF_FILE, ROLES
from tasks.base.errors import BadInput
from tasks.base.time_zones import zone_problem
from tasks.records.init import patterns
from tasks.records.init.inner_lists import refuse_inner_lists
from tasks.records.init.looking import look_at
from tasks.records.init.proposed_files import NOT_THEIR_DAYS, are_of_day, dated_files, undated_files
from tasks.records.init.proposed_times import TimesForm, form_of_times
from tasks.records.input_formats import recognise
from tasks.records.input_formats.columns import DEGREES, GEOMETRY
from tasks.records.input_formats.input_format import Given, Look
from tasks.records.input_formats.roles import recognise_roles, unit_of
from tasks.records.input_formats.table import format_by_name

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
        holds_snapshots: Whether the files are snapshots of a feed, which repeat old reports.
    """

    settings: dict[str, dict[str, Any]]
    names: list[str]
    reasons: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    unit: str | None = None
    date: dt.date | None = None
    holds_snapshots: bool = False


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
    looks = _looks(files[:_MOST_FILES], given)
    first = looks[0]
    proposal = Proposal({"dataset": {}, "columns": {}, "validation": {}}, first.names)
    proposal.holds_snapshots = first.format.holds_snapshots
    _form(files, first, given, proposal)
    _columns(first, len(files), given, proposal)
    if proposal.missing:
        return proposal
    _refuse_other_forms(files, looks, proposal)
    first.format.refuse_columns(files, looks, proposal.settings["columns"])
    if not any(look.column(proposal.settings["columns"]["time"]) for look in looks if look.names):
        raise BadInput(f"{files[0]}: has no record; name a file with records")
    places = _places(looks, proposal)
    _time_zone(places, given, proposal)
    form = _times(files, folder, looks, given, proposal)
    _patterns(files, folder, looks, form, proposal)
    return proposal


def read_all_files(files: Sequence[Path], folder: Path, proposal: Proposal) -> str:
    """Let every day read all files, because their paths do not say which days they hold; return why, for people."""
    named = undated_files(files, folder, NOT_THEIR_DAYS)
    proposal.settings["dataset"]["files"] = named.patterns
    return named.reason


def _looks(files: Sequence[Path], given: Given) -> list[Look]:
    """Return what some files look like. The list of records in a JSON document is where the first file has it."""
    first = look_at(files[0], given)
    if not first.names:
        raise BadInput(f"{files[0]}: has no record with columns; name a file with records first")
    same = dataclasses.replace(given, records=given.records if first.records is None else first.records)
    return [first, *(look_at(path, same) for path in files[1:])]


def _refuse_other_forms(files: Sequence[Path], looks: Sequence[Look], proposal: Proposal) -> None:
    """Refuse files that one configuration cannot read. What only values decide, such as the value's type, may differ.

    Raises:
        BadInput: A file has another format or delimiter than the first, lacks a column, or has it with another type.
    """
    first, kinds = looks[0], looks[0].kinds or {}
    for path, look in zip(files[1:], looks[1:], strict=False):
        problem = None
        if look.format != first.format:
            problem = f"is {look.format.name}, and {files[0].name} is {first.format.name}"
        elif look.delimiter != first.delimiter:
            problem = f"has the delimiter {look.delimiter!r}, and {files[0].name} has {first.delimiter!r}"
        for role in sorted(ROLES, key=lambda role: role != "value"):
            name = proposal.settings["columns"][role]
            if problem or not look.names or name == OF_FILE:
                continue
            if name not in look.names:
                problem = f'has no column "{name}" ({role}), which {files[0].name} has'
            elif role != "value" and (look.kinds or {}).get(name) != kinds.get(name):
                its = (look.kinds or {})[name]
                problem = f'has the type {its} in "{name}" ({role}), and {files[0].name} has {kinds[name]}'
        if problem:
            raise BadInput(f"{path}: {problem}. Give files of one form, and write a configuration for each form")


def _form(files: Sequence[Path], look: Look, given: Given, proposal: Proposal) -> None:
    dataset, reasons = proposal.settings["dataset"], proposal.reasons
    dataset["files"] = [str(path) for path in files]
    reasons.append(f"the files are {look.format.name}, by " + ("--format" if given.format else "their names"))
    if look.format != format_by_name(files[0]):
        dataset["format"] = look.format.name
    if look.delimiter != ",":
        dataset["delimiter"] = look.delimiter
        reasons.append(
            f"the delimiter is {look.delimiter!r}, by " + ("--delimiter" if given.delimiter else "the header")
        )
    if look.header:
        dataset["header"] = list(look.header)
    if look.records:
        dataset["records"] = look.records
        why = "as --records says" if given.records is not None else "it is the longest one of the first file"
        reasons.append(f"the list of records in each document is {look.records!r}: {why}")


def _columns(look: Look, n_files: int, given: Given, proposal: Proposal) -> None:
    columns, reasons = proposal.settings["columns"], proposal.reasons
    if OF_FILE in given.columns.values() and (not look.format.can_name_user or given.columns.get("user") != OF_FILE):
        raise BadInput(f"{OF_FILE} can be the user of CSV files alone; name a column: {', '.join(look.names)}")
    absent = [name for name in given.columns.values() if name not in (*look.names, OF_FILE)]
    if absent:
        role = next(role for role, name in given.columns.items() if name == absent[0])
        raise BadInput(f'--{role}: there is no column "{absent[0]}"; there are: {", ".join(look.names)}')
    preset = next((name for name, of in preset_columns().items() if _fits(name, of, look)), None)
    if preset and given.columns.get("value", preset_columns()[preset]["value"]) == preset_columns()[preset]["value"]:
        proposal.settings["dataset"]["preset"] = preset
        columns.update({**preset_columns()[preset], **given.columns})
        proposal.unit = "km/h"
        reasons.append(f"the columns are those of {preset}, which the preset knows, with the unit of its speeds")
        return
    found = recognise_roles([name for name in look.own_names if name not in given.columns.values()])
    refuse_inner_lists(look, {**found, **given.columns})
    columns.update({**found, **given.columns})
    if "user" not in columns and look.format.can_name_user and n_files > 1:
        columns["user"] = OF_FILE
        reasons.append("no column is named like an id of a user: each file is taken for one user, by its name")
    for role in ROLES:
        if role in found and role not in given.columns:
            kind = f", of type {look.kinds[found[role]]}" if look.kinds and role != "value" else ""
            reasons.append(f"{role} is {found[role]!r}, by its name{kind}")
    proposal.missing = [role for role in ROLES if role not in columns]
    if "value" in proposal.missing and look.format.has_members:
        proposal.missing = ["value"]  # the first to be known: it is never looked into
    proposal.unit = unit_of(columns.get("value", ""))


def _fits(preset: str, columns: dict[str, str], look: Look) -> bool:
    return preset_format(preset) in (None, look.format.name) and set(columns.values()) <= set(look.names)


def _places(looks: Sequence[Look], proposal: Proposal) -> np.ndarray:
    """Note the decimal mark and the area, and return places, latitude and longitude, shape (n, 2)."""
    settings = proposal.settings
    written = [list(chain(*_written(looks, settings["columns"][role]))) for role in ("latitude", "longitude")]
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
            "no place can be read in the first records: say which columns they are in with --latitude and --longitude. "
            f"{DEGREES} {GEOMETRY}"
        )
    south, west = np.floor((np.quantile(places, 0.01, axis=0) - _MARGIN_DEGREES) * 10) / 10
    north, east = np.ceil((np.quantile(places, 0.99, axis=0) + _MARGIN_DEGREES) * 10) / 10
    sides = {"south": max(south, -90), "north": min(north, 90), "west": max(west, -180), "east": min(east, 180)}
    settings["validation"] = {side: round(float(degrees), 1) for side, degrees in sides.items()}
    return places


def _written(looks: Sequence[Look], column: str) -> list[list[Any]]:
    """Return what the first records of each file have in a column."""
    return [look.column(column) if look.names else [] for look in looks]


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


def _times(files: Sequence[Path], folder: Path, looks: Sequence[Look], given: Given, proposal: Proposal) -> TimesForm:
    """Note and return the form of the times."""
    columns = proposal.settings["columns"]
    times = [[one for one in some if one not in (None, "")] for some in _written(looks, columns["time"])]
    found = form_of_times(files, folder, times, columns["time"], given.time_format)
    other = looks[0].format.time_else
    if other and any(None in some for some in _written(looks, columns["time"])) and any(chain(*_written(looks, other))):
        columns["time_else"] = other
        proposal.reasons.append(f"some records have no time: for these it is {other!r}, that of the feed")
    if found.form is not None:
        columns["time_format"] = found.form
    elif found.unit is not None:
        columns.setdefault("time_unit", found.unit)
    proposal.reasons += [found.reason] if found.reason else []
    return found


def _patterns(files: Sequence[Path], folder: Path, looks: Sequence[Look], form: TimesForm, proposal: Proposal) -> None:
    """Note the patterns of the files, and the day to try. The first records of a file decide on it, then the whole."""
    column, zone = proposal.settings["columns"]["time"], ZoneInfo(proposal.settings["dataset"]["timezone"])
    first = [form.days(times, zone) for times in _written(looks, column)]
    proposal.date = max(sum(first, Counter()).items(), key=lambda day: day[1], default=(None, 0))[0]
    dates = None if proposal.settings["columns"]["user"] == OF_FILE else patterns.dates_of(files, folder)
    if dates is None:
        named = undated_files(files, folder)
    else:
        whole = (form.days(look.spread(column), zone) for look in looks if look.names)
        dates_of_whole = [date for date, look in zip(dates, looks, strict=False) if look.names]
        fits = partial(are_of_day, holds_snapshots=proposal.holds_snapshots)
        is_dated = all(map(fits, dates, first)) and all(map(fits, dates_of_whole, whole))
        named = dated_files(files, folder) if is_dated else undated_files(files, folder, NOT_THEIR_DAYS)
    proposal.settings["dataset"]["files"] = named.patterns
    proposal.reasons.append(named.reason)
