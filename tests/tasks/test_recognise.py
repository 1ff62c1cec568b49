"""What is recognised of a source that nobody has described yet."""

import json

import pytest
from feeds import snapshot

from tasks.records import recognise


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


def test_forms_of_times_with_either_order_of_day_and_month_are_told_apart_by_a_day_above_the_twelfth() -> None:
    assert recognise.time_formats(["01/02/2026 08:30 AM"]) == ["%m/%d/%Y %I:%M %p", "%d/%m/%Y %I:%M %p"]
    assert recognise.time_formats(["01/02/2026 08:30 AM", "01/15/2026 08:30 AM"]) == ["%m/%d/%Y %I:%M %p"]
    assert recognise.time_formats([]) == []


def test_iso_times_are_known() -> None:
    assert recognise.is_iso(["2026-01-15 08:00:00", "2026-01-15T08:00:00Z"])
    assert not recognise.is_iso(["01/15/2026 08:00"])
    assert not recognise.is_iso(["2026-01-15"])


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
    assert recognise.format_of(start) == name


@pytest.mark.parametrize(
    ("start", "delimiter", "header", "n_columns"),
    [
        ("bus,time,lat\nb,2026-01-15 08:00:00,47.0\n", ",", ("bus", "time", "lat"), 3),
        ("bus;lat\nb;47,05\n", ";", ("bus", "lat"), 2),
        ("37.75 -122.39 0 1213084687\n37.75 -122.39 1 1213084690\n", " ", None, 4),
        ('"a b","c,d",e\n1,2,3\n', ",", ("a b", "c,d", "e"), 3),
    ],
)
def test_the_form_of_a_csv_file_is_seen_from_its_first_lines(
    start: str, delimiter: str, header: tuple[str, ...] | None, n_columns: int
) -> None:
    assert recognise.csv_form(start) == recognise.CsvForm(delimiter, header, n_columns)


def test_the_list_of_records_and_the_paths_of_its_members_are_found_in_a_document() -> None:
    record = {"id": 1, "location": {"coordinates": [8.31, 47.05]}}
    assert recognise.record_list({"meta": {"pages": [{}]}, "data": {"vehicles": [record, record]}}) == "data.vehicles"
    assert recognise.record_list([record]) == ""
    assert recognise.record_list(json.loads('{"a": [1, 2]}')) is None
    assert recognise.member_paths(record) == ["id", "location.coordinates[0]", "location.coordinates[1]"]


def test_the_decimal_mark_is_seen_from_places() -> None:
    assert recognise.decimal_mark(["47,05", "47,1", ""]) == ","
    assert recognise.decimal_mark(["47.05"]) == "."
    assert recognise.decimal_mark([]) == "."
