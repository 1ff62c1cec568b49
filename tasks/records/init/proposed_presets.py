"""Finds the preset whose columns a file has."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

from tasks.base.config_presets import preset_columns, preset_format, preset_has_records
from tasks.base.config_source import OF_PATH, SPEED
from tasks.records.init.looking import look_at
from tasks.records.init.proposed_users import name_users
from tasks.records.input_formats.input_format import Given, Look
from tasks.records.input_formats.roles import recognise_roles


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
