"""Hexagons and points of many places at once, as functions for the engine. Places must be finite and in degrees."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import shapely
from h3ronpy import cells_resolution, cells_valid, change_resolution
from h3ronpy.vector import cells_to_coordinates, coordinates_to_cells

_WKB = (b"\x00", b"\x01")
_HEX = frozenset(b"0123456789abcdefABCDEF")
_LON_LAT = (0, 4326)
"""What an SRID must be that a point names: none, or that of longitude and latitude."""
_LONGEST_POINT = 1 << 12
"""The most bytes of a point: thousands of collections in one another would end the process."""


def cells(latitude: pa.ChunkedArray, longitude: pa.ChunkedArray, resolution: pa.ChunkedArray) -> pa.Array:
    """Return the H3 cell of each place; the resolution is the same for all."""
    found = coordinates_to_cells(latitude.combine_chunks(), longitude.combine_chunks(), resolution[0].as_py())
    return pa.array(found)


def latitudes(latitude: pa.ChunkedArray, longitude: pa.ChunkedArray, resolution: pa.ChunkedArray) -> pa.Array:
    """Return the latitude of the middle of each place's hexagon."""
    return _middles(latitude, longitude, resolution).column(0)


def longitudes(latitude: pa.ChunkedArray, longitude: pa.ChunkedArray, resolution: pa.ChunkedArray) -> pa.Array:
    """Return its longitude."""
    return _middles(latitude, longitude, resolution).column(1)


def _middles(latitude: pa.ChunkedArray, longitude: pa.ChunkedArray, resolution: pa.ChunkedArray) -> pa.RecordBatch:
    """Return latitude and longitude of the middle of each place's hexagon; zeros for the hexagon of zero and zero."""
    found = cells(latitude, longitude, resolution)
    zero = pa.chunked_array([[0.0]])
    is_somewhere = np.asarray(found) != np.asarray(cells(zero, zero, resolution))[0]
    middles = pa.record_batch(cells_to_coordinates(found))
    columns = [pa.array(np.where(is_somewhere, np.asarray(one), 0.0)) for one in middles.columns]
    return pa.record_batch(columns, ["latitude", "longitude"])


def given_places(cell: pa.ChunkedArray) -> pa.Array:
    """Return each cell with the place of its middle; nulls for what is no H3 cell.

    The cell of latitude 0 and longitude 0 has zeros: who has no position was put there.
    """
    is_cell = np.asarray(cells_valid(cell.combine_chunks().fill_null(0), booleanarray=True))
    found = cell.combine_chunks().filter(pa.array(is_cell))
    zeros, resolutions = pa.array([0.0]), np.asarray(cells_resolution(found))
    of_zero = [np.asarray(coordinates_to_cells(zeros, zeros, resolution))[0] for resolution in range(16)]
    is_somewhere = np.asarray(found) != np.array(of_zero, dtype=np.uint64)[resolutions]
    middles = pa.record_batch(cells_to_coordinates(found))
    rows = np.cumsum(is_cell) - 1
    taken = pa.array(rows, pa.int64(), mask=~is_cell)
    latitude, longitude = (
        pc.take(pa.array(np.where(is_somewhere, np.asarray(middles[name]), 0.0)), taken) for name in ("lat", "lng")
    )
    return pa.StructArray.from_arrays([pc.take(found, taken), latitude, longitude], list(_PLACE))


def parents(cell: pa.ChunkedArray, resolution: pa.ChunkedArray) -> pa.Array:
    """Return the hexagon of each H3 cell, none of which may be larger; the resolution is the same for all."""
    return pa.array(change_resolution(cell.combine_chunks(), resolution[0].as_py()))


@np.errstate(all="ignore")  # a warning would say that somebody's number is too large
def points(written: pa.ChunkedArray) -> pa.Array:
    """Return the place of each point that is written as WKB, WKT or GeoJSON; nulls for what is no point on a map."""
    whole = [one if one and len(one) <= _LONGEST_POINT else b"" for one in written.combine_chunks().to_pylist()]
    found = np.array([None] * len(whole), dtype=object)
    as_wkb = [bytes.fromhex(one.decode()) if len(one) % 2 == 0 and _HEX.issuperset(one) else one for one in whole]
    texts = ["" if one.startswith(_WKB) else one.decode("utf-8", "replace").strip() for one in as_wkb]
    is_json = np.array([one.startswith("{") for one in texts], dtype=bool)
    is_text = np.array([one != "" for one in texts], dtype=bool) & ~is_json
    is_wkb = ~is_json & ~is_text
    found[is_wkb] = shapely.from_wkb([one for one, so in zip(as_wkb, is_wkb, strict=True) if so], on_invalid="ignore")
    found[is_text] = [_of_text(one) for one, so in zip(texts, is_text, strict=True) if so]
    found[is_json] = shapely.from_geojson([one for one, so in zip(texts, is_json, strict=True) if so], "ignore")
    is_point = (shapely.get_type_id(found) == 0) & np.isin(shapely.get_srid(found), _LON_LAT)
    is_point &= ~shapely.is_empty(found)
    found[~is_point] = None
    absent = pa.nulls(len(whole), pa.uint64())
    places = [pa.array(one, mask=~is_point) for one in (shapely.get_y(found), shapely.get_x(found))]
    return pa.StructArray.from_arrays([absent, *places], list(_PLACE))


def _of_text(written: str) -> shapely.Geometry | None:
    """Return what a text says in WKT, also with the number of its coordinates' system before it."""
    system, _, rest = written.upper().rpartition(";")
    if system and system.replace(" ", "") not in [f"SRID={one}" for one in _LON_LAT]:
        return None
    return shapely.from_wkt(rest, on_invalid="ignore")


_PLACE = ("place_cell", "latitude", "longitude")
_AS_PLACE = "STRUCT(place_cell UBIGINT, latitude DOUBLE, longitude DOUBLE)"
_OF_PLACE = ["DOUBLE", "DOUBLE", "INTEGER"]
FUNCTIONS = {
    "h3_cell": (cells, _OF_PLACE, "UBIGINT"),
    "hexagon_latitude": (latitudes, _OF_PLACE, "DOUBLE"),
    "hexagon_longitude": (longitudes, _OF_PLACE, "DOUBLE"),
    "h3_place": (given_places, ["UBIGINT"], _AS_PLACE),
    "h3_parent": (parents, ["UBIGINT", "INTEGER"], "UBIGINT"),
    "point_place": (points, ["BLOB"], _AS_PLACE),
}
"""The functions by their names in SQL, each with the types that it takes, and the type that it returns."""
