"""Proposes how places are written, from records all over the files."""

import math
import re
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from tasks.base.config_source import PLACES
from tasks.base.errors import BadInput
from tasks.records.init.place_columns import places_in
from tasks.records.input_formats import recognise
from tasks.records.input_formats.columns import DEGREES, GEOMETRY
from tasks.records.input_formats.input_format import Look
from tasks.records.input_formats.user_names import words_of

_PER_DEGREE = (10_000_000, 1_000_000)
"""What places may count that are whole numbers: E7 and E6."""
_NEARLY_ALL = 0.98
_LEAST_UNIT = 100_000
_FEWEST_EAST = 0.01
_HALVES = {
    "latitude": ({"lat", "latitude", "ns", "n", "hemisphere"}, {"S", "SOUTH"}),
    "longitude": ({"lon", "long", "lng", "longitude", "ew", "e", "hemisphere"}, {"W", "WEST"}),
}
"""Words of columns that say in which half of the earth a place is, and what they say where degrees have a minus."""
_OF_WAYS = {"dir", "direction", "bound", "heading", "course", "approach"}
"""Words of columns that say where somebody goes, but for `lat_dir` and `lon_dir`."""


def places_of(looks: Sequence[Look], settings: dict[str, dict[str, Any]], reasons: list[str]) -> np.ndarray:
    """Note the decimal mark, and which column is which; return places, latitude and longitude, shape (n, 2).

    Args:
        looks: What the files look like. Records from all over each are taken: a file may be sorted by place.
        settings: The sections dataset and columns; they are completed.
        reasons: Why, for people; more are added.

    Raises:
        BadInput: No place can be read.
    """
    columns, dataset = settings["columns"], settings["dataset"]
    written = [
        list(chain.from_iterable(look.spread(columns[role]) for look in looks if look.names))
        for role in PLACES
        if role in columns
    ]
    if len(written) == 1:
        kind = "h3" if "h3" in columns else "geometry"
        places = places_in(kind, written[0])
        return _some(places[np.isfinite(places).all(axis=1)])
    texts = [one for column in written for one in column if isinstance(one, str)]
    mark = recognise.decimal_mark(texts)
    if mark == ",":
        dataset["decimal"] = ","
        reasons.append("places are written with a decimal comma")
    places = np.array([[_number(one, mark) for one in pair] for pair in zip(*written, strict=True)]).reshape(-1, 2)
    places = _in_degrees(places, columns, reasons)
    _refuse_halves(looks, columns)
    places = places[np.isfinite(places).all(axis=1) & (places != 0).any(axis=1)]
    if len(places) and (np.abs(places[:, 0]) > 90).mean() > 0.5 and _on_earth(places[:, ::-1]).any():
        columns["latitude"], columns["longitude"] = columns["longitude"], columns["latitude"]
        places = places[:, ::-1]
        reasons.append("latitude and longitude are swapped: most latitudes were above 90 degrees")
    return _some(places)


def _refuse_halves(looks: Sequence[Look], columns: Mapping[str, Any]) -> None:
    """Refuse degrees without a minus if another column says of each of them that it is in the south or the west.

    Raises:
        BadInput: There is such a column.
    """
    free = dict.fromkeys(name for look in looks for name in look.own_names if name not in columns.values())
    for role, (called, minus) in _HALVES.items():
        for name in free:
            words = {*words_of(name)}
            of_way = words & _OF_WAYS and words.isdisjoint({"lat", "latitude", "lon", "lng", "longitude"})
            if not words & called or of_way:
                continue
            here = [look for look in looks if name in look.names]
            pairs = [pair for look in here for pair in zip(look.column(name), look.column(columns[role]), strict=False)]
            texts = {str(text).strip().upper() for text, degrees in pairs if _number(degrees, ",") > 0}
            is_signed = any(_number(degrees, ",") < 0 for _, degrees in pairs)
            if texts and texts <= minus and not is_signed:
                raise BadInput(
                    f'"{name}" has {min(texts)}, and no number in "{columns[role]}" has a minus: so the places would '
                    f"be on the other side of the earth. Write {role}s in the {min(minus, key=len)} with a minus"
                )


def _some(places: np.ndarray) -> np.ndarray:
    """Return the places that are on earth."""
    places = places[_on_earth(places)]
    if not len(places):
        raise BadInput(
            "no place can be read in the records: say which columns they are in with --latitude and --longitude. "
            f"{DEGREES} {GEOMETRY}"
        )
    return places


def _in_degrees(places: np.ndarray, columns: dict[str, Any], reasons: list[str]) -> np.ndarray:
    """Note how many of their units a degree has, and whether longitudes go to 360; return places in usual degrees.

    Raises:
        BadInput: They are whole numbers of more than one unit that fits, and no name tells which.
    """
    held = places[np.isfinite(places).all(axis=1) & (places != 0).any(axis=1)]
    if not len(held):
        return places
    n = columns.get("per_degree") or _per_degree(held, f"{columns['latitude']} {columns['longitude']}")
    if n > 1:
        columns["per_degree"] = n
        reasons.append(f"places are whole numbers, of which {n:,} are a degree")
        places, held = places / n, held / n
    is_east = (held[:, 1] > 180) & (held[:, 1] <= 360) & (np.abs(held[:, 0]) <= 90)
    if is_east.mean() >= _FEWEST_EAST and (held[:, 1] < 0).mean() < _FEWEST_EAST:
        columns["longitude_to"] = 360
        reasons.append("longitudes go to 360: those above 180 lie in the west")
        places = np.stack([places[:, 0], np.where(places[:, 1] > 180, places[:, 1] - 360, places[:, 1])], axis=1)
    return places


def _per_degree(places: np.ndarray, names: str) -> int:
    """Return how many of their units a degree has: 1 if most places are degrees already."""
    if (np.abs(places) <= [90, 360]).all(axis=1).mean() > 0.5 or (places % 1 != 0).any(axis=1).mean() > 0.5:
        return 1
    named = re.search(r"e([5-7])\b", names.lower().replace("_", " "))
    if named is not None:
        return int(10 ** int(named[1]))
    fitting = [n for n in _PER_DEGREE if (np.abs(places / n) <= [90, 360]).all(axis=1).mean() > _NEARLY_ALL]
    if not fitting or (np.abs(places) < _LEAST_UNIT).any(axis=1).mean() > 0.5:
        return 1
    if len(fitting) > 1:
        ways = " or ".join(f"--per-degree {n}" for n in fitting)
        raise BadInput(f"places are whole numbers, and it is not to be seen how many of them are a degree; say {ways}")
    return fitting[0]


def _on_earth(places: np.ndarray) -> np.ndarray:
    return (np.abs(places[:, 0]) <= 90) & (np.abs(places[:, 1]) <= 180)


def _number(written: Any, mark: str) -> float:
    try:
        return float(str(written).replace(mark, "."))
    except ValueError:
        return math.nan
