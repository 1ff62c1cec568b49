"""The numbers of the map page: typed arrays, and each hexagon's outline once."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import polars as pl
from bokeh.models import ColumnDataSource

from tasks.map.data import MapDay
from tasks.map.places import Places
from tasks.output_formats.geography import outline

_EARTH_RADIUS = 6_378_137.0
_MERCATOR_END = 85.0

_NUMBERS = {"slot": "slot", "hexagon": "hexagon", "n_users": "n_users", "n_records": "n_records"}
_ESTIMATES = {
    "mean": "mean",
    "error": "mean_error",
    "low": "mean_ci95_low",
    "high": "mean_ci95_high",
    "variance": "variance",
    "variance_error": "variance_error_bound",
    "epsilon": "epsilon",
    "typical": "typical_mean",
    "certainty": "certainty",
    "unusual": "unusual",
    "area": "area",
}


def map_sources(day: MapDay) -> dict[str, ColumnDataSource]:
    """Return the sources by the names that map.js uses. It fills those of one slot or one hexagon itself."""
    xs, ys = zip(*outlines(day.hexagons["h3_cell"]), strict=True)
    published, withheld = _columns(day.published, _NUMBERS | _ESTIMATES), _columns(day.withheld, _NUMBERS)
    shape, time = ("xs", "ys", "cell"), ("x", "time")
    look = ("hatch",) if "area" in published else ()
    return {
        "hexagons": ColumnDataSource({"xs": xs, "ys": ys, "cell": day.hexagons["h3_cell"].to_list()}),
        "all_published": ColumnDataSource(published),
        "all_withheld": ColumnDataSource(withheld),
        "published": _empty(*published, *look, *shape),
        "withheld": _empty(*withheld, *shape),
        "unusual": _empty("hexagon", *shape),
        "outline": _empty("hexagon", *shape),
        "curve": _empty(*published, *time),
        "gaps": _empty(*withheld, *time),
    }


def place_sources(places: Places, day: MapDay) -> dict[str, ColumnDataSource]:
    """Return the sources of the names and lines in the area of a day's hexagons, for what there is of them."""
    corners = np.array([corner for cell in day.hexagons["h3_cell"] for corner in outline(cell)])
    (west, south), (east, north) = corners.min(axis=0), corners.max(axis=0)
    here = places.within((west, south, east, north))
    found = {}
    if here.lines:
        lines = [_mercator(*np.array(line).T) for line in here.lines]
        found["lines"] = ColumnDataSource({"xs": [xs for xs, _ in lines], "ys": [ys for _, ys in lines]})
    if here.names:
        names, longitudes, latitudes = zip(*here.names, strict=True)
        xs, ys = _mercator(np.array(longitudes), np.array(latitudes))
        found["names"] = ColumnDataSource({"x": xs, "y": ys, "name": list(names)})
    return found


def _empty(*columns: str) -> ColumnDataSource:
    return ColumnDataSource({column: [] for column in columns})


def _columns(cells: pl.DataFrame, names: dict[str, str]) -> dict[str, Any]:
    return {
        short: cells[name].to_numpy().astype(np.int32 if short in _NUMBERS else np.float64)
        for short, name in names.items()
        if name in cells.columns
    }


def outlines(cells: Iterable[str]) -> Iterator[tuple[list[float], list[float]]]:
    """Yield outlines in Web Mercator metres, all on the same side of the 180th meridian as the first."""
    first = None
    for cell in cells:
        longitudes, latitudes = np.array(outline(cell)[:-1]).T
        first = longitudes[0] if first is None else first
        longitudes = longitudes + 360 * np.round((first - longitudes[0]) / 360)
        yield _mercator(longitudes, latitudes)


def _mercator(longitudes: np.ndarray, latitudes: np.ndarray) -> tuple[list[float], list[float]]:
    """Return places in Web Mercator metres, to the centimetre."""
    latitudes = np.radians(latitudes.clip(-_MERCATOR_END, _MERCATOR_END))
    x, y = np.radians(longitudes), np.log(np.tan(np.pi / 4 + latitudes / 2))
    return (x * _EARTH_RADIUS).round(2).tolist(), (y * _EARTH_RADIUS).round(2).tolist()
