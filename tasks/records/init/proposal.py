"""Proposes the part of a configuration that its source decides: files, form, columns, time zone and area.

It reads names, types, times and places, which are public, and no value. Each choice has a reason for people.
"""

import dataclasses
import datetime as dt
from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import tzfpy

from tasks.base.config_presets import preset_times
from tasks.base.config_source import FOLDERS, OF_PATH, SPEED
from tasks.base.errors import BadInput
from tasks.base.time_formats import time_format_problem
from tasks.base.time_zones import zone_problem
from tasks.records.init import patterns
from tasks.records.init.looking import MOST_FILES, look_at, looked_at_first, with_records_first
from tasks.records.init.path_times import PathTimes, dated_paths, of_folders, with_path_time
from tasks.records.init.proposed import Proposal
from tasks.records.init.proposed_columns import join_dates, propose_columns
from tasks.records.init.proposed_files import (
    NOT_THEIR_DAYS,
    NamedFiles,
    are_days_of_utc,
    are_of_day,
    dated_files,
    files_of_folders,
    undated_files,
)
from tasks.records.init.proposed_places import places_of
from tasks.records.init.proposed_presets import value_of_preset
from tasks.records.init.proposed_times import (
    TimesForm,
    form_of_times,
    zone_of_times,
)
from tasks.records.init.proposed_users import people, strangers
from tasks.records.init.proposed_values import are_fixes, has_no_values, rows_that_count
from tasks.records.init.same_form import refuse_other_forms
from tasks.records.init.time_columns import of_time, written_times
from tasks.records.input_formats.all_formats import format_by_name
from tasks.records.input_formats.input_format import Given, Look

_N_PLACES = 500
_TOO_FAR = dt.timedelta(days=3653)


def propose_source(files: Sequence[Path], folder: Path, given: Given) -> Proposal:
    """Return what a configuration in a folder should say of some files.

    Args:
        files: Files of the same form.
        folder: Where the configuration will be.
        given: What is not to be recognised.

    Raises:
        BadInput: A file cannot be recognised, or has no readable times or places.
    """
    for option, zone in (("--timezone", given.timezone), ("--time-zone", given.time_zone)):
        if zone is not None and (problem := zone_problem(zone)):
            raise BadInput(f"{option} {zone} {problem}")
    if given.time_format is not None and (problem := time_format_problem(given.time_format)):
        raise BadInput(f"--time-format {given.time_format} {problem}; it is written as in --time-format %Y%m%d%H%M")
    n_files, files = len(files), with_records_first(looked_at_first(files), given)
    looks = _looks(files[:MOST_FILES], given)
    first = looks[0]
    proposal = Proposal({"dataset": {}, "columns": {}}, first.names)
    if n_files > len(looks) or first.files:
        in_first = f", and {len(first.files)} files in the first" if first.files else ""
        proposal.reasons.append(f"{len(looks)} of {n_files:,} files are looked at, evenly spread{in_first}")
    proposal.holds_snapshots = first.format.holds_snapshots
    _form(files, first, given, proposal)
    times = propose_columns(looks, files, folder, given, proposal)
    if times is not None:
        looks = [with_path_time(*one, times) for one in zip(looks, files, times.dates, strict=False)]
    columns = proposal.settings["columns"]
    if proposal.missing and proposal.missing != ["value"]:
        return proposal
    if "value" not in given.columns and (proposal.missing or has_no_values(looks, columns)):
        other = _by_preset(first, files, folder, given) or _by_speed(looks, files, folder, given)
        if other or proposal.missing:
            return other or proposal
    join_dates(first, proposal)
    refuse_other_forms(files, looks, columns)
    first.format.refuse_columns(files, looks, proposal.settings["columns"])
    if not any(written_times(look, proposal.settings["columns"]) for look in looks):
        raise BadInput(f"{files[0]}: has no record; name a file with records")
    if given.per_degree is not None:
        columns["per_degree"] = given.per_degree
    proposal.reasons += [*people(first, columns), *rows_that_count(looks, given, proposal)]
    places = places_of(looks, proposal.settings, proposal.reasons)
    _time_zone(places, given, proposal)
    form = _times(files, folder, looks, given, proposal)
    _patterns(files, folder, looks, form, proposal, times)
    return proposal


def _by_speed(looks: Sequence[Look], files: Sequence[Path], folder: Path, given: Given) -> Proposal | None:
    """Return a proposal with speeds from positions; None if some column is missing, or these are no fixes."""
    instead = dataclasses.replace(given, columns={**given.columns, "value": SPEED})
    proposal = propose_source(sorted(files), folder, instead)
    if proposal.missing or not are_fixes(_looks(files[: len(looks)], instead), proposal.settings["columns"]):
        return None
    proposal.reasons.append(
        "no column is named like a speed, or none has an entry: the value is the speed from the fix before. Then "
        "places inside hexagons are private"
    )
    return proposal


def _by_preset(first: Look, files: Sequence[Path], folder: Path, given: Given) -> Proposal | None:
    """Return a proposal with the value of a preset; None if none fits."""
    value = value_of_preset(first, files, folder, given)
    if value is None:
        return None
    return propose_source(sorted(files), folder, dataclasses.replace(given, columns={**given.columns, "value": value}))


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


