"""Proposes how places are written, from records all over the files."""

import math
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

from tasks.base.errors import BadInput
from tasks.records.input_formats import recognise
from tasks.records.input_formats.columns import DEGREES, GEOMETRY
from tasks.records.input_formats.input_format import Look


def places_of(looks: Sequence[Look], settings: dict[str, dict[str, Any]], reasons: list[str]) -> np.ndarray:
    """Note the decimal mark, and which column is which; return places, latitude and longitude, shape (n, 2).

    Args:
        looks: What the files look like. Records from all over each are taken: a file may be sorted by place.
        settings: The sections dataset and columns; they are completed.
        reasons: Why, for people; more are added.

    Raises:
        BadInput: No place can be read.
    """
    written = [
        list(chain.from_iterable(look.spread(settings["columns"][role]) for look in looks if look.names))
        for role in ("latitude", "longitude")
    ]
    texts = [one for column in written for one in column if isinstance(one, str)]
    mark = recognise.decimal_mark(texts)
    if mark == ",":
        settings["dataset"]["decimal"] = ","
        reasons.append("places are written with a decimal comma")
    places = np.array([[_number(one, mark) for one in pair] for pair in zip(*written, strict=True)]).reshape(-1, 2)
    places = places[np.isfinite(places).all(axis=1) & (places != 0).any(axis=1)]
    if len(places) and (np.abs(places[:, 0]) > 90).mean() > 0.5 and _on_earth(places[:, ::-1]).any():
        columns = settings["columns"]
        columns["latitude"], columns["longitude"] = columns["longitude"], columns["latitude"]
        places = places[:, ::-1]
        reasons.append("latitude and longitude are swapped: most latitudes were above 90 degrees")
    places = places[_on_earth(places)]
    if not len(places):
        raise BadInput(
            "no place can be read in the records: say which columns they are in with --latitude and --longitude. "
            f"{DEGREES} {GEOMETRY}"
        )
    return places


def _on_earth(places: np.ndarray) -> np.ndarray:
    return (np.abs(places[:, 0]) <= 90) & (np.abs(places[:, 1]) <= 180)


def _number(written: Any, mark: str) -> float:
    try:
        return float(str(written).replace(mark, "."))
    except ValueError:
        return math.nan
