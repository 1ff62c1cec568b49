"""Proposes speeds from positions for the value, where no column is named like one and users move.

It cautions where values are of several quantities. The value is not looked at, but of GTFS-Realtime whether any vehicle
has one: users, times and places are, and the words of other columns.
"""

import datetime as dt
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Any

import numpy as np

from tasks.base.config_presets import preset_kinds
from tasks.base.config_source import OF_PATH, PLACES
from tasks.base.errors import BadInput
from tasks.records.init.place_columns import places_in
from tasks.records.init.proposed import Proposal
from tasks.records.init.time_columns import of_time
from tasks.records.input_formats import recognise
from tasks.records.input_formats.input_format import Given, Look

_FEWEST_PAIRS = 20
_NEARBY = 1e-4  # degrees
_OF_WHICH_QUANTITY = {
    *("parameter", "pollutant", "measurand", "phenomenon", "quantity", "observedproperty", "variable", "species"),
    *("unit", "units", "uom", "sensortype"),
}
_MOST_KINDS, _FEWEST_REPEATED = 50, 0.1
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
    has_points = "geometry" in columns or {"latitude", "longitude"} <= columns.keys()
    if not has_points or not {"user", "time"} <= columns.keys() or not isinstance(columns["time"], str):
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


def rows_that_count(looks: Sequence[Look], given: Given, proposal: Proposal) -> list[str]:
    """Note which rows count: those that the owner names or, where a preset's values are of several quantities, of one.

    Returns:
        Why; and a caution for each other column that says of which quantity or unit a value is, if records have
        several. What they have is said of the preset's column alone, which is known to follow from no value.

    Raises:
        BadInput: A column that the owner names is not there.
    """
    columns, preset = proposal.settings["columns"], proposal.settings["dataset"].get("preset")
    names = dict.fromkeys(name for look in looks for name in look.own_names)
    absent = next((one for one in given.only if one not in names), None)
    if absent is not None:
        raise BadInput(f'--only: there is no column "{absent}"; there are: {", ".join(names)}')
    if taken := next((one for one in given.only if one in columns.values()), None):  # of the value nothing is read
        raise BadInput(f'--only: "{taken}" is a column of the records already; name another')
    said, known = [], preset and preset_kinds(preset)
    if given.only:
        columns["only"] = given.only
        said += [f"rows count that have {' or '.join(texts)} in {name!r}" for name, texts in given.only.items()]
    elif known and len(found := _texts(looks, known)) > 1:
        columns["only"] = {known: found[:1]}
        said.append(
            f"{known!r} has {', '.join(found)}, the commonest first, and a mean of all says nothing: the rows of "
            f"{found[0]} count. For those of another say --only {known}={found[1]}"
        )
    others = [name for name in names if name not in columns.values() and name not in columns.get("only", {})]
    named = {one for one in others if re.sub(r"[^a-z]", "", one.rpartition(".")[2].lower()) in _OF_WHICH_QUANTITY}
    named |= _telling_apart(others, looks, columns)
    return said + [
        f"Caution: {name!r} has {n} different entries. If they are of several quantities or units, a mean of all says "
        f"nothing: keep the rows of one with --only {name}=…"
        for name in sorted(named)
        if (n := len(_texts(looks, name, columns.get("only", {})))) > 1
    ]


def _telling_apart(names: Sequence[str], looks: Sequence[Look], columns: Mapping[str, Any]) -> set[str]:
    """Return columns of few words that alone tell many rows of one user, time and place apart: only one would count."""
    places = [columns[role] for role in PLACES if role in columns]
    key = [one for one in (columns["user"], *of_time(columns), *places) if one not in OF_PATH]
    parts = [part for whole in looks if not whole.format.holds_snapshots for part in whole.parts or (whole,)]
    keyed = []
    for number, look in enumerate(part for part in parts if {*key} <= {*part.names}):
        of_path = [[str(number)] * len(look.column(key[0]))] * (columns["user"] in OF_PATH)
        keyed.append((look, [*zip(*of_path, *(map(str, look.column(one)) for one in key), strict=True)]))
    rows = [row for _, some in keyed for row in some]
    if len(rows) - len(set(rows)) < _FEWEST_REPEATED * max(1, len(rows)):
        return set()
    return {name for name in names if _tells_apart(name, keyed)}


def _tells_apart(name: str, keyed: Sequence[tuple[Look, list[tuple[str, ...]]]]) -> bool:
    rows, words = [], set[str]()
    for look, some in keyed:
        if name in look.names:
            written = [str(one).strip() for one in look.column(name)]
            rows += [*zip(written, some, strict=True)]
            words.update(written)
    n_repeated = len(rows) - len({of for _, of in rows})
    are_words = 1 < len(words) <= min(_MOST_KINDS, len(rows) / 4) and not any(map(recognise.is_number, words))
    return are_words and len(rows) - len(set(rows)) <= _FEWEST_REPEATED * n_repeated


def _texts(looks: Sequence[Look], name: str, only: Mapping[str, Sequence[str]] = MappingProxyType({})) -> list[str]:
    """Return the different texts of a column, the commonest first, of the rows that count."""
    counts = Counter[str]()
    for look in (one for one in looks if name in one.names and only.keys() <= {*one.names}):
        which = [[str(one).strip() in texts for one in look.spread(column)] for column, texts in only.items()]
        counts.update(str(one).strip() for one, *counted in zip(look.spread(name), *which, strict=True) if all(counted))
    return [text for text, _ in counts.most_common() if text not in ("", "None")]


def _fixes(look: Look, columns: Mapping[str, Any], file: str) -> list[tuple[str, float, float, float]]:
    """Return user, time in seconds, latitude and longitude of those of a file's first records that have all."""
    if columns["time"] not in look.names:
        return []
    times = look.column(columns["time"])
    if "geometry" in columns:
        places = places_in("geometry", look.column(columns["geometry"])).T.tolist()
    else:
        places = [look.column(columns[role]) for role in ("latitude", "longitude")]
    users = [file] * len(times) if columns["user"] in OF_PATH else look.column(columns["user"])
    unit, found = recognise.time_unit(times), []
    for user, time, latitude, longitude in zip(users, times, *places, strict=True):
        with suppress(ValueError, TypeError):
            at = float(time) / recognise.UNITS[unit] if unit else _seconds(time)
            found.append((str(user), at, _degrees(latitude), _degrees(longitude)))
    return [one for one in found if np.isfinite(one[1:]).all()]


def _degrees(written: Any) -> float:
    return float(str(written).replace(",", "."))


def _seconds(time: Any) -> float:
    written = time if isinstance(time, dt.datetime) else dt.datetime.fromisoformat(str(time).strip())
    return written.replace(tzinfo=written.tzinfo or dt.UTC).timestamp()
