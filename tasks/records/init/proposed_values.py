"""Proposes speeds from positions for the value, where no column is named like one and users move.

It cautions where values are of several quantities. Only users, times and places are looked at, what columns say of the
quantity, and of a value of GTFS-Realtime only whether any vehicle has one.
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from tasks.base.config_source import OF_PATH
from tasks.records.input_formats import recognise
from tasks.records.input_formats.input_format import Look

_FEWEST_PAIRS = 20
_NEARBY = 1e-4  # degrees
_OF_WHICH_QUANTITY = {"parameter", "pollutant", "measurand", "phenomenon", "quantity", "units", "uom"}
_LONGEST_GAP = 120.0  # seconds, as value.longest_gap usually is


def has_no_values(looks: Sequence[Look], columns: Mapping[str, Any]) -> bool:
    """Return whether no vehicle in snapshots of a feed has the field of the value."""
    are_feeds = all(look.format.name == "gtfs-rt" for look in looks)
    return are_feeds and not any(one is not None for look in looks for one in look.column(columns["value"]))


def are_fixes(looks: Sequence[Look], columns: Mapping[str, Any]) -> bool:
    """Return whether users move and, in most files, most fixes come soon after another of the same user.

    Args:
        looks: What the files look like.
        columns: The columns of user, time and place. In snapshots each user is once in a file, and may only move.
    """
    if not {"user", "time", "latitude", "longitude"} <= columns.keys() or not isinstance(columns["time"], str):
        return False
    of_user: dict[str, list[tuple[float, float, float]]] = {}
    soon, n_pairs = 0, 0
    for number, look in enumerate(part for whole in looks for part in whole.parts or (whole,)):
        here: dict[str, list[tuple[float, float, float]]] = {}
        for user, *fix in _fixes(look, columns, str(number)):
            here.setdefault(user, []).append((fix[0], fix[1], fix[2]))
        gaps = np.concatenate([np.diff(np.sort([time for time, *_ in fixes])) for fixes in here.values()] or [[]])
        soon, n_pairs = soon + int(np.count_nonzero(gaps <= _LONGEST_GAP)), n_pairs + gaps.size
        for user, fixes in here.items():
            of_user.setdefault(user, []).extend(fixes)
    several = [np.array(fixes)[:, 1:] for fixes in of_user.values() if len(fixes) > 1]
    n_moving = sum(bool((np.ptp(places, axis=0) > _NEARBY).any()) for places in several)
    return 2 * n_moving > len(several) > 0 and (n_pairs < _FEWEST_PAIRS or 2 * soon > n_pairs)


def several_quantities(looks: Sequence[Look], columns: Mapping[str, Any]) -> list[str]:
    """Return a caution for each column that says of which quantity or unit a value is, if records have several."""
    names = {name for look in looks for name in look.own_names} - {str(column) for column in columns.values()}
    found = []
    for name in sorted(one for one in names if one.rpartition(".")[2].lower() in _OF_WHICH_QUANTITY):
        different = {str(one) for look in looks if name in look.names for one in look.spread(name)} - {"", "None"}
        if len(different) > 1:
            found.append(
                f"Caution: {name!r} has {len(different)} different entries. If they are of several quantities or "
                "units, a mean of all says nothing: write the records of one of them into files of their own"
            )
    return found


def _fixes(look: Look, columns: Mapping[str, Any], file: str) -> list[tuple[str, float, float, float]]:
    """Return user, time in seconds, latitude and longitude of those of a file's first records that have all."""
    if columns["time"] not in look.names:
        return []
    times, *places = (look.column(columns[role]) for role in ("time", "latitude", "longitude"))
    users = [file] * len(times) if columns["user"] in OF_PATH else look.column(columns["user"])
    unit = recognise.time_unit(times)
    found = []
    for user, time, latitude, longitude in zip(users, times, *places, strict=True):
        with suppress(ValueError, TypeError):
            at = float(time) / recognise.UNITS[unit] if unit else _seconds(time)
            found.append((str(user), at, float(latitude), float(longitude)))
    return found


def _seconds(time: Any) -> float:
    written = time if isinstance(time, dt.datetime) else dt.datetime.fromisoformat(str(time).strip())
    return written.replace(tzinfo=written.tzinfo or dt.UTC).timestamp()
