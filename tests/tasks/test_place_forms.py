"""Places as cells, points, whole numbers and round longitudes: what is read, and what is refused in a sentence."""

import json
from typing import Any

import h3
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from forms import wkb
from hypothesis import given
from hypothesis import strategies as st
from reading import ingest, refusal
from support import DATE, Dataset

from tasks.base import hexagons, warehouse
from tasks.base.errors import BadConfig, BadInput
from tasks.occupancy.placing import find_cells
from tasks.records.init.place_columns import places_in
from tasks.records.init.proposal import propose_source
from tasks.records.input_formats.input_format import Given

OF_TWO = 'latitude = "lat"\nlongitude = "lon"'
CELL = h3.latlng_to_cell(47.05, 8.31, 9)


def place(dataset: Dataset, written: str) -> None:
    dataset.edit(OF_TWO, written)


def csv(dataset: Dataset, *places: str, header: str = "bus,time,place,speed") -> None:
    rows = (f'b{number},{DATE}T08:{number:02}:00Z,"{one}",30\n' for number, one in enumerate(places))
    dataset.write("a.csv", f"{header}\n" + "".join(rows))


def test_a_cell_is_read_in_each_of_its_forms_and_nothing_else_is(dataset: Dataset) -> None:
    place(dataset, 'h3 = "place"')
    number = h3.str_to_int(CELL)
    good = [CELL, CELL.upper(), f" {CELL} ", f"0{CELL}", f"0x{CELL}", f"{number}"]
    directed = h3.origin_to_directed_edges(CELL)[0]
    bad = ["", "x", CELL[:-1], f"{CELL}f", "8f489e346ffffff", f"{float(number)}", directed, f"-{number}", "0", "1" * 18]
    csv(dataset, *good, *bad)
    ingest(dataset)
    read = [cell for (cell,) in dataset.query("select place_cell from raw_record order by row_number")]
    assert read == [number] * len(good) + [None] * len(bad)
    middle = dataset.query("select distinct latitude, longitude from raw_record where place_cell is not null")
    assert middle == [pytest.approx(h3.cell_to_latlng(CELL))]


@pytest.mark.parametrize("resolution", [6, 8])
def test_a_cell_lies_in_its_parent_also_where_its_middle_does_not(dataset: Dataset, resolution: int) -> None:
    place(dataset, 'h3 = "place"')
    dataset.set(h3_resolution=resolution)
    cells = sorted(h3.cell_to_children(h3.cell_to_parent(CELL, 6), 11))[::53]
    parents = [h3.cell_to_parent(one, resolution) for one in cells]
    middles = [h3.latlng_to_cell(y, x, resolution) for y, x in map(h3.cell_to_latlng, cells)]
    assert parents != middles
    rows = "".join(f"b{number},{DATE}T08:00:00Z,{one},30\n" for number, one in enumerate(cells))
    dataset.write("a.csv", f"bus,time,place,speed\n{rows}")
    dataset.prepare()
    found = dataset.query("select user_id, h3_cell from user_cell")
    assert {user: h3.int_to_str(cell) for user, cell in found} == {f"b{n}": one for n, one in enumerate(parents)}


def test_larger_cells_are_counted_and_the_remedy_is_said(dataset: Dataset) -> None:
    place(dataset, 'h3 = "place"')
    csv(dataset, *[h3.cell_to_parent(CELL, 6)] * 3, CELL)
    with pytest.raises(BadInput, match=r"3 cell_too_large.*larger than hexagons of grid.h3_resolution = 7: lower it"):
        dataset.prepare()


def test_the_cell_of_zero_and_zero_is_no_place(dataset: Dataset) -> None:
    place(dataset, 'h3 = "place"')
    dataset.edit("[storage]", "[validation]\nmax_quarantined_share = 0.9\n[storage]")
    csv(dataset, CELL, h3.latlng_to_cell(0, 0, 9), h3.latlng_to_cell(0, 0, 7))
    dataset.prepare()
    assert dataset.query("select reason, count(*) from quarantine group by 1") == [("place_zero", 2)]


def test_points_of_all_writings_are_one_place_and_other_shapes_are_none(dataset: Dataset) -> None:
    place(dataset, 'geometry = "place"')
    json_point = json.dumps({"type": "Point", "coordinates": [8.31, 47.05]}).replace('"', '""')
    good = ["POINT (8.31 47.05)", "point z(8.31 47.05 400)", "SRID=4326; POINT(8.31 47.05)", json_point]
    good += [wkb(8.31, 47.05).hex(), wkb(8.31, 47.05, ">").hex().upper()]
    bad = ["", "POINT EMPTY", "POINT (8.31)", "LINESTRING (0 0, 1 1)", "SRID=2056;POINT (8 47)", "{}", "Zürich", "a\\x"]
    csv(dataset, *good, *bad)
    ingest(dataset)
    read = dataset.query("select longitude, latitude from raw_record order by row_number")
    assert read == [(8.31, 47.05)] * len(good) + [(None, None)] * len(bad)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (
            {"crs": {"name": "LV95", "id": {"authority": "EPSG", "code": 2056}}},
            "is in EPSG:2056, which is not longitude",
        ),
        ({"crs": {"name": "somewhere"}}, "is in somewhere, which is not longitude"),
        ({"geometry_types": ["Polygon", "MultiPolygon"]}, "has no points, only Polygon, MultiPolygon"),
    ],
)
def test_geoparquet_that_says_it_is_otherwise_is_refused(dataset: Dataset, said: dict[str, Any], why: str) -> None:
    place(dataset, 'geometry = "geometry"')
    write_geo(dataset, {"encoding": "WKB", "geometry_types": ["Point"], **said})
    assert why in refusal(dataset)


