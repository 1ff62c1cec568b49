"""Write the published table with the outlines of its hexagons, as GeoJSON and GeoParquet."""

import json
import struct
from io import BytesIO

import h3
import polars as pl
import polars.selectors as cs
import pyarrow as pa
import pyarrow.parquet as pq

from tasks.output_formats.columns import INSTANT

Ring = list[tuple[float, float]]

WKB_HEADER = "<BIII"
WKB_POLYGON = [1, 3, 1]
"""Little-endian, a polygon, one ring."""

_GEOJSON_DECIMALS = 7


def outline(cell: str) -> Ring:
    """Return a hexagon's outline as (longitude, latitude), counter-clockwise; the last corner repeats the first.

    Each longitude is the one nearest to the longitude of the previous corner; the first is nearest to the centre. So a
    hexagon over the 180th meridian continues past 180 or -180 and keeps its shape. Its plain corners would span the
    world.
    """
    previous = h3.cell_to_latlng(cell)[1]
    corners = h3.cell_to_boundary(cell)
    ring: Ring = []
    for latitude, longitude in (*corners, corners[0]):
        previous = longitude + 360 * round((previous - longitude) / 360)
        ring.append((previous, latitude))
    return ring if ring[0] == ring[-1] else _around_pole(ring)


def _around_pole(ring: Ring) -> Ring:
    """Close a ring that goes once around the world, and so around a pole, along that pole's edge of the plane."""
    pole = 90.0 if ring[-1][0] > ring[0][0] else -90.0
    return [*ring, (ring[-1][0], pole), (ring[0][0], pole), ring[0]]


def geojson(statistics: pl.DataFrame, place: str = "h3_cell") -> bytes:
    """Return a published table as a FeatureCollection of RFC 7946, with one feature and one line for each row.

    Args:
        statistics: The table.
        place: Its column of hexagons.
    """
    encoded = json.JSONEncoder(separators=(",", ":")).encode
    geometries = {cell: encoded(_geometry(cell)) for cell in statistics[place].unique()}
    lines = ",\n".join(
        f'{{"type":"Feature","geometry":{geometries[row[place]]},"properties":{encoded(row)}}}'
        for row in with_instants(statistics).iter_rows(named=True)
    )
    return f'{{"type":"FeatureCollection","features":[\n{lines}\n]}}\n'.encode("ascii")


def with_instants(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table with its times as text."""
    return table.with_columns(cs.datetime().dt.strftime(INSTANT))


def _geometry(cell: str) -> dict[str, object]:
    ring = [[round(degrees, _GEOJSON_DECIMALS) for degrees in corner] for corner in outline(cell)]
    return {"type": "Polygon", "coordinates": [ring]}


def geoparquet(statistics: pl.DataFrame, place: str = "h3_cell") -> bytes:
    """Return a published table as GeoParquet 1.1: the same columns, and ``geometry`` as WKB in OGC:CRS84.

    Args:
        statistics: The table.
        place: Its column of hexagons.
    """
    rings = {cell: outline(cell) for cell in statistics[place].unique()}
    geometry = pa.array([_wkb(rings[cell]) for cell in statistics[place]], type=pa.binary())
    table = statistics.to_arrow().append_column("geometry", geometry)
    buffer = BytesIO()
    pq.write_table(table.replace_schema_metadata({"geo": metadata(rings)}), buffer)
    return buffer.getvalue()


def metadata(rings: dict[str, Ring]) -> str:
    """Return the metadata of the outlines in a GeoParquet file, as JSON."""
    longitudes, latitudes = zip(*(corner for ring in rings.values() for corner in ring), strict=True)
    column = {
        "encoding": "WKB",
        "geometry_types": ["Polygon"],
        "orientation": "counterclockwise",
        "bbox": [min(longitudes), min(latitudes), max(longitudes), max(latitudes)],
    }
    return json.dumps({"version": "1.1.0", "primary_column": "geometry", "columns": {"geometry": column}})


def _wkb(ring: Ring) -> bytes:
    coordinates = [degrees for corner in ring for degrees in corner]
    return struct.pack(WKB_HEADER, *WKB_POLYGON, len(ring)) + struct.pack(f"<{len(coordinates)}d", *coordinates)
