"""The owner's places on the map: names and lines in its area, and what is wrong with their file."""

import json
from typing import Any

import pytest
from support import DATE, Dataset

from tasks.account import ledger
from tasks.base.errors import BadInput
from tasks.map.places import Places, read_places
from tasks.planning.preview import preview_plan
from tasks.upkeep.verify import verify_ledger

CSV = "name,latitude,longitude\nStation,47.05,8.31\nLake <b>,47.06,8.32\nFar away,1.0,1.0\n"
ROAD = {"type": "LineString", "coordinates": [[8.30, 47.04], [8.32, 47.06], [9.9, 47.06]]}
LAKE = {"type": "MultiPolygon", "coordinates": [[[[8.30, 47.05], [8.31, 47.05], [8.31, 47.06], [8.30, 47.05]]]]}


def features(*geometries: dict[str, Any], name: str | None = None) -> str:
    return json.dumps(
        {"features": [{"type": "Feature", "geometry": one, "properties": {"name": name}} for one in geometries]}
    )


def with_places(dataset: Dataset, name: str, content: str) -> Dataset:
    (dataset.folder / name).write_text(content)
    dataset.set(map=True, places=name)
    return dataset


@pytest.mark.slow
def test_names_of_the_area_are_in_the_page_and_the_ledger_does_not_record_their_file(
    busy_dataset: Dataset, caplog: pytest.LogCaptureFixture
) -> None:
    with_places(busy_dataset, "places.csv", CSV)
    busy_dataset.run_day()
    page = busy_dataset.published("map.html").read_text()
    assert [one.message for one in caplog.records if one.name.startswith("bokeh")] == []
    assert "Station" in page
    assert "Far away" not in page
    assert "Lake <b>" not in page, "no name is markup"
    (entry,) = ledger.read_entries(busy_dataset.config)
    assert "places" not in entry.stated["settings"]["publish"]
    assert verify_ledger(busy_dataset.config).n_releases == 1


def test_lines_are_drawn_as_far_as_the_area(busy_dataset: Dataset) -> None:
    station = {"type": "Point", "coordinates": [8.31, 47.05]}
    config = with_places(
        busy_dataset, "p.geojson", features(ROAD, LAKE, station, {"type": "Point", "coordinates": [0, 0]}, name="S")
    ).config
    places = read_places(config)
    assert [len(line) for line in places.lines] == [3, 4]
    here = places.within((8.2, 47.0, 8.4, 47.1))
    assert here.names == [("S", 8.31, 47.05)]
    assert here.lines == places.lines, "a line goes on to the next corner outside"
    assert places.within((8.305, 47.03, 8.306, 47.04)).lines == []
    busy_dataset.run_day()
    assert "MultiLine" in busy_dataset.published("map.html").read_text()


def test_a_line_that_leaves_and_comes_back_is_two() -> None:
    line = [(float(x), 0.0) for x in (1, 2, 30, 40, 50, 3, 4)]
    here = Places(lines=[line]).within((0, -1, 10, 1))
    assert here.lines == [[(1, 0), (2, 0), (30, 0)], [(50, 0), (3, 0), (4, 0)]]
    assert Places([(str(n), 5.0, 0.0) for n in range(99)]).within((0, -1, 10, 1)).names[-1][0] == "59"


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("p.csv", "place,lat\nx,1\n", "needs the columns name, latitude, longitude"),
        ("p.csv", "name,latitude,longitude\nx,north,8\n", "needs the columns name, latitude, longitude"),
        ("p.csv", "name,latitude,longitude\n", "has no place with a name and no line"),
        ("p.geojson", "{}", "is no FeatureCollection of GeoJSON"),
        (
            "p.geojson",
            features({"type": "LineString", "coordinates": [["a", 1]]}),
            "is no FeatureCollection of GeoJSON",
        ),
        ("p.geojson", features({"type": "LineString", "coordinates": [[8, 47]] * 30_000}), "more than 20,000 corners"),
    ],
)
def test_what_is_wrong_with_the_file_is_said_before_anything_is_drawn(
    busy_dataset: Dataset, name: str, content: str, said: str
) -> None:
    with_places(busy_dataset, name, content)
    busy_dataset.prepare()
    with pytest.raises(BadInput, match=said):
        preview_plan(DATE, busy_dataset.config)
    with pytest.raises(BadInput, match=said):
        busy_dataset.run_day()
    assert ledger.read_entries(busy_dataset.config) == []
    assert not list((busy_dataset.folder / "store" / "private").glob("attempts/*"))


def test_a_missing_file_is_named(busy_dataset: Dataset) -> None:
    config = with_places(busy_dataset, "p.csv", CSV).config
    (busy_dataset.folder / "p.csv").unlink()
    with pytest.raises(BadInput, match=r"p\.csv: cannot be read"):
        read_places(config)
