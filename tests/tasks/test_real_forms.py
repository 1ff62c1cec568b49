"""Feeds as people have them: what `init` proposes for files of real forms, by names and structure alone."""

import json
import re
import tarfile
import zipfile
from functools import partial
from typing import Any

import pytest
from real_forms import FORMS, files_of
from support import DATE, Dataset

from flows.questions import Asker, asked_columns, asked_value, given_only
from tasks.base.errors import BadInput, HexveilError
from tasks.records.init.proposal import Proposal, propose_source
from tasks.records.input_formats.gtfs_realtime import TIME_OF_FEED
from tasks.records.input_formats.input_format import Given

PRESETS = {
    "gtfs_rt_without_speeds": None,
    "ais": "ais",
    "ais_2025": "ais-2025",
    "ais_denmark": "ais-denmark",
    "opensky_csv": "adsb",
    "opensky_states": "opensky-states",
    "readsb": "readsb",
    "dump1090": "dump1090",
    "nextbus": "nextbus",
    "sensor_community": "sensor-community",
    "openaq": "openaq",
    "siri_json": "siri-vm",
    "siri_xml": "siri-vm",
    "gpx": "gpx",
    "gpx_with_speeds": "gpx-speed",
    "geolife": "geolife",
    "mds_telemetry": "mds",
    "mds_trips": "mds-trips",
    "gbfs": None,
    "gbfs_2": None,
    "fares": "fare-taps",
}
IN_UTC = ("ais", "ais_2025", "ais_denmark", "sensor_community")


def proposed(form: str, dataset: Dataset) -> Proposal:
    pattern, options = FORMS[form](dataset)
    said = dict(zip(options[::2], options[1::2], strict=True))
    columns = {"value": said["--value"]} if "--value" in said else {}
    given = Given(format=said.get("--format"), columns=columns)
    return propose_source(files_of(dataset, pattern), dataset.folder, given)


@pytest.mark.quick(1)
@pytest.mark.parametrize("form", PRESETS)
def test_a_real_form_is_recognised(form: str, dataset: Dataset) -> None:
    found = proposed(form, dataset)
    assert found.missing == []
    if PRESETS[form]:
        assert found.settings["dataset"]["preset"] == PRESETS[form]
    assert found.settings["columns"].get("time_zone") == ("UTC" if form in IN_UTC else None)


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("form", "age"), [("readsb", "seen_pos"), ("dump1090", "seen_pos"), ("nextbus", "secsSinceReport"), ("gbfs", None)]
)
def test_a_preset_says_how_old_fixes_are(form: str, age: str | None, dataset: Dataset) -> None:
    assert proposed(form, dataset).settings["columns"].get("age") == age


@pytest.mark.slow
def test_of_several_parameters_the_commonest_is_proposed_or_the_one_that_is_said(dataset: Dataset) -> None:
    found = proposed("openaq", dataset)
    assert found.settings["columns"]["only"] == {"parameter": ["pm25"]}
    said = " ".join(found.reasons)
    assert "'parameter' has pm25, o3, no2, the commonest first" in said
    assert "'units' has" not in said
    files = files_of(dataset, "location-*.csv")
    other = propose_source(files, dataset.folder, Given(only={"parameter": ["o3", "no2"]}))
    assert other.settings["columns"]["only"] == {"parameter": ["o3", "no2"]}
    for columns, why in (({"kind": ["a"]}, 'no column "kind"'), ({"value": ["1"]}, '"value" is a column of the')):
        with pytest.raises(BadInput, match=why):
            propose_source(files, dataset.folder, Given(only=columns))


def test_snapshots_in_an_archive_are_of_no_speeds_as_those_in_a_folder(dataset: Dataset) -> None:
    pattern, _ = FORMS["gtfs_rt_without_speeds"](dataset)
    path = dataset.folder / "raw" / "day.tar"
    with tarfile.open(path, "w") as archive:
        for one in files_of(dataset, pattern):
            archive.add(one, one.name)
    found = propose_source([path], dataset.folder, Given())
    assert (found.settings["columns"]["value"], found.settings["columns"]["time_else"]) == ("{speed}", TIME_OF_FEED)
    assert found.settings["dataset"]["format"] == "gtfs-rt"


