"""The public area: its hexagons, and where they are. Nothing of it comes from records."""

import functools
import json
from pathlib import Path

import h3
import numpy as np
from numpy.typing import NDArray

_KM_A_DEGREE = 111.195


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
    except (ValueError, KeyError, TypeError, AttributeError, h3.H3BaseException):
        problem = "not a GeoJSON of polygons"
    raise ValueError(f"grid.area = {area} cannot be read ({problem})")


def positions_of(hexagons: tuple[str, ...]) -> NDArray[np.float64]:
    """Return where hexagons are, in km east and north of their middle, shape (H, 2)."""
    degrees = np.array([h3.cell_to_latlng(one) for one in hexagons])
    east = (degrees[:, 1] - degrees[0, 1] + 180) % 360 - 180  # an area may lie on both sides of the 180th meridian
    north = degrees[:, 0] - degrees[:, 0].mean()
    squeezed = (east - east.mean()) * np.cos(np.radians(degrees[:, 0].mean()))
    return _KM_A_DEGREE * np.column_stack([squeezed, north])


@functools.cache
def _inside(cells: tuple[str, ...], resolution: int) -> tuple[str, ...]:
    finer = [one for one in cells if h3.get_resolution(one) > resolution]
    if finer:
        raise ValueError(f"grid.area has the H3 cell {finer[0]}, which is finer than h3_resolution = {resolution}")
    return tuple(sorted({child for one in cells for child in h3.cell_to_children(one, resolution)}))


@functools.lru_cache(maxsize=8)
def _touched(text: str, resolution: int) -> tuple[str, ...]:
    document = json.loads(text)
    features = document.get("features", [document])
    found: set[str] = set()
    for one in features:
        shape = h3.geo_to_h3shape(one.get("geometry", one))
        found.update(h3.h3shape_to_cells_experimental(shape, resolution, "overlap"))
    return tuple(sorted(found))
