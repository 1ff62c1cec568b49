"""Proposes which column has which role: by a preset whose columns are all there, or else by their names."""

import dataclasses
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tasks.base.config_presets import preset_columns, preset_format, preset_has_records
from tasks.base.config_source import FOLDERS, OF_FILE, OF_PATH, SPEED
from tasks.base.errors import BadInput
from tasks.records.init.inner_lists import refuse_inner_lists
from tasks.records.init.looking import look_at
from tasks.records.init.proposed_users import counts_rows, name_users
from tasks.records.input_formats.input_format import Given, Look
from tasks.records.input_formats.roles import recognise_roles


def refuse_absent(look: Look, given: Given) -> None:
    """Refuse columns that the owner names and the files do not have.

    Raises:
        BadInput: So it is, or what is named is no column of this role or format.
    """
    of_path = next((name for name in given.columns.values() if name in OF_PATH), None)
    if of_path and (not look.format.can_name_user or given.columns.get("user") != of_path):
        raise BadInput(
            f"{of_path} can be the user alone, and not that of {_WITHOUT}; name a column: {', '.join(look.names)}"
        )
    absent = [name for name in given.columns.values() if name not in (*look.names, *OF_PATH, SPEED)]
    if absent:
        role = next(role for role, name in given.columns.items() if name == absent[0])
        raise BadInput(f'--{role}: there is no column "{absent[0]}"; there are: {", ".join(look.names)}')


_WITHOUT = "Parquet or GTFS-Realtime"


def fitting_preset(look: Look, files: Sequence[Path], folder: Path, given: Given) -> str | None:
    """Return the preset whose columns a file has, but for those that the owner names; None if there is none."""
    for name, columns in preset_columns().items():
        if given.columns.get("value", columns["value"]) == columns["value"] and _fits(name, columns, look, given):
            is_of_path = "user" not in given.columns and columns["user"] in OF_PATH
            if not is_of_path or name_users(look.files or files, columns["user"], folder):
                return name
    return None


def value_of_preset(look: Look, files: Sequence[Path], folder: Path, given: Given) -> str | None:
    """Return the value of a preset that fits once it is known which column the value is; None if there is none.

    Before, it is not known what may be looked into, so only the outermost members have names.
    """
    for columns in preset_columns().values():
        first = {name.partition(".")[0] for name in columns.values()}
        if columns["value"] != SPEED and look.format.has_members and first <= {*look.names, *OF_PATH}:
            known = {**given.columns, "value": columns["value"]}
            instead = dataclasses.replace(given, records=look.records, columns=known)
            if fitting_preset(look_at(files[0], instead), files, folder, instead):
                return columns["value"]
    return None


def _fits(preset: str, columns: Mapping[str, str], look: Look, given: Given) -> bool:
    named = {*columns.values()} - {SPEED, *OF_PATH}
    if preset_format(preset) not in (None, look.format.name) or not named <= {*look.names}:
        return False
    if any(name.startswith("[") for name in named) and not preset_has_records(preset, look.records):
        return False
    return columns["value"] != SPEED or "value" in given.columns or "value" not in recognise_roles(look.own_names)


def columns_by_name(
    looks: Sequence[Look], files: Sequence[Path], folder: Path, given: Given, reasons: list[str]
) -> dict[str, Any]:
    """Return the column of each role that its name shows, or that is given.

    Args:
        looks: What the files look like.
        files: The files: their paths may name the users.
        folder: Paths are looked at from here on.
        given: What the owner says.
        reasons: Why, for people; more are added.
    """
    look = looks[0]
    free = [name for name in look.own_names if name not in given.columns.values()]
    found = recognise_roles(free, partial(counts_rows, looks))
    refuse_inner_lists(look, {**found, **given.columns})
    columns = {**found, **given.columns}
    if "user" not in columns and look.format.can_name_user:
        paths = look.files or files
        named_by = next((one for one in OF_PATH if name_users(paths, one, folder)), None)
        if named_by:
            columns["user"] = named_by
            reasons.append(f"no column is named like an id of a user: {_OF_WHAT[named_by]}")
    for role, name in found.items():
        if role not in given.columns:
            kind = f", of type {look.kinds[name]}" if look.kinds and role != "value" else ""
            reasons.append(f"{role} is {name!r}, by its name{kind}")
    return columns


_OF_WHAT = {
    OF_FILE: "each file is taken for one user, by its name without a date",
    FOLDERS[0]: "each folder is taken for one user, by its name",
    FOLDERS[1]: "each folder is taken for one user with all folders in it, by its name",
}