@pytest.mark.slow
def test_speeds_of_a_garmin_are_read_and_an_activity_is_no_user(dataset: Dataset) -> None:
    pattern, _ = FORMS["gpx"](dataset)
    for number, path in enumerate(files_of(dataset, pattern)):
        speed = "<y:TrackPointExtension><y:speed>5</y:speed></y:TrackPointExtension><x:hr>"
        text = path.read_text().replace("<x:hr>", speed).replace("xmlns:x=", 'xmlns:y="urn:y" xmlns:x=')
        path.write_text(text)
        dataset.write(f"activity_{9871230000 + number}.gpx", text)
    found = propose_source(files_of(dataset, "runner*.gpx"), dataset.folder, Given())
    assert found.settings["dataset"]["preset"] == "gpx-garmin"
    assert propose_source(files_of(dataset, "activity*.gpx"), dataset.folder, Given()).missing == ["user"]


@pytest.mark.slow
def test_the_pattern_of_folders_finds_users_that_come_later(dataset: Dataset) -> None:
    found = proposed("geolife", dataset)
    assert found.settings["dataset"]["files"] == ["raw/Data/*/Trajectory/*.plt"]
    assert found.settings["columns"]["user"] == "{folder/..}"


@pytest.mark.slow
def test_the_time_of_the_whole_document_is_taken_where_records_have_none(dataset: Dataset) -> None:
    columns = proposed("gbfs_2", dataset).settings["columns"]
    assert (columns["time"], columns["value"]) == ("last_updated", "{speed}")


@pytest.mark.parametrize(
    ("document", "at"),
    [
        ({"vehicles": [{"id": "a", "lat": 47.0, "lon": 8.3, "stops": [{"n": 1}, {"n": 2}]}]}, "vehicles"),
        ({"routes": [{"n": 1}] * 9, "vehicles": [{"id": "a", "lat": 47.0, "lon": 8.3}]}, "vehicles"),
        ({"shape": [[8.3, 47.0]] * 9, "states": [["a", 1, 47.0, 8.3]]}, "states"),
    ],
)
def test_the_records_of_a_document_are_those_with_places(document: Any, at: str, dataset: Dataset) -> None:
    path = dataset.write("a.json", json.dumps(document))
    given = Given(columns={"value": "[1]" if at == "states" else "id"})
    found = propose_source([path], dataset.folder, given)
    assert found.settings["dataset"].get("records") == at


def test_an_id_that_siri_wraps_in_a_value_is_the_user(dataset: Dataset) -> None:
    journey = {"VehicleRef": {"value": "TKL_56"}, "VehicleLocation": {"Longitude": 23.7, "Latitude": 61.5}}
    activity = {"RecordedAtTime": 1768464000000, "MonitoredVehicleJourney": journey}
    path = dataset.write("a.json", json.dumps({"VehicleActivity": [activity]}))
    found = propose_source([path], dataset.folder, Given(columns={"value": "{speed}"}))
    assert found.settings["columns"]["user"] == "MonitoredVehicleJourney.VehicleRef.value"
    assert found.settings["columns"]["time_unit"] == "ms"


