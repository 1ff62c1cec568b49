"""Boxes lie in the hexagons that they say: each is tried with places along its sides, within, and near its edge."""

import datetime as dt
from itertools import pairwise

import h3
import numpy as np
import polars as pl
import pytest
from h3ronpy.vector import coordinates_to_cells
from numpy.typing import NDArray
from polars.testing import assert_frame_equal
from support import CONFIG, DATE, Dataset, slow

from tasks.base import warehouse
from tasks.occupancy import placing
from tasks.occupancy.placing import find_cells
from tasks.occupancy.user_cells import fill_user_cells
from tasks.records.judge.validate import validate_records
from tasks.records.read.ingest import ingest_records

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
    width = 1 / round(512 * 7 ** ((resolution - 7) / 2))
    places = np.repeat(centres, 160, axis=0)
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


def validated_places(dataset: Dataset, resolution: int, places: Places, user: NDArray[np.int64] | None = None) -> None:
    """Have a day validated with a record at each place, of a user whose id is the place's number where none is said."""
    dataset.config_file.write_text(CONFIG.replace("h3_resolution = 7", f"h3_resolution = {resolution}"))
    frame = pl.DataFrame({"lat": places[:, 0], "lon": places[:, 1]})
    time = dt.datetime.combine(DATE, dt.time(), dt.UTC)
    frame = frame.with_columns(
        bus=pl.Series(np.arange(len(places)) if user is None else user).cast(pl.String),
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


def tried_places(boxes: pl.DataFrame, rng: np.random.Generator) -> Places:
    """Return places of each box, by box, place, and latitude and longitude: on its sides, within, and near its edge."""
    shares = np.concatenate([np.stack(np.meshgrid(TRIED, TRIED), -1).reshape(-1, 2), rng.uniform(0, 1, (40, 2))])
    corner = boxes.select("lat_box", "lon_box").to_numpy().astype(float)
    per_degree = boxes["per_degree"].to_numpy()[:, None, None]
    anywhere = (corner[:, None] + shares[None]) / per_degree
    near = (corner[:, None] + rng.uniform(0, 1, (len(boxes), 40, 2))) / per_degree
    steepest = np.stack(slopes(boxes), axis=-1)
    off = rng.choice([-1.0001, 1.0001], near.shape[:2]) - side_of(boxes, near)
    near += off[..., None] * steepest / (steepest**2).sum(axis=-1, keepdims=True).clip(1e-18)
    is_inside = (np.floor(near * per_degree) == corner[:, None]).all(-1, keepdims=True)
    return np.concatenate([anywhere, np.where(is_inside, near, anywhere[:, :40])], axis=1)


def slopes(boxes: pl.DataFrame) -> tuple[Places, Places]:
    """Return by how much the side of a box changes per degree, one column of boxes for latitude and for longitude."""
    return boxes["per_latitude"].to_numpy()[:, None], boxes["per_longitude"].to_numpy()[:, None]


def side_of(boxes: pl.DataFrame, places: Places) -> Places:
    """Return on which side of their box's edge places lie, and how far from it."""
    per_latitude, per_longitude = slopes(boxes)
    return per_latitude * places[..., 0] + per_longitude * places[..., 1] + boxes["at_zero"].to_numpy()[:, None]


def n_wrong(boxes: pl.DataFrame, resolution: int, rng: np.random.Generator, margin: float = 1.0) -> int:
    """Return how many places are not in the hexagon that their box says, if it says one."""
    places = tried_places(boxes, rng)
    right = coordinates_to_cells(places[..., 0].ravel(), places[..., 1].ravel(), resolution)
    right = np.asarray(right).reshape(places.shape[:2])
    side, here, beyond = side_of(boxes, places), *(boxes[name].to_numpy()[:, None] for name in ("h3_cell", "beyond"))
    return int((np.where(side > margin, here, np.where(side < -margin, beyond, right)) != right).sum())


@pytest.mark.quick(1)
@pytest.mark.parametrize("resolution", [0, 3, 7, 11, *map(slow, (1, 2, 4, 8))])
def test_every_place_of_a_box_lies_in_the_hexagon_that_it_says(dataset: Dataset, resolution: int) -> None:
    rng = np.random.default_rng(resolution)
    boxes = boxes_of(dataset, resolution, dense_places(resolution, rng))
    divided = boxes.filter(pl.col("h3_cell") != pl.col("beyond"))
    assert len(boxes) - len(divided) > 500
    assert len(divided) > 300
    assert (np.abs(side_of(divided, tried_places(divided, rng))) > 1).mean() > 0.9
    assert n_wrong(boxes, resolution, rng) == 0


def test_boxes_whose_corners_were_moved_inwards_would_reach_over(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = warehouse.statement
    closer = original("scratch/seen_box").replace("- 0.01", "+ 0.05").replace("+ 1.01", "+ 0.95")
    monkeypatch.setattr(warehouse, "statement", lambda name: closer if name == "scratch/seen_box" else original(name))
    rng = np.random.default_rng(7)
    boxes = boxes_of(dataset, 7, dense_places(7, rng)).filter(pl.col("h3_cell") == pl.col("beyond"))
    assert n_wrong(boxes, 7, rng) > 0


def test_a_place_too_near_an_edge_would_be_put_beyond_it(dataset: Dataset) -> None:
    rng = np.random.default_rng(1)
    boxes = boxes_of(dataset, 1, dense_places(1, rng))
    assert n_wrong(boxes, 1, rng, margin=0.0) > 0


@pytest.mark.parametrize("resolution", [12, 15])
def test_hexagons_that_are_too_fine_have_no_boxes(dataset: Dataset, resolution: int) -> None:
    assert boxes_of(dataset, resolution, np.full((200, 2), 47.0)).is_empty()


@pytest.mark.parametrize("n_in_turn", [7, 8, 64, 100])
def test_boxes_are_found_of_all_who_are_listed_in_turn(dataset: Dataset, n_in_turn: int) -> None:
    places = [h3.cell_to_latlng(cell) for cell in h3.grid_disk(h3.latlng_to_cell(47, 8, 4), 6)[:n_in_turn]]
    boxes = boxes_of(dataset, 4, np.array(places * 100))
    assert boxes["h3_cell"].n_unique() == n_in_turn


@pytest.mark.quick(1)
@pytest.mark.parametrize(("resolution", "apart"), [(1, True), (7, True), (7, False)])
def test_records_are_counted_in_the_hexagons_of_their_places(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch, resolution: int, apart: bool
) -> None:
    monkeypatch.setattr(placing, "_LEAST_BOXED", 0 if apart else 1)
    places = dense_places(resolution, np.random.default_rng(resolution))
    cell = np.asarray(coordinates_to_cells(places[:, 0], places[:, 1], resolution))
    user = np.arange(len(places)) % 10
    expected = pl.DataFrame({"h3_cell": cell, "user_id": user}).group_by("h3_cell", "user_id").len("n_records")
    validated_places(dataset, resolution, places, user)
    with warehouse.connect(dataset.config) as connection:
        for _ in range(2):
            assert find_cells(connection, {"date": DATE}) == apart
        n_unsaid = connection.execute(f"select count(*) - count(h3_cell) from record('{DATE}', apart := true)")
        assert 0 < n_unsaid.fetchall()[0][0] < len(places)
        assert connection.execute(f"select count(*) - count(h3_cell) from record('{DATE}')").fetchall() == [(0,)]
        fill_user_cells(connection, DATE, dataset.config, apart)
        pairs = (
            "select h3_cell, user_id::bigint as user_id, n_records, total_ticks::bigint as total_ticks from user_cell"
        )
        found = connection.sql(pairs).pl()
    expected = expected.with_columns(
        n_records=pl.col("n_records").cast(pl.Int64), total_ticks=pl.col("n_records") * 100
    )
    assert_frame_equal(found, expected, check_row_order=False, check_dtypes=False)
