"""XML, tracks, and records that are lists: read from the file alone, and refused as a whole or not at all."""

import json
import zipfile
from pathlib import Path

import h3
import pytest
from reading import ingest, refusal, rows_of
from support import DATE, Dataset

from tasks.records.input_formats import xml_documents
from tasks.records.input_formats.all_formats import format_by_start

SECOND = 1768464000
BUS = f'<bus id="b1" at="{DATE}T08:00:00Z"><place lat="47.05" lon="8.31">{{}}</place><speed unit="x">{{}}</speed></bus>'
PLT = ("Geolife trajectory", "WGS 84", "Altitude is in Feet", "Reserved 3", "0,2,255,My Track,0,0,2,8421376", "0")


@pytest.fixture
def buses(dataset: Dataset) -> Dataset:
    """Return a dataset of XML documents with an element `bus` for each record."""
    for old, new in (('"bus"', '"id"'), ('"time"', '"at"'), ('"lat"', '"place.lat"'), ('"lon"', '"place.lon"')):
        dataset.edit(f"= {old}", f"= {new}")
    dataset.set(records="bus")
    return dataset


def test_attributes_and_elements_are_columns_whatever_their_namespace(buses: Dataset) -> None:
    record = BUS.format("", " 12 ").replace("<", "<n:").replace("<n:/", "</n:").replace("lat=", "n:lat=")
    buses.write("a.xml", f'<n:buses xmlns:n="urn:n"><!-- one --><n:line>{record}</n:line><n:bus/></n:buses>')
    ingest(buses)
    assert rows_of(buses)[0] == ("b1", SECOND, 47.05, 8.31, 12.0)
    assert buses.query("select n_rows, n_undated from raw_file") == [(2, 1)]


def test_cells_and_times_in_two_elements_are_read(buses: Dataset) -> None:
    cell = h3.latlng_to_cell(47.05, 8.31, 9)
    buses.edit('latitude = "place.lat"\n', "")
    buses.edit('longitude = "place.lon"', 'h3 = "at.cell"')
    buses.edit('time = "at"', 'time = ["at.day", "at.clock"]')
    bus = '<bus id="{}"><at cell="{}"><day>{}</day><clock>{}</clock></at><speed>12</speed></bus>'
    said = [("b1", cell, DATE, "08:00:00"), ("b2", "8929", DATE, "08:00:00"), ("b3", cell, DATE, "25:00:00")]
    buses.write("a.xml", f"<buses>{''.join(bus.format(*one) for one in said)}</buses>")
    ingest(buses)
    (row,) = [one for one in rows_of(buses) if one[0] == "b1"]
    assert row[:2] == ("b1", SECOND)
    assert row[2:4] == pytest.approx(h3.cell_to_latlng(cell), abs=1e-6)
    assert buses.query("select n_rows, n_undated from raw_file") == [(3, 1)], "25 o'clock is no time"


@pytest.mark.parametrize("value", ["", "12", "x" * 100_000, "<a><b>1</b></a>", "<![CDATA[<a>&]]>", "1<a/>2", "&#233;"])
def test_no_value_decides_which_records_there_are(value: str, buses: Dataset) -> None:
    buses.write("a.xml", f"<buses>{BUS.format('', 1)}{BUS.format('', value).replace('b1', 'b2')}</buses>")
    ingest(buses)
    assert [row[:4] for row in rows_of(buses)] == [(one, SECOND, 47.05, 8.31) for one in ("b1", "b2")]


@pytest.mark.quick(4)
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (f"<buses>{BUS.format('', 1)}", "is no whole XML document"),
        (f"<buses>{BUS.format('', '&undefined;')}</buses>", "is no whole XML document"),
        ('<!DOCTYPE a [<!ENTITY a "aaaa">]><a>&a;</a>', "has a document type"),
        ('<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>', "has a document type"),
        ("<a>" * 65 + "</a>" * 65, "more than 64 deep"),
        (f"<buses><bus>{'<a>b</a>' * 1_000_000}</bus></buses>", "an element bus of many megabytes"),
        (f"<buses><!--{'a' * (1 << 23)}--></buses>", "a comment of many megabytes"),
    ],
)
def test_a_document_that_is_broken_or_asks_for_more_than_itself_is_refused(
    content: str, said: str, buses: Dataset
) -> None:
    buses.write("a.xml", content)
    assert said in refusal(buses)


