"""Edges: finds boxes of latitude and longitude that lie in two hexagons, and the edge that divides each box.

Such a box is used if its four corners, moved outwards by a hundredth of its width, meet two conditions:

- They lie in two hexagons that share an edge, each corner on its own hexagon's side of the edge's great circle.
- All four lie between the two great circles that cross the edge's great circle at right angles at its ends.

Then every point of the box on one side lies in the hexagon of that side:

- The moved corners enclose the box (see ``placing``). The part on one side is enclosed by the corners on that side,
  and by the two points at which the edge's great circle enters and leaves.
- Those corners lie in the hexagon. The two points lie on the great circle between the ends of the edge, so on the edge,
  which is a side of the hexagon. A hexagon on one face of the icosahedron contains all that points in it enclose.

The distance from the edge is computed from its linear form at the box's centre. In a box w radians wide, the error is
at most w^2 / 2. A place must lie a hundredth of w off the edge. As w is at most about a degree, the error is less than
nine tenths of that. The rest is more than all rounding errors, as for the corners.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import h3
import numpy as np
import polars as pl
from numpy.typing import NDArray

_CORNERS = {
    "south_west": ("south", "west"),
    "south_east": ("south", "east"),
    "north_west": ("north", "west"),
    "north_east": ("north", "east"),
}
_MARGINS_PER_BOX = 100
_FEWEST_SEEN = 8
"""Finding an edge takes as long as finding the hexagons of about forty records, and one record in eight was seen."""

FloatArray = NDArray[np.float64]


def edge_boxes(divided: pl.DataFrame) -> pl.DataFrame:
    """Return the boxes that lie in two hexagons, on both sides of the edge between them.

    Args:
        divided: Boxes whose corners lie in several hexagons, each on one face only; rows of the temporary table
            ``seen_box``.

    Returns:
        Rows of the temporary table ``box``.
    """
    boxes = _with_edges(_between_two(divided))
    first, last = (_places(boxes, f"{end}_latitude", f"{end}_longitude") for end in ("first", "last"))
    across = np.cross(first + last, last - first)  # points towards h3_cell, whose boundary runs anticlockwise
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    corners = [_places(boxes, *sides) for sides in _CORNERS.values()]
    here = boxes.select(*_CORNERS).to_numpy() == boxes["h3_cell"].to_numpy()[:, None]
    off_edge = np.stack([_dot(across, corner) for corner in corners], axis=1)
    is_on_its_side = ((off_edge > 0) == here).all(axis=1)
    ends = np.cross(across, first), np.cross(last, across)
    is_between = np.all([_dot(end, corner) > 0 for end in ends for corner in corners], axis=0)
    latitude = ((boxes["south"] + boxes["north"]) / 2).to_numpy()
    longitude = ((boxes["west"] + boxes["east"]) / 2).to_numpy()
    per_degree = _MARGINS_PER_BOX * boxes["per_degree"].to_numpy()
    north, east = _vectors(latitude + 90, longitude), _vectors(0 * latitude, longitude + 90)
    per_latitude = per_degree * _dot(across, north)
    per_longitude = per_degree * _dot(across, east) * np.cos(np.radians(latitude))
    at_centre = per_degree * np.degrees(_dot(across, _vectors(latitude, longitude)))
    at_zero = at_centre - per_latitude * latitude - per_longitude * longitude
    form = {"per_latitude": per_latitude, "per_longitude": per_longitude, "at_zero": at_zero}
    boxes = boxes.select("h3_resolution", "lat_box", "lon_box", "h3_cell", "beyond").hstack(pl.DataFrame(form))
    return boxes.filter(is_on_its_side & is_between)


def _between_two(divided: pl.DataFrame) -> pl.DataFrame:
    """Return the boxes whose corners lie in two hexagons, if boxes of the same two hold enough records."""
    pair = ["h3_cell", "beyond"]
    both = divided.with_columns(h3_cell=pl.min_horizontal(*_CORNERS), beyond=pl.max_horizontal(*_CORNERS))
    both = both.filter(
        pl.all_horizontal((pl.col(one) == pl.col("h3_cell")) | (pl.col(one) == pl.col("beyond")) for one in _CORNERS)
    )
    return both.filter(pl.col("n_seen").sum().over(pair) >= _FEWEST_SEEN)


def _with_edges(boxes: pl.DataFrame) -> pl.DataFrame:
    """Return the boxes whose two hexagons share an edge, with the places of the ends of the edge."""
    pairs = boxes.select("h3_cell", "beyond").unique()
    names = ["h3_cell", "beyond", "first_latitude", "first_longitude", "last_latitude", "last_longitude"]
    types = [pl.UInt64] * 2 + [pl.Float64] * 4
    edges = pl.DataFrame(list(_edges(pairs.iter_rows())), schema=dict(zip(names, types, strict=True)), orient="row")
    return boxes.join(edges, on=["h3_cell", "beyond"])


def _edges(pairs: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int, float, float, float, float]]:
    for near, far in pairs:
        one, other = h3.int_to_str(near), h3.int_to_str(far)
        if h3.are_neighbor_cells(one, other):
            ends = h3.directed_edge_to_boundary(h3.cells_to_directed_edge(one, other))
            if len(ends) == 2:
                yield near, far, *ends[0], *ends[1]


def _places(boxes: pl.DataFrame, latitude: str, longitude: str) -> FloatArray:
    return _vectors(boxes[latitude].to_numpy(), boxes[longitude].to_numpy())


def _vectors(latitude: FloatArray, longitude: FloatArray) -> FloatArray:
    """Return the unit vectors from the Earth's centre to places given in degrees, one per row."""
    phi, lam = np.radians(latitude), np.radians(longitude)
    return np.stack([np.cos(phi) * np.cos(lam), np.cos(phi) * np.sin(lam), np.sin(phi)], axis=1)


def _dot(one: NDArray[Any], other: FloatArray) -> FloatArray:
    return (one * other).sum(axis=1)
