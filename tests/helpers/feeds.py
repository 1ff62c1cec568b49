"""Feeds of our own making, in the forms of four real ones: the same columns, types, nesting, sentinels and dirt."""

import json
from collections.abc import Iterator

from google.transit import gtfs_realtime_pb2
from support import DATE, Dataset

N_BUSES, N_PINGS = 12, 24
MIDNIGHT = 1768435200
"""The epoch second at which ``DATE`` begins in UTC."""

AUSTIN = """
[dataset]
name = "austin"
files = ["raw/*.csv"]
timezone = "America/Chicago"
[columns]
user = "vehicle_id"
time = "Timestamp"
latitude = "Latitude"
longitude = "Longitude"
value = "Speed"
time_format = "%m/%d/%Y %I:%M:%S %p"
[value]
name = "speed"
unit = "km/h"
lower = 0.0
upper = 120.0
tick = 0.01
factor = 1.609344
missing = [255]
"""
SAN_FRANCISCO = """
[dataset]
name = "cabs"
files = ["raw/new_*.txt"]
timezone = "America/Los_Angeles"
format = "csv"
delimiter = " "
header = ["latitude", "longitude", "occupied", "time"]
[columns]
user = "{file}"
time = "time"
latitude = "latitude"
longitude = "longitude"
value = "occupied"
[value]
name = "occupied"
unit = "share"
lower = 0.0
upper = 1.0
tick = 1.0
"""
WARSAW = """
[dataset]
name = "warsaw"
files = ["raw/*.json"]
timezone = "Europe/Warsaw"
records = "result"
[columns]
user = "VehicleNumber"
time = "Time"
latitude = "Lat"
longitude = "Lon"
value = "Speed"
[value]
name = "speed"
unit = "km/h"
lower = 0.0
upper = 100.0
tick = 0.1
"""
BUFFALO = """
[dataset]
name = "buffalo"
files = ["raw/*.pb"]
timezone = "America/New_York"
preset = "gtfs-rt"
[value]
unit = "mph"
lower = 0.0
upper = 80.0
tick = 0.1
missing = [99999]
"""
REST = """
[grid]
h3_resolution = 7
slot_minutes = 60
[validation]
max_quarantined_share = 0.3
[privacy]
definition = "pure"
epsilon_per_day = 2.0
[publish]
map = false
[budget]
epsilon_total = 5.0
[storage]
path = "store"
"""


def configure(dataset: Dataset, feed: str) -> None:
    dataset.config_file.write_text(feed + REST)


def pings() -> Iterator[tuple[str, int, int]]:
    """Yield bus, epoch second and speed of clean records at noon of the day, in UTC 18:00 to 20:00."""
    for bus in range(N_BUSES):
        for ping in range(N_PINGS):
            yield f"{2000 + bus}", MIDNIGHT + 18 * 3600 + ping * 300 + bus, 10 + (bus * 7 + ping) % 40


def write_austin(dataset: Dataset) -> None:
    """Buses of Austin: CSV, times as people write them, miles per hour with 255 for no speed."""
    lines = ["vehicle_id,route_id,Timestamp,Speed,Latitude,Longitude"]
    for bus, second, speed in pings():
        minute, at = divmod(second - MIDNIGHT - 6 * 3600, 60)
        hour, minute = divmod(minute, 60)
        half = "PM" if hour >= 12 else "AM"
        time = f"{DATE:%m/%d/%Y} {(hour - 1) % 12 + 1:02}:{minute:02}:{at:02} {half}"
        lines.append(f"{bus},801,{time},{255 if speed == 20 else speed},30.2672,-97.7431")
    lines += ["2000,801,,12,30.2672,-97.7431", f"2001,801,{DATE:%m/%d/%Y} 25:00 PM,12,30.2672,-97.7431"]
    dataset.write("vehicles.csv", "\n".join(lines) + "\n")


def write_san_francisco(dataset: Dataset) -> None:
    """Taxis of San Francisco: a file for each cab, without a header, newest first, times in epoch seconds."""
    for cab in range(N_BUSES):
        mine = [(second, speed % 2) for bus, second, speed in pings() if bus == f"{2000 + cab}"]
        lines = [f"37.77493 -122.41942 {occupied} {second}" for second, occupied in reversed(mine)]
        dataset.write(f"new_cab{cab}.txt", "\n".join([*lines, "37.77493 -122.41942"]) + "\n")


def write_warsaw(dataset: Dataset) -> None:
    """Buses of Warsaw: JSON documents of snapshots, local times without an offset, vehicles that stand for days."""
    by_time: dict[int, list[dict[str, object]]] = {}
    for bus, second, speed in pings():
        at = f"{DATE} {(second - MIDNIGHT) // 3600 + 1:02}:{second % 3600 // 60:02}:{second % 60:02}"
        record = {"Lines": "213", "Lon": 21.0122, "VehicleNumber": bus, "Time": at, "Lat": 52.2297, "Brigade": "2"}
        by_time.setdefault(second % 3600 // 300 + second // 3600 * 12, []).append({**record, "Speed": float(speed)})
    stale = {"Lines": "9", "Lon": 21.0, "VehicleNumber": "1", "Time": "2017-05-03 10:00:00", "Lat": 52.2, "Speed": 0}
    for number, records in enumerate(by_time.values()):
        document = {"result": [*records, stale] if number == 0 else [*records, records[0]]}
        dataset.write(f"snapshot{number:03}.json", json.dumps(document))


def write_buffalo(dataset: Dataset) -> None:
    """Buses of Buffalo: snapshots of GTFS-Realtime, speeds in m/s with 99999 or nothing for none, trips without bus."""
    by_time: dict[int, list[tuple[str, int, int]]] = {}
    for ping in pings():
        by_time.setdefault(ping[1] // 300, []).append(ping)
    for number, some in enumerate(by_time.values()):
        dataset.write(f"snapshot{number:03}.pb", snapshot(some))


def snapshot(some: list[tuple[str, int, int]]) -> bytes:
    """Return a FeedMessage with a position for each ping, and an entity that is a trip and no vehicle."""
    feed = gtfs_realtime_pb2.FeedMessage()  # pyright: ignore[reportAttributeAccessIssue]
    feed.header.gtfs_realtime_version = "2.0"
    feed.header.timestamp = max(second for _, second, _ in some) + 10
    for bus, second, speed in some:
        entity = feed.entity.add(id=bus)
        entity.vehicle.vehicle.id = bus
        entity.vehicle.timestamp = second
        entity.vehicle.position.latitude, entity.vehicle.position.longitude = 42.8864, -78.8784
        if speed % 5:
            entity.vehicle.position.speed = 99999 if speed % 7 == 0 else speed / 2
    feed.entity.add(id="trip").trip_update.trip.trip_id = "T1"
    return feed.SerializeToString()


FEEDS = {
    "austin": (AUSTIN, write_austin),
    "san_francisco": (SAN_FRANCISCO, write_san_francisco),
    "warsaw": (WARSAW, write_warsaw),
    "buffalo": (BUFFALO, write_buffalo),
}
