"""What is recognised of a source that nobody has described yet."""

import json

import pytest
from feeds import snapshot

from tasks.records.input_formats import recognise
from tasks.records.input_formats.all_formats import format_by_start
from tasks.records.input_formats.roles import recognise_roles


@pytest.mark.parametrize(
    ("times", "unit"),
    [
        ([1213084687, 1213084690], "s"),
        (["1768464000.25", "", None], "s"),
        ([1768464000123], "ms"),
        ([1768464000123456.0], "us"),
        (["1768464000123456789"], "ns"),
        ([1768464000] * 9 + ["never"], "s"),
        ([1768464000] * 8 + ["never"], None),
        ([20260115083000], None),
        ([True, False], None),
        (["nan", "inf", "1e400"], None),
        (["2026-01-15T08:00:00Z"], None),
        ([], None),
    ],
)
def test_the_unit_of_times_is_seen_from_their_range(times: list[object], unit: str | None) -> None:
    assert recognise.time_unit(times) == unit


@pytest.mark.parametrize(
    ("start", "name"),
    [
        (b"PAR1\x15", "parquet"),
        (b'\xef\xbb\xbf{"result": [\n', "json"),
        (b'[{"a": 1}]', "json"),
        (b'{"a": 1}\n{"a": 2}\n', "ndjson"),
        (b"a,b\n1,2\n", "csv"),
        (snapshot([("bus1", 1768464000, 30)]), "gtfs-rt"),
        (b"<html>", None),
        (b"\x1f\x8b\x08", None),
        (b"\x00\x01", None),
        (b"", None),
    ],
)
def test_the_format_of_a_file_is_seen_from_its_first_bytes(start: bytes, name: str | None) -> None:
    found = format_by_start(start)
    assert (found and found.name) == name


@pytest.mark.parametrize(
    ("line", "delimiter"),
    [
        ("bus,time,lat", ","),
        ("bus;lat", ";"),
        ("bus\ttime of day", "\t"),
        ("vehicle id,time of day", ","),
        ("bus time lat", " "),
        ('"a b","c,d",e', ","),
        ("bus", ","),
        (",bus,time", ","),
        ("bus,time,", ","),
    ],
)
def test_the_delimiter_is_that_of_the_header(line: str, delimiter: str) -> None:
    assert recognise.delimiter_of(line) == delimiter
    assert recognise.is_header(line, None)


@pytest.mark.parametrize("value", ["9", '"a;b;c;d;e;f;g"', '"a|b|c|d|e|f|g"', "a b c d e f", '"no end', '"bus;;x"'])
@pytest.mark.parametrize("record", ["{},47.0,8.3", "47.0,8.3,{}", "b1,47.0,{},8.3", '"47,05";"8,3";{}', "47.0 8.3 {}"])
def test_no_value_makes_a_record_a_header(record: str, value: str) -> None:
    line = record.format(value.replace("," if "," in record else ";", "."))
    assert not recognise.is_header(line, None)


@pytest.mark.parametrize("value", ["N/A", '"a;time;lat;lon"', "", "bus"])
@pytest.mark.parametrize("record", ["b1,2026-01-15T08:00:00Z,,,{}", "{};;;b1;2026-01-15T08:00:00Z", ",b1,soon,{},"])
def test_nor_does_one_of_a_record_without_a_place(record: str, value: str) -> None:
    assert not recognise.is_header(record.format(value), None)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("# exported by x", "bus,time,lat,lon", True),
        ("# exported 2026, by x", "bus,time,lat,lon", True),
        ("#bus,time,lat,lon", "b1,soon,47.0,8.3", False),
        ("#bus,time,lat", "b1,soon,NA", False),
        ("#N/A,47.0,8.3", "9,47.0,8.3", False),
        ("# exported by x", "", False),
        ('#b1,47.0,8.3,"a value', "bus,time,lat,lon,speed", False),
        ("bus,time", "bus,time,lat,lon", False),
    ],
)
def test_a_comment_above_a_header_is_one(first: str, second: str, expected: bool) -> None:
    assert recognise.is_comment(first, second, None) == expected


def test_the_list_of_records_and_the_paths_of_its_members_are_found_in_a_document() -> None:
    record = {"id": 1, "location": {"coordinates": [8.31, 47.05]}}
    document = {"meta": {"pages": [{}]}, "data": {"vehicles": [record, record]}}
    assert recognise.record_lists(document) == ["data.vehicles", "meta.pages"]
    assert recognise.record_lists([record]) == [""]
    assert recognise.record_lists(json.loads('{"a": [1, 2]}')) == []
    assert recognise.member_paths(record) == ["id", "location.coordinates[0]", "location.coordinates[1]"]
    assert recognise.member_paths(record, "location".__eq__) == ["id", "location"]


def test_the_decimal_mark_is_seen_from_places() -> None:
    assert recognise.decimal_mark(["47,05", "47,1", ""]) == ","
    assert recognise.decimal_mark(["47.05"]) == "."
    assert recognise.decimal_mark([]) == "."


@pytest.mark.parametrize(
    ("names", "latitude", "longitude"),
    [
        (["card", "station_lon", "station_lat"], "station_lat", "station_lon"),
        (["start_lat", "start_lng", "end_lat", "end_lng"], "start_lat", "start_lng"),
        (["stop_lat", "stop_lon", "lat", "lon"], "lat", "lon"),
        (["location-long", "location-lat"], "location-lat", "location-long"),
        (["flat", "prolong", "salon"], None, None),
    ],
)
def test_a_place_may_be_called_after_what_it_is_of(names: list[str], latitude: str, longitude: str) -> None:
    found = recognise_roles(names)
    assert (found.get("latitude"), found.get("longitude")) == (latitude, longitude)


def test_the_time_of_a_fix_is_taken_before_that_of_a_server() -> None:
    assert recognise_roles(["serverTime", "deviceTime", "fixTime"])["time"] == "fixTime"


def test_what_else_is_said_of_speeds_is_no_speed() -> None:
    names = ["vehicle_id", "speed_limit", "speedAccuracy", "gps_speed_ms"]
    assert recognise_roles(names)["value"] == "gps_speed_ms"
    assert "value" not in recognise_roles(names[:-1])


def test_a_speed_is_recognised_in_some_languages() -> None:
    names = ["codLinea", "matricula", "lat", "lon", "fechaActual", "velocidad"]
    found = {"latitude": "lat", "longitude": "lon", "time": "fechaActual", "user": "matricula", "value": "velocidad"}
    assert recognise_roles(names) == found
