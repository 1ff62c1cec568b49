"""The public area where presence is secret: what it holds, and what is none."""

import json
import re
from pathlib import Path

import h3
import numpy as np
import pytest
from present import AREA

from tasks.presence.area import box_of, hexagons_of, positions_of


def test_an_area_is_a_polygon_or_coarser_hexagons(tmp_path: Path) -> None:
    (parent,) = {h3.cell_to_parent(cell, 5) for cell in AREA}
    assert hexagons_of((parent,), 6, tmp_path) == tuple(AREA)
    ring = [[longitude, latitude] for latitude, longitude in h3.cell_to_boundary(parent)]
    shape = {"type": "Feature", "properties": {}, "geometry": {"type": "Polygon", "coordinates": [[*ring, ring[0]]]}}
    (tmp_path / "area.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": [shape]}))
    assert set(AREA) <= set(hexagons_of("area.geojson", 6, tmp_path))
    positions = positions_of(tuple(AREA))
    apart = np.hypot(*(positions[:, None] - positions[None]).T)
    near = h3.great_circle_distance(h3.cell_to_latlng(AREA[0]), h3.cell_to_latlng(AREA[1]))
    assert apart[0, 1] == pytest.approx(near, rel=0.01)


@pytest.mark.parametrize(
    ("geometry", "reason"),
    [
        ({"type": "Point", "coordinates": [8.3, 47.0]}, "feature 1 is Point"),
        (None, "feature 1 is None"),
        (
            {"type": "Polygon", "coordinates": [[[2.6e6, 1.2e6], [2.7e6, 1.2e6], [2.7e6, 1.3e6], [2.6e6, 1.2e6]]]},
            "degrees",
        ),
        ({"type": "Polygon", "coordinates": [[[0, -80], [170, -80], [170, 80], [0, 80], [0, -80]]]}, "too large"),
        ({"type": "Polygon", "coordinates": [[[8, 47], [8, 47], [8, 47], [8, 47]]]}, "a line"),
        ({"type": "Polygon", "coordinates": [[[8, 47], [9, "x"], [9, 48], [8, 47]]]}, "cannot be read"),
    ],
)
def test_an_area_that_is_none_is_refused_in_words(geometry: object, reason: str, tmp_path: Path) -> None:
    feature = {"type": "Feature", "properties": {}, "geometry": geometry}
    (tmp_path / "area.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": [feature]}))
    with pytest.raises(ValueError, match=reason):
        hexagons_of("area.geojson", 8, tmp_path)


def test_a_huge_area_is_refused_before_it_is_listed(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="take fewer, larger ones"):
        hexagons_of(("8001fffffffffff",), 12, tmp_path)
    ring = [[-10, 30], [30, 70], [30, 30], [-10, 70], [-10, 30]]  # it crosses itself, so its halves add up to nothing
    (tmp_path / "area.geojson").write_text(json.dumps({"type": "Polygon", "coordinates": [ring]}))
    with pytest.raises(ValueError, match="too large for h3_resolution"):
        hexagons_of("area.geojson", 12, tmp_path)


def test_where_an_area_lies_is_said_so_that_swapped_coordinates_are_seen() -> None:
    assert re.fullmatch(r"4[67]\.\d\d to 47\.\d\d north, 8\.\d\d to 8\.\d\d east", box_of(tuple(AREA)))
    swapped = [h3.latlng_to_cell(longitude, latitude, 6) for latitude, longitude in map(h3.cell_to_latlng, AREA)]
    assert re.fullmatch(r"8\.\d\d to 8\.\d\d north, 4[67]\.\d\d to 47\.\d\d east", box_of(tuple(swapped)))
