"""Positions of Austin's buses, which stand in for the papers' own records: those are not public."""

from pathlib import Path

import h3
import polars as pl

FOLDER = Path(__file__).parents[3] / "shared" / "data" / "capmetro"


def missing() -> str:
    """Say that the positions are not here; empty where they are."""
    absent = "The positions of Austin's buses, no part of the project, are not in shared/data/capmetro beside it."
    return "" if FOLDER.is_dir() else absent


def positions(folder: Path) -> pl.DataFrame:
    """Return the positions of 24 to 27 November 2016, each with its hexagon at resolution 7 and its local hour.

    Whether a record counts may not depend on its value: only duplicates and places far from Austin are left out.
    """
    table = pl.read_csv(folder / "capmetro_austin_2016-11-24_27.csv.gz")
    table = table.unique(["user_id", "ts", "lat", "lon"], keep="first", maintain_order=True)
    table = table.filter(pl.col("lat").is_between(29, 31.5), pl.col("lon").is_between(-99, -97))
    places = [h3.latlng_to_cell(lat, lon, 7) for lat, lon in table.select("lat", "lon").iter_rows()]
    return table.with_columns(pl.Series("hexagon", places), pl.col("ts").str.slice(0, 13).alias("hour"))
