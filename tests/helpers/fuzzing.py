"""Files that differ in the bytes of one user's values alone, and what becomes of each: the fuzzer of the readers."""

import datetime as dt
import gzip
import io
import json
import logging
import math
import os
import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import values
from google.transit import gtfs_realtime_pb2
from support import DATE, Dataset

from flows.show import show_forgotten
from tasks.base.errors import HexveilError
from tasks.engines.prepare import while_open
from tasks.upkeep.forget import forget_days, held_days

VICTIM = "bus3"
BOUNDARIES = [8_000_000, 1 << 23, 16_000_000, 1 << 24, 24_000_000, 32_000_000, 1 << 25, 40_000_000]
"""Where a reader of text may begin anew: multiples of eight million bytes, and of eight MiB."""

FORMS = ("csv", "csv.gz", "ndjson", "ndjson.gz", "json", "parquet")
FEEDS = {
    "uint64": {"time": "header.timestamp", "value": "timestamp"},
    "else": {"time": "timestamp", "time_else": "header.timestamp", "value": "position.odometer"},
    "uint32": {"time": "trip.start_date", "time_format": "%Y%m%d", "value": "occupancy_percentage"},
}
"""The columns of snapshots of GTFS-Realtime, by what is odd in them."""

IN_TWO = '[columns]\nuser = "bus"\ntime = ["date", "clock"]\nlatitude = "lat"\nlongitude = "lon"\nvalue = "speed"\n'
"""The `[columns]` of CSV files with date and time in two columns."""

_PAD = 50_000
_VALUE = b"\1"
"""Where a malformed record holds the first of the victim's values."""

Record = tuple[str, str, str, str]
_N_FIELDS = 4


@dataclass(frozen=True)
class Outcome:
    """All that anybody may see of a day that is read: for files that differ in values alone it must be the same."""

    refused: str | None
    said: list[str]
    occupancy: list[tuple[Any, ...]]
    held: list[dt.date]


@dataclass(frozen=True)
class Case:
    """Two files: with plain values, and with any values of the domain in their place.

    Attributes:
        name: Of the files.
        plain: Content.
        changed: Content.
        n_changed: How many values differ.
    """

    name: str
    plain: bytes
    changed: bytes
    n_changed: int


def draw_case(
    seed: int,
    form: str,
    *,
    boundary: int | None = None,
    is_broken: bool = False,
    in_two: bool = False,
    n_buses: int | None = None,
) -> Case:
    """Return two files of a format.

    Args:
        seed: Decides about everything.
        form: One of ``FORMS``.
        boundary: Where in a file of text, in bytes unpacked, the first of the changed values shall stand across.
        is_broken: Whether a fault that is in no value shall be in both.
        in_two: Whether a CSV file shall have date and time in two columns, ``IN_TWO``.
        n_buses: Number of buses, of which one is the victim; None for as many as leave it some twenty records.
    """
    rng = random.Random(seed)
    records = _records(rng, rng.choice([3, 40, 200, 2047, 2049]) if boundary is None else 40, n_buses)
    kind, _, packed = form.partition(".")
    plain, changed = _csv_in_two(rng, records, boundary) if in_two else _MAKERS[kind](rng, records, boundary)
    if is_broken:
        fault = rng.choice(_FAULTS[kind])
        plain, changed = fault(plain), fault(changed)
    if packed:
        plain, changed = (_packed(random.Random(seed), content) for content in (plain, changed))
        cut = rng.choice([0, 1, 8]) if is_broken else 0
        plain, changed = plain[: len(plain) - cut], changed[: len(changed) - cut]
    return Case(f"{seed:06}.{form}", plain, changed, sum(record[0] == VICTIM for record in records))


def differ(cases: Sequence[Case], dataset: Dataset) -> bool:
    """Return whether the files of some cases together come to another day with the changed values."""
    return _outcome(dataset, cases, "plain") != _outcome(dataset, cases, "changed")


def differing(cases: Sequence[Case], dataset: Dataset) -> list[str]:
    """Return the names of the cases whose two files do not come to the same day, read alone or among the others."""
    if not cases or not differ(cases, dataset):
        return []
    if len(cases) == 1:
        return [cases[0].name]
    half = len(cases) // 2
    return differing(cases[:half], dataset) + differing(cases[half:], dataset) or ["these together"]


