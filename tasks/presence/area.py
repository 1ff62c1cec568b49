"""The public area: its hexagons, and where they are. Nothing of it comes from records."""

import functools
import json
from pathlib import Path

import h3
import numpy as np
import shapely
import shapely.geometry
from numpy.typing import NDArray

_KM_A_DEGREE = 111.195
_MOST_HEXAGONS = 1 << 17
_KINDS = ("Polygon", "MultiPolygon")


class _Refused(ValueError):
    """An area that can be read and is none."""


def hexagons_of(area: str | tuple[str, ...], resolution: int, folder: Path) -> tuple[str, ...]:
    """Return the hexagons of an area, sorted: those that its polygons touch, or that its H3 cells hold.

    Args:
        area: A file of GeoJSON, or H3 cells.
        resolution: That of the hexagons.
        folder: Where a relative path begins.

    Raises:
        ValueError: The file cannot be read, or a cell is finer than the resolution.
    """
    if isinstance(area, tuple):
        return _inside(area, resolution)
    path = (folder / area).resolve()
    try:
        return _touched(path.read_text(encoding="utf-8"), resolution)
    except OSError as error:
        problem = error.strerror
    except _Refused:
        raise
    except (json.JSONDecodeError, UnicodeDecodeError):
        problem = "not JSON in UTF-8"
    except (ValueError, KeyError, TypeError, AttributeError, AssertionError, IndexError, h3.H3BaseException):
        problem = "not a GeoJSON of polygons in degrees, longitude before latitude (WGS 84)"
    raise ValueError(f"grid.area = {area} cannot be read ({problem})")


def positions_of(hexagons: tuple[str, ...]) -> NDArray[np.float64]:
    """Return where hexagons are, in km east and north of their middle, shape (H, 2)."""
    degrees = np.array([h3.cell_to_latlng(one) for one in hexagons])
    east = (degrees[:, 1] - degrees[0, 1] + 180) % 360 - 180  # an area may lie on both sides of the 180th meridian
    north = degrees[:, 0] - degrees[:, 0].mean()
    squeezed = (east - east.mean()) * np.cos(np.radians(degrees[:, 0].mean()))
    return _KM_A_DEGREE * np.column_stack([squeezed, north])


def box_of(hexagons: tuple[str, ...]) -> str:
    """Return between which degrees hexagons lie, in words: of a file with swapped coordinates, another country."""
    places = np.array([h3.cell_to_latlng(one) for one in hexagons])
    (south, west), (north, east) = places.min(axis=0), places.max(axis=0)
    return f"{south:.2f} to {north:.2f} north, {west:.2f} to {east:.2f} east"


@functools.cache
def _inside(cells: tuple[str, ...], resolution: int) -> tuple[str, ...]:
    n_cells = sum(h3.cell_to_children_size(one, resolution) for one in cells if h3.get_resolution(one) <= resolution)
    if n_cells > _MOST_HEXAGONS:
        raise ValueError(f"grid.area has {n_cells:,} hexagons of h3_resolution = {resolution}: take fewer, larger ones")
    finer = [one for one in cells if h3.get_resolution(one) > resolution]
    if finer:
        raise ValueError(f"grid.area has the H3 cell {finer[0]}, which is finer than h3_resolution = {resolution}")
    return tuple(sorted({child for one in cells for child in h3.cell_to_children(one, resolution)}))


@functools.lru_cache(maxsize=8)
def _touched(text: str, resolution: int) -> tuple[str, ...]:
    document = json.loads(text)
    features = document.get("features", [document])
    found: set[str] = set()
    for number, one in enumerate(features, start=1):
        geometry = one.get("geometry", one)
        if geometry is None or geometry["type"] not in _KINDS:
            kind = geometry and geometry["type"]
            raise _Refused(f"grid.area: feature {number} is {kind}, and must be {' or '.join(_KINDS)}")
        shape = shapely.geometry.shape(geometry)
        west, south, east, north = shape.bounds
        if not (-180 <= west < east <= 180 and -90 <= south < north <= 90):
            raise _Refused(
                f"grid.area: feature {number} is a line, or not within -180 to 180 degrees east, -90 to 90 north"
            )
        km2 = shapely.make_valid(shape).area * _KM_A_DEGREE**2 * np.cos(np.radians((south + north) / 2))
        if km2 > _MOST_HEXAGONS * h3.average_hexagon_area(resolution, "km^2"):
            raise _Refused(
                f"grid.area: feature {number} is too large for h3_resolution = {resolution}: take a lower one"
            )
        found.update(h3.h3shape_to_cells_experimental(h3.geo_to_h3shape(geometry), resolution, "overlap"))
    return tuple(sorted(found))
