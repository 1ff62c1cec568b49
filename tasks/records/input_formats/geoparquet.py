"""GeoParquet: which column of a file has its geometries, how they are written, and whether they are in degrees."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq

from tasks.base.errors import BadInput

_DEGREES = frozenset(
    {"OGC:CRS84", "OGC:CRS84H", "EPSG:4326", "EPSG:4979", "EPSG:4258", "EPSG:4269", "EPSG:4283", "EPSG:7844"}
    | {"EPSG:4490", "EPSG:4674", "EPSG:6668", "EPSG:4167", "EPSG:9000", "EPSG:7789"}
)
"""Systems of longitude and latitude that are WGS 84 to within some metres."""
_NAMES = ("WGS 84", "WGS84")


class Geometries(NamedTuple):
    """What a file says of its geometries.

    Attributes:
        column: The column that has them.
        encoding: How they are written, such as `WKB`, or `point` for a column with the members x and y.
    """

    column: str
    encoding: str


def geometries(path: Path) -> Geometries | None:
    """Return what a Parquet file says of its geometries; None if it says nothing."""
    said = _said(path)
    column = str(said.get("primary_column", ""))
    if column not in said.get("columns", {}):
        return None
    return Geometries(column, str(said["columns"][column].get("encoding", "WKB")))


def refuse_other_systems(path: Path, column: str) -> None:
    """Refuse points that are not in longitude and latitude, as far as the file says it.

    Raises:
        BadInput: It names another system, or geometries none of which is a point.
    """
    of_column = _said(path).get("columns", {}).get(column, {})
    system = _system(of_column["crs"]) if of_column.get("crs") else _of_type(path, column)
    if system is not None and system.upper() not in _DEGREES and system not in _NAMES:
        raise BadInput(
            f'{path}: column "{column}" (columns.geometry) is in {system}, which is not longitude and latitude; '
            "convert it to EPSG:4326"
        )
    kinds = of_column.get("geometry_types") or ["Point"]
    if not any(str(kind).startswith("Point") for kind in kinds):
        raise BadInput(f'{path}: column "{column}" (columns.geometry) has no points, only {", ".join(map(str, kinds))}')


def _said(path: Path) -> dict[str, Any]:
    with suppress(ValueError, AttributeError, TypeError):
        said = json.loads((pq.read_metadata(path).metadata or {}).get(b"geo", b"{}"))
        return said if isinstance(said.get("columns", {}), dict) else {}
    return {}


def _of_type(path: Path, column: str) -> str | None:
    """Return the system of a column of Parquet's own type of geometries; None if it is the usual one, or no such."""
    schema = pq.read_metadata(path).schema
    kinds = (schema.column(number) for number in range(len(schema)))
    written = next((one.logical_type.to_json() for one in kinds if one.path == column), "{}")
    with suppress(ValueError, AttributeError):
        system = json.loads(written).get("crs")
        with suppress(ValueError, TypeError):
            system = json.loads(system)
        return _system(system) if system else None
    return None


def _system(said: Any) -> str:
    """Return the name of a system of coordinates: its authority and code if it has these."""
    if not isinstance(said, dict):
        return str(said)
    identity = said.get("id", {})
    if "code" in identity:
        return f"{identity.get('authority', 'EPSG')}:{identity['code']}"
    return str(said.get("name", "an unnamed system"))
