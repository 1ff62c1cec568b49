"""Boxes lie in one hexagon as a whole, wherever they are: each is tried with places along its edges and within."""

import datetime as dt
from itertools import pairwise

import h3
import numpy as np
import polars as pl
import pytest
from h3ronpy.vector import coordinates_to_cells
from numpy.typing import NDArray
from support import CONFIG, DATE, Dataset

from tasks import cells, warehouse
from tasks.cells import find_cells
from tasks.ingest import ingest_records
from tasks.validate import validate_records

Places = NDArray[np.float64]
N_CLUSTERS = 400
TRIED = np.concatenate([np.linspace(0, 1, 9), [1e-12, 1 - 1e-12, 1e-6, 1 - 1e-6]])


def dense_places(resolution: int, rng: np.random.Generator) -> Places:
    """Return places crowded about edges of hexagons, also of bent ones, at 180 degrees and near the poles."""
    anywhere = np.stack([np.degrees(np.arcsin(rng.uniform(-1, 1, N_CLUSTERS))), rng.uniform(-180, 180, N_CLUSTERS)], 1)
    anywhere[:20] = np.stack([rng.choice([-88.9, 88.9], 20), rng.uniform(-180, 180, 20)], 1)
    anywhere[20:40, 1] = rng.choice([-180, 180], 20)
    there = [h3.latlng_to_cell(lat, lon, resolution) for lat, lon in anywhere.tolist()] + bent_cells(resolution, rng)
    edges = [edge for cell in there for edge in pairwise(h3.cell_to_boundary(cell)[:3])]
    centres = np.array([np.array(a) + rng.uniform(0, 1) * (np.array(b) - a) for a, b in edges if abs(a[1] - b[1]) < 90])
    width = 1 / round(1024 * 7 ** ((resolution - 7) / 2))
    places = np.repeat(centres, 120, axis=0)
    places += rng.uniform(-1.5, 1.5, places.shape) * width
    return places[(np.abs(places[:, 0]) <= 90) & (np.abs(places[:, 1]) <= 180)]


def bent_cells(resolution: int, rng: np.random.Generator) -> list[str]:
    """Return hexagons that lie on several faces, and pentagons with their neighbours."""
    pentagons = h3.get_pentagons(resolution)
    around = [cell for pentagon in pentagons for cell in h3.grid_disk(pentagon, 1)]
    steps = [
        h3.latlng_to_cell(lat + rng.normal(0, 20), lon + rng.normal(0, 20), resolution)
        for lat, lon in map(h3.cell_to_latlng, pentagons * 250)
    ]
    return [*around, *[cell for cell in steps if len(h3.get_icosahedron_faces(cell)) > 1][:200]]


def validated_places(dataset: Dataset, resolution: int, places: Places) -> None:
    """Have a day validated with a record at each place, of a user whose id is the place's number."""
    dataset.config_file.write_text(CONFIG.replace("h3_resolution = 7", f"h3_resolution = {resolution}"))
    frame = pl.DataFrame({"lat": places[:, 0], "lon": places[:, 1]})
    time = dt.datetime.combine(DATE, dt.time(), dt.UTC)
    frame = frame.with_columns(
        bus=pl.int_range(pl.len()).cast(pl.String),
        speed=1.0,
        time=pl.lit(time) + pl.duration(milliseconds=pl.int_range(pl.len())),
    )
    frame.write_parquet(dataset.write("a.parquet", b""))
    ingest_records.fn(DATE, dataset.config)
    validate_records.fn(DATE, dataset.config)


def boxes_of(dataset: Dataset, resolution: int, places: Places) -> pl.DataFrame:
    """Return the boxes that are found where there are such places."""
    validated_places(dataset, resolution, places)
    with warehouse.connect(dataset.config) as connection:
        find_cells(connection, {"date": DATE})
        return connection.sql("select *, boxes_per_degree(h3_resolution) as per_degree from box").pl()


def n_wrong(boxes: pl.DataFrame, resolution: int, rng: np.random.Generator) -> int:
    """Return how many places in boxes are not in the box's hexagon."""
    shares = np.concatenate([np.stack(np.meshgrid(TRIED, TRIED), -1).reshape(-1, 2), rng.uniform(0, 1, (40, 2))])
    corner = boxes.select("lat_box", "lon_box").to_numpy().astype(float)
    places = (corner[:, None] + shares[None]) / boxes["per_degree"].to_numpy()[:, None, None]
    right = coordinates_to_cells(places[..., 0].ravel(), places[..., 1].ravel(), resolution)
    return int((np.asarray(right).reshape(places.shape[:2]) != boxes["h3_cell"].to_numpy()[:, None]).sum())


@pytest.mark.parametrize("resolution", [0, 1, 2, 3, 4, 7, 8, 11])
def test_every_place_of_a_box_lies_in_its_hexagon(dataset: Dataset, resolution: int) -> None:
    rng = np.random.default_rng(resolution)
    boxes = boxes_of(dataset, resolution, dense_places(resolution, rng))
    assert len(boxes) > 500
    assert n_wrong(boxes, resolution, rng) == 0


def test_boxes_whose_corners_were_moved_inwards_would_reach_over(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = warehouse.statement
    closer = original("warehouse/box").replace("- 0.01", "+ 0.05").replace("+ 1.01", "+ 0.95")
    monkeypatch.setattr(warehouse, "statement", lambda name: closer if name == "warehouse/box" else original(name))
    rng = np.random.default_rng(7)
    assert n_wrong(boxes_of(dataset, 7, dense_places(7, rng)), 7, rng) > 0


@pytest.mark.parametrize("resolution", [12, 15])
def test_hexagons_that_are_too_fine_have_no_boxes(dataset: Dataset, resolution: int) -> None:
    assert boxes_of(dataset, resolution, np.full((200, 2), 47.0)).is_empty()


@pytest.mark.parametrize("most_unboxed", [20_000_000, 0])
def test_every_record_gets_the_hexagon_of_its_place_in_a_box_or_not(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch, most_unboxed: int
) -> None:
    monkeypatch.setattr(cells, "_MOST_UNBOXED", most_unboxed)
    places = dense_places(7, np.random.default_rng(7))
    validated_places(dataset, 7, places)
    with warehouse.connect(dataset.config) as connection:
        for _ in range(2):
            find_cells(connection, {"date": DATE})
        n_unboxed = connection.execute("select count(*) from unboxed").fetchall()[0][0]
        records = f"select h3_cell from record('{DATE}') order by user_id::integer"
        found = connection.sql(records).pl()["h3_cell"].to_numpy()
    assert (0 < n_unboxed < len(places)) if most_unboxed else n_unboxed == 0
    assert (found == np.asarray(coordinates_to_cells(places[:, 0], places[:, 1], 7))).all()
