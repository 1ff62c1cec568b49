"""An answer as a page: its areas coloured, with their numbers and intervals. It needs no network and no script."""

from collections.abc import Iterator, Sequence
from typing import Any

import h3
import numpy as np
import polars as pl
import shapely
from bokeh.palettes import Viridis256
from shapely.geometry.base import BaseGeometry

from tasks.answers.answer import Answer
from tasks.answers.words import in_words, interval_in_words, interval_of, number_in_words
from tasks.base.errors import HexveilError
from tasks.output_formats.look import look, template

_WIDTH, _EDGE = 1000.0, 10.0
_MOST_MAPS = 31
_MOST_LABELS = 40
_TALLEST = 1.2
"""Of a map's height, as a share of its width."""
_COLOURS = (*Viridis256[::32], Viridis256[-1])
"""From little to much, as on the map of a day."""


def answer_page(answer: Answer) -> bytes:
    """Return the page, HTML in UTF-8: a map for each period and hour, and the rows.

    Raises:
        HexveilError: There are too many periods for a page.
    """
    apart = [name for name in ("day", "week", "month", "hour") if name in answer.table.columns]
    tables = answer.table.partition_by(apart, maintain_order=True) if apart else [answer.table]
    if len(tables) > _MOST_MAPS:
        raise HexveilError(
            f"a page has at most {_MOST_MAPS} maps, and this answer {len(tables)}: ask for fewer periods"
        )
    values = np.array([_value(row, answer.shown) for row in answer.table.iter_rows(named=True)])
    low, high = float(values.min()), float(values.max())
    outlines = answer.outlines()
    places = _Places({name: outlines[name] for name in answer.table["area"].unique()})
    rows = [in_words(row) for row in answer.table.iter_rows(named=True)]
    maps = [
        {
            "name": ", ".join(_period(name, table[name][0]) for name in apart),
            "areas": list(_drawn(table, answer.shown, places, low, high)),
        }
        for table in tables
    ]
    return (
        template("tasks.answers", "answer.html.jinja")
        .render(
            look=look(),
            title=answer.title,
            notes=answer.notes,
            colours=_COLOURS,
            maps=maps,
            width=round(places.width),
            height=round(places.height),
            low=number_in_words({}, answer.shown, low),
            high=number_in_words({}, answer.shown, high),
            columns=list(rows[0]),
            rows=[list(row.values()) for row in rows],
        )
        .encode()
    )


def _period(name: str, value: object) -> str:
    return f"{value}:00" if name == "hour" else str(value)


def _value(row: dict[str, Any], name: str) -> float:
    """Return the number of a row that is coloured: of a percentile, which is an interval alone, its middle."""
    return float(row[name]) if name in row else sum(interval_of(row, name)) / 2


def _drawn(table: pl.DataFrame, name: str, places: "_Places", low: float, high: float) -> Iterator[dict[str, Any]]:
    for row in table.iter_rows(named=True):
        outline, value = places.outline(row["area"]), _value(row, name)
        number = round((value - low) / max(high - low, 1e-300) * (len(Viridis256) - 1))
        label = table.height <= _MOST_LABELS
        within = interval_in_words(row, name)
        said = number_in_words(row, name, value) if name in row else within
        x, y = places.middle(row["area"])
        yield {
            "outline": outline,
            "colour": Viridis256[number],
            "said": f"{row['area']}: {said}, 95 % interval {within}",
            "label": said if label else "",
            "name": "" if h3.is_valid_cell(row["area"]) else row["area"],
            "within": within if name in row else "",
            "x": round(x),
            "y": round(y),
        }


class _Places:
    """Where areas are on a map, north up, in units of a picture ``_WIDTH`` wide."""

    def __init__(self, outlines: dict[str, BaseGeometry]) -> None:
        west, south, east, north = shapely.total_bounds(np.array(list(outlines.values())))
        squeeze = np.cos(np.radians((south + north) / 2))
        inner = _WIDTH - 2 * _EDGE
        scale = min(inner / max((east - west) * squeeze, 1e-9), _TALLEST * inner / max(north - south, 1e-9))
        self.width = (east - west) * squeeze * scale + 2 * _EDGE
        self.height = (north - south) * scale + 2 * _EDGE

        def placed(corners: np.ndarray) -> np.ndarray:
            x, y = (corners - [west, north]).T
            return np.column_stack([x * squeeze, -y]) * scale + _EDGE

        self._shapes = {
            name: shapely.transform(shapely.force_2d(shape), placed).simplify(0.3) for name, shape in outlines.items()
        }

    def outline(self, name: str) -> str:
        """Return an area's outline, as SVG paths have it."""
        parts = [part for part in shapely.get_parts(self._shapes[name]) if part.geom_type == "Polygon"]
        return "".join(_ring(ring.coords) for part in parts for ring in (part.exterior, *part.interiors))

    def middle(self, name: str) -> tuple[float, float]:
        """Return where the number of an area stands."""
        point = self._shapes[name].representative_point()
        return point.x, point.y


def _ring(corners: Sequence[tuple[float, ...]]) -> str:
    return "M" + "L".join(f"{x:.1f},{y:.1f}" for x, y, *_ in corners) + "Z"
