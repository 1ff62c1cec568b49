"""Reads the areas of a file: districts, or corridors along lines, in GeoJSON or GeoParquet."""

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import shapely
from shapely.affinity import scale
from shapely.geometry.base import BaseGeometry

from tasks.answers.places import BOTH_SIDES, Outlines
from tasks.answers.words import some_of
from tasks.base.errors import HexveilError

_METRES_A_DEGREE = 111_195.0
_Row = tuple[BaseGeometry | None, dict[str, Any]]
"""An outline, and what is said of it."""
_WGS_84 = {("OGC", "CRS84"), ("EPSG", "4326")}


def read_areas(path: Path, name: str | None, width: float | None) -> Outlines:
    """Return the areas of a file. Areas of one name are one area.

    Args:
        path: A GeoJSON or GeoParquet file, in longitude and latitude.
        name: The property that names areas; None for `name`, or the first text that no two share, or their number.
        width: How wide the corridor along a line is, and the circle around a point, in metres.

    Raises:
        HexveilError: The file cannot be used.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise HexveilError(f"cannot read {path}: {error.strerror}") from None
    return areas_of(content, path, name, width)


def areas_of(content: bytes, path: Path, name: str | None = None, width: float | None = None) -> Outlines:
    """Return the areas of the content of a file; see ``read_areas``."""
    every, remarks = _of_geoparquet(content, path) if content[:4] == b"PAR1" else _of_geojson(content, path)
    rows = [(geometry, properties) for geometry, properties in every if geometry is not None and not geometry.is_empty]
    if len(rows) < len(every):
        remarks.append(f"{len(every) - len(rows)} of the file's {len(every)} areas have no outline and are left out.")
    if not rows:
        raise HexveilError(f"{path} has no areas")
    if not np.isfinite(shapely.get_coordinates([geometry for geometry, _ in rows])).all():
        raise HexveilError(f"{path} has a coordinate that is no number; write it anew, or leave that area out")
    parts = [part for geometry, _ in rows for part in getattr(geometry, "geoms", [geometry])]
    west, south, east, north = np.array([part.bounds for part in parts if not part.is_empty]).T
    farthest = 180 + BOTH_SIDES  # an area over the 180th meridian may run on past it
    if not (min(west) >= -farthest and max(east) <= farthest and min(south) >= -90 and max(north) <= 90):
        raise HexveilError(f"{path} is not in longitude and latitude, in degrees; convert it first")
    if max(east - west) > 180:
        raise HexveilError(f"{path} has an area wider than half the world; cut it at the 180th meridian")
    latitude = float(np.mean([geometry.representative_point().y for geometry, _ in rows]))
    squeeze = float(np.cos(np.radians(latitude)))
    key = _naming(rows, name, path)
    named: dict[str, list[list[BaseGeometry]]] = {}
    for number, (geometry, properties) in enumerate(rows, 1):
        pieces = _widened(shapely.make_valid(geometry), width, path)
        of_area = str(properties[key]) if key else f"area {number}"
        if of_area.encode(errors="ignore").decode() != of_area:
            raise HexveilError(f"{path}: the name of area {number} is no text that can be written")
        squeezed = [shapely.make_valid(scale(part, squeeze, 1.0, origin=(0, 0))) for part in pieces]
        named.setdefault(of_area, []).append(squeezed)
    shared = [one for one, shapes in named.items() if len(shapes) > 1]
    if shared:
        remarks.append(f"Areas of one name are one area: {some_of(shared)}.")
    outlines = {one: shapely.union_all([part for shape in shapes for part in shape]) for one, shapes in named.items()}
    return Outlines(outlines, squeeze, tuple(remarks))


def _widened(geometry: BaseGeometry, width: float | None, path: Path) -> list[BaseGeometry]:
    """Return the parts of an area; lines and points among them have the width, or are left out if there is none."""
    parts = [part if part.area else _buffered(part, width) for part in getattr(geometry, "geoms", [geometry])]
    found = [part for part in parts if part is not None]
    if not found:
        raise HexveilError(f"{path} has lines or points, no areas: say how wide they are with --width METRES")
    return found


def _buffered(part: BaseGeometry, width: float | None) -> BaseGeometry | None:
    if width is None:
        return None
    squeeze = float(np.cos(np.radians(part.representative_point().y)))
    wide = scale(part, squeeze, 1.0, origin=(0, 0)).buffer(width / 2 / _METRES_A_DEGREE)
    return scale(wide, 1 / squeeze, 1.0, origin=(0, 0))


def _naming(rows: list[tuple[BaseGeometry, dict[str, Any]]], name: str | None, path: Path) -> str | None:
    """Return the property that names areas; None if they are numbered."""
    of_all = [key for key in rows[0][1] if all(properties.get(key) is not None for _, properties in rows)]
    if name is not None:
        if name not in of_all:
            raise HexveilError(
                f"not every area of {path} has the property {name}; all have {', '.join(of_all) or 'none'}"
            )
        return name
    told_apart = [key for key in of_all if len({str(properties[key]) for _, properties in rows}) == len(rows)]
    texts = [key for key in told_apart if isinstance(rows[0][1][key], str)]
    return next((key for key in of_all if key.lower() == "name"), texts[0] if texts else None)


def _of_geojson(content: bytes, path: Path) -> tuple[list[_Row], list[str]]:
    """Return the rows of the file, and what is said in it of others that are not: see ``Outlines.geojson``."""
    try:
        document = json.loads(content)
        features = document["features"] if document["type"] == "FeatureCollection" else [document]
        with np.errstate(invalid="ignore"):  # a coordinate that is no number is refused later
            rows = [
                (shapely.geometry.shape(shape) if shape is not None else None, dict(one.get("properties") or {}))
                for one in features
                for shape in (one.get("geometry", one),)
            ]
        remarks = document.get("remarks")
        return rows, list(map(str, remarks)) if isinstance(remarks, list) else []
    except (ValueError, KeyError, TypeError, AttributeError, shapely.errors.ShapelyError):
        raise HexveilError(f"{path} is neither GeoJSON nor GeoParquet with areas") from None


def _of_geoparquet(content: bytes, path: Path) -> tuple[list[_Row], list[str]]:
    try:
        table = pq.read_table(BytesIO(content))
        geo = json.loads((table.schema.metadata or {})[b"geo"])
        column = geo["primary_column"]
        crs = geo["columns"][column].get("crs", {"id": {"authority": "OGC", "code": "CRS84"}})
        if crs is None or (crs["id"]["authority"], str(crs["id"]["code"])) not in _WGS_84:
            raise HexveilError(f"{path} is not in longitude and latitude (WGS 84); convert it first")
        shapes = shapely.from_wkb(table[column].to_pylist())
        rows = zip(shapes, table.to_pylist(), strict=True)
        return [(shape, {key: value for key, value in row.items() if key != column}) for shape, row in rows], []
    except (KeyError, TypeError, ValueError, pa.ArrowException, shapely.errors.ShapelyError):
        raise HexveilError(f"{path} is no GeoParquet with areas") from None
