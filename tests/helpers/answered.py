"""The tables of published days, and files of areas about which they are asked."""

import datetime as dt
from pathlib import Path

import geopandas
import numpy as np
import polars as pl
import shapely

from tasks.answers.answer import Answer
from tasks.output_formats.geography import outline

ZONE = "Europe/Zurich"


def joint(published: Path, date: dt.date) -> pl.DataFrame:
    """Return a day's joint table."""
    return pl.read_parquet(published / f"date={date}" / "joint.parquet", hive_partitioning=False)


def lists(table: pl.DataFrame, name: str) -> np.ndarray:
    """Return a column of lists as a matrix."""
    return np.array(table[name].to_list(), dtype=float).reshape(table.height, -1)


def dense(table: pl.DataFrame, prefix: str = "") -> np.ndarray:
    """Return the covariance of the cells' errors, as the page on the published files says it is made."""
    common, against = lists(table, f"{prefix}common"), lists(table, f"{prefix}against")
    found = common @ common.T - against @ against.T
    for label, name in (("h3_cell", "of_hexagon"), ("slot_start", "of_slot")):
        same = np.equal.outer(table[label].to_list(), table[label].to_list())
        found += same * (lists(table, prefix + name) @ lists(table, prefix + name).T)
    return found + (0 if prefix else np.diag(table["variance"].to_numpy()))


def districts(cells: list[str], path: Path) -> Path:
    """Write a district that is one hexagon, and one that has half of it and all of another."""
    first, second = (shapely.Polygon(outline(cell)) for cell in cells[:2])
    west, south, east, north = first.bounds
    half = first.intersection(shapely.box(west, south, (west + east) / 2, north))
    frame = geopandas.GeoDataFrame(
        {"code": [1, 2, 2], "name": ["one", "half and other", "half and other"]},
        geometry=[first, half, second],
        crs="EPSG:4326",
    )
    if path.suffix == ".geojson":
        frame.to_file(path, driver="GeoJSON")
    else:
        frame.to_parquet(path)
    return path


def row_of(answer: Answer) -> dict:
    """Return the only row of an answer."""
    (row,) = answer.table.to_dicts()
    return row
