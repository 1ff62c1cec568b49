"""Feeds of our own making in the forms that places and times have: with dirt, and with what must be counted of them."""

import datetime as dt
import json
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h3
import pyarrow as pa
import pyarrow.parquet as pq
from support import DATE

LATITUDE, LONGITUDE = 52.24, 21.01
HOURS = (8, 9, 10)


@dataclass(frozen=True)
class Ping:
    """A record: who, when by the clock on the wall, where, and a speed."""

    user: str
    hour: int
    minute: int
    latitude: float
    longitude: float
    speed: int

    @property
    def at(self) -> dt.datetime:
        return dt.datetime.combine(DATE, dt.time(self.hour, self.minute))

    def cell(self, resolution: int) -> str:
        return h3.latlng_to_cell(self.latitude, self.longitude, resolution)


@dataclass(frozen=True)
class Feed:
    """A feed.

    Attributes:
        write: Writes its files into a folder, and returns them.
        reasons: How many of its rows are not used, by reason.
        pings: Its clean records.
        cells: The resolution of its cells, if its places are cells.
        options: What its owner says of it beside the unit.
    """

    write: Callable[[Path], list[Path]]
    reasons: dict[str, int]
    pings: Callable[[], Iterator[Ping]]
    cells: int | None = None
    options: tuple[str, ...] = ()


def pings(at_minute: int | None = None, west: bool = False) -> Iterator[Ping]:
    """Yield clean records, one of each user in an hour if a minute is given; in the west of Warsaw, or of Greenwich."""
    for bus in range(12):
        for hour in HOURS:
            for minute in (5, 20, 35) if at_minute is None else (at_minute,):
                longitude = (LONGITUDE if not west else -97.74) + 0.013 * (bus % 4) + 0.004 * hour
                yield Ping(f"p{bus:02}", hour, minute, LATITUDE + 0.011 * bus, round(longitude, 6), 10 + bus + hour)


def cells_of(some: Iterable[Ping], resolution: int, of: int | None = None) -> Counter[tuple[str, int]]:
    """Return how many records are in each hexagon and hour; of places in cells, in that of their cells."""
    found = Counter[tuple[str, int]]()
    for ping in some:
        cell = ping.cell(resolution) if of is None else h3.cell_to_parent(ping.cell(of), resolution)
        found[cell, ping.hour] += 1
    return found