def _outcome(dataset: Dataset, cases: Sequence[Case], which: str) -> list[Outcome]:
    """Return what becomes of a day whose files are those of some cases: as they come, come again, and are forgotten.

    The second time all come with plain values: to the same place, some with the time of the first.
    """
    for folder in ("raw", "store"):
        shutil.rmtree(dataset.folder / folder, ignore_errors=True)
    times = {}
    for case in cases:
        path = dataset.write(case.name, getattr(case, which))
        times[path] = path.stat().st_mtime_ns
    with while_open(dataset.config):  # saves a third of the seconds of small files
        first = seen(dataset, dataset.prepare)
        for number, case in enumerate(cases):
            path = dataset.write(case.name, case.plain)
            if number % 2:
                os.utime(path, ns=(times[path], times[path]))
        again = seen(dataset, dataset.prepare)
    return [first, again, seen(dataset, lambda: show_forgotten(forget_days([DATE], dataset.config), dataset.config))]


def seen(dataset: Dataset, work: Callable[[], None]) -> Outcome:
    heard, refused, printed = _Heard(), None, io.StringIO()
    logging.getLogger("hexveil").addHandler(heard)
    try:
        with redirect_stdout(printed):
            work()
    except HexveilError as error:
        refused = str(error)
    finally:
        logging.getLogger("hexveil").removeHandler(heard)
    pairs = f"select slot_start, h3_cell, user_id, n_records from user_cell where local_date = '{DATE}' order by all"
    said = [*heard.said, *printed.getvalue().splitlines()]
    return Outcome(refused, said, dataset.query(pairs), sorted(held_days(dataset.config)))


class _Heard(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())


