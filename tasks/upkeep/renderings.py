"""Renderings: whether the other files of a release say what its table and its ledger entry say."""

import json
import struct
from collections.abc import Callable, Iterator
from functools import lru_cache
from io import BytesIO
from itertools import chain
from typing import Any

import polars as pl
import pyarrow.parquet as pq

from tasks.account import private_files
from tasks.account.entry import Release
from tasks.base.config import Config
from tasks.base.provenance import code_hash
from tasks.formats import geography
from tasks.release.files import INSTANT, manifest

_MOST_DEGREES = 1e-6
"""How far a corner may be from where this version's libraries see it: a tenth of a metre."""

_outline = lru_cache(maxsize=1 << 14)(geography.outline)


def unlike(table: pl.DataFrame, entry: Release, config: Config) -> Iterator[str]:
    """Yield the names of a release's files that do not say what its table and its entry say.

    Contents are compared and not bytes, which another version of a library may write otherwise.

    Args:
        table: The released table.
        entry: Of the ledger.
        config: Says where the released files are.
    """
    folder = private_files.releases(config)
    for name, says_the_same in _SAME.items():
        if name in entry.files and not _holds(says_the_same, private_files.read(folder, entry.files[name]), table):
            yield name
    if not _holds(_same_manifest, private_files.read(folder, entry.files["manifest.json"]), entry):
        yield "manifest.json"


def _holds(says_the_same: Callable[[bytes, Any], bool], content: bytes, expected: Any) -> bool:
    try:
        return says_the_same(content, expected)
    except Exception:  # whatever a library says of a file that is not what it should be
        return False


def _same_csv(content: bytes, table: pl.DataFrame) -> bool:
    types = {name: pl.String if name == "slot_start" else dtype for name, dtype in table.schema.items()}
    return pl.read_csv(BytesIO(content), schema_overrides=types).equals(_with_instants(table))


def _same_geojson(content: bytes, table: pl.DataFrame) -> bool:
    rows = _with_instants(table).to_dicts()
    features = [
        {"type": "Feature", "geometry": {"type": "Polygon", "coordinates": [[]]}, "properties": row} for row in rows
    ]
    found = json.loads(content, object_pairs_hook=_each_once)
    rings = [feature["geometry"]["coordinates"].pop() for feature in found["features"]]
    for feature in found["features"]:
        feature["geometry"]["coordinates"].append([])
    same = found == {"type": "FeatureCollection", "features": features}
    return same and _are_outlines([chain.from_iterable(ring) for ring in rings], table)


def _same_geoparquet(content: bytes, table: pl.DataFrame) -> bool:
    found = pq.read_table(BytesIO(content))
    metadata = json.loads(found.schema.metadata[b"geo"])
    rest = pl.DataFrame(found.drop_columns("geometry"))
    if found.column_names != [*table.columns, "geometry"] or not table.equals(rest):
        return False
    expected = json.loads(geography.metadata({cell: _outline(cell) for cell in table["h3_cell"].unique()}))
    boxes = [one["columns"]["geometry"].pop("bbox") for one in (metadata, expected)]
    return (
        metadata == expected
        and _are_near(*boxes)
        and _are_outlines([_corners(one) for one in found["geometry"].to_pylist()], table)
    )


def _same_manifest(content: bytes, entry: Release) -> bool:
    """Tell whether a manifest is that of its entry; other code may have left out more, and described columns."""
    found = json.loads(content, object_pairs_hook=_each_once)
    hashes = {name: file_hash for name, file_hash in entry.files.items() if name != "manifest.json"}
    expected = manifest(entry.stated, hashes)
    if entry.code == code_hash():
        return found == expected
    del found["columns"]
    return all(found[name] == entry.stated[name] for name in found.keys() - {"files"}) and found["files"] == hashes


_SAME = {
    "statistics.csv": _same_csv,
    "statistics.geojson": _same_geojson,
    "statistics.geoparquet": _same_geoparquet,
}


def _each_once(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object whose members all have names of their own: of repeated ones readers take another each."""
    found = dict(members)
    if len(found) < len(members):
        raise ValueError("repeated member")
    return found


def _with_instants(table: pl.DataFrame) -> pl.DataFrame:
    return table.with_columns(pl.col("slot_start").dt.strftime(INSTANT))


def _corners(wkb: bytes) -> tuple[float, ...]:
    header = struct.calcsize(geography.WKB_HEADER)
    *kind, n_corners = struct.unpack(geography.WKB_HEADER, wkb[:header])
    if kind != geography.WKB_POLYGON:
        raise ValueError(kind)
    return struct.unpack(f"<{2 * n_corners}d", wkb[header:])


def _are_outlines(found: list[Any], table: pl.DataFrame) -> bool:
    """Tell whether the corners that were found, one number after the other, are those of the table's hexagons."""
    expected = [chain.from_iterable(_outline(cell)) for cell in table["h3_cell"]]
    return all(_are_near(list(one), list(other)) for one, other in zip(found, expected, strict=True))


def _are_near(found: list[float], expected: list[float]) -> bool:
    return all(abs(one - other) <= _MOST_DEGREES for one, other in zip(found, expected, strict=True))
