"""Places: names and lines of the owner's file, such as streets and coasts, by which readers find themselves on the map.

The file is public. Nothing is fetched: what the page shows is in the page.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from tasks.base.config import Config
from tasks.base.errors import BadInput

Line = list[tuple[float, float]]

_MOST_NAMES = 60
_MOST_CORNERS = 20_000
_MARGIN = 0.05
_COLUMNS = ("name", "latitude", "longitude")
_LINES = {"LineString": 0, "MultiLineString": 1, "Polygon": 1, "MultiPolygon": 2}
"""How deep the lines are in the coordinates of each kind of geometry."""


@dataclass
class Places:
    """What is drawn over the map, in degrees.

    Attributes:
        names: Name, longitude and latitude of each point.
        lines: Corners of each line, as (longitude, latitude).
    """

    names: list[tuple[str, float, float]] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)

    def within(self, box: tuple[float, float, float, float]) -> "Places":
        """Return the first names and the parts of lines inside a box of west, south, east and north, and a margin."""
        west, south, east, north = box
        wide, high = _MARGIN * (east - west), _MARGIN * (north - south)

        def is_inside(longitude: float, latitude: float) -> bool:
            return west - wide <= longitude <= east + wide and south - high <= latitude <= north + high

        names = [one for one in self.names if is_inside(*one[1:])]
        lines = [part for line in self.lines for part in _parts(line, is_inside)]
        return Places(names[:_MOST_NAMES], lines)


def read_places(config: Config) -> Places:
    """Return what the file of places holds; nothing if the configuration names none.

    Raises:
        BadInput: It cannot be read, or holds nothing that can be drawn.
    """
    if config.publish.places is None:
        return Places()
    path = (config.folder / config.publish.places).resolve()
    try:
        found = _from_csv(path) if path.suffix == ".csv" else _from_geojson(path)
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror}); mend publish.places") from None
    if not found.names and not found.lines:
        raise BadInput(f"{path}: has no place with a name and no line; see publish.places in the settings")
    if sum(map(len, found.lines)) > _MOST_CORNERS:
        raise BadInput(f"{path}: its lines have more than {_MOST_CORNERS:,} corners; keep main streets or coasts only")
    return found


def outlines_of(zones: bytes) -> Places:
    """Return the outlines of released zones, each with its name in the middle of its box."""
    places = Places()
    for feature in json.loads(zones)["features"]:
        before = len(places.lines)
        _add(feature["geometry"], None, places)
        corners = [corner for line in places.lines[before:] for corner in line]
        if corners:
            east, north = ((min(ends) + max(ends)) / 2 for ends in zip(*corners, strict=True))
            places.names.append((feature["properties"]["name"], east, north))
    return places


def _from_csv(path: Path) -> Places:
    try:
        table = pl.read_csv(path)
        rows = table.select(pl.col("name").cast(pl.String), *(pl.col(name).cast(pl.Float64) for name in _COLUMNS[1:]))
    except pl.exceptions.PolarsError:
        problem = BadInput(f"{path}: needs the columns {', '.join(_COLUMNS)}, with places in degrees")
    else:
        return Places([(name, east, north) for name, north, east in rows.drop_nulls().iter_rows()])
    raise problem


def _from_geojson(path: Path) -> Places:
    places = Places()
    try:
        features = json.loads(path.read_text(encoding="utf-8"))["features"]
        for feature in features:
            _add(feature["geometry"] or {}, (feature.get("properties") or {}).get("name"), places)
    except (ValueError, TypeError, KeyError, RecursionError):
        problem = BadInput(f"{path}: is no FeatureCollection of GeoJSON in degrees; for names a .csv will do")
    else:
        return places
    raise problem


def _add(geometry: dict[str, Any], name: object, places: Places) -> None:
    kind, coordinates = geometry.get("type"), geometry.get("coordinates")
    if kind == "Point" and isinstance(name, str):
        longitude, latitude = coordinates[:2]  # pyright: ignore[reportOptionalSubscript]
        places.names.append((name, float(longitude), float(latitude)))
    if kind in _LINES:
        places.lines += [
            [(float(corner[0]), float(corner[1])) for corner in line] for line in _lines(coordinates, _LINES[kind])
        ]


def _lines(coordinates: Any, depth: int) -> Iterator[Any]:
    if depth == 0:
        yield coordinates
        return
    for inner in coordinates:
        yield from _lines(inner, depth - 1)


def _parts(line: Line, is_inside: Callable[[float, float], bool]) -> Iterator[Line]:
    """Yield the parts of a line whose corners are inside, each with the corners next to them outside."""
    inside = [is_inside(*corner) for corner in line]
    part: Line = []
    for number, corner in enumerate(line):
        if any(inside[max(0, number - 1) : number + 2]):
            part.append(corner)
        else:
            yield from [part] if len(part) > 1 else []
            part = []
    yield from [part] if len(part) > 1 else []
