"""Datasets whose users' presence is secret: a configuration, users of every shape, and runs with and without one."""

import datetime as dt
import gzip
import json
import random
import shutil
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h3
import numpy as np
import polars as pl
import pytest
from fixed import fix, fixed_bytes
from replayed import Around, alike, files_of, stop_clocks
from support import DATE, HEADER, Dataset, Hexveil

from dpmath.core.accounting import LOSS_UNITS
from dpmath.presence.ball import Ball
from tasks.presence import release
from tasks.presence.config import PresenceConfig, load_presence
from tasks.presence.publish import publish_day

LATER = DATE + dt.timedelta(days=1)
AREA = sorted(h3.cell_to_children(h3.latlng_to_cell(47.05, 8.31, 5), 6))
"""Seven hexagons."""
CONFIG = f"""
[dataset]
name = "secret"
files = ["raw/{{date}}*"]
timezone = "UTC"
[columns]
user = "bus"
time = "time"
latitude = "lat"
longitude = "lon"
value = "speed"
[value]
name = "speed"
unit = "km/h"
lower = 0.0
upper = 100.0
tick = 0.1
[grid]
h3_resolution = 6
slot_minutes = 360
area = {json.dumps(AREA)}
[privacy]
protects = "presence"
epsilon_per_day = 8.0
expected_users = 500
cap = 4
[budget]
epsilon_total = 40.0
[publish]
map = false
[storage]
path = "store"
"""
NESTED = CONFIG.replace('files = ["raw/{date}*"]', 'files = ["raw/{date}*"]\nrecords = "data.telemetry"')
NESTED = NESTED.replace('"lat"', '"location.lat"').replace('"lon"', '"location.lng"')
NESTED = NESTED.replace('value = "speed"', 'value = "location.speed"').replace('"bus"', '"device_id"')
SPEEDS, SPEEDS_IN_JSON = (
    text.replace(f'value = "{name}"', 'value = "{speed}"').replace("tick = 0.1", "tick = 0.1\nlongest_gap = 86400")
    for text, name in ((CONFIG, "speed"), (NESTED, "location.speed"))
)
CONFIGS = {"json": NESTED, "json.gz": NESTED, "speeds.csv": SPEEDS, "speeds.json": SPEEDS_IN_JSON}
"""The configuration for each form of files that the usual one is not for."""
ODD_RECORDS = [
    "null",
    "7",
    "[]",
    "{}",
    '"text"',
    "[[[[]]]]",
    "[" * 20_000 + "]" * 20_000,
    '{"a":' * 9_000 + "1" + "}" * 9_000,
    "9" * 50_000,
    "nan",
    "1e999999",
    '{"device_id": ' + "9" * 400 + "}",
    '{"device_id": 1e400, "time": 1e400, "location": {"lat": 1e400, "lng": -1e400, "speed": 1e400}}',
    '{"device_id": "x", "device_id": "y", "time": 1, "time": "t"}',
    '{"device_id": {"a": [1]}, "time": {}, "location": []}',
    '{"device_id": null, "time": null, "location": null}',
    '{"device_id": "\\ud800", "time": "\\u0000"}',
    '{"device_id": "raw\nend\tof \x01line"}',
    '{"device_id": "\\\\\\"]}],{[\\\\"}',
    '{"device_id": tru, "time": 012, "a" "b", , }',
    '{"a": 1]',
    '{"device_id": "' + "x" * 70_000 + '"}',
    '{"\\u0064evice_id": "escaped", "extra": {"telemetry": [{"device_id": "inner"}]}}',
    '{"data": {"telemetry": [{"device_id": "inner"}]}}',
    '"' + "\\\\" * 3_000 + '\\""',
    "\x1e\x1f\v\f",
    "",
]
"""What may stand in a list of records."""
Line = tuple[str, ...]
"""User, time, latitude, longitude and value, as a file has them; or the one text of a line or of a record."""


def made(folder: Path, text: str = CONFIG) -> tuple[Dataset, PresenceConfig]:
    """Return a dataset with a configuration, and that configuration."""
    folder.mkdir(parents=True, exist_ok=True)
    dataset = Dataset(folder)
    dataset.config_file.write_text(text)
    return dataset, load_presence(dataset.config_file)


