"""Proposes the column of each role: by names, by a preset, and by what columns named like places and times have."""

import dataclasses
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tasks.base.config_presets import preset_age, preset_columns, preset_ids_change, preset_unit
from tasks.base.config_source import FOLDERS, OF_FILE, OF_PATH, PLACES, ROLES, SPEED, needed_roles
from tasks.base.errors import BadInput
from tasks.base.file_patterns import HOUR_PLACEHOLDER, is_of_path
from tasks.records.init.inner_lists import refuse_inner_lists
from tasks.records.init.path_times import PathTimes, path_times
from tasks.records.init.place_columns import place_column
from tasks.records.init.proposed import Proposal
from tasks.records.init.proposed_presets import fitting_preset
from tasks.records.init.proposed_users import counts_rows, name_users
from tasks.records.init.time_columns import column_instead, columns_of_instants, hour_column, of_time, other_column
from tasks.records.input_formats.input_format import Given, Look
from tasks.records.input_formats.roles import recognise_roles, unit_of


def propose_columns(
    looks: Sequence[Look], files: Sequence[Path], folder: Path, given: Given, proposal: Proposal
) -> PathTimes | None:
    """Note the column of each role; return what the paths say of the times, if they are in them."""
    look, columns, reasons = looks[0], proposal.settings["columns"], proposal.reasons
    given = _with_times(look, given)
    named = [(role, one) for role, name in given.columns.items() for one in ([name] if isinstance(name, str) else name)]
    _refuse_absent(look, named)
    preset = fitting_preset(look, files, folder, given)
    if preset:
        _take_columns_of(preset, look, given, proposal)
        return None
    free = [name for name in look.own_names if name not in [one for _, one in named]]
    found = _found_columns(looks, free, given)
    refuse_inner_lists(look, {**found, **given.columns})
    columns.update({**found, **given.columns})
    times = path_times(files, folder) if look.format.has_columns else None
    _times_of_paths(look, times, proposal)
    if "user" not in columns and look.format.can_name_user:
        paths = look.files or files
        named_by = next((one for one in OF_PATH if name_users(paths, one, folder)), None)
        if named_by:
            columns["user"] = named_by
            reasons.append(f"no column is named like an id of a user: {_OF_WHAT[named_by]}")
    for role in (*ROLES, "h3", "geometry"):
        if role in found and role not in given.columns:
            kind = f", of type {look.kinds[found[role]]}" if look.kinds and role != "value" else ""
            reasons.append(f"{role} is {found[role]!r}, by its name{kind}")
    proposal.missing = [role for role in needed_roles(columns) if role not in columns]
    if "value" in proposal.missing and look.format.has_members:
        proposal.maybe_missing = [role for role in proposal.missing if role != "value"]
        proposal.missing = ["value"]  # the first to be known: it is never looked into
    proposal.unit = "km/h" if columns.get("value") == SPEED else unit_of(columns.get("value", ""))
    return times if any(map(is_of_path, of_time(columns) if "time" in columns else ())) else None


def _take_columns_of(preset: str, look: Look, given: Given, proposal: Proposal) -> None:
    """Note the columns of a preset, but for those that the owner names, and its unit."""
    columns, reasons = proposal.settings["columns"], proposal.reasons
    proposal.settings["dataset"]["preset"] = preset
    columns.update({**preset_columns()[preset], **given.columns})
    proposal.unit = preset_unit(preset)
    reasons.append(f"the columns are those of {preset}, which the preset knows, with the unit of its values")
    if when := preset_ids_change(preset):
        reasons.append(
            f"Caution: {preset} demands that {columns['user']!r} changes {when}. Then that is what is protected, "
            "and not the vehicle; ask the source whether its ids stay"
        )
    age = preset_age(preset)
    if age in look.names:
        columns["age"] = age
        reasons.append(f"{age!r} has how old each place is: it is taken off the time")


_OF_WHAT = {
    OF_FILE: "each file is taken for one user, by its name without a date",
    FOLDERS[0]: "each folder is taken for one user, by its name",
    FOLDERS[1]: "each folder is taken for one user with all folders in it, by its name",
}


def _refuse_absent(look: Look, named: Sequence[tuple[str, str]]) -> None:
    """Refuse columns that the owner names, by their roles, and the files do not have."""
    of_path = next(((role, name) for role, name in named if name in OF_PATH), None)
    if of_path and (not look.format.can_name_user or of_path[0] != "user"):
        raise BadInput(
            f"{of_path[1]} can be the user alone, and not that of Parquet or GTFS-Realtime; name a column: "
            + ", ".join(look.names)
        )
    absent = [name for _, name in named if name not in (*look.names, *OF_PATH, SPEED) and not is_of_path(name)]
    if absent:
        role = next(role for role, name in named if name == absent[0])
        raise BadInput(f'--{role}: there is no column "{absent[0]}"; there are: {", ".join(look.names)}')


def _with_times(look: Look, given: Given) -> Given:
    """Return what is given with both columns of the time, if it names two."""
    time = given.columns.get("time", "")
    if not isinstance(time, str) or "," not in time or time in look.names:
        return given
    return dataclasses.replace(given, columns={**given.columns, "time": [one.strip() for one in time.split(",")]})


def _found_columns(looks: Sequence[Look], free: list[str], given: Given) -> dict[str, Any]:
    """Return the column of each role that can be recognised, of the place one of cells or points if it has no two."""
    of_place = {role for role in PLACES if role in given.columns}
    found = recognise_roles(free, partial(counts_rows, looks))
    if of_place & {"h3", "geometry"}:
        return {role: name for role, name in found.items() if role not in PLACES}
    if {"latitude", "longitude"} <= {*found, *of_place} or of_place or not looks[0].format.has_columns:
        return found
    value = given.columns.get("value", found.get("value"))
    place = place_column(looks[0], [name for name in free if name != value])
    if place is None:
        return found
    kind, column = place
    others = recognise_roles([name for name in free if name != column], partial(counts_rows, looks))
    return {kind: column, **{role: name for role, name in others.items() if role not in PLACES}}


def _times_of_paths(look: Look, times: PathTimes | None, proposal: Proposal) -> None:
    """Note the time that the paths say, if no column has it, or only one of the hour."""
    columns = proposal.settings["columns"]
    if "time" in columns or times is None:
        return
    hours = hour_column(look, columns)
    if hours is not None:
        columns["time"] = ["{date}", hours]
        proposal.reasons.append(f"the date of the times is in the files' paths, and the hour in {hours!r}")
        return
    of_days, near = columns_of_instants(look, columns, times.dates)
    if len(of_days) == 1 and not near:
        columns["time"] = of_days[0]
        proposal.reasons.append(f"time is {of_days[0]!r}: no other column has times of the files' days")
    elif not of_days and not near and HOUR_PLACEHOLDER in times.time:
        columns["time"] = times.time
        proposal.reasons.append("no column has times: they are the date and the hour in the files' paths")


def join_dates(look: Look, proposal: Proposal) -> None:
    """Note the second column of the time, if the first does not have it all."""
    columns = proposal.settings["columns"]
    if not look.format.has_columns or not isinstance(columns["time"], str) or is_of_path(columns["time"]):
        return
    both = other_column(look, columns)
    instead = column_instead(look, columns) if both is None else None
    if both is not None:
        columns["time"] = list(both)
        proposal.reasons.append(f"the times in {both[1]!r} have no date: it is in {both[0]!r}")
    elif instead is not None:
        proposal.reasons.append(f"some records have no time in {columns['time']!r}: for these it is {instead!r}")
        columns["time"] = [columns["time"], instead]
