"""The exports as readers that are not ours see them: GDAL reads the GeoJSON, GeoPandas the GeoParquet."""

import datetime as dt
import json
from collections.abc import Callable
from pathlib import Path

import geopandas
import h3
import polars as pl
import pyogrio
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from shapely.geometry import Polygon
from support import Dataset, table

from tasks.output_formats import geography

Reader = Callable[[Path], geopandas.GeoDataFrame]
READERS = {"statistics.geojson": pyogrio.read_dataframe, "statistics.geoparquet": geopandas.read_parquet}
NORTH_POLE, SOUTH_POLE = (h3.latlng_to_cell(latitude, 0, 3) for latitude in (90, -90))


def cells_at(*places: tuple[float, float]) -> pl.DataFrame:
    """Return what the exports need of a published table, with a cell at each place."""
    start = dt.datetime(2026, 1, 15, 8, tzinfo=dt.UTC)
    cells = [h3.latlng_to_cell(*place, 5) for place in places]
    return pl.DataFrame({"h3_cell": cells, "slot_start": [start] * len(cells), "mean": [21.5] * len(cells)})


@pytest.mark.parametrize(("name", "read"), READERS.items())
def test_independent_readers_see_the_published_table_and_its_hexagons(
    busy_dataset: Dataset, name: str, read: Reader
) -> None:
    busy_dataset.release()
    published = table(busy_dataset)
    frame = read(busy_dataset.published(name))
    assert frame.crs is not None
    assert frame.crs.to_epsg() == 4326 or frame.crs.to_authority() == ("OGC", "CRS84")
    assert [column for column in frame.columns if column != "geometry"] == published.columns
    for column in published.columns:
        if column != "slot_start":
            assert frame[column].to_list() == published[column].to_list()
    assert [time.to_pydatetime() for time in frame["slot_start"]] == published["slot_start"].to_list()
    for cell, shape in zip(frame["h3_cell"], frame["geometry"], strict=True):
        assert h3.latlng_to_cell(shape.centroid.y, shape.centroid.x, 7) == cell
        assert shape.exterior.is_ccw
        assert len(shape.exterior.coords) == 7


def test_geojson_says_times_in_utc_and_is_one_feature_a_line() -> None:
    content = geography.geojson(cells_at((47.05, 8.31), (47.05, 8.5)))
    features = json.loads(content)["features"]
    assert [feature["properties"]["slot_start"] for feature in features] == ["2026-01-15T08:00:00Z"] * 2
    assert len(content.splitlines()) == len(features) + 2


def test_geoparquet_declares_what_the_format_asks_for(tmp_path: Path) -> None:
    path = tmp_path / "cells.geoparquet"
    path.write_bytes(geography.geoparquet(cells_at((47.05, 8.31), (-41.3, 174.8))))
    geo = json.loads(pl.read_parquet_metadata(path)["geo"])
    column = geo["columns"][geo["primary_column"]]
    assert (geo["version"], geo["primary_column"]) == ("1.1.0", "geometry")
    assert (column["encoding"], column["geometry_types"]) == ("WKB", ["Polygon"])
    assert "crs" not in column, "then it is OGC:CRS84"
    assert column["bbox"] == pytest.approx(geopandas.read_parquet(path).total_bounds)


@given(latitude=st.floats(-80, 80), longitude=st.floats(-180, 180), resolution=st.integers(1, 12))
@example(latitude=-16.9, longitude=180.0, resolution=5)
@example(latitude=64.0, longitude=-180.0, resolution=2)
def test_an_outline_is_closed_counter_clockwise_and_never_a_band_around_the_world(
    latitude: float, longitude: float, resolution: int
) -> None:
    cell = h3.latlng_to_cell(latitude, longitude, resolution)
    shape = Polygon(ring := geography.outline(cell))
    west, _, east, _ = shape.bounds
    assert ring[0] == ring[-1]
    assert shape.is_valid
    assert shape.exterior.is_ccw
    assert east - west < 90
    assert {h3.latlng_to_cell(y, (x + 180) % 360 - 180, resolution) for x, y in [shape.centroid.coords[0]]} == {cell}
    for x, y in ring:
        assert min(abs(y - lat) + abs((x - lon + 180) % 360 - 180) for lat, lon in h3.cell_to_boundary(cell)) < 1e-9


def test_a_hexagon_over_the_180th_meridian_runs_on_past_it() -> None:
    shapes = geopandas.GeoSeries([Polygon(geography.outline(cell)) for cell in cells_at((-16.9, 180.0))["h3_cell"]])
    west, _, east, _ = shapes.total_bounds
    assert west < -180 < east or west < 180 < east


@pytest.mark.parametrize("cell", [NORTH_POLE, SOUTH_POLE])
def test_a_hexagon_around_a_pole_reaches_up_to_it(cell: str) -> None:
    shape = Polygon(geography.outline(cell))
    pole = 90 if cell == NORTH_POLE else -90
    west, south, east, north = shape.bounds
    assert shape.is_valid
    assert shape.exterior.is_ccw
    assert east - west == pytest.approx(360)
    assert pole in (south, north)