def place_in(cell: str, rng: random.Random) -> tuple[str, str]:
    """Return a place in a hexagon as it is written."""
    latitude, longitude = h3.cell_to_latlng(cell)
    return f"{latitude + rng.uniform(-0.01, 0.01):.6f}", f"{longitude + rng.uniform(-0.01, 0.01):.6f}"


def lines_of(user: str, date: dt.date, rng: random.Random, n_records: int = 6) -> list[Line]:
    """Return the records of a user in a day, some of them in one place."""
    home, found = rng.choice(AREA), []
    for _ in range(n_records):
        cell = home if rng.random() < 0.6 else rng.choice(AREA)
        time = f"{date}T{rng.randrange(24):02}:{rng.randrange(60):02}:{rng.randrange(60):02}Z"
        found.append((user, time, *place_in(cell, rng), f"{rng.gauss(40, 12):.1f}"))
    return found


def some_lines(seed: int = 1, n_users: int = 30, date: dt.date = DATE) -> list[Line]:
    rng = random.Random(seed)
    return [line for n in range(n_users) for line in lines_of(f"u{n}", date, rng)]


def odd_records(whole: str) -> list[str]:
    """Return records of the user of a record that are as odd as records may be."""
    members = whole[1:-1]
    value = whole[whole.index('"speed": ') + 9 : -2]
    odd = ["1e400", "-1e400", "nan", "true", "null", "[]", '{"a": 1}', '"12"', "9" * 400, "0." + "0" * 400 + "1", '""']
    return [
        *(whole.replace(value, one) for one in odd),
        f"{{{members}, {members}}}",
        f'{{"user": "another", {members}, "extra": {"[" * 5000}{"]" * 5000}}}',
        whole.replace("device_id", "\\u0064evice_id"),
        whole.replace('{"lat"', '{"lat": null, "lat"'),
        whole.replace('"device_id"', '"device_id": [], "device_id"'),
        json.dumps(json.loads(whole), indent=4),
        whole.replace('"time": "', '"time": " '),
        f"[{whole}]",
        json.dumps(whole),
    ]


def odd_lines(line: Line) -> list[str]:
    """Return lines of the user of a line that are as odd as lines may be; a surrogate is a byte that is no text."""
    whole, in_json = ",".join(line), json.dumps(dict(zip(HEADER.strip().split(","), line, strict=True)))
    odd = [
        one + end for one in (whole, in_json) for end in ("\r", "\r\r", "\x1e", "\x1f", "\udcff", "\\", ",", '"', "}")
    ]
    parted = ((whole[:9], whole[9:]), (in_json[:6], in_json[6:]))
    halves = [middle.join(one) for one in parted for middle in ("\r", "\x00", "\udcc3", '"', "\ufeff")]
    long = [f"{whole},{'x' * 70_000}", "y" * 2_500_000, "," * 500, "[" * 50_000, '{"' * 20_000]
    return [
        *odd,
        *halves,
        *long,
        f"\ufeff{whole}",
        f"\ufeff{in_json}",
        HEADER.strip(),
        "",
        " ",
        '"',
        '""""',
        "null",
        "[]",
    ]


def of_shape(shape: str, user: str, date: dt.date, rng: random.Random) -> list[Line]:
    """Return the records of a user of a shape: one that a careless step would tell apart."""
    some = lines_of(user, date, rng)
    one = some[0]
    shapes: dict[str, list[Line]] = {
        "one record": [one],
        "every cell": [
            (user, f"{date}T{hour:02}:00:01Z", *place_in(cell, rng), "100") for cell in AREA for hour in range(0, 24, 2)
        ],
        "far over the cap": [
            (user, f"{date}T08:{k // 60:02}:{k % 60:02}Z", *one[2:4], str(k % 100)) for k in range(900)
        ],
        "outside the area": [(user, time, "-33.9", "151.2", value) for _, time, _, _, value in some],
        "the same again and again": [one] * 200,
        "bad rows alone": [
            (user, "soon", *one[2:]),
            (user, one[1], "north", one[3], "1"),
            (user, one[1], "0", "999", "1"),
            (user, *one[1:4], "none"),
            (user, *one[1:4], ""),
            (user, f"{date - dt.timedelta(days=3)}T08:00:00Z", *one[2:]),
        ],
        "odd texts": [(user, *one[1:4], '"4""2"'), (user, f'"{one[1]}"', *one[2:]), (f" {user} ", *one[1:])],
        "extreme values": [
            (user, *line[1:4], value) for line, value in zip(some, ["1e300", "-1e300", "inf"], strict=False)
        ],
        "odd records": [*((text,) for text in (*ODD_RECORDS, *odd_records(record_of(one)))), *some],
        "odd lines": [*((text,) for text in odd_lines(one)), *some],
        "odd records alone": [(text,) for text in ODD_RECORDS],
        "usual": some,
    }
    return shapes[shape]