def test_an_encoding_that_is_declared_is_read(buses: Dataset) -> None:
    text = f'<?xml version="1.0" encoding="ISO-8859-1"?><buses>{BUS.format("", 1)}</buses>'.replace("b1", "é")
    buses.write("a.xml", text.encode("iso-8859-1"))
    ingest(buses)
    assert rows_of(buses)[0][0] == "é"


@pytest.mark.parametrize(
    ("document", "element"),
    [
        ("<a><list><bus id='1'><p><lat>1</lat></p></bus><bus id='2'><p><lat>2</lat></p></bus></list></a>", "bus"),
        ("<a><bus lat='1' lon='2'/><bus lat='1' lon='2'/></a>", "bus"),
        ("<a><t><pt lat='1'/><pt lat='2'/></t><t><pt lat='3'/></t></a>", "pt"),
        ("<a><b><c>1</c></b></a>", None),
    ],
)
def test_the_element_of_records_is_the_outermost_with_one_place(
    document: str, element: str | None, dataset: Dataset
) -> None:
    assert xml_documents.record_element(dataset.write("a.xml", document), ()) == element


@pytest.mark.slow
def test_files_of_a_day_are_read_at_once_or_one_by_one_to_the_same_rows(buses: Dataset) -> None:
    for number in range(3):
        record = BUS.format("", number).replace("b1", f"b{number}")
        buses.write(f"{number}.xml", f"<buses>{record}{BUS.format('', 7)}</buses>")
    ingest(buses)
    together = rows_of(buses)
    assert len(together) == 6
    buses.set(path="other")
    for number in range(3):
        buses.write(f"{number}.xml", (buses.folder / "raw" / f"{number}.xml").read_text() + f"<!--{' ' * (1 << 22)}-->")
    ingest(buses)
    assert rows_of(buses) == together


@pytest.mark.parametrize(
    ("start", "name"),
    [(b"\xef\xbb\xbf<?xml ?>", "xml"), (b"<gpx>", "xml"), (b"<!DOCTYPE html>", None), (b"<html>", None)],
)
def test_xml_is_recognised_and_pages_are_not(start: bytes, name: str | None) -> None:
    found = format_by_start(start)
    assert (found and found.name) == name


def track(dataset: Dataset, name: str, *lines: str) -> Path:
    path = dataset.folder / "raw" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\r\n".join([*PLT, *lines]) + "\r\n")
    return path


def configure_track(dataset: Dataset, user: str) -> None:
    dataset.edit('user = "bus"', f'user = "{user}"')
    dataset.edit('value = "speed"', 'value = "{speed}"')
    dataset.edit('latitude = "lat"', 'latitude = "latitude"')
    dataset.edit('longitude = "lon"', 'longitude = "longitude"')
    dataset.set(files=["raw/**/*.plt"])


@pytest.mark.parametrize(("user", "named"), [("{folder}", "Trajectory"), ("{folder/..}", "000")])
def test_fixes_of_a_track_are_read_and_the_folder_is_the_user(user: str, named: str, dataset: Dataset) -> None:
    configure_track(dataset, user)
    days = SECOND / 86400 + 25569
    track(dataset, "000/Trajectory/20260115080000.plt", f"47.05,8.31,0,492,{days:.10f},x,y", "47.05", "x,8,0,1,x,,", "")
    ingest(dataset)
    assert rows_of(dataset) == [(named, SECOND, 47.05, 8.31, None), (named, None, None, 8.0, None)]
    assert dataset.query("select n_rows, n_malformed, n_undated from raw_file") == [(3, 1, 1)]


@pytest.mark.parametrize("name", ["2026-01-15/a.plt", "hour 07/a.plt"])
def test_a_folder_of_a_date_or_an_hour_is_no_user(name: str, dataset: Dataset) -> None:
    configure_track(dataset, "{folder}")
    path = track(dataset, name, "47.05,8.31,0,492,46037,x,y")
    assert f'{path}: columns.user = "{{folder}}" takes the user from the name of a folder' in refusal(dataset)