def _csv(path: Path, header: str, rows: list[list[Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (",".join(f'"{one}"' if "," in str(one) else str(one) for one in row) for row in rows)
    path.write_text("\n".join([header, *lines]) + "\n")
    return path


def _parquet(path: Path, columns: dict[str, Any], geo: dict[str, Any] | None = None) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.table(columns)
    if geo is not None:
        said = {"version": "1.1.0", "primary_column": "geometry", "columns": {"geometry": geo}}
        table = table.replace_schema_metadata({b"geo": json.dumps(said).encode()})
    pq.write_table(table, path)
    return path


def wkb(longitude: float, latitude: float, order: str = "<") -> bytes:
    return struct.pack(f"{order}BIdd", order == "<", 1, longitude, latitude)


def cells_in_csv(folder: Path) -> list[Path]:
    """Cells of resolution 9 as text, a date and the number of an hour, as aggregated traces have them."""
    rows: list[list[Any]] = [[one.user, DATE, one.hour, one.cell(9), one.speed] for one in pings(5)]
    rows += [["p01", DATE, 9, "872a1", 20], ["p02", DATE, 9, "", 20], ["p03", DATE, 10, next(pings(5)).cell(5), 20]]
    rows += [["p04", DATE, "", next(pings(5)).cell(9), 20]]
    path = _csv(folder / "traces.csv", "device_id,date,hour,h3_index,speed", rows)
    return [path]


def cells_in_parquet(folder: Path) -> list[Path]:
    """Cells as whole numbers of 64 bits, the date in the folder, and the hour as a number in a column."""
    some = list(pings(5))
    users, hours = [one.user for one in some], [one.hour for one in some]
    cells = [h3.str_to_int(one.cell(8)) for one in some]
    columns = {
        "caid": pa.array([*users, "p01", None], pa.string()),
        "hour": pa.array([*hours, 9, 9], pa.int8()),
        "h3_08": pa.array([*cells, None, cells[0]], pa.int64()),
        "speed": pa.array([*(one.speed for one in some), 9, 9], pa.float32()),
    }
    path = _parquet(folder / f"date={DATE}" / "part-00000.parquet", columns)
    return [path]


def cells_in_json(folder: Path) -> list[Path]:
    """Cells of another resolution than the usual hexagons in lines of JSON, with a time that another replaces."""
    lines: list[dict[str, Any]] = [
        {"rider": {"id": one.user}, "hex": one.cell(6), "recorded_at": f"{one.at.isoformat()}+01:00", "speed": 1}
        for one in pings()
    ]
    lines[3] |= {"recorded_at": None, "timestamp": lines[3]["recorded_at"]}
    lines += [lines[5] | {"hex": 12.5}]
    path = folder / "rides.ndjson"
    path.write_text("".join(f"{json.dumps(one)}\n" for one in lines))
    return [path]


def geoparquet(folder: Path) -> list[Path]:
    """GeoParquet with points as WKB, one of them no point, one empty and one with its bytes in the other order."""
    some = list(pings())
    points = [wkb(one.longitude, one.latitude, ">" if number == 4 else "<") for number, one in enumerate(some)]
    line = struct.pack("<BIIdddd", 1, 2, 2, 21.0, 52.2, 21.1, 52.3)
    bad = [line, None, wkb(float("nan"), float("nan")), b"junk", wkb(21.0, 99.0)]
    again = [some[number] for number in range(len(bad))]
    columns = {
        "id": [one.user for one in [*some, *again]],
        "geometry": pa.array([*points, *bad], pa.binary()),
        "bbox": [{"xmin": 21.0, "xmax": 21.2, "ymin": 52.2, "ymax": 52.4} for _ in [*some, *again]],
        "updated": [{"datetime": one.at + dt.timedelta(seconds=one.speed)} for one in [*some, *again]],
        "speed": [one.speed for one in [*some, *again]],
    }
    path = _parquet(folder / "places.parquet", columns, {"encoding": "WKB", "geometry_types": ["Point"]})
    return [path]


def texts_of_points(folder: Path) -> list[Path]:
    """Points in WKT, in hexadecimal WKB and in GeoJSON, in one column of a CSV file, and one in another system."""
    forms: list[Callable[[Ping], str]] = [
        lambda one: f"POINT ({one.longitude} {one.latitude})",
        lambda one: f"SRID=4326;POINT Z({one.longitude} {one.latitude} 12)",
        lambda one: wkb(one.longitude, one.latitude).hex().upper(),
    ]
    rows: list[list[Any]] = [
        [one.user, f"{one.at}", forms[number % 3](one), one.speed] for number, one in enumerate(pings())
    ]
    rows += [["p01", f"{DATE} 08:01:00", "SRID=2056;POINT(2600000 1200000)", 3]]
    rows += [["p01", f"{DATE} 08:02:00", "LINESTRING (21 52, 22 53)", 3]]
    return [_csv(folder / "fixes.csv", "bus,time,geom,speed", rows)]


def members(folder: Path) -> list[Path]:
    """Parquet with places in a struct, values in another and ids in a third."""
    some = list(pings())
    columns = {
        "vehicle": [{"id": one.user, "label": "x"} for one in some] + [{"id": "p01", "label": "y"}],
        "timestamp": pa.array([*(one.at for one in some), some[0].at], pa.timestamp("ms")),
        "location": [{"lat": one.latitude, "lon": one.longitude} for one in some] + [None],
        "fix": [{"speed": one.speed} for one in some] + [None],
    }
    return [_parquet(folder / "fixes.parquet", columns)]


def lists(folder: Path) -> list[Path]:
    """Parquet with longitude and latitude in a list, some of which are too short."""
    some = list(pings())
    columns = {
        "bus": [one.user for one in some] + ["p01", "p02"],
        "time": [f"{one.at}" for one in some] + [f"{DATE} 08:01:00", f"{DATE} 08:01:00"],
        "coordinates": [[one.longitude, one.latitude] for one in some] + [[21.0], None],
        "speed": [one.speed for one in some] + [1, 2],
    }
    return [_parquet(folder / "fixes.parquet", columns)]


def e7(folder: Path) -> list[Path]:
    """Whole numbers of which ten millions are a degree, in a list within a JSON document, as of location histories."""
    records: list[dict[str, Any]] = [
        {
            "deviceTag": int(one.user[1:]) + 1_000_000,
            "timestampMs": str(int((one.at - dt.timedelta(hours=1)).replace(tzinfo=dt.UTC).timestamp() * 1000)),
            "latitudeE7": round(one.latitude * 1e7),
            "longitudeE7": round(one.longitude * 1e7),
            "velocity": one.speed,
        }
        for one in pings()
    ]
    records += [{**records[0], "latitudeE7": 1_799_999_999, "timestampMs": records[1]["timestampMs"]}]
    records += [{**records[0], "latitudeE7": None, "timestampMs": records[2]["timestampMs"]}]
    path = folder / "records.json"
    path.write_text(json.dumps({"locations": records}))
    return [path]


def round_longitudes(folder: Path) -> list[Path]:
    """Longitudes from 0 to 360, and one beyond, in a folder for each hour, whose files have no times."""
    files = []
    for hour in HOURS:
        some = [one for one in pings(0, west=True) if one.hour == hour]
        rows: list[list[Any]] = [[one.user, one.latitude, one.longitude + 360, one.speed] for one in some]
        rows += [["p01", 52.2, 999, 5]] if hour == 8 else []
        path = folder / f"date={DATE}" / f"hour={hour:02}" / "data.csv"
        files.append(_csv(path, "station_id,lat,lon,wind_speed", rows))
    return files


def hourly() -> Iterator[Ping]:
    return pings(5)


def western() -> Iterator[Ping]:
    return pings(0, west=True)


LENIENT = ("--max-quarantined-share", "0.2")
FEEDS = (
    Feed(cells_in_csv, {"place_unreadable": 2, "cell_too_large": 1}, hourly, 9, LENIENT),
    Feed(cells_in_parquet, {"place_unreadable": 1, "no_user": 1}, hourly, 8, ("--user", "caid", *LENIENT)),
    Feed(cells_in_json, {"place_unreadable": 1}, pings, 6, ("--user", "rider.id")),
    Feed(geoparquet, {"place_unreadable": 4, "place_outside_world": 1}, pings),
    Feed(texts_of_points, {"place_unreadable": 2}, pings),
    Feed(members, {"place_unreadable": 1}, pings),
    Feed(lists, {"place_unreadable": 2}, pings),
    Feed(
        e7,
        {"place_outside_world": 1, "place_unreadable": 1},
        pings,
        options=("--user", "deviceTag", "--lower", "0", "--upper", "50"),
    ),
    Feed(round_longitudes, {"place_outside_world": 1}, western, options=LENIENT),
)