SHAPES = (
    "one record",
    "every cell",
    "far over the cap",
    "outside the area",
    "the same again and again",
    "bad rows alone",
    "odd texts",
    "extreme values",
    "usual",
)
OF_LINES = ("odd lines",)
"""Shapes that only files of lines have."""
OF_DOCUMENTS = ("odd records", "odd records alone")
"""Shapes that only documents have."""


def document(records: Sequence[str]) -> str:
    """Return a document with some records at `data.telemetry`, and with more than that."""
    before = '{"version": "2.0.0", "odd \\"[": [1, {"telemetry": [{}]}], "data": {"telemetry": ['
    return before + ",".join(records) + ' ] , "more": {"a": "]}"}}, "ttl": 60 }\n'


def record_of(line: Line) -> str:
    """Return a line as a record in a document."""
    if len(line) == 1:
        return line[0]
    user, time, latitude, longitude, speed = line
    place = {"lat": latitude, "lng": longitude, "speed": speed}
    return json.dumps({"device_id": user, "time": time, "location": place})


def write(dataset: Dataset, date: dt.date, lines: Sequence[Line], form: str = "csv") -> Path:
    """Write a day's file, in one of the formats."""
    if "json" in form.removesuffix(".gz").split("."):
        whole = document([record_of(line) for line in lines]).encode()
        return dataset.write(f"{date}.{form}", gzip.compress(whole, mtime=0) if form.endswith("gz") else whole)
    if form.endswith("csv"):
        text = HEADER + "".join(",".join(line) + "\n" for line in lines)
        return dataset.write(f"{date}.csv", text.encode(errors="surrogateescape"))
    names = HEADER.strip().split(",")
    if form == "ndjson":
        of_lines = (line[0] if len(line) == 1 else json.dumps(dict(zip(names, line, strict=True))) for line in lines)
        return dataset.write(f"{date}.ndjson", "\n".join([*of_lines, ""]).encode(errors="surrogateescape"))
    path = dataset.write(f"{date}.parquet", b"")
    pl.DataFrame(lines, schema=dict.fromkeys(names, pl.String), orient="row").write_parquet(path)
    return path


@dataclass
class Sums:
    """Takes the place of what draws: in a second run each noisy sum is made that of the first.

    Attributes:
        earlier: What was given in the first run; None in the first.
        given: The noisy sums so far, each with its ball and the sums before noise.
    """

    earlier: list[tuple[Ball, np.ndarray, np.ndarray]] | None = None
    given: list[tuple[Ball, np.ndarray, np.ndarray]] = field(default_factory=list)

    def noisy_sums(self, ball: Ball, private_vectors: Any, _: Any) -> np.ndarray:
        """Return the noisy sums of the first run."""
        inside, number = ball.inside(private_vectors), len(self.given)
        sums = np.asarray(inside.sum(axis=0)).ravel().astype(np.int64)
        noise = ball.noise(fixed_bytes(f"draw {number}: "))
        noisy = (sums + noise).astype(object) if self.earlier is None else self.earlier[number][2]
        self.given.append((ball, sums, noisy))
        return noisy

    def moved(self) -> float:
        """Return how far the sums of the two runs are apart, in rho over all questions."""
        assert self.earlier is not None
        assert len(self.earlier) == len(self.given)
        rho = 0.0
        for (ball, sums, _), (other, others, _) in zip(self.earlier, self.given, strict=True):
            assert ball == other, "another ball"
            square = int(((sums.astype(object) - others.astype(object)) ** 2).sum())
            assert square <= ball.radius**2, "too far"
            rho += square * (ball.inverse_scale / LOSS_UNITS) ** 2 / 2
        return rho


@contextmanager
def drawing(sums: Sums) -> Iterator[None]:
    """Let sums take the place of what draws, and stop the clocks."""
    with pytest.MonkeyPatch.context() as patch:
        fix(patch)
        stop_clocks(patch)
        patch.setattr(Ball, "noisy_sums", lambda *given: sums.noisy_sums(*given))  # noqa: PLW0108 it is a method
        yield


