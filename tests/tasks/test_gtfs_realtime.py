"""GTFS-Realtime that is damaged: one bad entity costs no other its place, and no speed decides on a record."""

import math
import struct
from typing import Any

import pytest
from feeds import REST, snapshot
from google.transit import gtfs_realtime_pb2
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import ingest, refusal, rows_of
from support import DATE, Dataset

from tasks.base.errors import BadConfig, BadInput
from tasks.records.init.proposal import propose_source
from tasks.records.input_formats import gtfs_realtime
from tasks.records.input_formats.input_format import Given

SECOND = 1768471552
PRESET = """
[dataset]
name = "buses"
files = ["raw/*"]
timezone = "UTC"
preset = "gtfs-rt"
[value]
unit = "m/s"
lower = 0.0
upper = 80.0
tick = 0.1
"""
VARINT, FIXED64, LENGTH, GROUP, END_GROUP, FIXED32 = range(6)
HEADER = b"\x0a\x05" + b"\x0a\x032.0"
LATITUDE, LONGITUDE = (
    bytes([number << 3 | FIXED32]) + struct.pack("<f", degrees) for number, degrees in ((1, 47), (2, 8))
)
PLACE = LATITUDE + LONGITUDE
OF_BUS = b"\x0a\x04bus1"
AT = b"\x28\x80\xf8\xa2\xcb\x06"


def field(number: int, kind: int, content: bytes) -> bytes:
    return bytes([number << 3 | kind]) + (bytes([len(content)]) if kind == LENGTH else b"") + content


def vehicle(position: bytes = PLACE, descriptor: bytes = OF_BUS, at: bytes = AT) -> bytes:
    """Return a VehiclePosition from the bytes of its parts."""
    return field(2, LENGTH, position) + at + field(8, LENGTH, descriptor)


def entity(of_vehicle: bytes, kind: int = LENGTH) -> bytes:
    return field(2, LENGTH, field(1, LENGTH, b"7") + field(4, kind, of_vehicle))


def feed(*entities: bytes) -> bytes:
    """Return a feed with some entities, and a good one of bus2 after them."""
    good = entity(vehicle(PLACE + b"\x2d" + struct.pack("<f", 9), b"\x0a\x04bus2"))
    return HEADER + b"".join(entities) + good


@pytest.fixture
def rt(dataset: Dataset) -> Dataset:
    dataset.config_file.write_text(PRESET + REST.replace("max_quarantined_share = 0.3", "max_quarantined_share = 1"))
    return dataset


def outcomes(dataset: Dataset, content: bytes) -> dict[str, int]:
    """Return how many rows of a feed have each outcome, after the day is prepared."""
    dataset.write("feed.pb", content)
    dataset.prepare()
    kept = dataset.query(f"select coalesce(sum(n_records), 0)::int from user_cell where local_date = '{DATE}'")[0][0]
    return {"kept": kept, **dict(dataset.query("select reason, count(*) from quarantine group by all"))}


def test_the_bytes_of_these_tests_are_a_feed() -> None:
    decoded: Any = gtfs_realtime_pb2.FeedMessage.FromString(feed(entity(vehicle())))  # pyright: ignore[reportAttributeAccessIssue]
    assert decoded.IsInitialized()
    assert [one.vehicle.vehicle.id for one in decoded.entity] == ["bus1", "bus2"]
    assert {one.vehicle.timestamp for one in decoded.entity} == {SECOND}