@pytest.mark.parametrize("crs", [{}, {"crs": None}, {"crs": {"id": {"authority": "OGC", "code": "CRS84"}}}])
def test_geoparquet_in_longitude_and_latitude_is_read(dataset: Dataset, crs: dict[str, Any]) -> None:
    place(dataset, 'geometry = "geometry"')
    write_geo(dataset, {"encoding": "WKB", "geometry_types": [], **crs})
    ingest(dataset)
    assert dataset.query("select longitude, latitude from raw_record") == [(8.31, 47.05), (None, None)]


def write_geo(dataset: Dataset, said: dict[str, Any]) -> None:
    table = pa.table({"bus": ["a", "b"], "time": [f"{DATE}T08:00:00Z"] * 2, "speed": [1, 2]})
    table = table.append_column("geometry", pa.array([wkb(8.31, 47.05), b"\x01junk"], pa.binary()))
    geo = {"version": "1.0.0", "primary_column": "geometry", "columns": {"geometry": said}}
    pq.write_table(table.replace_schema_metadata({b"geo": json.dumps(geo)}), dataset.write("a.parquet", b""))


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ('latitude = "lat"', "a place must be latitude and longitude, or h3, or geometry: given is latitude"),
        ('latitude = "lat"\nlongitude = "lon"\nh3 = "cell"', "given is latitude and longitude and h3"),
        ("", "given is none of them"),
        ('h3 = "cell"\nper_degree = 10000000', "per_degree and longitude_to are for latitude and longitude"),
        ('geometry = "geom"\nlongitude_to = 360', "per_degree and longitude_to are for latitude and longitude"),
    ],
)
def test_a_place_has_one_form(dataset: Dataset, written: str, why: str) -> None:
    place(dataset, written)
    with pytest.raises(BadConfig, match=why):
        _ = dataset.config


def test_cells_give_no_speeds(dataset: Dataset) -> None:
    place(dataset, 'h3 = "cell"')
    dataset.edit('value = "speed"', 'value = "{speed}"')
    with pytest.raises(BadConfig, match="needs positions, and h3 gives cells"):
        _ = dataset.config


def test_points_give_speeds_as_positions_do(dataset: Dataset) -> None:
    dataset.edit('value = "speed"', 'value = "{speed}"')
    rows = [(f"b{n % 3}", f"{DATE}T08:{n:02}:00Z", 47.05 + n / 2000, 8.31) for n in range(30)]
    dataset.write("a.csv", "bus,time,lat,lon\n" + "".join(f"{u},{t},{y},{x}\n" for u, t, y, x in rows))
    dataset.prepare()
    by_two = dataset.query("select user_id, h3_cell, total_ticks from user_cell order by all")
    (dataset.folder / "raw" / "a.csv").unlink()
    place(dataset, 'geometry = "geom"')
    dataset.write("b.csv", "bus,time,geom\n" + "".join(f"{u},{t},{wkb(x, y).hex()}\n" for u, t, y, x in rows))
    dataset.prepare()
    assert dataset.query("select user_id, h3_cell, total_ticks from user_cell order by all") == by_two
    assert len({total for *_, total in by_two}) > 1


def test_whole_numbers_and_round_longitudes_become_degrees(dataset: Dataset) -> None:
    place(dataset, f"{OF_TWO}\nper_degree = 10000000\nlongitude_to = 360")
    degrees = [(47.3456789, -122.5), (-1.5, 180.0), (0.0000001, 8.5), (10.0, 0.0)]
    rows = [f"b,{DATE}T08:00:00Z,{round(y * 1e7)},{round(x % 360 * 1e7)},30\n" for y, x in degrees]
    dataset.write("a.csv", "bus,time,lat,lon,speed\n" + "".join(rows) + f"b,{DATE}T08:00:00Z,x,3610000000,30\n")
    ingest(dataset)
    read = dataset.query("select latitude, longitude from raw_record order by row_number")
    assert read[:-1] == [pytest.approx(one, abs=1e-9) for one in degrees]
    assert read[-1] == (None, 361.0)


def proposed(dataset: Dataset, names: str, rows: list[str], **given: Any) -> dict[str, Any]:
    path = dataset.write("a.csv", f"bus,time,{names},speed\n" + "".join(rows))
    return propose_source([path], dataset.folder, Given(**given)).settings["columns"]


def rows_at(*places: str) -> list[str]:
    return [f"b{number},{DATE}T08:{number:02}:00Z,{one},30\n" for number, one in enumerate(places)]