def seen(
    folder: Path,
    files: dict[dt.date, tuple[list[Line], str]],
    sums: Sums,
    runs: Hexveil,
    commands: Any,
    around: Around = lambda: nullcontext({}),
    text: str = CONFIG,
) -> dict[str, bytes]:
    """Return all that anybody may see of some commands over some files."""
    shutil.rmtree(folder, ignore_errors=True)
    dataset, _ = made(folder, text)
    for date, (lines, form) in files.items():
        write(dataset, date, lines, form)
    found: dict[str, bytes] = {}
    with drawing(sums), around() as further:
        for number, (command, *arguments) in enumerate(commands):
            given = [folder / one if isinstance(one, Path) else one for one in arguments]
            ended = runs(*str(command).split(), "--config", dataset.config_file, *given)
            said = {"code": str(ended.returncode), "out": ended.stdout, "err": ended.stderr}
            found |= {f"{number} {command}: {name}": alike(text.encode()) for name, text in said.items()}
    return found | further | files_of(folder)


def with_and_without(
    folder: Path, shape: str, form: str, seed: int, others: int, runs: Hexveil, commands: Any, **given: Any
) -> tuple[float, dict[str, bytes]]:
    """Run commands over two days with a user of a shape, and without; check that nothing but noisy sums differs.

    Returns:
        How far the sums are apart, in rho, and all that was seen.
    """
    rng = random.Random(seed)
    dates = (DATE, LATER)
    rest = {date: [line for n in range(others) for line in lines_of(f"u{n}", date, rng)] for date in dates}
    one = {date: of_shape(shape, "somebody", date, rng) for date in dates}
    found, sums = [], Sums()
    for without in (False, True):
        days = {}
        for date, lines in rest.items():
            order = random.Random(seed + 1)
            placed = [(order.random(), line) for line in lines]
            mine = [] if without else [(order.random(), line) for line in one[date]]
            days[date] = ([line for _, line in sorted(placed + mine)], form)
        found.append(seen(folder, days, sums, runs, commands, text=CONFIGS.get(form, CONFIG), **given))
        sums = sums if without else Sums(sums.given)
    first, second = found
    differing = sorted(name for name in first.keys() | second.keys() if first.get(name) != second.get(name))
    assert not differing, differing
    return sums.moved(), first


def released(config: PresenceConfig, date: dt.date = DATE, seed: int = 1) -> str:
    """Release a day with bytes of a seed, and return its id."""
    return release.release_with(date, config, np.random.default_rng(seed).bytes)


def published(config: PresenceConfig, date: dt.date = DATE, seed: int = 1) -> Path:
    publish_day.fn(released(config, date, seed), config)
    return config.storage_path / "published" / f"date={date}"


def read_by_hand(lines: list[Line], config: PresenceConfig) -> dict[str, dict[int, tuple[int, int]]]:
    """Return each user's records and ticks by cell, read with Python alone."""
    number = {cell: place for place, cell in enumerate(config.hexagons)}
    once: dict[tuple[str, dt.datetime, float, float], list[int]] = defaultdict(list)
    for line in lines:
        user, time, *rest = (part.strip('"').replace('""', '"') if part.startswith('"') else part for part in line)
        try:
            instant = dt.datetime.fromisoformat(time)
            latitude, longitude, value = map(float, rest)
        except ValueError:
            continue
        inside = abs(latitude) <= 90 and abs(longitude) <= 180 and instant.date() == DATE
        if user.strip() and inside and not np.isnan(value):
            ticks = round((value - 0) / 0.1) if 0 < value < 100 else 0 if value <= 0 else 1000
            once[user.strip(), instant, latitude, longitude].append(ticks)
    found: dict[str, dict[int, tuple[int, int]]] = defaultdict(dict)
    for (user, instant, latitude, longitude), ticks in once.items():
        cell = h3.latlng_to_cell(latitude, longitude, 6)
        if cell in number:
            place = number[cell] * 4 + instant.hour // 6
            n, total = found[user].get(place, (0, 0))
            found[user][place] = n + 1, total + sum(ticks) // len(ticks)
    cap = config.privacy.cap
    return {
        user: {place: (min(n, cap), total if n <= cap else total * cap // n) for place, (n, total) in cells.items()}
        for user, cells in found.items()
    }
