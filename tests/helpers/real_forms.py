"""Small files of our own making in the forms of real sources: their names, nesting, order and dirt."""

import datetime as dt
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from google.transit import gtfs_realtime_pb2
from support import DATE, Dataset

N_USERS, N_FIXES = 12, 30
KEPT = N_USERS * N_FIXES
"""How many records of each form are good."""


@dataclass(frozen=True)
class Fix:
    """A fix of one of some users: where and when it was, and how fast in metres a second."""

    user: int
    second: int
    latitude: float
    longitude: float
    speed: float

    @property
    def at(self) -> dt.datetime:
        return dt.datetime.fromtimestamp(self.second, dt.UTC)


def fixes(latitude: float, longitude: float, date: dt.date = DATE, hour: int = 9) -> list[Fix]:
    """Return fixes of users who go through a city, a minute apart, in order of time; the hour is in UTC."""
    start = int(dt.datetime.combine(date, dt.time(hour), dt.UTC).timestamp())
    return [
        Fix(
            user,
            start + 60 * number + user,
            *_place(latitude, longitude, user, number),
            speed=5.0 + (user + number) % 9,
        )
        for number in range(N_FIXES)
        for user in range(N_USERS)
    ]


def _place(latitude: float, longitude: float, user: int, number: int) -> tuple[float, float]:
    turn = user + number / 5
    return round(latitude + 0.02 * math.sin(turn), 6), round(longitude + 0.03 * math.cos(turn), 6)


