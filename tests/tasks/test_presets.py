"""Presets: published forms of vehicle data are read by their name alone."""

import json
import tomllib
from decimal import Decimal
from pathlib import Path

import jsonschema
import pytest
from feeds import REST, snapshot
from google.transit import gtfs_realtime_pb2
from reading import ingest, refusal, rows_of
from support import DATE, Dataset

from tasks.base.errors import BadConfig
from tasks.records.init.proposal import propose_source
from tasks.records.input_formats.input_format import Given

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "reference" / "settings.schema.json").read_text())
PRESET = """
[dataset]
name = "buses"
files = ["raw/*"]
timezone = "UTC"
preset = "{}"
[value]
unit = "km/h"
lower = 0.0
upper = 80.0
tick = 0.1
"""
SECOND = 1768464000
TIDES = """location_ping_id,service_date,event_timestamp,vehicle_id,device_id,latitude,longitude,heading,speed
1,2026-01-15,2026-01-15T08:00:00Z,bus1,d1,47.05,8.31,90,10
"""
MDS = {
    "device_id": "bus1",
    "provider_id": "p",
    "telemetry_id": "t",
    "timestamp": SECOND * 1000,
    "trip_ids": None,
    "location": {"lat": 47.05, "lng": 8.31, "speed": 10, "heading": 90},
}
IUDX = {
    "license_plate": "bus1",
    "observationDateTime": "2026-01-15T13:30:00+05:30",
    "location": {"type": "Point", "coordinates": [8.31, 47.05]},
    "speed": "10",
}
FILES = {
    "tides": ("vehicle_locations.csv", TIDES.encode(), "3.6"),
    "mds": ("telemetry", json.dumps({"version": "2.0.0", "telemetry": [MDS]}).encode(), "3.6"),
    "iudx": ("latest", json.dumps({"type": "urn:dx:rs:success", "results": [IUDX]}).encode(), "1"),
    "gtfs-rt": ("VehiclePositions", snapshot([("bus1", SECOND, 21)]), "3.6"),
}


def test_an_age_that_a_preset_knows_is_that_of_its_own_time(dataset: Dataset) -> None:
    configure(dataset, "readsb")
    assert dataset.config.columns.age == "seen_pos"
    dataset.edit("[value]", '[columns]\ntime = "position_time"\n[value]')
    assert dataset.config.columns.age is None


def configure(dataset: Dataset, preset: str) -> None:
    dataset.config_file.write_text(PRESET.format(preset) + REST)


