"""Roles: recognises by their names which columns of a source are user, time, place and value."""

import re
from collections.abc import Sequence

WORDS: dict[str, tuple[str, ...]] = {
    "latitude": ("latitude", "lat", "gpslat", "coordinates[1]", "y"),
    "longitude": ("longitude", "lon", "lng", "long", "gpslon", "gpslng", "coordinates[0]", "x"),
    "time": (
        *("timestamp", "eventtimestamp", "observationdatetime", "datetime", "time", "gpstime", "observedat"),
        *("recordedat", "recordedattime", "recordedtime", "lastupdated", "ts", "epoch", "date"),
    ),
    "user": (
        *("vehicleid", "busid", "userid", "deviceid", "taxiid", "cabid", "driverid", "vehiclenumber", "vehicleref"),
        *("licenseplate", "plate", "vehicle", "bus", "taxi", "cab", "device", "user", "driver", "imei", "unitid"),
        *("vid", "uid", "id"),
    ),
    "value": ("speed", "speedkmh", "speedkph", "speedmph", "speedms", "velocity", "avgspeed", "spd", "kmh", "mph"),
}
"""What each role is called, the likeliest first. A column's role is looked for in this order of roles."""
_AS_PART = {"latitude": "latitude", "longitude": "longitude", "time": "time", "user": "vehicle", "value": "speed"}
UNITS = {"kmh": "km/h", "kph": "km/h", "mph": "mph", "ms": "m/s", "mps": "m/s"}


def recognise_roles(names: Sequence[str]) -> dict[str, str]:
    """Return the column of each role that can be recognised by its name; no column has two roles.

    Args:
        names: The names of the columns, which may be paths such as ``location.coordinates[1]``.
    """
    found: dict[str, str] = {}
    for role in WORDS:
        ranked = [(rank, number) for number, name in enumerate(names) if (rank := _rank(name, role)) is not None]
        free = [number for _, number in sorted(ranked) if names[number] not in found.values()]
        if free:
            found[role] = names[free[0]]
    return found


def unit_of(name: str) -> str | None:
    """Return the unit of a speed that the end of a column's name says; None if it says none."""
    words = re.split(r"[^a-z]+", name.lower())
    return next((UNITS[word] for word in words if word in UNITS), None)


def is_like_a_value(name: str) -> bool:
    """Return whether a column, or the last part of its path, is named like a value."""
    return _rank(name.rpartition(".")[2], "value") is not None


def _rank(name: str, role: str) -> int | None:
    """Return how likely a column has a role, 0 the likeliest; None if its name does not say so."""
    words = WORDS[role]
    whole = _plain(name)
    for plain in (whole, _plain(name.rpartition(".")[2])):
        if plain in words:
            return words.index(plain)
    return len(words) if _AS_PART[role] in whole else None


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9\[\]]", "", name.lower())