@pytest.mark.quick(3)
@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (entity(vehicle(at=b"\x28" + b"\xff" * 9 + b"\x01")), "time_unreadable"),
        (entity(vehicle(at=b"\x28" + b"\xff" * 8 + b"\x7f")), "time_unreadable"),
        (entity(vehicle(at=field(5, LENGTH, b"now"))), "time_unreadable"),
        (entity(vehicle(at=b"")), "time_unreadable"),
        (entity(vehicle(descriptor=b"\x0a\x02\xff\xfe")), "no_user"),
        (entity(vehicle(descriptor=b"\x08\x01")), "no_user"),
        (entity(vehicle(field(1, VARINT, b"\x05") + LONGITUDE)), "place_unreadable"),
        (entity(vehicle(LATITUDE)), "place_unreadable"),
        (entity(AT + field(2, VARINT, b"\x05") + field(8, LENGTH, OF_BUS)), "place_unreadable"),
        (entity(b"\x05", VARINT), "malformed_row"),
        (entity(vehicle() + b"\x3f"), "malformed_row"),
        (entity(vehicle()[:-2]), "malformed_row"),
        (entity(vehicle(at=b"\x28" + b"\xff" * 11)), "malformed_row"),
        (field(2, LENGTH, b"\xff\xff\xff"), "malformed_row"),
    ],
)
def test_one_bad_entity_is_counted_and_the_others_are_kept(rt: Dataset, bad: bytes, reason: str) -> None:
    assert outcomes(rt, feed(bad)) == {"kept": 1, reason: 1}
    assert rt.query("select n_rows from raw_file") == [(2,)]


def test_a_vehicle_without_an_entity_s_id_is_a_vehicle(rt: Dataset) -> None:
    assert outcomes(rt, feed(field(2, LENGTH, field(4, LENGTH, vehicle())))) == {"kept": 2}


@pytest.mark.quick(3)
@pytest.mark.parametrize(
    "speed",
    [
        b"",
        field(5, VARINT, b"\x05"),
        field(5, FIXED64, bytes(8)),
        field(5, LENGTH, b"N/A"),
        field(5, GROUP, b"\x2c"),
        *(b"\x2d" + struct.pack("<f", one) for one in (0, -1, 99999, math.nan, math.inf, -math.inf, 1e-45)),
    ],
)
def test_no_speed_decides_on_a_record(rt: Dataset, speed: bytes) -> None:
    assert outcomes(rt, feed(entity(vehicle(PLACE + speed)))) == {"kept": 2}


@settings(max_examples=300)
@given(bits=st.integers(0, (1 << 32) - 1), speed_first=st.booleans())
def test_whatever_its_four_bytes_are(bits: int, speed_first: bool) -> None:
    speed = b"\x2d" + bits.to_bytes(4, "little")
    content = feed(entity(vehicle(speed + PLACE if speed_first else PLACE + speed)))
    for whole in (content, feed(field(2, LENGTH, b"\xff")) + content[len(HEADER) :]):
        found = [one for one in gtfs_realtime._vehicles(gtfs_realtime._decoded(whole)[1]) if one is not None]
        of_bus = next(one for one in found if one.vehicle.id == "bus1")
        assert (of_bus.timestamp, of_bus.position.latitude) == (SECOND, 47)


@settings(max_examples=300)
@given(content=st.binary(max_size=60))
def test_no_bytes_of_an_entity_end_the_day(content: bytes) -> None:
    decoded = list(gtfs_realtime._vehicles(gtfs_realtime._decoded(feed(field(2, LENGTH, content)))[1]))
    assert decoded[-1].vehicle.id == "bus2"
    read = gtfs_realtime.Feed(None, decoded)
    for name in (one for one in gtfs_realtime.names() if not one.startswith("header.")):
        assert len(gtfs_realtime.column(read, name)) == sum(one is not None for one in decoded)


def header(second: int) -> bytes:
    """Return the header of a feed that has a time."""
    return field(1, LENGTH, b"\x0a\x032.0\x18" + varint(second))


def varint(number: int) -> bytes:
    """Return a number of 64 bits as protobuf writes it."""
    return bytes([*(number >> shift & 127 | 128 for shift in range(0, 63, 7)), number >> 63])


