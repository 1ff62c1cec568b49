"""The areas that are asked about, and which share of each hexagon is in them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any, Protocol

import h3
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import shapely
from scipy.sparse import csr_array, eye_array
from shapely.affinity import scale
from shapely.geometry.base import BaseGeometry

from dpmath.core.occupancy import IntArray
from dpmath.joint.factors import entries
from dpmath.joint.products import FloatArray
from tasks.base.errors import HexveilError
from tasks.output_formats.geography import outline

WHOLE = "all"
"""The name of everything as one area."""
_METRES_A_DEGREE = 111_195.0
_WHOLE = 1 - 1e-9
_WGS_84 = {("OGC", "CRS84"), ("EPSG", "4326")}


class Areas(Protocol):
    """Areas, of which a hexagon may be in several, or in one by a share."""

    def shares(self, cells: Sequence[str], /) -> tuple[list[str], csr_array]:
        """Return the names of the areas, A in all, and which share of each hexagon is in each: shape (H, A)."""
        ...

    def n_hexagons(self, name: str, resolution: int, /) -> float | None:
        """Return how many hexagons large an area is; None: as many as have records."""
        ...

    def outlines(self, cells: Sequence[str], /) -> dict[str, BaseGeometry]:
        """Return the outline of each area in longitude and latitude, of the hexagons that have records."""
        ...


class Everything:
    """All hexagons as one area."""

    def shares(self, cells: Sequence[str]) -> tuple[list[str], csr_array]:
        """Return a whole for each."""
        return [WHOLE], csr_array(np.ones((len(cells), 1)))

    def n_hexagons(self, _name: str, _resolution: int) -> None:
        """Return that it is not known."""
        return

    def outlines(self, cells: Sequence[str]) -> dict[str, BaseGeometry]:
        """Return that of all hexagons."""
        return {WHOLE: _union(cells)}


class EachHexagon:
    """Every hexagon as an area of its own."""

    def shares(self, cells: Sequence[str]) -> tuple[list[str], csr_array]:
        """Return a whole for each in its own area."""
        return list(cells), csr_array(eye_array(len(cells)))

    def n_hexagons(self, _name: str, _resolution: int) -> float:
        """Return one."""
        return 1.0

    def outlines(self, cells: Sequence[str]) -> dict[str, BaseGeometry]:
        """Return that of each hexagon."""
        return {cell: shapely.Polygon(outline(cell)) for cell in cells}


@dataclass(frozen=True)
class Hexagons:
    """Some hexagons as one area; one of a coarser resolution has all that are in it.

    Attributes:
        cells: The hexagons.

    Raises:
        HexveilError: Something is no H3 cell.
    """

    cells: frozenset[str]

    def __post_init__(self) -> None:
        """Check the hexagons."""
        for one in self.cells:
            if not h3.is_valid_cell(one):
                raise HexveilError(f"{one} is no H3 cell; give cells as statistics.csv has them in h3_cell")

    def shares(self, cells: Sequence[str]) -> tuple[list[str], csr_array]:
        """Return a whole for each hexagon that is one of them, or in one."""
        inside = [[not self.cells.isdisjoint(_with_parents(cell))] for cell in cells]
        return ["hexagons"], csr_array(np.array(inside, dtype=float))

    def n_hexagons(self, _name: str, resolution: int) -> float:
        """Return how many hexagons they have."""
        return float(sum(7.0 ** (resolution - h3.get_resolution(cell)) for cell in self.cells))

    def outlines(self, _cells: Sequence[str]) -> dict[str, BaseGeometry]:
        """Return that of these hexagons."""
        return {"hexagons": _union(sorted(self.cells))}


@dataclass(frozen=True)
class Outlines:
    """Areas with an outline each.

    Attributes:
        named: The outline of each area by its name, with longitudes as long as latitudes.
        squeeze: What a longitude is multiplied by.
    """

    named: dict[str, BaseGeometry]
    squeeze: float
    _known: dict[str, tuple[IntArray, FloatArray]] = field(default_factory=dict, compare=False, repr=False)
    """Which areas each hexagon is in, of those that were asked about, and by which share: days have the same ones."""

    def shares(self, cells: Sequence[str]) -> tuple[list[str], csr_array]:
        """Return the share of each hexagon's area that is in each of them."""
        new = [cell for cell in cells if cell not in self._known]
        if new:
            found = self._shares(new)
            _, columns, parts = entries(found)
            for number, cell in enumerate(new):
                here = slice(*found.indptr[number : number + 2])
                self._known[cell] = columns[here], parts[here]
        areas, share = zip(*(self._known[cell] for cell in cells), strict=True)
        ends = np.cumsum([0, *map(len, areas)])
        shape = (len(cells), len(self.named))
        return list(self.named), csr_array((np.concatenate(share), np.concatenate(areas), ends), shape=shape)

    def _shares(self, cells: Sequence[str]) -> csr_array:
        outlines = np.array(list(self.named.values()))
        polygons = np.array([self._squeezed(shapely.Polygon(outline(cell))) for cell in cells])
        rows, columns = shapely.STRtree(polygons).query(outlines, predicate="intersects")[::-1]
        inside = shapely.intersection(polygons[rows], outlines[columns])
        share = np.minimum(shapely.area(inside) / shapely.area(polygons[rows]), 1.0)
        share[share > _WHOLE] = 1.0
        some = share > 1 - _WHOLE
        return csr_array((share[some], (rows[some], columns[some])), shape=(len(cells), len(self.named)))

    def n_hexagons(self, name: str, resolution: int) -> float:
        """Return the area over that of a hexagon in it."""
        centre = self.named[name].representative_point()
        cell = h3.latlng_to_cell(centre.y, centre.x / self.squeeze, resolution)
        return float(self.named[name].area / self._squeezed(shapely.Polygon(outline(cell))).area)

    def outlines(self, _cells: Sequence[str]) -> dict[str, BaseGeometry]:
        """Return those of the file."""
        return {name: scale(shape, 1 / self.squeeze, 1.0, origin=(0, 0)) for name, shape in self.named.items()}

    def geojson(self) -> bytes:
        """Return the areas as GeoJSON, each once, with its name."""
        features = [
            {"type": "Feature", "properties": {"name": name}, "geometry": shapely.geometry.mapping(shape)}
            for name, shape in self.outlines([]).items()
        ]
        return json.dumps({"type": "FeatureCollection", "features": features}).encode()

    def _squeezed(self, geometry: BaseGeometry) -> BaseGeometry:
        return scale(geometry, self.squeeze, 1.0, origin=(0, 0))


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
    rows = _of_geoparquet(content, path) if content[:4] == b"PAR1" else _of_geojson(content, path)
    rows = [(geometry, properties) for geometry, properties in rows if not geometry.is_empty]
    if not rows:
        raise HexveilError(f"{path} has no areas")
    west, south, east, north = np.array([geometry.bounds for geometry, _ in rows]).T
    if not (min(west) >= -180 and max(east) <= 180 and min(south) >= -90 and max(north) <= 90):  # also if not a number
        raise HexveilError(f"{path} is not in longitude and latitude, in degrees; convert it first")
    if max(east - west) > 180:
        raise HexveilError(f"{path} has an area wider than half the world; cut it at the 180th meridian")
    latitude = float(np.mean([geometry.representative_point().y for geometry, _ in rows]))
    squeeze = float(np.cos(np.radians(latitude)))
    key = _naming(rows, name, path)
    named: dict[str, list[BaseGeometry]] = {}
    for number, (geometry, properties) in enumerate(rows, 1):
        parts = _widened(shapely.make_valid(geometry), width, path)
        of_area = str(properties[key]) if key else f"area {number}"
        if of_area.encode(errors="ignore").decode() != of_area:
            raise HexveilError(f"{path}: the name of area {number} is no text that can be written")
        squeezed = [shapely.make_valid(scale(part, squeeze, 1.0, origin=(0, 0))) for part in parts]
        named.setdefault(of_area, []).extend(squeezed)
    return Outlines({one: shapely.union_all(shapes) for one, shapes in named.items()}, squeeze)


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