def rounds(some: list[Fix]) -> Iterator[tuple[int, list[Fix]]]:
    """Yield the fixes of each minute, with its first second."""
    for minute, of_minute in groupby(some, lambda one: one.second // 60):
        yield 60 * minute, list(of_minute)


Written = tuple[str, tuple[str, ...]]
"""The pattern of the files in raw/, and the options that init needs."""


def _lines(dataset: Dataset, name: str, *lines: str, end: str = "\n") -> None:
    path = dataset.folder / "raw" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes((end.join(lines) + end).encode())


def cabspotting(dataset: Dataset) -> Written:
    """Taxis of San Francisco: a text for each, newest first, between spaces, with a line that was cut."""
    for cab in range(N_USERS):
        mine = [one for one in fixes(37.77, -122.42, hour=18) if one.user == cab]
        lines = [f"{one.latitude:.5f} {one.longitude:.5f} {cab % 2} {one.second}" for one in reversed(mine)]
        _lines(dataset, f"new_ab{chr(97 + cab)}oip.txt", *lines, *["37.7"] * (cab == 0))
    header = ("--format", "csv", "--delimiter", "space", "--header", "lat,lon,occupied,time")
    return "new_*.txt", header


def bus_array(dataset: Dataset) -> Written:
    """Snapshots of buses that are JSON arrays, each with a bus that has reported nothing."""
    for second, some in rounds(fixes(-36.85, 174.76, hour=0)):
        buses: list[dict[str, Any]] = [
            {"vehicle_id": f"B{one.user}", "latitude": str(one.latitude), "longitude": str(one.longitude)}
            | {"timestamp": one.at.isoformat(), "speed_kmh": round(3.6 * one.speed, 1), "route": None}
            for one in some
        ]
        buses.append({"vehicle_id": "B99", "latitude": None, "longitude": None, "timestamp": None, "speed_kmh": None})
        _lines(dataset, f"buses_{second}.json", json.dumps(buses))
    return "buses_*.json", ("--max-quarantined-share", "0.2")


def _feed(second: int, some: list[Fix], has_time: Callable[[Fix], bool]) -> bytes:
    feed = gtfs_realtime_pb2.FeedMessage()  # pyright: ignore[reportAttributeAccessIssue]
    feed.header.gtfs_realtime_version = "2.0"
    feed.header.timestamp = second
    for one in some:
        entity = feed.entity.add(id=f"e{one.user}")
        entity.vehicle.vehicle.id = f"bus{one.user}"
        entity.vehicle.position.latitude, entity.vehicle.position.longitude = one.latitude, one.longitude
        if has_time(one):
            entity.vehicle.timestamp = one.second
    feed.entity.add(id="t").trip_update.trip.trip_id = "T1"
    return feed.SerializeToString()


def gtfs_rt_without_speeds(dataset: Dataset) -> Written:
    """Snapshots of GTFS-Realtime of which no vehicle has a speed, and half have no time."""
    for second, some in rounds(fixes(42.88, -78.88, hour=18)):
        dataset.write(f"vp-{second}.pb", _feed(second, some, lambda one: one.user % 2 == 0))
    return "vp-*.pb", ()


def dat_snapshots(dataset: Dataset) -> Written:
    """The same in files that end in .dat, with date and time in their names."""
    for second, some in rounds(fixes(59.33, 18.06)):
        at = dt.datetime.fromtimestamp(second, dt.UTC)
        dataset.write(f"VehiclePositions_{at:%Y%m%d_%H%M%S}.dat", _feed(second, some, lambda _: True))
    return "*.dat", ("--format", "gtfs-rt")


def ais(dataset: Dataset) -> Written:
    """AIS of MarineCadastre: UTC without an offset, knots with 102.3 for none, empty fields."""
    header = "MMSI,BaseDateTime,LAT,LON,SOG,COG,Heading,VesselName,IMO,CallSign,VesselType,Status,Length,Width"
    lines = [
        f"{367000000 + one.user},{one.at:%Y-%m-%dT%H:%M:%S},{one.latitude:.5f},{one.longitude:.5f},"
        f"{102.3 if one.user == 3 else round(one.speed, 1)},-49.6,511.0,,,,{'' if one.user else 70},,,"
        for one in fixes(40.68, -74.02)
    ]
    _lines(dataset, f"AIS_{DATE:%Y_%m_%d}.csv", header, *lines)
    return "AIS_*.csv", ()


def ais_2025(dataset: Dataset) -> Written:
    """AIS of MarineCadastre from 2025 on."""
    header = "mmsi,base_date_time,longitude,latitude,sog,cog,heading,vessel_name,imo"
    lines = [
        f"{367000000 + one.user},{one.at:%Y-%m-%d %H:%M:%S},{one.longitude},{one.latitude},{one.speed},12.5,511,,"
        for one in fixes(29.3, -94.7)
    ]
    _lines(dataset, f"ais-{DATE}.csv", header, *lines)
    return "ais-*.csv", ()


def ais_denmark(dataset: Dataset) -> Written:
    """AIS of Denmark: day before month, latitude 91 for none, empty speeds, base stations."""
    header = "# Timestamp,Type of mobile,MMSI,Latitude,Longitude,Navigational status,ROT,SOG,COG,Heading,IMO,Callsign"
    lines = [
        f"{one.at:%d/%m/%Y %H:%M:%S},Class A,{219000000 + one.user},{one.latitude:.6f},{one.longitude:.6f},"
        f"Under way using engine,0.0,{one.speed if one.user else ''},102.2,,Unknown,Unknown"
        for one in fixes(55.7, 12.7, dt.date(2026, 1, 1))
    ]
    lines.insert(5, "01/01/2026 09:00:00,Base Station,2190068,91.000000,0.000000,Unknown value,,,,,Unknown,Unknown")
    _lines(dataset, "aisdk-2026-01-01.csv", header, *lines)
    return "aisdk-*.csv", ()


def opensky_csv(dataset: Dataset) -> Written:
    """State vectors of OpenSky as CSV: aircraft without a position have empty fields."""
    header = "time,icao24,lat,lon,velocity,heading,vertrate,callsign,onground,alert,spi,squawk,baroaltitude"
    lines = [
        f"{one.second},4b18{one.user:02x},{one.latitude},{one.longitude},{20 * one.speed},271.2,0,SWR{one.user}  ,False"
        ",False,False,1000,10972.8"
        for one in fixes(47.4, 8.5)
    ]
    lines.insert(9, f"{lines[0][:10]},4b1899,,,,,,,False,False,False,,")
    _lines(dataset, f"states_{DATE}-09.csv", header, *lines)
    return "states_*.csv", ()


def opensky_states(dataset: Dataset) -> Written:
    """Answers of OpenSky's API: a list of lists."""
    for second, some in rounds(fixes(47.4, 8.5)):
        states: list[list[Any]] = [
            [
                *(f"4b18{one.user:02x}", "SWR1    ", "Switzerland", one.second, one.second),
                *(one.longitude, one.latitude, 10972.8, False, 20 * one.speed, 271.2, 0.0, None, 11000.0, "1000"),
                *(False, 0),
            ]
            for one in some
        ]
        _lines(dataset, f"states-{second}.json", json.dumps({"time": second, "states": states}))
    return "states-*.json", ()


def readsb(dataset: Dataset, speed: str = "gs") -> Written:
    """Snapshots of readsb, two of each fix: an aircraft without a position has no members for it, nor for its age."""
    for second, some in rounds(fixes(51.47, -0.45)):
        for now, seen in ((0.1, 0.4), (20.0, 20.4)):
            aircraft: list[dict[str, Any]] = [
                {"hex": f"4b18{one.user:02x}", "flight": "SWR1    ", "alt_baro": 36000, speed: 40 * one.speed}
                | {"lat": one.latitude, "lon": one.longitude, "seen_pos": seen, "seen": 0.1, "mlat": [], "rssi": -12.5}
                for one in some
            ]
            aircraft.append({"hex": "~2b0001", "alt_baro": "ground", "seen": 3.1, "mlat": [], "rssi": -30.1})
            document = {"now": second + now, "messages": 12345, "aircraft": aircraft}
            _lines(dataset, f"aircraft-{second + int(now)}.json", json.dumps(document))
    return "aircraft-*.json", ("--max-quarantined-share", "0.2")


def dump1090(dataset: Dataset) -> Written:
    """The same of older receivers, which call the speed otherwise."""
    return readsb(dataset, "speed")


def nextbus(dataset: Dataset) -> Written:
    """Snapshots of NextBus every 20 seconds: all numbers are texts, and most reports are in several of them."""
    some = fixes(37.77, -122.43)
    for second in range(some[0].second, some[-1].second + 60, 20):
        last = {one.user: one for one in some if one.second < second + 0.713}
        vehicles = [
            {"id": f"{1400 + one.user}", "routeTag": "N", "dirTag": "N____O_F00", "predictable": "true"}
            | {"lat": f"{one.latitude}", "lon": f"{one.longitude}", "heading": "210", "leadingVehicleId": ""}
            | {"secsSinceReport": f"{second - one.second}", "speedKmHr": f"{3 * one.speed:.0f}"}
            for one in last.values()
        ]
        document = {"lastTime": {"time": f"{second}713"}, "copyright": "All data copyright.", "vehicle": vehicles}
        _lines(dataset, f"vehicleLocations-{second}.json", json.dumps(document))
    return "vehicleLocations-*.json", ()


def sensor_community(dataset: Dataset) -> Written:
    """Sensors of Sensor.Community in UTC on the day when clocks went forward: semicolons, `nan`, a file for each."""
    header = "sensor_id;sensor_type;location;lat;lon;timestamp;P1;durP1;ratioP1;P2;durP2;ratioP2"
    day = dt.date(2026, 3, 29)
    for sensor in range(N_USERS):
        lines = []
        for number in range(N_FIXES):
            at = dt.datetime(2026, 3, 28, 23, sensor, tzinfo=dt.UTC) + dt.timedelta(minutes=30 * number)
            value = "nan" if number == 3 else f"{number % 9}.43"
            place = f"{48.8 + sensor / 100:.3f};9.000"
            lines.append(f"{140 + sensor};SDS011;64;{place};{at:%Y-%m-%dT%H:%M:%S};{value};;;2.83;;")
        _lines(dataset, f"{day}_sds011_sensor_{140 + sensor}.csv", header, *lines)
    return f"{day}_sds011_*.csv", ("--upper", "100")


def sensors_by_local_clock(dataset: Dataset) -> Written:
    """Sensors by the local clock on the day when it went back: an hour is there twice, and only the order tells."""
    lines = []
    back = dt.datetime(2026, 10, 25, 1, tzinfo=dt.UTC)
    for sensor in range(N_USERS):
        for number in range(N_FIXES):
            at = back + dt.timedelta(hours=-3, minutes=10 * number + sensor % 10)
            local = at + dt.timedelta(hours=2 if at < back else 1)
            lines.append(f"{sensor};{local:%d.%m.%Y %H:%M};48,{100 + sensor};11,5;{number % 7},5")
    _lines(dataset, "messwerte.csv", "sensor_id;time;lat;lon;pm10", *lines, end="\r\n")
    return "messwerte.csv", ("--value", "pm10", "--unit", "ug/m3", "--lower", "0", "--upper", "100")


def openaq(dataset: Dataset) -> Written:
    """Measurements of OpenAQ's archive: a file for each location and day, with an offset, of three parameters."""
    header = '"location_id","sensors_id","location","datetime","lat","lon","parameter","units","value"'
    for place in range(N_USERS):
        lines = [
            f'{2178 + place},{3916 + place},"Del Norte-{2178 + place}","{DATE}T{number % 24:02}:{number:02}:00-07:00",'
            f'{35.13 + place / 100:.4f},-106.58,"pm25","µg/m³",{number % 9}.1'
            for number in range(N_FIXES)
        ]
        lines += [
            one.replace(f",{3916 + place},", f",{sensor + place},").replace('"pm25","µg/m³",', f'"{other}","ppm",0.00')
            for sensor, other in ((25000, "o3"), (26000, "no2"))
            for one in lines[place % 3 :: 3]
        ]
        _lines(dataset, f"location-{2178 + place}-{DATE:%Y%m%d}.csv", header, *lines)
    return "location-*.csv", ("--unit", "ug/m3", "--lower", "0", "--upper", "100")


def _activity(one: Fix) -> dict[str, Any]:
    calls = [{"StopPointRef": f"S{number}", "VisitNumber": str(number)} for number in range(40)]
    journey = {
        "LineRef": "MTA NYCT_B63",
        "OriginAimedDepartureTime": one.at.isoformat(),
        "Monitored": "true",
        "VehicleLocation": {"Longitude": one.longitude, "Latitude": one.latitude},
        "Bearing": 210.5,
        "VehicleRef": f"MTA_{one.user}",
        "OnwardCalls": {"OnwardCall": calls},
    }
    at = one.at.isoformat(timespec="milliseconds")
    return {"RecordedAtTime": at, "ValidUntilTime": one.at.isoformat(), "MonitoredVehicleJourney": journey}


def siri_json(dataset: Dataset) -> Written:
    """Vehicle monitoring of SIRI as JSON."""
    for second, some in rounds(fixes(40.7, -73.9, hour=18)):
        parts = some[: len(some) // 2], some[len(some) // 2 :]
        delivery = [{"ResponseTimestamp": str(second), "VehicleActivity": [*map(_activity, part)]} for part in parts]
        document = {"Siri": {"ServiceDelivery": {"VehicleMonitoringDelivery": delivery}}}
        _lines(dataset, f"vm-{second}.json", json.dumps(document))
    return "vm-*.json", ()


def _xml(name: str, content: Any) -> str:
    if isinstance(content, list):
        return "".join(_xml(name, one) for one in content)
    inner = "".join(_xml(one, of) for one, of in content.items()) if isinstance(content, dict) else content
    return f"<{name}>{inner}</{name}>\n"


def siri_xml(dataset: Dataset) -> Written:
    """Vehicle monitoring of SIRI as XML with a namespace; a vehicle has no place."""
    for second, some in rounds(fixes(60.17, 24.94)):
        activities = [_activity(one) for one in some]
        activities.append({"RecordedAtTime": some[0].at.isoformat(), "MonitoredVehicleJourney": {"VehicleRef": "9"}})
        inner = _xml("VehicleMonitoringDelivery", {"VehicleActivity": activities})
        start = '<?xml version="1.0" encoding="UTF-8"?>\n<Siri xmlns="http://www.siri.org.uk/siri" version="2.0">'
        _lines(dataset, f"vm-{second}.xml", f"{start}<ServiceDelivery>{inner}</ServiceDelivery></Siri>")
    return "vm-*.xml", ("--max-quarantined-share", "0.2")


def gpx(dataset: Dataset) -> Written:
    """GPX of several makers: 1.0 with speeds in some files, 1.1 with prefixes and extensions, waypoints, lost fixes."""
    for user in range(N_USERS):
        mine = [one for one in fixes(46.95, 7.44) if one.user == user]
        inner = "".join(
            f'<g:trkpt lat="{one.latitude}" lon="{one.longitude}">\n<g:ele>540.1</g:ele>'
            f"<g:time>{one.at:%Y-%m-%dT%H:%M:%SZ}</g:time><g:extensions><x:hr>120</x:hr></g:extensions></g:trkpt>\n"
            for one in mine
        )
        lost = '<g:trkpt lat="46.9" lon="7.4"/>' if user == 0 else ""
        track = f"<g:trk><g:name>Run &amp; ride</g:name><g:trkseg>{inner}{lost}</g:trkseg><g:trkseg/></g:trk>"
        text = (
            '<?xml version="1.0"?>\n<g:gpx version="1.1" xmlns:g="http://www.topografix.com/GPX/1/1" xmlns:x="urn:x">\n'
            f'<g:metadata><g:bounds minlat="46" minlon="7" maxlat="47" maxlon="8"/></g:metadata>'
            f'<g:wpt lat="46.0" lon="7.0"><g:name>home</g:name></g:wpt>{track}</g:gpx>'
        )
        name = f"runner-{chr(97 + user)}.gpx"
        _lines(dataset, name, text if user % 2 else text.replace("g:", "").replace("xmlns:g", "xmlns"))
    return "*.gpx", ()


def gpx_with_speeds(dataset: Dataset) -> Written:
    """GPX 1.0 with speeds in metres a second."""
    for user in range(N_USERS):
        mine = [one for one in fixes(46.95, 7.44) if one.user == user]
        inner = "".join(
            f'<trkpt lat="{one.latitude}" lon="{one.longitude}"><ele>5</ele>'
            f"<time>{one.at:%Y-%m-%dT%H:%M:%S.000Z}</time><course>12.5</course><speed>{one.speed}</speed><fix>3d</fix></trkpt>\n"
            for one in mine
        )
        text = f'<gpx version="1.0" xmlns="http://www.topografix.com/GPX/1/0"><trk><trkseg>{inner}</trkseg></trk></gpx>'
        _lines(dataset, f"logger{chr(97 + user)}.gpx", text)
    return "*.gpx", ()


def geolife(dataset: Dataset) -> Written:
    """Tracks of GeoLife: a folder for each user, six lines about the track, days since 1899."""
    about = ("Geolife trajectory", "WGS 84", "Altitude is in Feet", "Reserved 3", "0,2,255,My Track,0,0,2,8421376", "0")
    for user in range(N_USERS):
        mine = [one for one in fixes(39.98, 116.31, dt.date(2008, 10, 23), 2) if one.user == user]
        lines = [
            f"{one.latitude},{one.longitude},0,492,{one.second / 86400 + 25569:.10f},{one.at:%Y-%m-%d,%H:%M:%S}"
            for one in mine
        ]
        for some in (lines[:20], lines[20:]):
            at = "".join(some[0].split(",")[-2:]).replace("-", "").replace(":", "")
            _lines(dataset, f"Data/{user:03}/Trajectory/{at}.plt", *about, *some, end="\r\n")
    return "Data/*/Trajectory/*.plt", ()


def mds_telemetry(dataset: Dataset) -> Written:
    """Telemetry of MDS 2.0: milliseconds, speeds that may be null."""
    points = [
        {"provider_id": "p", "device_id": f"d-{one.user}", "telemetry_id": f"t{number}", "trip_ids": []}
        | {"timestamp": 1000 * one.second, "journey_id": None}
        | {"location": {"lat": one.latitude, "lng": one.longitude, "speed": one.speed if one.user else None}}
        for number, one in enumerate(fixes(34.05, -118.24, hour=18))
    ]
    _lines(dataset, "telemetry.json", json.dumps({"version": "2.0.0", "last_updated": 1, "telemetry": points}))
    return "telemetry.json", ()


def mds_trips(dataset: Dataset) -> Written:
    """Trips of MDS 2.0: a start and an end, the seconds between, and no speed."""
    trips = [
        {"provider_id": "p", "device_id": f"d-{one.user}", "trip_id": f"t{number}", "trip_type": ["rider"]}
        | {"start_time": 1000 * one.second, "end_time": 1000 * (one.second + 600), "duration": 100 + number}
        | {"start_location": {"lat": one.latitude, "lng": one.longitude}, "distance": 1200}
        | {"end_location": {"lat": one.latitude + 0.01, "lng": one.longitude}}
        for number, one in enumerate(fixes(34.05, -118.24, hour=18))
    ]
    _lines(dataset, "trips.json", json.dumps({"version": "2.0.0", "trips": trips}))
    return "trips.json", ("--upper", "7200")


def gbfs(dataset: Dataset) -> Written:
    """Vehicle status of GBFS 3: vehicles stand still, and those at a station have no place."""
    for second, some in rounds(fixes(48.85, 2.35)):
        vehicles: list[dict[str, Any]] = [
            {"vehicle_id": f"v{one.user}", "lat": 48.85 + one.user / 100, "lon": 2.35, "is_reserved": False}
            | {"last_reported": one.at.isoformat(), "current_range_meters": 1000 * one.speed}
            for one in some
        ]
        vehicles.append({"vehicle_id": "s", "station_id": "1", "last_reported": some[0].at.isoformat()})
        document = {"last_updated": "2026-01-15T09:00:00Z", "ttl": 0, "version": "3.0", "data": {"vehicles": vehicles}}
        _lines(dataset, f"vehicle_status_{second}.json", json.dumps(document))
    options = ("--value", "current_range_meters", "--quantity", "range", "--unit", "m", "--lower", "0")
    return "vehicle_status_*.json", (*options, "--upper", "60000", "--max-quarantined-share", "0.2")


def gbfs_2(dataset: Dataset) -> Written:
    """Free bicycles of GBFS 2: the only time is that of the document."""
    for second, some in rounds(fixes(48.85, 2.35)):
        bikes = [
            {"bike_id": f"v{one.user}", "lat": one.latitude, "lon": one.longitude, "is_reserved": 0, "is_disabled": 0}
            for one in some
        ]
        _lines(
            dataset, f"free_{second}.json", json.dumps({"last_updated": second, "ttl": 60, "data": {"bikes": bikes}})
        )
    return "free_*.json", ()


def fares(dataset: Dataset) -> Written:
    """Taps of fare cards with the places of their stops."""
    header = "transaction_id,service_date,event_timestamp,amount,currency_type,fare_media_id,stop_id,stop_lat,stop_lon"
    lines = [
        f"x{number},{DATE},{one.at.isoformat()},{1 + one.speed / 10:.2f},USD,card-{one.user},S{number % 5},"
        f"{one.latitude},{one.longitude}"
        for number, one in enumerate(fixes(45.52, -122.68, hour=18))
    ]
    _lines(dataset, f"fare_transactions_{DATE}.csv", header, *lines)
    return "fare_*.csv", ("--unit", "USD", "--upper", "5", "--lower", "0")


FORMS: dict[str, Callable[[Dataset], Written]] = {
    one.__name__: one
    for one in (
        *(cabspotting, bus_array, gtfs_rt_without_speeds, dat_snapshots, ais, ais_2025, ais_denmark, opensky_csv),
        *(
            opensky_states,
            readsb,
            dump1090,
            nextbus,
            sensor_community,
            sensors_by_local_clock,
            openaq,
            siri_json,
            siri_xml,
            gpx,
        ),
        *(gpx_with_speeds, geolife, mds_telemetry, mds_trips, gbfs, gbfs_2, fares),
    )
}


def files_of(dataset: Dataset, pattern: str) -> list[Path]:
    """Return the files that a shell gives for a pattern in raw/."""
    return sorted((dataset.folder / "raw").glob(pattern))