@pytest.mark.parametrize("empty", ["[]", '{"vehicle": []}', '{"vehicle": null}'])
def test_a_first_snapshot_without_records_is_passed_over(dataset: Dataset, empty: str) -> None:
    """At midnight nobody drives; times are as BusTime writes them."""
    files = [dataset.write("000.json", empty)]
    for number in range(3):
        buses = [
            {
                "vid": f"{bus}",
                "tmstmp": f"20260115 09:{number:02}",
                "lat": f"41.{bus}{number}",
                "lon": "-87.63",
                "spd": 9,
            }
            for bus in range(5)
        ]
        files.append(dataset.write(f"{number}.json", json.dumps(buses if empty == "[]" else {"vehicle": buses})))
    found = propose_source(files, dataset.folder, Given())
    assert found.missing == []
    assert found.settings["columns"]["time"] == "tmstmp"
    assert found.settings["columns"]["time_format"] == "%Y%m%d %H:%M"


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("ordem", "datahora", "velocidade"), ["--user", "--unit"]),
        (("ordem", "datahora", "wert"), ["--user", "--value"]),
        (("id", "datahora", "amount"), ["--unit", "--lower", "--upper"]),
    ],
)
def test_all_that_is_missing_is_said_at_once(dataset: Dataset, names: tuple[str, str, str], said: list[str]) -> None:
    """Each round is a command more; and what follows from an answer, such as the bounds of a speed, is not asked."""
    rows = "".join(f"A{n % 7},{DATE}T08:{n:02}:00Z,{n},-22.9,-43.{n:02}\n" for n in range(30))
    path = dataset.write("a.csv", f"{','.join(names)},latitude,longitude\n{rows}")
    proposal = propose_source([path], dataset.folder, Given())
    of_value = partial(asked_value, None, None, None, None, None, [])
    with pytest.raises(HexveilError) as caught:
        (asked_columns if proposal.missing else of_value)(proposal, Asker(False))
    assert re.findall(r"(--\w+) is missing", str(caught.value)) == said
    assert ("with a column say --unit, --lower, --upper too" in str(caught.value)) == ("--value" in said)


def test_what_is_only_called_a_time_stands_in_for_none(dataset: Dataset) -> None:
    """GTFS-Realtime as JSON, with entities of other kinds: the sequence of a stop is no time."""
    vehicles = [
        {"vehicle": {"timestamp": 1768464000 + n, "vehicle": {"id": f"V{n % 5}"}, "position": place}, "id": f"e{n}"}
        for n in range(30)
        for place in [{"latitude": -36.8 - n / 1000, "longitude": 174.7, "speed": 5.5}]
    ]
    update = {"id": "t", "trip_update": {"stop_time_update": {"stop_sequence": 3}, "timestamp": 1768464000}}
    path = dataset.write("a.json", json.dumps({"response": {"entity": [*vehicles, update]}}))
    found = propose_source([path], dataset.folder, Given())
    assert found.settings["columns"]["time"] == ["vehicle.timestamp", "trip_update.timestamp"]


def test_folders_in_an_archive_name_the_users_of_its_tracks(dataset: Dataset) -> None:
    start = "Geolife trajectory\r\nWGS 84\r\n\r\n\r\n\r\n0\r\n"
    with zipfile.ZipFile(dataset.write("geolife.zip", b""), "w") as pack:
        for user in range(3):
            lines = (f"39.9{n},116.3,0,492,39744.12,2008-10-23,02:53:{n:02}\r\n" for n in range(10, 60))
            pack.writestr(f"Data/{user:03}/Trajectory/20081023025304.plt", start + "".join(lines))
            pack.writestr(f"Data/{user:03}/labels.txt", "Start Time")
    found = propose_source([dataset.folder / "raw/geolife.zip"], dataset.folder, Given())
    assert found.settings["dataset"]["files"] == ["raw/geolife.zip"]
    assert found.settings["columns"]["user"] == "{folder/..}"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("a.csv.xz", ".xz is not read; unpack it, or pack it with gzip or zstd"),
        ("a.7z", "make a .zip"),
        ("a.xlsx", "CSV"),
    ],
)
def test_what_to_do_about_a_known_file_that_is_not_read_is_said(dataset: Dataset, name: str, said: str) -> None:
    with pytest.raises(BadInput, match=re.escape(said)):
        propose_source([dataset.write(name, b"\xfd7zXZ\0")], dataset.folder, Given())


def test_texts_of_one_column_may_be_said_one_after_the_other() -> None:
    assert given_only(["a=1, 2", "b=x", "a=3"]) == {"a": ["1", "2", "3"], "b": ["x"]}
    with pytest.raises(HexveilError, match="must name a column and its texts"):
        given_only(["a=1", "a=,"])