def _of_geojson(content: bytes, path: Path) -> list[tuple[BaseGeometry, dict[str, Any]]]:
    try:
        document = json.loads(content)
        features = document["features"] if document["type"] == "FeatureCollection" else [document]
        return [
            (shapely.geometry.shape(one.get("geometry", one)), dict(one.get("properties") or {}))
            for one in features
            if one.get("geometry", one) is not None
        ]
    except (ValueError, KeyError, TypeError, AttributeError, shapely.errors.ShapelyError):
        raise HexveilError(f"{path} is neither GeoJSON nor GeoParquet with areas") from None


def _of_geoparquet(content: bytes, path: Path) -> list[tuple[BaseGeometry, dict[str, Any]]]:
    try:
        table = pq.read_table(BytesIO(content))
        geo = json.loads((table.schema.metadata or {})[b"geo"])
        column = geo["primary_column"]
        crs = geo["columns"][column].get("crs", {"id": {"authority": "OGC", "code": "CRS84"}})
        if crs is None or (crs["id"]["authority"], str(crs["id"]["code"])) not in _WGS_84:
            raise HexveilError(f"{path} is not in longitude and latitude (WGS 84); convert it first")
        shapes = shapely.from_wkb(table[column].to_pylist())
        return [
            (shape, {key: value for key, value in row.items() if key != column})
            for shape, row in zip(shapes, table.to_pylist(), strict=True)
            if shape is not None
        ]
    except (KeyError, TypeError, ValueError, pa.ArrowException, shapely.errors.ShapelyError):
        raise HexveilError(f"{path} is no GeoParquet with areas") from None


def _union(cells: Sequence[str]) -> BaseGeometry:
    return shapely.union_all([shapely.Polygon(outline(cell)) for cell in cells])


def _with_parents(cell: str) -> list[str]:
    return [cell, *(h3.cell_to_parent(cell, coarser) for coarser in range(h3.get_resolution(cell) - 1, -1, -1))]