def _form(files: Sequence[Path], look: Look, given: Given, proposal: Proposal) -> None:
    dataset, reasons = proposal.settings["dataset"], proposal.reasons
    dataset["files"] = [str(path) for path in files]
    reasons.append(f"the files are {look.format.name}, by " + ("--format" if given.format else "their names"))
    is_hidden = bool(look.files) and look.format.holds_snapshots  # the name of an archive does not say it
    if is_hidden or look.format != format_by_name((look.files or files)[0]):
        dataset["format"] = look.format.name
    if look.delimiter != ",":
        dataset["delimiter"] = look.delimiter
        reasons.append(
            f"the delimiter is {look.delimiter!r}, by " + ("--delimiter" if given.delimiter else "the header")
        )
    if look.delimiter == ";":
        dataset["decimal"] = ","  # which reads a point too
        reasons.append(
            "Caution: fields are split by ';', so values may have a decimal comma: '12,5' is read as '12.5' is. If "
            'commas part thousands, set dataset.decimal = "."'
        )
    if look.header:
        dataset["header"] = list(look.header)
    if look.records:
        dataset["records"] = look.records
        why = "as --records says" if given.records is not None else "the most of the first file, or those with places"
        reasons.append(f"the records in each document are at {look.records!r}: {why}")


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
    columns, days_zone = proposal.settings["columns"], proposal.settings["dataset"]["timezone"]
    times = [[one for one in written_times(look, columns) if one not in (None, "")] for look in looks]
    name = ", ".join(of_time(columns))
    preset = proposal.settings["dataset"].get("preset")
    known = preset_times(preset) if preset else {}
    zone_given = given.time_zone or known.get("time_zone")
    form_given = given.time_format or known.get("time_format")
    found = form_of_times(files, folder, times, name, form_given, zone_given or days_zone)
    if found.has_no_offset(times):
        is_int96 = (looks[0].kinds or {}).get(name) == "int96"
        spread = chain.from_iterable(written_times(look, columns, spread=True) for look in looks)
        zone, why = zone_of_times(found, list(spread), name, days_zone, is_int96, zone_given)
        columns["time_zone"], found = zone, dataclasses.replace(found, time_zone=zone)
        proposal.reasons.append(why)
    other = looks[0].format.time_else
    if other and any(None in look.column(name) and any(look.column(other)) for look in looks if look.names):
        columns["time_else"] = other
        proposal.reasons.append(f"some records have no time: for these it is {other!r}, that of the feed")
    if found.form is not None:
        columns["time_format"] = found.form
    elif found.unit is not None:
        columns.setdefault("time_unit", found.unit)
    proposal.reasons += [found.reason] if found.reason else []
    return found


def _refuse_far_days(date: dt.date | None, form: TimesForm, column: str) -> None:
    """Refuse numbers that would be times of years to come: they are written in another way."""
    if date is not None and form.unit is not None and date > dt.datetime.now(dt.UTC).date() + _TOO_FAR:
        raise BadInput(
            f'the numbers in "{column}" would be times of {date} if they counted {form.unit} since 1970; say how they '
            "are written with --time-format, as in --time-format %y%m%d%H%M"
        )


def _patterns(
    files: Sequence[Path],
    folder: Path,
    looks: Sequence[Look],
    form: TimesForm,
    proposal: Proposal,
    times: PathTimes | None,
) -> None:
    """Note the patterns of the files, and the day to try. The first records of a file decide on it, then the whole."""
    columns, zone = proposal.settings["columns"], ZoneInfo(proposal.settings["dataset"]["timezone"])
    first = [form.days(written_times(look, columns), zone) for look in looks]
    proposal.date = max(sum(first, Counter()).items(), key=lambda day: day[1], default=(None, 0))[0]
    _refuse_far_days(proposal.date, form, ", ".join(of_time(columns)))
    user = columns["user"]
    has_folders = user in FOLDERS and not looks[0].files  # those in an archive are not in the pattern of its file
    dates = None if user in OF_PATH else patterns.dates_of(files, folder)
    in_folders = dated_paths(files, folder) if dates is None and user not in OF_PATH else None
    dates = dates if in_folders is None else in_folders.dates
    if times is not None:
        found = of_folders(times.patterns, FOLDERS.index(user)) if has_folders else times.patterns
        named = NamedFiles(found, f"the pattern is {', '.join(found)}: the path says the time")
        proposal.dates = times.dates
    elif has_folders:
        named = files_of_folders(files, folder, FOLDERS.index(user))
    elif dates is None:
        named = undated_files(files, folder)
    else:
        spread = [written_times(look, columns, spread=True) for look in looks if look.names]
        whole, in_utc = ([form.days(times, one) for times in spread] for one in (zone, ZoneInfo("UTC")))
        dates_of_whole = [date for date, look in zip(dates, looks, strict=False) if look.names]
        fits = partial(are_of_day, holds_snapshots=proposal.holds_snapshots)
        is_dated = all(map(fits, dates, first)) and all(map(fits, dates_of_whole, whole))
        is_dated = is_dated and not are_days_of_utc(dates_of_whole, whole, in_utc)
        found = None if in_folders is None else in_folders.patterns
        named = dated_files(files, folder, found) if is_dated else undated_files(files, folder, NOT_THEIR_DAYS)
        proposal.dates = dates if is_dated else []
        proposal.reasons += strangers(looks, columns["user"], proposal.dates)
    proposal.settings["dataset"]["files"] = named.patterns
    proposal.reasons.append(named.reason)
