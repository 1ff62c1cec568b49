"""What is read of the records of a day whose users' presence is secret: each user's by itself, in any format."""

import datetime as dt
import json
import random
from collections import defaultdict
from decimal import Decimal
from pathlib import Path
from zoneinfo import ZoneInfo

import h3
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from present import AREA, CONFIG, SHAPES, made, of_shape, published, read_by_hand, some_lines, write
from support import DATE, Dataset

from dpmath.presence.user_cells import UserCells
from tasks.base import warehouse
from tasks.base.errors import BadInput
from tasks.presence.config import PresenceConfig, load_presence
from tasks.presence.reading import read_day
from tasks.records.judge import duplicates

HASH = "hash(user_id, observed_at, latitude, longitude)"


@pytest.fixture
def dataset(tmp_path: Path) -> tuple[Dataset, PresenceConfig]:
    return made(tmp_path / "dataset")


def by_user(day: UserCells) -> list[dict[int, tuple[int, int]]]:
    """Return the same of a day that was read, without names."""
    found: dict[int, dict[int, tuple[int, int]]] = defaultdict(dict)
    for user, cell, n, total in zip(day.user, day.cell, day.n_records, day.total, strict=True):
        found[int(user)][int(cell)] = int(n), int(total)
    return list(found.values())


def in_order(users: list[dict[int, tuple[int, int]]]) -> list[str]:
    return sorted(str(sorted(cells.items())) for cells in users)


@pytest.mark.parametrize("form", ["csv", "ndjson", "parquet"])
def test_a_day_is_what_python_reads_in_it(form: str, dataset: tuple[Dataset, PresenceConfig]) -> None:
    files, config = dataset
    rng = random.Random(3)
    shapes = [one for one in SHAPES if form == "csv" or one != "odd texts"]
    lines = [line for n, shape in enumerate(shapes) for line in of_shape(shape, f"s{n}", DATE, rng)] + some_lines(4)
    rng.shuffle(lines)
    write(files, DATE, lines, form)
    read = by_user(read_day(DATE, config))
    assert in_order(read) == in_order(list(read_by_hand(lines, config).values()))
    assert len(read) > 30


@pytest.mark.parametrize("hashed", ["0::ubigint", "hash(user_id)", "hash(observed_at)", f"{HASH} % 4"])
@pytest.mark.parametrize("at_once", [1 << 26, 50])
def test_whatever_hashes_rows_share_only_what_a_user_said_twice_counts_once(
    hashed: str, at_once: int, dataset: tuple[Dataset, PresenceConfig], monkeypatch: pytest.MonkeyPatch
) -> None:
    files, config = dataset
    rng, original = random.Random(5), warehouse.statement
    lines = some_lines(6) + some_lines(6, 10) + [("u1", *line[1:]) for line in some_lines(6, 3)]
    lines += [(*line[:4], "70") for line in some_lines(6, 5)] + some_lines(6, 2)
    rng.shuffle(lines)
    write(files, DATE, lines)
    macro = original("scratch/identity_hash").replace(f"as\n{HASH}", f"as\n{hashed}")
    assert hashed in macro
    monkeypatch.setattr(warehouse, "statement", lambda name: macro if "identity_hash" in name else original(name))
    monkeypatch.setattr(duplicates, "_HASHES_AT_ONCE", at_once)
    assert in_order(by_user(read_day(DATE, config))) == in_order(list(read_by_hand(lines, config).values()))


