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

_FORMS = {"time_unit", "time_format"}

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


def preset_records() -> list[str]:
    """Return the paths to records that presets say."""
    return [of["dataset"]["records"] for of in _FILLED_IN.values() if "records" in of.get("dataset", {})]


def preset_has_records(preset: str, records: str | None) -> bool:
    """Return whether a preset says this path to records."""
    return _FILLED_IN[preset].get("dataset", {}).get("records") == records


def preset_times(preset: str) -> dict[str, str]:
    """Return what a preset says of the form and the time zone of its times."""
    return {name: of for name, of in _FILLED_IN[preset]["columns"].items() if name.startswith("time_")}


def preset_age(preset: str) -> str | None:
    """Return the column of the age of fixes that a preset says; None if its times are those of fixes."""
    return _FILLED_IN[preset]["columns"].get("age")


def preset_kinds(preset: str) -> str | None:
    """Return the column that says of which quantity a preset's values are; None if all are of one."""
    return _FILLED_IN[preset].get("kinds")


def preset_ids_change(preset: str) -> str | None:
    """Return when users get other ids by what the form of data demands; None if they keep them."""
    return _FILLED_IN[preset].get("ids_change")


def preset_unit(preset: str) -> str | None:
    """Return the unit that is usual for what a preset measures; None if there is none."""
    is_speed = "speed" in _FILLED_IN[preset] or _FILLED_IN[preset]["columns"]["value"] == "{speed}"
    return "km/h" if is_speed else _FILLED_IN[preset].get("value", {}).get("unit")


def preset_quantity(preset: str | None) -> str | None:
    """Return what a preset measures that is no speed; None if it measures speeds, or does not say."""
    return None if preset is None else _FILLED_IN[preset].get("value", {}).get("name")


def preset_fastest(preset: str, unit: str) -> Decimal | None:
    """Return the usual upper bound of a preset's speeds in a unit; None if it has none of its own."""
    fastest, factor = _FILLED_IN[preset].get("fastest_kmh"), factor_between("km/h", unit)
    return None if fastest is None or factor is None else Decimal(round(fastest * factor, -1))


def factor_between(source: str, unit: str) -> Decimal | None:
    """Return what a speed in one unit is multiplied by to be in another; None if one is not known."""
    if not {source, unit} <= _PER_METRE_A_SECOND.keys():
        return None
    return round(_PER_METRE_A_SECOND[unit] / _PER_METRE_A_SECOND[source], 10).normalize()


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
    """Return defaults under what is given. A given form of times replaces the default one, and another time the age."""
    forms = set(_FORMS) if _FORMS & given.keys() else set[str]()
    if given.get("time", defaults.get("time")) != defaults.get("time"):
        forms.add("age")  # it is that of the preset's time
    return {**{name: value for name, value in defaults.items() if name not in forms}, **given}


def _factor(preset: str, value: dict[str, Any]) -> dict[str, Decimal]:
    source = _FILLED_IN[preset].get("speed")
    if source is None or "factor" in value or "unit" not in value:
        return {}
    factor = factor_between(source, value["unit"])
    if factor is None:
        units = ", ".join(_PER_METRE_A_SECOND)
        raise ValueError(
            f'value.factor is missing: dataset.preset = "{preset}" knows it for a value.unit of {units} only'
        )
    return {"factor": factor}