@pytest.mark.parametrize("preset", FILES)
def test_a_preset_reads_its_form_with_nothing_else_said(dataset: Dataset, preset: str) -> None:
    configure(dataset, preset)
    name, content, factor = FILES[preset]
    dataset.write(name, content)
    ingest(dataset)
    ((user, second, latitude, longitude, value),) = rows_of(dataset)
    if preset == "gtfs-rt":
        assert (user, second, value) == ("bus1", SECOND, 99999)
    else:
        assert (user, second, latitude, longitude, value) == ("bus1", SECOND, 47.05, 8.31, 10)
    assert dataset.config.value.factor == Decimal(factor)
    assert dataset.config.value.name == "speed"
    settings = tomllib.loads(dataset.config_file.read_text())
    jsonschema.validate(settings, SCHEMA, jsonschema.Draft7Validator)
    del settings["dataset"]["preset"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(settings, SCHEMA, jsonschema.Draft7Validator)


def test_what_the_file_says_itself_stays(dataset: Dataset) -> None:
    configure(dataset, "gtfs-rt")
    dataset.edit("[value]", '[columns]\nuser = "vehicle.label"\ntime = "header.timestamp"\n[value]\nname = "pace"')
    dataset.set(unit="knots", factor=1.943844)
    config = dataset.config
    assert (config.columns.user, config.columns.time) == ("vehicle.label", "header.timestamp")
    assert config.columns.value == "position.speed"
    assert (config.value.name, config.value.factor) == ("pace", Decimal("1.943844"))


def test_names_and_unit_that_a_city_of_iudx_has_otherwise_replace_those_of_the_preset(dataset: Dataset) -> None:
    configure(dataset, "iudx")
    dataset.set(records="data.buses")
    dataset.edit("[value]", '[columns]\nuser = "vehicle_id"\nvalue = "gps.pace"\n[value]\nname = "speed"\nfactor = 3.6')
    bus = {**IUDX, "vehicle_id": "52TC12", "gps": {"pace": 7.5}}
    dataset.write("latest", json.dumps({"data": {"buses": [bus]}}))
    ingest(dataset)
    assert rows_of(dataset) == [("52TC12", SECOND, 47.05, 8.31, 7.5)]
    assert dataset.config.value.factor == Decimal("3.6")


def test_a_time_of_another_form_replaces_that_of_the_preset(dataset: Dataset) -> None:
    configure(dataset, "mds")
    dataset.edit("[value]", '[columns]\ntime_format = "%Y"\n[value]')
    assert (dataset.config.columns.time_unit, dataset.config.columns.time_format) == (None, "%Y")


def test_what_a_preset_filled_in_is_recorded_and_the_preset_is_not(dataset: Dataset) -> None:
    configure(dataset, "gtfs-rt")
    recorded = dataset.config.public_settings()
    assert recorded["columns"]["user"] == "vehicle.id"
    assert recorded["value"]["factor"] == "3.6"
    assert "preset" not in recorded["dataset"]


def test_a_speed_in_a_unit_without_a_known_factor_is_refused(dataset: Dataset) -> None:
    configure(dataset, "tides")
    dataset.set(unit="knots")
    with pytest.raises(BadConfig, match=r"value\.factor is missing"):
        _ = dataset.config


def test_an_unknown_preset_is_refused(dataset: Dataset) -> None:
    configure(dataset, "siri")
    with pytest.raises(BadConfig, match=r"dataset\.preset"):
        _ = dataset.config


def test_what_a_feed_does_not_say_is_no_value_of_zero(dataset: Dataset) -> None:
    configure(dataset, "gtfs-rt")
    feed = gtfs_realtime_pb2.FeedMessage()  # pyright: ignore[reportAttributeAccessIssue]
    feed.header.gtfs_realtime_version = "2.0"
    feed.header.timestamp = SECOND
    feed.entity.add(id="1").vehicle.vehicle.id = ""
    feed.entity.add(id="2").vehicle.position.latitude = 1
    feed.entity[1].vehicle.position.longitude = 2
    feed.entity.add(id="3").alert.SetInParent()
    dataset.write("feed", feed.SerializeToString())
    ingest(dataset)
    assert dataset.query("select user_id, observed_at, latitude, value from raw_record order by latitude") == [
        (None, None, 1.0, None),
        (None, None, None, None),
    ]
    assert dataset.query("select n_rows, n_undated from raw_file") == [(2, 2)]
    dataset.edit("[value]", '[columns]\ntime = "header.timestamp"\n[value]')
    ingest(dataset)
    assert dataset.query("select distinct epoch(observed_at) from raw_record where observed_at is not null") == [
        (SECOND,)
    ]


@pytest.mark.parametrize("content", [b"", b"<html>not found</html>", FILES["gtfs-rt"][1][:-3], b'{"entity": []}'])
def test_what_is_no_whole_feed_is_refused(dataset: Dataset, content: bytes) -> None:
    configure(dataset, "gtfs-rt")
    dataset.write("feed", content)
    assert "not a whole FeedMessage of GTFS-Realtime" in refusal(dataset)


@pytest.mark.parametrize("field", ["position.pace", "position", "timestamp.seconds", "multi_carriage_details.id"])
def test_a_field_that_gtfs_realtime_does_not_have_is_refused_with_those_it_has(dataset: Dataset, field: str) -> None:
    configure(dataset, "gtfs-rt")
    dataset.edit("[value]", f'[columns]\nvalue = "{field}"\n[value]\nname = "speed"')
    dataset.write("feed", FILES["gtfs-rt"][1])
    assert f'GTFS-Realtime has no value "{field}" (columns.value)' in refusal(dataset)


def test_ids_are_trimmed_and_rows_of_other_days_are_left_to_their_days(dataset: Dataset) -> None:
    configure(dataset, "gtfs-rt")
    dataset.write("feed", snapshot([(" bus1 ", SECOND, 10), ("bus1", SECOND - 86400, 11)]))
    ingest(dataset)
    assert dataset.query("select user_id, local_date::varchar from raw_record order by all") == [
        ("bus1", "2026-01-14"),
        ("bus1", str(DATE)),
    ]


@pytest.mark.parametrize(("ending", "preset"), [("json", "mds"), ("ndjson", None)])
def test_init_takes_a_preset_only_for_files_of_its_format(dataset: Dataset, ending: str, preset: str | None) -> None:
    content = json.dumps({"telemetry": [MDS]} if ending == "json" else MDS) + "\n"
    found = propose_source([dataset.write(f"a.{ending}", content)], dataset.folder, Given())
    assert found.settings["dataset"].get("preset") == preset
    assert found.settings["columns"]["value"] == "location.speed"


MORE = {
    "ais": (
        "ais.csv",
        "MMSI,BaseDateTime,LAT,LON,SOG,COG,Heading,VesselName\n"
        "367000001,2026-01-15T08:00:00,40.68,-74.02,10.0,12.5,511,A\n367000002,2026-01-15T08:00:09,40.68,-74.02,102.3,,,\n",
    ),
    "adsb": (
        "states.csv",
        "time,icao24,lat,lon,velocity,heading,vertrate,callsign,onground\n"
        f"{SECOND},4b1817,47.05,8.31,100,270,0,SWR1,False\n{SECOND},4b1818,,,,,,,True\n",
    ),
    "sensor-community": (
        "sds011.csv",
        "sensor_id;sensor_type;location;lat;lon;timestamp;P1;durP1;ratioP1;P2\n"
        "140;SDS011;64;48.80;9.00;2026-01-15T08:00:06;8.43;;;2.83\n",
    ),
    "openaq": (
        "location.csv",
        "location_id,sensors_id,location,datetime,lat,lon,parameter,units,value\n"
        "2178,3916,DelNorte,2026-01-15T08:00:00-07:00,35.13,-106.58,pm25,ug/m3,5.0\n",
    ),
    "siri-vm": (
        "vm.json",
        json.dumps(
            {
                "Siri": {
                    "ServiceDelivery": {
                        "VehicleMonitoringDelivery": [
                            {
                                "VehicleActivity": [
                                    {
                                        "RecordedAtTime": "2026-01-15T08:00:00Z",
                                        "MonitoredVehicleJourney": {
                                            "VehicleRef": "MTA_1",
                                            "VehicleLocation": {"Longitude": -73.9, "Latitude": 40.7},
                                        },
                                    }
                                ]
                            },
                            {"ResponseTimestamp": "2026-01-15T08:00:05Z"},
                        ]
                    }
                }
            }
        ),
    ),
    "gbfs": (
        "vehicle_status.json",
        json.dumps(
            {
                "last_updated": SECOND,
                "data": {"vehicles": [{"vehicle_id": "a", "lat": 47.05, "lon": 8.31, "last_reported": SECOND}]},
            }
        ),
    ),
}


@pytest.mark.quick(2)
@pytest.mark.parametrize("preset", MORE)
def test_a_file_of_its_real_form_is_read_by_the_preset_alone(preset: str, dataset: Dataset) -> None:
    name, content = MORE[preset]
    configure(dataset, preset)
    path = dataset.write(name, content)
    ingest(dataset)
    (user, _, latitude, longitude, _) = rows_of(dataset)[0]
    assert user
    assert latitude is not None
    assert longitude is not None
    assert dataset.query("select count(*) from raw_record where observed_at is null") == [(0,)]
    factors = {"ais": Decimal("1.852"), "adsb": Decimal("3.6")}
    assert dataset.config.value.factor == factors.get(preset, 1)
    records = dataset.config.dataset.records if preset == "siri-vm" else None
    given = Given(records=records, columns={"value": dataset.config.columns.value})
    proposal = propose_source([path], dataset.folder, given)
    assert proposal.missing == []
    assert proposal.settings["dataset"]["preset"] == preset