@pytest.mark.quick(3)
@pytest.mark.parametrize("number", [0, 1, (1 << 53) - 1, (1 << 53) + 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1])
@pytest.mark.parametrize("role", ["value", "user"])
def test_any_number_of_a_field_keeps_its_record(rt: Dataset, role: str, number: int) -> None:
    """A number that the engine's own type cannot hold is no reason to lose the record, or even the day."""
    rt.edit(
        "[value]",
        f'[columns]\n{role} = "timestamp"\ntime = "trip.start_date"\ntime_format = "%Y%m%d"\n[value]\n'
        'name = "number"\nfactor = 1',
    )
    made = field(1, LENGTH, field(3, LENGTH, b"20260115"))
    rt.write(
        "feed.pb",
        HEADER + entity(vehicle(at=b"\x28" + varint(number)) + made) + entity(vehicle(PLACE, b"\x0a\x04bus3") + made),
    )
    rt.prepare()
    assert rt.query("select sum(n_records)::int from user_cell") == [(2,)]
    read = rt.query("select user_id, value from raw_record order by row_number")[0]
    assert read[role == "value"] == (float(number) if role == "value" else str(number))


ELSE = '[columns]\ntime_else = "header.timestamp"\n[value]'


@pytest.mark.parametrize(
    ("own", "at"), [(b"", SECOND + 7), (b"\x28\x00", SECOND + 7), (AT, SECOND), (b"\x28" + varint(1 << 63), None)]
)
def test_a_vehicle_without_a_time_has_that_of_the_feed_if_the_owner_says_so(
    rt: Dataset, own: bytes, at: int | None
) -> None:
    rt.edit("[value]", ELSE)
    rt.write("feed.pb", header(SECOND + 7) + feed(entity(vehicle(at=own)))[len(HEADER) :])
    ingest(rt)
    assert rows_of(rt)[0][:2] == ("bus1", at)


def test_else_a_day_of_them_is_refused_with_the_setting(rt: Dataset) -> None:
    rt.edit("max_quarantined_share = 1", "max_quarantined_share = 0.1")
    rt.write("feed.pb", header(SECOND) + feed(entity(vehicle(at=b"")))[len(HEADER) :])
    with pytest.raises(BadInput, match=r'If vehicles have no "timestamp", set columns.time_else = "header.timestamp"'):
        rt.prepare()
    rt.edit("[value]", ELSE)
    rt.prepare()


@pytest.mark.parametrize("name", ["header.pace", "position.odometer", "header.gtfs_realtime_version", "trip.trip_id"])
def test_the_other_time_is_a_time_of_the_same_kind(rt: Dataset, name: str) -> None:
    rt.edit("[value]", ELSE.replace("header.timestamp", name))
    rt.write("feed.pb", feed())
    assert f'"{name}" (columns.time' in refusal(rt)


def test_the_other_time_is_none_of_the_five_columns(rt: Dataset) -> None:
    rt.edit("[value]", ELSE.replace("header.timestamp", "position.speed"))
    with pytest.raises(BadConfig, match="time_else must name another column than the five"):
        _ = rt.config


def test_init_proposes_it_where_some_vehicles_have_no_time(rt: Dataset) -> None:
    some = rt.write("some.pb", header(SECOND) + feed(entity(vehicle(at=b"")))[len(HEADER) :])
    found = propose_source([some], rt.folder, Given())
    assert found.settings["columns"]["time_else"] == "header.timestamp"
    every = rt.write("every.pb", header(SECOND) + feed(entity(vehicle()))[len(HEADER) :])
    assert "time_else" not in propose_source([every], rt.folder, Given()).settings["columns"]


@pytest.mark.parametrize("content", [b"no protobuf at all", b"\x0a\x05\x0a\x032.0\x12\x7fcut", b"\x08\x01", HEADER[2:]])
def test_a_file_that_is_no_feed_or_is_cut_is_refused_whole(rt: Dataset, content: bytes) -> None:
    rt.write("feed.pb", content)
    assert "not a whole FeedMessage of GTFS-Realtime; fetch it again" in refusal(rt)