@pytest.mark.parametrize("form", ["csv", "ndjson", "parquet"])
def test_rows_without_one_of_the_texts_of_a_column_are_left_out(form: str, tmp_path: Path) -> None:
    only = 'value = "speed"\nonly = { kind = ["bus", "tram"], line = 7 }'
    files, config = made(tmp_path / "dataset", CONFIG.replace('value = "speed"', only))
    kinds = [("bus", "7"), (" tram ", "7"), ("bus", "8"), ("Bus", "7"), ("", "7"), ('"bus"', "7")]
    lines = list(zip(some_lines(4), kinds * 30, strict=True))
    names = ["bus", "time", "lat", "lon", "speed", "kind", "line"]
    rows = [dict(zip(names, (*line, kind.strip('"'), number), strict=True)) for line, (kind, number) in lines]
    if form == "csv":
        of_lines = (",".join([*line, *kind]) for line, kind in lines)
        files.write(f"{DATE}.csv", "\n".join([",".join(names), *of_lines]) + "\n")
    elif form == "ndjson":
        files.write(f"{DATE}.ndjson", "".join(json.dumps(one) + "\n" for one in [*rows, {}]))
    else:
        files.write(f"{DATE}.parquet", b"")
        pl.DataFrame(rows).with_columns(pl.col("line").cast(pl.Int32)).write_parquet(
            files.folder / f"raw/{DATE}.parquet"
        )
    counted = [line for line, (kind, number) in lines if kind.strip(' "') in ("bus", "tram") and number == "7"]
    assert in_order(by_user(read_day(DATE, config))) == in_order(list(read_by_hand(counted, config).values()))
    report = json.loads((config.storage_path / "private" / "reports" / f"{DATE}.json").read_text())
    assert report["left_out"] == 90 + (form == "ndjson")


def test_a_line_of_a_csv_file_is_a_row_by_itself(dataset: tuple[Dataset, PresenceConfig]) -> None:
    """A quote that is not closed, bytes that are no text, and a very long line take no other line along."""
    files, config = dataset
    good = some_lines(5, 8)
    rows = [",".join(line).encode() for line in good]
    odd = [
        b'x,"open',
        b"\xff\xfe,1,2,3,4",
        b"y," + b"z" * 3_000_000,
        b"",
        b"a,b",
        b'"q"q",1,2,3,4',
        b"\x1f,,,,",
        b"\x00",
    ]
    mixed = [one for pair in zip(rows, odd * 7, strict=False) for one in pair] + rows[len(odd) * 7 :]
    files.write(f"{DATE}.csv", b"bus,time,lat,lon,speed\n" + b"\r\n".join(mixed))
    assert in_order(by_user(read_day(DATE, config))) == in_order(list(read_by_hand(good, config).values()))


def test_the_curator_has_a_report_that_nobody_else_has(dataset: tuple[Dataset, PresenceConfig]) -> None:
    files, config = dataset
    bad = of_shape("bad rows alone", "bad", DATE, random.Random(1))
    far = of_shape("outside the area", "far", DATE, random.Random(2))
    write(files, DATE, [*some_lines(), *bad, *far, ("u1", "1", "2", "3", "4,5")])
    read_day(DATE, config)
    report = json.loads((config.storage_path / "private" / "reports" / f"{DATE}.json").read_text())
    assert report == {
        "ids_alike": 0,
        "kept": 180,
        "malformed": 1,
        "outside_area": 6,
        "users": 31,
        "no_value": 2,
        "place_unreadable": 2,
        "time_outside_day": 1,
        "time_unreadable": 1,
    }
    assert (config.storage_path / "private").stat().st_mode & 0o077 == 0


def test_times_in_another_unit_than_the_declared_one_cannot_be_read(tmp_path: Path) -> None:
    files, config = made(tmp_path, CONFIG.replace('time = "time"', 'time = "time"\ntime_unit = "ms"'))
    seconds = int(dt.datetime.combine(DATE, dt.time(8), dt.UTC).timestamp())
    place = tuple(map(str, h3.cell_to_latlng(AREA[0])))
    write(files, DATE, [("u1", str(time), *place, "50") for time in (seconds * 1000, seconds)])
    read_day(DATE, config)
    report = json.loads((config.storage_path / "private" / "reports" / f"{DATE}.json").read_text())
    assert (report["kept"], report["time_unreadable"]) == (1, 1)


