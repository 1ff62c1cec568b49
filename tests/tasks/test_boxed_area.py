"""The hexagons of places about a public area are those of H3, whether a box of the area or H3 itself gives them."""

from collections.abc import Sequence

import h3
import numpy as np
import pyarrow as pa
import pytest

from tasks.base import hexagons
from tasks.occupancy import boxed_area
from tasks.occupancy.boxed_area import cells_about

N_PLACES = 10_000


def chunked(*columns: np.ndarray) -> list[pa.ChunkedArray]:
    return [pa.chunked_array([column]) for column in columns]


def places_about(area: Sequence[str], rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return places in an area, close to its hexagons' edges, around it, and anywhere."""
    corners = np.array([corner for one in area for corner in h3.cell_to_boundary(one)])
    ends = corners.reshape(-1, 2)[rng.integers(0, len(corners), (N_PLACES, 2))]
    near = ends[:, 0] + rng.uniform(0, 1, (N_PLACES, 1)) * (ends[:, 1] - ends[:, 0])
    sides = [
        np.array(edge[0]) + share * (np.array(edge[1]) - np.array(edge[0])) + rng.normal(0, 1e-6, 2)
        for one in area
        for edge in [h3.cell_to_boundary(one)[:2]]
        for share in rng.uniform(0, 1, 30)
    ]
    anywhere = np.column_stack([rng.uniform(-90, 90, 500), rng.uniform(-180, 180, 500)])
    low, high = corners.min(axis=0), corners.max(axis=0)
    around = rng.uniform(low - 0.2 * (high - low), high + 0.2 * (high - low), (N_PLACES, 2))
    latitude, longitude = np.concatenate([near, np.array(sides), around, anywhere]).T
    return np.clip(latitude, -90, 90), np.clip(longitude, -180, 180)


def areas(resolution: int) -> dict[str, list[str]]:
    """Return areas of every kind: usual, at the 180th meridian, at a pole, and where hexagons are bent."""
    places = {"usual": (47.05, 8.31), "south": (-33.9, 151.2), "meridian": (-17.0, 179.9999), "pole": (89.2, 10.0)}
    found = {name: h3.latlng_to_cell(*place, resolution) for name, place in places.items()}
    found |= {"bent": h3.get_pentagons(resolution)[3]}
    return {name: sorted(h3.grid_disk(cell, 4)) for name, cell in found.items()}


@pytest.mark.parametrize("resolution", [3, 6, 7, 9, 11, 12])
def test_every_place_has_the_hexagon_that_h3_names(resolution: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, real = [0], boxed_area.coordinates_to_cells

    def counted(latitude: pa.Array, longitude: pa.Array, resolution: int) -> pa.Array:
        asked[0] += len(latitude)
        return real(latitude, longitude, resolution)

    rng = np.random.default_rng(resolution)
    for name, area in areas(resolution).items():
        latitude, longitude = places_about(area, rng)
        found = cells_about(area)
        with monkeypatch.context() as patch:
            patch.setattr(boxed_area, "coordinates_to_cells", counted)
            asked[0] = 0
            cells = found(*chunked(latitude, longitude, np.full(latitude.size, resolution)))
        expected = hexagons.cells(*chunked(latitude, longitude, np.full(latitude.size, resolution)))
        assert np.array_equal(np.asarray(cells), np.asarray(expected)), name
        if name in ("usual", "south") and resolution <= 11:
            assert 0 < asked[0] < 0.6 * latitude.size, "the rest is in boxes"
        if name in ("meridian", "pole") or resolution > 11:
            assert found is hexagons.cells or asked[0] > 0


def test_a_wide_area_has_larger_boxes_and_no_more_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, real = [0], boxed_area.coordinates_to_cells

    def counted(latitude: pa.Array, longitude: pa.Array, resolution: int) -> pa.Array:
        asked[0] = max(asked[0], len(latitude))
        return real(latitude, longitude, resolution)

    monkeypatch.setattr(boxed_area, "coordinates_to_cells", counted)
    area = sorted(h3.grid_disk(h3.latlng_to_cell(47.05, 8.31, 8), 40))
    found = cells_about(area)
    assert 100_000 < asked[0] < 140_000
    latitude, longitude = places_about(area, np.random.default_rng(1))
    given = chunked(latitude, longitude, np.full(latitude.size, 8))
    assert np.array_equal(np.asarray(found(*given)), np.asarray(hexagons.cells(*given)))