@pytest.mark.parametrize(
    ("role", "name", "said"),
    [
        ("latitude", "stop_id", 'has a text in "stop_id" (columns.latitude), which must be a number with a point'),
        ("user", "position.bearing", 'has a number with a point in "position.bearing" (columns.user), which must be a'),
        ("value", "trip.trip_id", 'has a text in "trip.trip_id" (columns.value), which must be a whole number or'),
        ("time", "position.odometer", "which must be a text or a whole number"),
        ("time", "header.pace", 'has no value "header.pace" (columns.time)'),
    ],
)
def test_a_field_that_cannot_have_a_role_is_refused(rt: Dataset, role: str, name: str, said: str) -> None:
    rt.edit("[value]", f'[columns]\n{role} = "{name}"\n[value]\nname = "speed"')
    rt.write("feed.pb", feed())
    assert said in refusal(rt)


def test_fields_of_other_types_are_read_as_what_they_are(rt: Dataset) -> None:
    rt.edit(
        "[value]",
        '[columns]\nuser = "current_stop_sequence"\ntime = "trip.start_date"\ntime_format = "%Y%m%d"\n'
        'value = "occupancy_percentage"\n[value]\nname = "share"\nfactor = 1',
    )
    made = field(3, VARINT, b"\x11") + field(1, LENGTH, field(3, LENGTH, b"20260115")) + field(10, VARINT, b"\x2a")
    rt.write("feed.pb", HEADER + entity(vehicle() + made))
    ingest(rt)
    assert rows_of(rt) == [("17", 1768435200, 47, 8, 42)]


def test_every_field_that_can_be_chosen_is_named(rt: Dataset) -> None:
    file = rt.write("feed.pb", snapshot([("bus1", SECOND, 21)]))
    found = propose_source([file], rt.folder, Given())
    assert set(found.names) > {"vehicle.id", "vehicle.label", "vehicle.license_plate", "trip.trip_id", "timestamp"}
    assert set(found.names) > {"position.speed", "position.odometer", "occupancy_percentage", "header.timestamp"}
    assert "multi_carriage_details" not in " ".join(found.names)
    for name in found.names:
        assert len(gtfs_realtime.column(gtfs_realtime.read_feed(file), name)) == 1
    other = propose_source([file], rt.folder, Given(columns={"time": "header.timestamp"}))
    assert other.settings["columns"]["time"] == "header.timestamp"


@pytest.mark.parametrize(
    ("entities", "said"),
    [
        (
            [entity(vehicle(descriptor=field(2, LENGTH, b"Line 7")))],
            'no vehicle in the feed has "vehicle.id" (user); say --user vehicle.label',
        ),
        (
            [entity(vehicle(descriptor=field(2, LENGTH, b"7"))), entity(vehicle(descriptor=field(3, LENGTH, b"ZH 1")))],
            '"vehicle.id" (user); say --user vehicle.label, or --user vehicle.license_plate',
        ),
        (
            [entity(vehicle(descriptor=b""))],
            "(user); it has none of vehicle.id, vehicle.label, vehicle.license_plate, so it cannot be used",
        ),
        ([entity(vehicle(at=b""))], 'no vehicle in the feed has "timestamp" (time); say --time header.timestamp'),
        (
            [field(2, LENGTH, field(1, LENGTH, b"7") + field(3, LENGTH, b"\x0a\x00"))],
            "no vehicle positions, only trip_up",
        ),
        ([], "has no record; name a file with records"),
    ],
)
def test_init_says_which_fields_a_feed_has_instead(rt: Dataset, entities: list[bytes], said: str) -> None:
    file = rt.write("feed.pb", b"\x0a\x0b\x0a\x032.0\x18" + AT[1:] + b"".join(entities))
    with pytest.raises(BadInput) as caught:
        propose_source([file], rt.folder, Given())
    assert said in str(caught.value)
    if "header.timestamp" in said:
        mended = propose_source([file], rt.folder, Given(columns={"time": "header.timestamp"}))
        assert mended.settings["columns"]["time"] == "header.timestamp"


def test_malformed_entities_are_rows_of_the_file(rt: Dataset) -> None:
    rt.write("feed.pb", feed(entity(b"\x05", VARINT), entity(b"\x05", VARINT)))
    ingest(rt)
    assert rt.query("select n_rows, n_malformed from raw_file") == [(3, 2)]
