"""Place columns: finds the one column that has cells of H3 or points, by its name and then by what it has.

What is looked into is named like a place, and is not the column of the value.
"""

import re
from collections.abc import Sequence
from typing import Any

import h3
import numpy as np
import pyarrow as pa

from tasks.base import hexagons
from tasks.records.input_formats.input_format import Look

_ENOUGH = 0.9
_CELLS = re.compile(r"h3|hex|cell", re.IGNORECASE)
_POINTS = re.compile(r"geom|geog|wkb|wkt|point|location|position|shape|coord|place", re.IGNORECASE)
_CELL = re.compile(r"(0x)?0?([0-9a-fA-F]{15})")
_NUMBER = re.compile(r"\d{18}")


def place_column(look: Look, names: Sequence[str]) -> tuple[str, str] | None:
    """Return the setting and the name of a column of cells or points; None if there is none.

    Of several columns of cells the one with the smallest is taken. That of points is the one that the file names.

    Args:
        look: What the file looks like.
        names: The columns that may be one.
    """
    sizes = {name: _resolution(look.column(name)) for name in names if _CELLS.search(name)}
    found = [name for name, size in sizes.items() if size is not None]
    if found:
        return "h3", max(found, key=lambda name: sizes[name] or 0)
    named = [] if look.geometries is None else [look.geometries.column]
    likely = [*named, *(name for name in names if _POINTS.search(name) and name not in named)]
    point = next((name for name in likely if name in names and _are_points(look.column(name))), None)
    return None if point is None else ("geometry", point)


def places_in(kind: str, entries: Sequence[Any]) -> np.ndarray:
    """Return the places of cells (``h3``) or points (``geometry``), latitude and longitude, nan for none, (n, 2)."""
    if kind == "h3":
        cells = [_cell(one) for one in entries]
        return np.array([(np.nan, np.nan) if one is None else h3.cell_to_latlng(one) for one in cells]).reshape(-1, 2)
    written = [one if isinstance(one, bytes) else str(one or "").encode() for one in entries]
    read = hexagons.points(pa.chunked_array([pa.array(written, pa.binary())]))
    return np.array([[one["latitude"], one["longitude"]] for one in read.to_pylist()], dtype=float).reshape(-1, 2)


def _resolution(entries: Sequence[Any]) -> int | None:
    """Return the resolution of the most of some cells; None if they are no cells."""
    held = [one for one in entries if one not in (None, "")]
    found = [h3.get_resolution(cell) for cell in map(_cell, held) if cell is not None]
    return None if not found or len(found) < _ENOUGH * len(held) else int(np.median(found))


def _cell(entry: Any) -> str | None:
    """Return a cell as H3 writes it; None for what is none, as ``cell_index`` in sql says."""
    written = str(entry).strip()
    if _NUMBER.fullmatch(written):
        written = h3.int_to_str(int(written))
    found = _CELL.fullmatch(written)
    return found[2].lower() if found is not None and h3.is_valid_cell(found[2].lower()) else None


def _are_points(entries: Sequence[Any]) -> bool:
    held = [one for one in entries if one not in (None, "") and isinstance(one, str | bytes)]
    return bool(held) and int(np.isfinite(places_in("geometry", held)[:, 0]).sum()) >= _ENOUGH * len(held)
