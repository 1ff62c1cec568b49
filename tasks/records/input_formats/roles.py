"""Roles: recognises by their names which columns of a source are user, time, place and value."""

import re
from collections.abc import Callable, Sequence

WORDS: dict[str, tuple[str, ...]] = {
    "latitude": ("latitude", "lat", "gpslat", "coordinates[1]", "y"),
    "longitude": ("longitude", "lon", "lng", "long", "gpslon", "gpslng", "coordinates[0]", "x"),
    "time": (
        *("timestamp", "eventtimestamp", "observationdatetime", "datetime", "time", "gpstime", "observedat"),
        *("recordedat", "recordedattime", "recordedtime", "lastupdated", "ts", "epoch", "date"),
    ),
    "value": ("speed", "speedkmh", "speedkph", "speedmph", "speedms", "velocity", "avgspeed", "spd", "kmh", "mph"),
}
"""What each role but the user is called, the likeliest first."""
_ORDER = ("latitude", "longitude", "time", "user", "value")
"""The order in which a column is looked for."""
_AS_PART = {"latitude": "latitude", "longitude": "longitude", "time": "time", "value": "speed"}
_WHO = (
    *("vehicle", "bus", "user", "device", "taxi", "cab", "driver", "tram", "train", "truck", "car", "van", "ship"),
    *("vessel", "boat", "aircraft", "plane", "bike", "bicycle", "scooter", "person", "participant", "subject", "rider"),
    *("passenger", "customer", "individual", "animal", "patient", "employee", "courier", "sensor", "tracker"),
    *("logger", "collar", "phone", "handset", "beacon", "veh", "dev"),
)
"""Who or what may be a user, the likeliest first. A trip, a route or a row is none: its next one is another."""
_WHO_NUMBERED = ("unit", "badge", "card", "tag", "meter", "member", "household", "machine", "asset", "node", "station")
"""The same of what is a user only with one of the words below."""
_NUMBERED = (
    "id",
    "number",
    "no",
    "nr",
    "num",
    "ref",
    "uuid",
    "uid",
    "code",
    "key",
    "serial",
    "hash",
    "name",
    "label",
    "",
)
"""What may follow it in a column's name, the likeliest first."""
_OF_THEMSELVES = (
    *("mmsi", "icao24", "icao", "hexident", "hex", "imei", "imsi", "vin", "licenseplate", "licenceplate", "plate"),
    *("numberplate", "registration", "tailnumber", "imo", "macaddress", "mac", "deveui"),
)
"""Names of the fields' own numbers of vehicles and devices."""
_USERS = {
    who + number: (rank, place)
    for rank, number in enumerate(_NUMBERED)
    for place, who in enumerate(_WHO + _WHO_NUMBERED if number else _WHO)
}
_USERS |= {name: (0, len(_WHO + _WHO_NUMBERED) + place) for place, name in enumerate(_OF_THEMSELVES)}
_PERHAPS_ROWS = ("vid", "uid", "uuid", "guid", "id")
"""Names of users, and as often of rows."""
UNITS = {"kmh": "km/h", "kph": "km/h", "mph": "mph", "ms": "m/s", "mps": "m/s"}


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
            free = [name for name in free if name not in rows] + [name for name in rows if _user_rank(name)]
        if free:
            found[role] = free[0]
    return found


def unit_of(name: str) -> str | None:
    """Return the unit of a speed that the end of a column's name says; None if it says none."""
    words = re.split(r"[^a-z]+", name.lower())
    return next((UNITS[word] for word in words if word in UNITS), None)


def is_like_a_value(name: str) -> bool:
    """Return whether a column, or the last part of its path, is named like a value."""
    return _rank(name.rpartition(".")[2], "value") is not None


def _rank(name: str, role: str) -> tuple[int, ...] | None:
    """Return how likely a column has a role, the least the likeliest; None if its name does not say so."""
    plain_names = (_plain(name), _plain(name.rpartition(".")[2]))
    if role == "user":
        perhaps = (len(_NUMBERED), *(_PERHAPS_ROWS.index(plain) for plain in plain_names if plain in _PERHAPS_ROWS))
        return _user_rank(name) or (perhaps if len(perhaps) > 1 else None)
    words = WORDS[role]
    for plain in plain_names:
        if plain in words:
            return (words.index(plain),)
    return (len(words),) if _AS_PART[role] in plain_names[0] else None


def _user_rank(name: str) -> tuple[int, ...] | None:
    """Return how likely a column names a user: the words at the end of its path decide, as in `vehicle.vehicle.id`."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", name)
    ends = ("".join(words[-n:]).lower() for n in range(1, len(words) + 1))
    return min((_USERS[end] for end in ends if end in _USERS), default=None)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9\[\]]", "", name.lower())
