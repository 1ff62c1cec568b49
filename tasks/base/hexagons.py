"""Hexagons of many places at once, as functions for the engine. Places must be finite and in degrees."""

import numpy as np
import pyarrow as pa
from h3ronpy.vector import cells_to_coordinates, coordinates_to_cells


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


FUNCTIONS = {
    "h3_cell": (cells, "UBIGINT"),
    "hexagon_latitude": (latitudes, "DOUBLE"),
    "hexagon_longitude": (longitudes, "DOUBLE"),
}
"""The functions by their names in SQL, each with the type that it returns."""