def test_slots_are_those_of_the_clock_on_the_wall(tmp_path: Path) -> None:
    """Where the clock goes back an hour is twice in one slot; where it goes forward a slot begins at no instant."""
    text = CONFIG.replace('"UTC"', '"Europe/Zurich"').replace("slot_minutes = 360", "slot_minutes = 60")
    files, config = made(tmp_path / "dataset", text)
    latitude, longitude = h3.cell_to_latlng(AREA[0])
    back, forward = dt.date(2026, 10, 25), dt.date(2026, 3, 29)
    lines = [("u1", f"2026-10-25T0{hour}:30:00Z", str(latitude), str(longitude), "50") for hour in (0, 1)]
    write(files, back, lines)
    day = read_day(back, config)
    assert (day.cell.tolist(), day.n_records.tolist()) == ([2], [2])
    write(files, forward, [])
    published(config, forward)
    answered = pl.read_parquet(config.storage_path / "published" / f"date={forward}" / "statistics.parquet")
    assert answered.filter(pl.col("slot_start").dt.convert_time_zone("Europe/Zurich").dt.hour() == 2).is_empty()


@pytest.mark.parametrize("zone", ["Europe/Zurich", "Asia/Kolkata", "America/St_Johns", "Australia/Lord_Howe"])
@pytest.mark.parametrize("day", ["2026-06-01", "2026-04-05", "2026-10-04", "2026-10-25", "2026-11-01", "1966-07-01"])
def test_every_instant_of_a_day_has_the_slot_that_its_clock_shows(zone: str, day: str, tmp_path: Path) -> None:
    text = CONFIG.replace('"UTC"', f'"{zone}"').replace("slot_minutes = 360", "slot_minutes = 30")
    files, config = made(tmp_path / "dataset", text)
    date, place = dt.date.fromisoformat(day), tuple(map(str, h3.cell_to_latlng(AREA[0])))
    start, end = config.day_bounds(date)
    instants = [start + dt.timedelta(seconds=7 * 60 * n) for n in range(26 * 9)]
    write(files, date, [("u1", one.astimezone(dt.UTC).isoformat(), *place, "50") for one in instants])
    shown = [one.astimezone(ZoneInfo(zone)) for one in instants if one < end]
    slots = [(60 * one.hour + one.minute) // 30 for one in shown]
    read = read_day(date, config)
    assert read.cell.tolist() == sorted(set(slots))
    assert read.n_records.tolist() == [min(slots.count(one), config.privacy.cap) for one in sorted(set(slots))]


def arrow_times(numbers: list[int], unit: str = "us", zone: str | None = None) -> pa.Array:
    """Return times by their numbers, also those that no calendar has."""
    stored = pa.py_buffer(np.array(numbers, dtype=np.int64))
    return pa.Array.from_buffers(pa.timestamp(unit, zone), len(numbers), [None, stored])


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC"])
def test_no_time_of_a_parquet_file_takes_another_row_along(
    unit: str, zone: str | None, dataset: tuple[Dataset, PresenceConfig]
) -> None:
    files, config = dataset
    noon = int(dt.datetime.combine(DATE, dt.time(12), dt.UTC).timestamp())
    per_second = {"ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    odd = [-(2**63), -(2**63) + 1, -(2**63) + 2, 2**63 - 1, 2**63 - 2, -377705116800000001, 0, -62135596800 * 10**6]
    latitude, longitude = h3.cell_to_latlng(AREA[0])
    n = len(odd) + 3
    table = pa.table(
        {
            "bus": [f"u{k % 3}" for k in range(n)],
            "time": arrow_times([noon * per_second + k for k in range(3)] + odd, unit, zone),
            "lat": [latitude] * n,
            "lon": [longitude] * n,
            "speed": [50.0] * n,
        }
    )
    pq.write_table(table, files.write(f"{DATE}.parquet", b""))
    day = read_day(DATE, config)
    assert (day.n_users, int(day.n_records.sum())) == (3, 3)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
@pytest.mark.parametrize("name", ["bus", "time", "speed"])
def test_no_text_of_a_parquet_file_takes_another_row_along(
    name: str, kind: pa.DataType, dataset: tuple[Dataset, PresenceConfig]
) -> None:
    files, config = dataset
    latitude, longitude = h3.cell_to_latlng(AREA[0])
    texts = {"bus": [b"u0", b"u1", b"u2"], "time": [f"{DATE}T08:00:00Z".encode()] * 3, "speed": [b"50"] * 3}
    texts[name][2] = b"\xffu\xfe"
    is_large = pa.types.is_large_string(kind)
    columns = {
        one: pa.array(held, pa.large_binary() if is_large else pa.binary()).view(
            pa.large_string() if is_large else pa.string()
        )
        for one, held in texts.items()
    }
    if pa.types.is_dictionary(kind):
        columns = {one: held.dictionary_encode() for one, held in columns.items()}
    table = pa.table({**columns, "lat": [latitude] * 3, "lon": [longitude] * 3})
    pq.write_table(table, files.write(f"{DATE}.parquet", b""))
    assert read_day(DATE, config).n_users == (3 if name == "bus" else 2)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"bus": pa.array([1.0])}, "double, which cannot be read as user"),
        ({"speed": pa.array([True])}, "bool, which cannot be read as value"),
        ({"speed": pa.array([[1.0]])}, "cannot be read as value"),
        ({"time": pa.array([DATE])}, "date32"),
        ({"time": pa.array([1_768_000_000])}, "time_unit"),
        ({"speed": pa.array([Decimal(1)]).cast(pa.decimal256(60, 1))}, "decimal256.*convert it"),
    ],
)
def test_types_that_lose_every_row_are_refused_and_so_are_two_types_of_one_column(
    changes: dict[str, pa.Array], reason: str, dataset: tuple[Dataset, PresenceConfig]
) -> None:
    files, config = dataset
    good = {"bus": ["u"], "time": ["2026-01-15T08:00:00Z"], "lat": [47.0], "lon": [8.0], "speed": ["1"]}
    pq.write_table(pa.table(good | changes), files.write(f"{DATE}.parquet", b""))
    with pytest.raises(BadInput, match=reason):
        read_day(DATE, config)
    pq.write_table(pa.table(good), files.write(f"{DATE}.parquet", b""))
    read_day(DATE, config)
    pq.write_table(pa.table(good | {"speed": [1.5]}), files.write(f"{DATE}-more.parquet", b""))
    with pytest.raises(BadInput, match="in one type"):
        read_day(DATE, config)