def _records(rng: random.Random, n_records: int, n_buses: int | None) -> list[Record]:
    """Return records of buses; among them some that rules quarantine, and duplicates.

    Without a number of buses some twenty of them at most are the victim's: to draw and to read a value may take longer
    than all other records.
    """
    n_buses = n_buses or max(10, n_records // 20)
    return [
        (
            f"bus{rng.randrange(n_buses)}" if number else VICTIM,
            rng.choices([f"{DATE}T{8 + number % 9:02}:{number % 60:02}:{rng.randrange(60):02}Z", "soon"], [99, 1])[0],
            rng.choices([f"47.{rng.randrange(9)}5", "0"], [99, 1])[0],
            rng.choices([f"8.{rng.randrange(9)}1", "0"], [99, 1])[0],
        )
        for number in range(n_records)
    ]


def _csv(rng: random.Random, records: Sequence[Sequence[str]], boundary: int | None) -> tuple[bytes, bytes]:
    end, quote = rng.choice([b"\n", b"\r\n"]), rng.choice([b"", b"", b'"'])
    time = [b"time"] if len(records[0]) == _N_FIELDS else [b"date", b"clock"]
    names = [b"bus", *time, b"lat", b"lon", b"speed", b"note"]
    order = rng.sample(range(len(names)), len(names))

    def line(record: Sequence[str], value: bytes, note: bytes = b"") -> bytes:
        fields = [*(quote + field.encode() + quote for field in record), value, note]
        return b",".join(fields[position] for position in order) + end

    header = b",".join(names[position] for position in order) + end
    odd = [b"short" + end, end, b"too,few," + _VALUE + end, _VALUE + b",1,2,3,4,5,too,many" + end]
    return _texts(rng, header, records, line, odd, lambda: values.csv_field(rng), boundary)


def _csv_in_two(rng: random.Random, records: list[Record], boundary: int | None) -> tuple[bytes, bytes]:
    del boundary
    ends = ("", "Z", "+01:00", " UTC", " CET", " Europe/Paris", " BST")
    split = [(bus, *time.rstrip("Z").partition("T")[::2], lat, lon) for bus, time, lat, lon in records]
    return _csv(rng, [(bus, day, clock + rng.choice(ends), lat, lon) for bus, day, clock, lat, lon in split], None)


def _ndjson(rng: random.Random, records: list[Record], boundary: int | None) -> tuple[bytes, bytes]:
    end, names = rng.choice([b"\n", b"\r\n"]), ["bus", "time", "lat", "lon", "speed", "note"]
    order = rng.sample(range(6), 6)

    def line(record: Record, value: bytes, note: bytes = b"") -> bytes:
        members = [*(json.dumps(field).encode() for field in record), value, b'"' + note + b'"']
        return b"{" + b", ".join(f'"{names[one]}": '.encode() + members[one] for one in order) + b"}" + end

    return _texts(rng, b"", records, line, [b"not json" + end, b"  " + end], lambda: values.json_value(rng), boundary)


def _json(rng: random.Random, records: list[Record], boundary: int | None) -> tuple[bytes, bytes]:
    """Return two documents that are lists of the records of NDJSON, and of what is no record."""
    some, other = _ndjson(rng, records, boundary)
    return _listed(some), _listed(other)


def _listed(lines: bytes) -> bytes:
    return b"[" + b",\n".join(line for line in lines.split(b"\n") if line.strip()) + b"]"


def _texts(
    rng: random.Random,
    header: bytes,
    records: Sequence[Sequence[str]],
    line: Callable[..., bytes],
    odd: list[bytes],
    draw: Callable[[], bytes],
    boundary: int | None,
) -> tuple[bytes, bytes]:
    """Return two files of lines, equal but for the victim's values: 30, and what is drawn."""
    drawn = [draw() if record[0] == VICTIM else b"30" for record in records]
    before = header
    if boundary is not None:
        drawn[0] = max((draw() for _ in range(4)), key=len)
        start = line(records[0], b"\1").index(b"\1")
        pads = _pads(boundary - len(header) - start - rng.randint(0, len(drawn[0])), line)
        before += b"".join(pads)
    odd_ones = [(rng.randint(0, len(records)), rng.choice(odd)) for _ in range(rng.choice([0, 1, 1, 5]))]
    is_ended = rng.random() < 0.8

    def content(fields: list[bytes]) -> bytes:
        lines = [line(record, field) for record, field in zip(records, fields, strict=True)]
        for place, one in odd_ones:
            lines.insert(place, one.replace(_VALUE, fields[0]))
        whole = before + b"".join(lines)
        return whole if is_ended else whole.rstrip(b"\r\n")

    return content([b"30"] * len(records)), content(drawn)


def _pads(n_bytes: int, line: Callable[..., bytes]) -> Iterator[bytes]:
    """Yield long lines that take so many bytes in all."""
    record = ("bus9", f"{DATE}T20:00:00Z", "47.05", "8.31")
    n_lines, n_least = n_bytes // _PAD + 1, len(line(record, b"30"))
    for number in range(n_lines):
        size = n_bytes * (number + 1) // n_lines - n_bytes * number // n_lines
        yield line(record, b"30", b"x" * (size - n_least))


def _parquet(rng: random.Random, records: list[Record], boundary: int | None) -> tuple[bytes, bytes]:
    del boundary  # where its pages and row groups begin is drawn below
    kind = rng.choice(values.PARQUET_TYPES)
    drawn = [values.parquet_value(rng, kind) if record[0] == VICTIM else None for record in records]
    options: dict[str, Any] = {
        "row_group_size": rng.choice([1, 7, 2048]) if len(records) < 100 else rng.choice([700, 2048, 100_000]),
        "data_page_size": rng.choice([64, 4096, 1 << 20]),
        "data_page_version": rng.choice(["1.0", "2.0"]),
        "use_dictionary": (encoding := rng.choice([True, False, "BYTE_STREAM_SPLIT"])) is True,
        "write_statistics": rng.random() < 0.5,
        "compression": rng.choice(["none", "snappy", "zstd", "gzip"]),
    }

    if encoding == "BYTE_STREAM_SPLIT" and kind in (pa.float32(), pa.float64()):  # of others it is refused
        options["column_encoding"] = {"speed": encoding}

    def content(fields: list[Any]) -> bytes:
        columns = dict(zip(("bus", "time", "lat", "lon"), zip(*records, strict=True), strict=True))
        table = pa.table(
            {name: pa.array(column) for name, column in columns.items()} | {"speed": pa.array(fields, kind)}
        )
        file = io.BytesIO()
        pq.write_table(table, file, **options)
        return file.getvalue()

    return content([None] * len(records)), content(drawn)


def feed_settings(odd: str) -> str:
    """Return the `[columns]` of snapshots of ``FEEDS``."""
    place = {"latitude": "position.latitude", "longitude": "position.longitude"}
    columns = {"user": "vehicle.id", **place, **FEEDS[odd]}
    return "[columns]\n" + "".join(f'{name} = "{column}"\n' for name, column in columns.items())


def draw_feed(seed: int, odd: str) -> Case:
    """Return two snapshots of GTFS-Realtime with columns of ``FEEDS``."""
    rng = random.Random(seed)
    buses = [f"bus{number % 10}" for number in range(rng.choice([3, 40, 200]))]
    buses[0] = VICTIM
    noon = int(dt.datetime(DATE.year, DATE.month, DATE.day, 12, tzinfo=dt.UTC).timestamp())
    places = [(rng.choice([47.05, 47.15, 0, 91]), rng.choice([8.31, 8.41, 0])) for _ in buses]
    times = [rng.choice([noon + rng.randrange(3600), None, 0, 1 << 63, (1 << 64) - 1]) for _ in buses]
    drawn = [_DRAWN[odd](rng) if bus == VICTIM else 30 for bus in buses]
    packed = rng.random() < 0.3

    def content(fields: Sequence[float | None]) -> bytes:
        feed = gtfs_realtime_pb2.FeedMessage()  # pyright: ignore[reportAttributeAccessIssue]
        feed.header.gtfs_realtime_version, feed.header.timestamp = "2.0", noon
        for bus, place, time, value in zip(buses, places, times, fields, strict=True):
            vehicle = feed.entity.add(id=str(len(feed.entity))).vehicle
            vehicle.vehicle.id, vehicle.trip.start_date = bus, f"{DATE:%Y%m%d}"
            vehicle.position.latitude, vehicle.position.longitude = place
            if odd != "uint64" and time is not None:
                vehicle.timestamp = time
            if value is not None:
                owner, _, name = FEEDS[odd]["value"].rpartition(".")
                setattr(getattr(vehicle, owner) if owner else vehicle, name, value)
        whole = feed.SerializeToString()
        return gzip.compress(whole, mtime=0) if packed else whole

    name = f"{seed:06}.pb.gz" if packed else f"{seed:06}.pb"
    return Case(name, content([30] * len(buses)), content(drawn), buses.count(VICTIM))


_DRAWN: dict[str, Callable[[random.Random], float | None]] = {
    "uint64": lambda rng: rng.choice(
        [None, 0, (1 << 53) + 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, rng.getrandbits(64)]
    ),
    "else": lambda rng: rng.choice([None, 0.0, -1.0, 1e308, math.nan, math.inf, -math.inf, 5e-324]),
    "uint32": lambda rng: rng.choice([None, 0, (1 << 32) - 1, rng.getrandbits(32)]),
}


def _packed(rng: random.Random, content: bytes) -> bytes:
    """Return a gzip file, of one member or of several that begin anywhere."""
    cuts = sorted(rng.randrange(len(content) + 1) for _ in range(rng.choice([0, 0, 1, 3])))
    parts = [content[start:end] for start, end in zip([0, *cuts], [*cuts, len(content)], strict=True)]
    return b"".join(gzip.compress(part, rng.choice([1, 6]), mtime=0) for part in parts)


def _inserting(line: bytes) -> Callable[[bytes], bytes]:
    """Return what puts a line after the first one, which is a header or a record."""

    def insert(content: bytes) -> bytes:
        head, end, rest = content.partition(b"\n")
        return head + end + line + rest

    return insert


def _appending(line: bytes) -> Callable[[bytes], bytes]:
    return lambda content: content.rstrip(b"\r\n") + b"\n" + line


_MAKERS = {"csv": _csv, "json": _json, "ndjson": _ndjson, "parquet": _parquet}
_LONG = b"x" * 70_000 + b"\n"
_FAULTS = {
    "csv": [
        *(
            put(line)
            for put in (_inserting, _appending)
            for line in (b"a\rb\n", b"\r\r\n", b"a,b\r\r\n", b"\xff\n", _LONG)
        ),
        *(put(line) for put in (_inserting, _appending) for line in (b'"a"b\n', b"a\0\n", b"1,2,3,4,5,\xc3\n")),
        *map(_appending, [b"\r", b'"', b'"open\n1,2\n', b'1,"2\r\n\r\n']),
        lambda content: content.partition(b"\n")[2],
        lambda content: b"\xff\xfe" + content,
    ],
    "ndjson": [
        *(put(line) for put in (_inserting, _appending) for line in (b"\xff\n", _LONG, b"\r\r\n", b"\0\n")),
        lambda content: b"\xff\xfe" + content,
    ],
    "json": [lambda content: content[:-1], lambda content: content[1:], lambda content: b"\xff\xfe" + content],
    "parquet": [lambda content: content[:-1], lambda content: content[4:]],
}
