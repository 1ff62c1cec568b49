"""Presets: what a configuration leaves out, for published forms of data. Each is a file beside this one."""

import importlib.resources
import tomllib
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

_FILES = importlib.resources.files("tasks.base").joinpath("presets").iterdir()
_FILLED_IN: dict[str, dict[str, Any]] = {
    one.name.removesuffix(".toml"): tomllib.loads(one.read_text(encoding="utf-8"), parse_float=Decimal)
    for one in sorted(_FILES, key=lambda one: one.name)
    if one.name.endswith(".toml")
}
_PER_METRE_A_SECOND = {
    "m/s": Decimal(1),
    "km/h": Decimal("3.6"),
    "mph": Decimal("2.2369362920544"),
    "kn": Decimal("1.9438444924406"),
}

if TYPE_CHECKING:
    Preset = str
else:
    Preset = Literal[tuple(_FILLED_IN)]


def preset_columns() -> dict[str, dict[str, str]]:
    """Return the column of each role in each preset."""
    roles = ("user", "time", "latitude", "longitude", "value")
    return {name: {role: of["columns"][role] for role in roles} for name, of in _FILLED_IN.items()}


def preset_format(preset: str) -> str | None:
    """Return the format that a preset says its files have; None if it says none."""
    return _FILLED_IN[preset].get("dataset", {}).get("format")


def preset_unit(preset: str) -> str | None:
    """Return the unit that is usual for what a preset measures; None if there is none."""
    is_speed = "speed" in _FILLED_IN[preset] or _FILLED_IN[preset]["columns"]["value"] == "{speed}"
    return "km/h" if is_speed else _FILLED_IN[preset].get("value", {}).get("unit")


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
    for section in ("dataset", "columns"):
        given, defaults = settings.get(section, {}), _FILLED_IN[preset].get(section, {})
        whole[section] = _merged(defaults, given) if isinstance(given, dict) else given
    value = settings.get("value")
    if isinstance(value, dict) and whole["columns"].get("value") == _FILLED_IN[preset]["columns"]["value"]:
        whole["value"] = {"name": "speed", **_FILLED_IN[preset].get("value", {}), **_factor(preset, value), **value}
    return whole


def _merged(defaults: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Return defaults under what is given. A given form of times replaces the default one."""
    forms = {"time_unit", "time_format"} & given.keys() and {"time_unit"}
    return {**{name: value for name, value in defaults.items() if name not in forms}, **given}


def _factor(preset: str, value: dict[str, Any]) -> dict[str, Decimal]:
    source = _FILLED_IN[preset].get("speed")
    if source is None or "factor" in value or "unit" not in value:
        return {}
    if value["unit"] not in _PER_METRE_A_SECOND:
        units = ", ".join(_PER_METRE_A_SECOND)
        raise ValueError(
            f'value.factor is missing: dataset.preset = "{preset}" knows it for a value.unit of {units} only'
        )
    factor = _PER_METRE_A_SECOND[value["unit"]] / _PER_METRE_A_SECOND[source]
    return {"factor": round(factor, 10).normalize()}