@pytest.mark.quick(3)
@pytest.mark.parametrize("form", ["csv", "ndjson", "parquet"])
@pytest.mark.parametrize("kind", ["h3", "geometry"])
def test_cells_and_points_are_read_as_positions_are(form: str, kind: str, tmp_path: Path) -> None:
    some = [h3.cell_to_children(one, 7)[2] for one in AREA[:4]]
    lines = [(f"u{n % 9}", f"{DATE}T08:{n % 60:02}:00Z", *h3.cell_to_latlng(some[n % 4]), n % 50) for n in range(200)]
    names = ["bus", "time", "lat", "lon", "speed"]
    pl.DataFrame(lines, names, orient="row").write_csv(
        (positions := made(tmp_path / "one"))[0].write(f"{DATE}.csv", b"")
    )
    writings = {"h3": lambda y, x: h3.latlng_to_cell(y, x, 7), "geometry": lambda y, x: f"POINT ({x!r} {y!r})"}
    rows = [(user, time, writings[kind](y, x), speed) for user, time, y, x, speed in lines]
    rows += [("u1", f"{DATE}T09:00:00Z", "x", 1), ("u1", f"{DATE}T09:00:00Z", None, 1)]
    text = CONFIG.replace('latitude = "lat"\nlongitude = "lon"', f'{kind} = "place"')
    files, config = made(tmp_path / "two", text)
    frame, path = (
        pl.DataFrame(rows, ["bus", "time", "place", "speed"], orient="row"),
        files.write(f"{DATE}.{form}", b""),
    )
    {"csv": frame.write_csv, "ndjson": frame.write_ndjson, "parquet": frame.write_parquet}[form](path)
    assert in_order(by_user(read_day(DATE, config))) == in_order(by_user(read_day(DATE, positions[1])))
    start, end = text.index("[value]"), text.index("[grid]")
    alone = text[:start].replace('value = "speed"\n', "") + "[statistics]\nmean = false\n" + text[end:]
    files.config_file.write_text(alone)
    counted = by_user(read_day(DATE, load_presence(files.config_file)))
    assert sorted(map(sorted, counted)) == sorted(map(sorted, by_user(read_day(DATE, positions[1]))))