def test_init_asks_of_which_whole_numbers_a_place_is_where_two_fit(dataset: Dataset) -> None:
    rows = rows_at("5600000,-200000", "5700000,-210000")
    with pytest.raises(BadInput, match=r"say --per-degree 10000000 or --per-degree 1000000"):
        proposed(dataset, "lat,lon", rows)
    assert proposed(dataset, "lat,lon", rows, per_degree=1_000_000)["per_degree"] == 1_000_000
    assert proposed(dataset, "latE6,lonE6", rows)["per_degree"] == 1_000_000


def test_init_takes_one_wrong_longitude_for_no_other_form(dataset: Dataset) -> None:
    usual = rows_at(*["47.05,-8.31"] * 40, "47.05,200")
    assert "longitude_to" not in proposed(dataset, "lat,lon", usual)
    assert proposed(dataset, "lat,lon", rows_at("47.05,351.7", "47.06,0.2"))["longitude_to"] == 360


def test_init_takes_the_smallest_cells_and_no_column_of_values_for_them(dataset: Dataset) -> None:
    cells = [",".join(h3.cell_to_parent(CELL, size) for size in (7, 9, 8))] * 20
    assert proposed(dataset, "h3_7,h3_9,h3_8", rows_at(*cells))["h3"] == "h3_9"
    given = Given(columns={"value": "h3_9"})
    assert propose_source([dataset.folder / "raw" / "a.csv"], dataset.folder, given).settings["columns"]["h3"] == "h3_8"


def test_positions_are_taken_before_cells(dataset: Dataset) -> None:
    columns = proposed(dataset, "lat,lon,h3", rows_at(*[f"47.05,8.31,{CELL}"] * 3))
    assert "h3" not in columns


def test_init_and_the_readers_agree_on_what_is_a_cell() -> None:
    entries = [CELL, h3.str_to_int(CELL), f"0x{CELL}", None, "", 12.5, "x", b"x", 5]
    found = places_in("h3", entries)
    assert np.isfinite(found[:, 0]).tolist() == [True] * 3 + [False] * 6


def test_a_feed_of_positions_cannot_have_cells(dataset: Dataset) -> None:
    place(dataset, 'h3 = "cell"')
    dataset.set(format="gtfs-rt")
    dataset.write("a.pb", b"")
    assert "in which a time is one column and a place has latitude and longitude" in refusal(dataset)


def test_the_table_of_boxes_is_of_positions_alone(dataset: Dataset) -> None:
    place(dataset, 'h3 = "place"')
    csv(dataset, *[CELL] * 20)
    dataset.prepare()
    with warehouse.connect(dataset.config) as connection:
        assert find_cells(connection, {"date": DATE}) is False


@given(st.lists(st.binary(max_size=30), max_size=5), st.lists(st.integers(0, 2**64 - 1), max_size=5))
def test_nothing_that_is_written_stops_the_rest(written: list[bytes], numbers: list[int]) -> None:
    text, point = b"POINT (8.31 47.05)", wkb(8.31, 47.05)
    mixed = [
        *written,
        text,
        *(text[: len(one)] + one for one in written),
        point,
        *(point[:21] + one for one in written),
    ]
    read = hexagons.points(pa.chunked_array([pa.array(mixed, pa.binary())])).to_pylist()
    assert [read[len(written)]["latitude"], read[2 * len(written) + 1]["latitude"]] == [47.05, 47.05]
    cells = hexagons.given_places(pa.chunked_array([pa.array([*numbers, h3.str_to_int(CELL)], pa.uint64())]))
    assert [one["place_cell"] is not None for one in cells.to_pylist()] == [
        *(h3.is_valid_cell(h3.int_to_str(one)) for one in numbers),
        True,
    ]


def test_no_point_ends_the_process_or_is_warned_of() -> None:
    odd = [b"GEOMETRYCOLLECTION (" * 100_000, b"POINT (1e999 47)", b'{"type": "Point", "coordinates": [1e999, 47]}']
    read = hexagons.points(pa.chunked_array([pa.array([*odd, b"POINT (8 47)"], pa.binary())])).to_pylist()
    assert (read[-1]["latitude"], read[-1]["longitude"]) == (47.0, 8.0)
    assert [one["longitude"] for one in read[:3]] == [None, np.inf, None]


def test_speeds_are_proposed_of_points_too(dataset: Dataset) -> None:
    """Taxis of Rome: no header, semicolons, times with an offset of hours, and points in WKT."""
    lines = [
        f"{taxi};2014-02-01 00:{number:02}:{taxi:02}.739166+01;POINT({12.48 + number / 1000:.6f} 41.88)"
        for number in range(30)
        for taxi in range(9)
    ]
    path = dataset.write("taxis.txt", "\n".join(lines) + "\n")
    given = Given(header=("driver", "time", "point"), delimiter=";", format="csv")
    found = propose_source([path], dataset.folder, given)
    assert (found.missing, found.settings["columns"]["value"]) == ([], "{speed}")
    assert found.settings["columns"]["geometry"] == "point"
