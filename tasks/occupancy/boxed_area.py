"""The hexagons of many places in or near a public area, mostly from a table of boxes that is made of the area alone."""

from collections.abc import Callable, Sequence

import h3
import numpy as np
import pyarrow as pa
from h3ronpy.vector import coordinates_to_cells

from tasks.base import hexagons

_FINEST = 11
_LARGEST_LATITUDE = 89
_PER_DEGREE = 512
"""Boxes per degree at resolution 7; see ``boxes_per_degree``."""
_MOST_BOXES = 1 << 17
_MARGIN = 0.01

Cells = Callable[[pa.ChunkedArray, pa.ChunkedArray, pa.ChunkedArray], pa.Array]


def cells_about(area: Sequence[str]) -> Cells:
    """Return a function that says what ``tasks.base.hexagons.cells`` does, at the resolution of an area, and faster.

    A place in a box whose four moved corners lie in one hexagon, on one face of H3's icosahedron, lies in it too:
    ``tasks.occupancy.placing`` has the proof, which also holds for larger boxes. For all other places H3 is called.

    Args:
        area: The hexagons of the area, of one resolution.
    """
    resolution = h3.get_resolution(area[0])
    south, west, north, east = _sides(area)
    if resolution > _FINEST or max(abs(south), abs(north)) > _LARGEST_LATITUDE or east - west > 180:
        return hexagons.cells
    per_degree = _PER_DEGREE * 7 ** ((resolution - 7) / 2)
    per_degree *= min(1.0, np.sqrt(_MOST_BOXES / ((north - south) * (east - west) * per_degree**2)))
    low, left = np.floor(south * per_degree), np.floor(west * per_degree)
    rows = low + np.arange(int(np.floor(north * per_degree) - low) + 1)
    columns = left + np.arange(int(np.floor(east * per_degree) - left) + 1)
    table = _table(rows, columns, per_degree, resolution)

    def cells(latitude: pa.ChunkedArray, longitude: pa.ChunkedArray, _: pa.ChunkedArray) -> pa.Array:
        at, along = (one.combine_chunks().to_numpy(zero_copy_only=False) for one in (latitude, longitude))
        row, column = np.floor(at * per_degree) - low, np.floor(along * per_degree) - left
        inside = (row >= 0) & (row < rows.size) & (column >= 0) & (column < columns.size)
        place = np.where(inside, row * columns.size + column, 0).astype(np.int64)
        found = np.where(inside, table[place], np.uint64(0))
        rest = np.flatnonzero(found == 0)
        if rest.size:
            found[rest] = np.asarray(coordinates_to_cells(pa.array(at[rest]), pa.array(along[rest]), resolution))
        return pa.array(found)

    return cells


def _sides(area: Sequence[str]) -> tuple[float, float, float, float]:
    corners = np.array([corner for one in area for corner in h3.cell_to_boundary(one)])
    (south, west), (north, east) = corners.min(axis=0).tolist(), corners.max(axis=0).tolist()
    return south, west, north, east


def _table(rows: np.ndarray, columns: np.ndarray, per_degree: float, resolution: int) -> np.ndarray:
    """Return the hexagon of each box, row by row; 0 if it may lie in several."""
    corners = [
        _cells(rows + up, columns + right, per_degree, resolution)
        for up in (-_MARGIN, 1 + _MARGIN)
        for right in (-_MARGIN, 1 + _MARGIN)
    ]
    alike = np.logical_and.reduce([one == corners[0] for one in corners])
    whole = np.where(alike, corners[0], np.uint64(0))
    bent = [one for one in np.unique(whole).tolist() if one and len(h3.get_icosahedron_faces(h3.int_to_str(one))) > 1]
    return np.where(np.isin(whole, bent), np.uint64(0), whole)


def _cells(rows: np.ndarray, columns: np.ndarray, per_degree: float, resolution: int) -> np.ndarray:
    at, along = np.repeat(rows / per_degree, columns.size), np.tile(columns / per_degree, rows.size)
    return np.asarray(coordinates_to_cells(pa.array(at), pa.array(along), resolution))
