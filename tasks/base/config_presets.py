"""Presets: what a configuration leaves out, for published forms of vehicle data."""

from decimal import Decimal
from typing import Any, Literal

Preset = Literal["gtfs-rt", "tides", "mds", "iudx"]

_METRES_PER_SECOND = {"m/s": Decimal(1), "km/h": Decimal("3.6"), "mph": Decimal("2.2369362921")}
_KILOMETRES_PER_HOUR = {"km/h": Decimal(1), "mph": Decimal("0.6213711922"), "m/s": Decimal("0.2777777778")}

_FILLED_IN: dict[str, dict[str, dict[str, Any]]] = {
    "gtfs-rt": {
        "dataset": {"format": "gtfs-rt"},
        "columns": {
            "user": "vehicle.id",
            "time": "timestamp",
            "latitude": "position.latitude",
            "longitude": "position.longitude",
            "value": "position.speed",
            "time_unit": "s",
        },
    },
    "tides": {
        "dataset": {},
        "columns": {
            "user": "vehicle_id",
            "time": "event_timestamp",
            "latitude": "latitude",
            "longitude": "longitude",
            "value": "speed",
        },
    },
    "mds": {
        "dataset": {"format": "json", "records": "telemetry"},
        "columns": {
            "user": "device_id",
            "time": "timestamp",
            "latitude": "location.lat",
            "longitude": "location.lng",
            "value": "location.speed",
            "time_unit": "ms",
        },
    },
    # the names of TransitManagement in Smart Data Models, and the list of IUDX's resource servers
    "iudx": {
        "dataset": {"format": "json", "records": "results"},
        "columns": {
            "user": "license_plate",
            "time": "observationDateTime",
            "latitude": "location.coordinates[1]",
            "longitude": "location.coordinates[0]",
            "value": "speed",
        },
    },
}
_SPEEDS = {
    "gtfs-rt": _METRES_PER_SECOND,
    "tides": _METRES_PER_SECOND,
    "mds": _METRES_PER_SECOND,
    "iudx": _KILOMETRES_PER_HOUR,  # assumed: the model does not say it
}


def preset_columns() -> dict[str, dict[str, str]]:
    """Return the column of each role in each preset."""
    roles = ("user", "time", "latitude", "longitude", "value")
    return {name: {role: of["columns"][role] for role in roles} for name, of in _FILLED_IN.items()}


def preset_format(preset: str) -> str | None:
    """Return the format that a preset says its files have; None if it says none."""
    return _FILLED_IN[preset]["dataset"].get("format")


def filled_in(settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings with what their preset fills in; what they say themselves stays.

    Args:
        settings: The sections of a configuration, not checked yet.

    Raises:
        ValueError: The value is a speed, and its unit is not one that the preset knows a factor for.
    """
    dataset = settings.get("dataset")
    preset = dataset.get("preset") if isinstance(dataset, dict) else None
    if preset not in _FILLED_IN:
        return settings
    whole = dict(settings)
    for section, defaults in _FILLED_IN[preset].items():
        given = settings.get(section, {})
        whole[section] = _merged(defaults, given) if isinstance(given, dict) else given
    value = settings.get("value")
    if isinstance(value, dict) and whole["columns"].get("value") == _FILLED_IN[preset]["columns"]["value"]:
        whole["value"] = {"name": "speed", **_factor(preset, value), **value}
    return whole


def _merged(defaults: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Return defaults under what is given. A given form of times replaces the default one."""
    forms = {"time_unit", "time_format"} & given.keys() and {"time_unit"}
    return {**{name: value for name, value in defaults.items() if name not in forms}, **given}


def _factor(preset: str, value: dict[str, Any]) -> dict[str, Decimal]:
    if "factor" in value or "unit" not in value:
        return {}
    factors = _SPEEDS[preset]
    if value["unit"] not in factors:
        units = ", ".join(factors)
        raise ValueError(
            f'value.factor is missing: dataset.preset = "{preset}" knows it for a value.unit of {units} only'
        )
    return {"factor": factors[value["unit"]]}
