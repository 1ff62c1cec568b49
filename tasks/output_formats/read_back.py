"""Check that a published file contains the same values as the table. Contents are compared, not bytes."""

import json
import struct
from functools import lru_cache
from io import BytesIO
from itertools import chain
from typing import Any

import polars as pl
import pyarrow.parquet as pq

from tasks.output_formats import geography
from tasks.output_formats.csv_text import as_text

_MOST_DEGREES = 1e-6
"""How far a corner may be, in degrees, from where this version's libraries put it: a tenth of a metre."""

_outline = lru_cache(maxsize=1 << 14)(geography.outline)


def same_csv(content: bytes, table: pl.DataFrame) -> bool:
    """Return whether a CSV file contains the same values as the table."""
    expected = as_text(geography.with_instants(table))
    return pl.read_csv(BytesIO(content), schema_overrides=dict(expected.schema)).equals(expected)


def same_geojson(content: bytes, table: pl.DataFrame, place: str = "h3_cell") -> bool:
    """Return whether a GeoJSON file contains the same values as the table, whose hexagons are in a column."""
    rows = geography.with_instants(table).to_dicts()
    features = [
        {"type": "Feature", "geometry": {"type": "Polygon", "coordinates": [[]]}, "properties": row} for row in rows
    ]
    found = json.loads(content, object_pairs_hook=each_once)
    rings = [feature["geometry"]["coordinates"].pop() for feature in found["features"]]
    for feature in found["features"]:
        feature["geometry"]["coordinates"].append([])
    same = found == {"type": "FeatureCollection", "features": features}
    return same and _are_outlines([chain.from_iterable(ring) for ring in rings], table[place])


def same_geoparquet(content: bytes, table: pl.DataFrame, place: str = "h3_cell") -> bool:
    """Return whether a GeoParquet file contains the same values as the table, whose hexagons are in a column."""
    found = pq.read_table(BytesIO(content))
    metadata = json.loads(found.schema.metadata[b"geo"])
    rest = pl.DataFrame(found.drop_columns("geometry"))
    if found.column_names != [*table.columns, "geometry"] or not table.equals(rest):
        return False
    expected = json.loads(geography.metadata({cell: _outline(cell) for cell in table[place].unique()}))
    boxes = [one["columns"]["geometry"].pop("bbox") for one in (metadata, expected)]
    return (
        metadata == expected
        and _are_near(*boxes)
        and _are_outlines([_corners(one) for one in found["geometry"].to_pylist()], table[place])
    )


def each_once(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object, and refuse repeated names: readers differ in which of the repeated members they take."""
    found = dict(members)
    if len(found) < len(members):
        raise ValueError("repeated member")
    return found


def _corners(wkb: bytes) -> tuple[float, ...]:
    header = struct.calcsize(geography.WKB_HEADER)
    *kind, n_corners = struct.unpack(geography.WKB_HEADER, wkb[:header])
    if kind != geography.WKB_POLYGON:
        raise ValueError(kind)
    return struct.unpack(f"<{2 * n_corners}d", wkb[header:])


def _are_outlines(found: list[Any], cells: pl.Series) -> bool:
    """Return whether the corners found, as one list of numbers per hexagon, are those of some hexagons."""
    expected = [chain.from_iterable(_outline(cell)) for cell in cells]
    return all(_are_near(list(one), list(other)) for one, other in zip(found, expected, strict=True))


def _are_near(found: list[float], expected: list[float]) -> bool:
    return all(abs(one - other) <= _MOST_DEGREES for one, other in zip(found, expected, strict=True))