def test_a_column_that_a_track_does_not_have_is_refused(dataset: Dataset) -> None:
    configure_track(dataset, "{folder}")
    dataset.edit('"{speed}"', '"altitude"')
    track(dataset, "a/b.plt", "47.05,8.31,0,492,46037,x,y")
    assert 'no column "altitude" (columns.value); a track has: latitude, longitude, time' in refusal(dataset)


RECORD = {"time": f"{DATE}T08:00:00Z", "lat": 47.05, "lon": 8.31, "speed": 30}
FILES = {
    "csv": "time,lat,lon,speed\n" + ",".join(map(str, RECORD.values())) + "\n",
    "ndjson": json.dumps(RECORD) + "\n",
    "json": json.dumps([RECORD]),
    "xml": "<a><r>" + "".join(f"<{name}>{of}</{name}>" for name, of in RECORD.items()) + "</r></a>",
}


@pytest.mark.quick(4)
@pytest.mark.parametrize("is_archive", [False, True])
@pytest.mark.parametrize("user", ["{file}", "{folder}", "{folder/..}"])
@pytest.mark.parametrize("ending", FILES)
def test_the_path_of_a_file_is_its_user_in_each_format_of_texts(
    ending: str, user: str, is_archive: bool, dataset: Dataset
) -> None:
    names = ("anna/rides/one", "bert/walks/two")
    dataset.edit('user = "bus"', f'user = "{user}"')
    dataset.set(files=["raw/*.zip" if is_archive else f"raw/**/*.{ending}"], records="r" if ending == "xml" else None)
    archive = dataset.write("all.zip", b"")
    with zipfile.ZipFile(archive, "w") as packed:
        for name in names:
            packed.writestr(f"{name}.{ending}", FILES[ending])
    if not is_archive:
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(archive.parent)
    ingest(dataset)
    position = {"{file}": 2, "{folder}": 1, "{folder/..}": 0}[user]
    assert rows_of(dataset) == [(name.split("/")[position], SECOND, 47.05, 8.31, 30.0) for name in names]


def test_records_that_are_lists_are_read_by_position_and_others_are_none(dataset: Dataset) -> None:
    for role, name in (("bus", "[0]"), ("time", "[1]"), ("lat", "[3]"), ("lon", "[2]"), ("speed", "[4]")):
        dataset.edit(f'"{role}"', f'"{name}"')
    dataset.edit('name = "[4]"', 'name = "speed"')
    dataset.set(records="states")
    dataset.write("a.json", json.dumps({"time": 1, "states": [["b1", SECOND, 8.31, 47.05, 30], {"a": 1}, ["b2"]]}))
    ingest(dataset)
    assert rows_of(dataset) == [("b1", SECOND, 47.05, 8.31, 30.0), ("b2", None, None, None, None)]
    assert dataset.query("select n_rows, n_malformed from raw_file") == [(3, 1)]


@pytest.mark.parametrize("first", ["now", "buses"])
def test_a_time_beside_the_list_is_that_of_each_record(first: str, dataset: Dataset) -> None:
    dataset.edit('"time"', '"meta.now"')
    dataset.set(records="buses")
    where = {"lat": 47.05, "lon": 8.31, "speed": 30}
    members = [("meta", {"now": SECOND, "text": '"buses": ['}), ("buses", [{"bus": "b1", **where}, {}, 7])]
    document = dict(members if first == "now" else members[::-1])
    dataset.write("a.json", json.dumps(document))
    ingest(dataset)
    assert rows_of(dataset) == [("b1", SECOND, 47.05, 8.31, 30.0), (None, SECOND, None, None, None)]
    assert dataset.query("select n_rows, n_malformed from raw_file") == [(3, 1)]


def test_a_small_snapshot_may_lack_what_a_large_one_must_have(dataset: Dataset) -> None:
    plane = {"bus": "a", "time": f"{DATE}T08:00:00Z"}
    dataset.write("night.json", json.dumps([plane]))
    dataset.write("day.json", json.dumps([{**plane, "lat": 47.05, "lon": 8.31, "speed": 1}] * 20))
    ingest(dataset)
    assert dataset.query("select n_rows from raw_file order by all") == [(1,), (20,)]
    dataset.write("wrong.json", json.dumps([plane] * 20))
    assert 'wrong.json: no column "lat" (columns.latitude) in any line' in refusal(dataset)
