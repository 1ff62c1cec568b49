"""Roles: recognises by their names which columns of a source are user, time, place and value."""

import re
from collections.abc import Callable, Sequence

from tasks.records.input_formats.user_names import may_be_rows, user_rank, words_of

WORDS: dict[str, tuple[str, ...]] = {
    "latitude": ("latitude", "lat", "gpslat", "late7", "late6", "coordinates[1]", "y"),
    "longitude": (
        "longitude",
        "lon",
        "lng",
        "long",
        "gpslon",
        "gpslng",
        *("lone7", "lnge7", "lone6", "lnge6"),
        "coordinates[0]",
        "x",
    ),
    "time": (
        *("timestamp", "eventtimestamp", "observationdatetime", "datetime", "time", "gpstime", "observedat"),
        *("recordedat", "recordedattime", "recordedtime", "lastreported", "lastupdated", "ts", "epoch"),
        *("date", "basedatetime", "dateutc", "utc", "now", "updatedat", "lastupdate", "reportedat"),
        *("lastseen", "tst", "fecha", "fechahora", "fechaactual", "zeit", "zeitpunkt", "zeitstempel", "horodatage"),
        *("tmstmp", "datahora", "datahoraposicao"),
        *("reported", "fixtime", "devicetime", "createdat", "at"),
    ),
    "value": (
        *("speed", "speedkmh", "speedkph", "speedmph", "speedms", "velocity", "avgspeed", "spd", "kmh", "mph"),
        *("sog", "gs", "fare", "fareamount", "amount"),
        *("velocidad", "velocidade", "vitesse", "geschwindigkeit", "snelheid", "hastighet", "rychlost"),
    ),
}
"""What each role but the user is called, the likeliest first."""
_NO_SPEEDS = {"fare", "fareamount", "amount"}
_OF_SPEEDS = {"limit", "accuracy", "error", "std", "confidence", "uncertainty"}
"""Words beside that of a speed that make it something else."""
_ORDER = ("latitude", "longitude", "time", "user", "value")
"""The order in which a column is looked for."""
_AS_PART = {"latitude": "latitude", "longitude": "longitude", "time": "time", "value": "speed"}
_AS_LAST_WORD = {"latitude": {"lat"}, "longitude": {"lon", "lng", "long"}}
UNITS = {
    **{"kmh": "km/h", "kph": "km/h", "mph": "mph", "ms": "m/s", "mps": "m/s"},
    **{"knots": "kn", "kn": "kn", "kt": "kn", "kts": "kn", "sog": "kn", "gs": "kn"},
}
"""The unit that a word in a name says: speeds over ground are in knots at sea and in the air."""


def recognise_roles(names: Sequence[str], counts_rows: Callable[[str], bool] = lambda _: False) -> dict[str, str]:
    """Return the column of each role that can be recognised by its name; no column has two roles.

    Args:
        names: The names of the columns, which may be paths such as ``location.coordinates[1]``.
        counts_rows: Returns whether a column numbers the rows. What may name rows or users names no user then.
    """
    found: dict[str, str] = {}
    for role in _ORDER:
        ranked = [(rank, number) for number, name in enumerate(names) if (rank := _rank(name, role)) is not None]
        free = [names[number] for _, number in sorted(ranked) if names[number] not in found.values()]
        if role == "user":
            rows = [name for name in free if counts_rows(name)]  # of one snapshot, a vehicle's id does too
            free = [name for name in free if name not in rows] + [name for name in rows if not may_be_rows(name)]
        if free:
            found[role] = free[0]
    return found


def unit_of(name: str) -> str | None:
    """Return the unit of a speed that the end of a column's name says; None if it says none."""
    words = re.split(r"[^a-z]+", name.lower())
    return next((UNITS[word] for word in words if word in UNITS), None)


def is_like_a_value(name: str) -> bool:
    """Return whether a column, or the last part of its path, is named like a value."""
    return is_like(name, "value")


def is_like_a_speed(name: str) -> bool:
    """Return whether the last part of a column's path is named like a speed, in one of some languages."""
    plain = _plain(name.rpartition(".")[2])
    return unit_of(name) is not None or "speed" in plain or plain in {*WORDS["value"]} - _NO_SPEEDS


def is_like(name: str, role: str) -> bool:
    """Return whether a column, or the last part of its path, is named like one of a role."""
    return _rank(name.rpartition(".")[2], role) is not None


def _rank(name: str, role: str) -> tuple[int, ...] | None:
    """Return how likely a column has a role, the least the likeliest; None if its name does not say so."""
    if role == "user":
        return user_rank(name)
    plain_names = (_plain(name), _plain(name.rpartition(".")[2]))
    words = WORDS[role]
    for plain in plain_names:
        if plain in words:
            return (words.index(plain),)
    if role == "value" and not _OF_SPEEDS.isdisjoint(words_of(name.rpartition(".")[2])):
        return None
    is_last = not _AS_LAST_WORD.get(role, set()).isdisjoint(words_of(name)[-1:])
    return (len(words),) if is_last or _AS_PART[role] in plain_names[0] else None


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9\[\]]", "", name.lower())
