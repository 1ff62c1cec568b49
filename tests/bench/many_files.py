"""Many small files beside the same rows in one file: the CPU time of reading a day, in a process of its own."""

import argparse
import datetime as dt
import shutil
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from google.transit import gtfs_realtime_pb2

from tasks.base.config import load_config
from tasks.engines.prepare import by_itself, prepare_day
from tests.bench.memory import measured

DATE = dt.date(2026, 3, 2)
N_SNAPSHOTS, N_VEHICLES = 2_880, 150
N_TEXTS, N_FIXES = 4_141, 150
_MIDNIGHT = 1772409600
_FOLDER = Path("var/bench/many-files")
_CONFIG = """\
[dataset]
name = "many"
files = ["{files}"]
timezone = "UTC"
{form}
[columns]
user = "{user}"
time = "{time}"
latitude = "{latitude}"
longitude = "{longitude}"
value = "{value}"
[value]
name = "speed"
unit = "km/h"
lower = 0.0
upper = 100.0
tick = 0.01
[grid]
h3_resolution = 7
slot_minutes = 60
[privacy]
epsilon_per_day = 2.0
[budget]
epsilon_total = 100.0
[storage]
path = "store"
threads = 2
"""
_SNAPSHOTS = {
    "form": 'format = "gtfs-rt"',
    "user": "vehicle.id",
    "time": "timestamp",
    "latitude": "position.latitude",
    "longitude": "position.longitude",
    "value": "position.speed",
}
_TEXTS = {"form": "", "user": "cab", "time": "time", "latitude": "lat", "longitude": "lon", "value": "speed"}

Row = dict[str, Any]


def measure_many_files(n_runs: int, share: float = 1.0) -> list[Row]:
    """Return the CPU seconds of each kind and form, and how many times those of one file they are.

    Args:
        n_runs: How often each is measured, in turn; the fastest counts.
        share: Of the files that are measured.
    """
    rows = []
    for kind, files, columns in (
        ("protobuf snapshots", _snapshots(int(N_SNAPSHOTS * share)), _SNAPSHOTS),
        ("small text files", _texts(int(N_TEXTS * share)), _TEXTS),
    ):
        shutil.rmtree(_FOLDER, ignore_errors=True)
        configs = _written(list(files), columns, _one_snapshot if columns is _SNAPSHOTS else _one_text)
        seconds = {form: min(_seconds(config) for _ in range(n_runs)) for form, config in configs.items()}
        rows += [
            {"kind": kind, "form": form, "cpu_seconds": one, "ratio": one / seconds["one file"]}
            for form, one in seconds.items()
        ]
    shutil.rmtree(_FOLDER, ignore_errors=True)
    return rows


def _seconds(config: Path) -> float:
    shutil.rmtree(config.parent / "store", ignore_errors=True)
    return measured([sys.executable, "-m", "tests.bench.many_files", str(config)]).cpu_seconds


def _written(
    files: list[tuple[str, bytes]], columns: dict[str, str], whole: Callable[[list[bytes]], tuple[str, bytes]]
) -> dict[str, Path]:
    """Write the same rows as one file, as many, and as an archive of these; return the configurations."""
    for form in ("one", "many", "archive"):
        (_FOLDER / form / "raw").mkdir(parents=True)
    ending = Path(files[0][0]).suffix
    name, content = whole([one for _, one in files])
    (_FOLDER / "one" / "raw" / name).write_bytes(content)
    many = _FOLDER / "many" / "raw"
    for name, content in files:
        (many / name).write_bytes(content)
    with tarfile.open(_FOLDER / "archive" / "raw" / "day.tar.gz", "w:gz", compresslevel=6) as archive:
        archive.add(many, ".")
    patterns = {"one": f"raw/*{ending}", "many": f"raw/*{ending}", "archive": "raw/*.tar.gz"}
    for form, pattern in patterns.items():
        (_FOLDER / form / "a.toml").write_text(_CONFIG.format(files=pattern, **columns))
    said = {"one": "one file", "many": f"{len(files):,} files", "archive": "one archive of them"}
    return {said[form]: _FOLDER / form / "a.toml" for form in patterns}


def _snapshots(n_files: int) -> Iterator[tuple[str, bytes]]:
    """Yield snapshots in each of which every vehicle has a new report."""
    rng = np.random.default_rng(0)
    places = rng.uniform((47.0, 8.2), (47.2, 8.4), (N_VEHICLES, 2))
    for number in range(n_files):
        places += rng.normal(0, 0.0005, places.shape)
        speeds = rng.integers(0, 30, N_VEHICLES)
        feed = gtfs_realtime_pb2.FeedMessage()
        at = _MIDNIGHT + number * 86400 // n_files
        feed.header.gtfs_realtime_version, feed.header.timestamp = "2.0", at
        for bus, (latitude, longitude) in enumerate(places):
            vehicle = feed.entity.add(id=str(bus)).vehicle
            vehicle.vehicle.id, vehicle.timestamp = f"bus{bus}", at
            vehicle.position.latitude, vehicle.position.longitude = latitude, longitude
            vehicle.position.speed = speeds[bus]
        yield f"{number:05}.pb", feed.SerializeToString()


def _one_snapshot(snapshots: list[bytes]) -> tuple[str, bytes]:
    return "day.pb", b"".join(snapshots)  # the entities of protobuf messages one after the other are those of one


def _texts(n_files: int) -> Iterator[tuple[str, bytes]]:
    rng = np.random.default_rng(0)
    for number in range(n_files):
        seconds = np.sort(rng.integers(0, 86400, N_FIXES))
        places = rng.uniform((47.0, 8.2), (47.2, 8.4), (N_FIXES, 2))
        rows = (
            f"cab{number},{dt.datetime.fromtimestamp(_MIDNIGHT + int(at), dt.UTC):%Y-%m-%dT%H:%M:%SZ},"
            f"{latitude:.5f},{longitude:.5f},{at % 60}\n"
            for at, (latitude, longitude) in zip(seconds, places, strict=True)
        )
        yield f"{number:05}.csv", ("cab,time,lat,lon,speed\n" + "".join(rows)).encode()


def _one_text(texts: list[bytes]) -> tuple[str, bytes]:
    return "day.csv", texts[0] + b"".join(one.partition(b"\n")[2] for one in texts[1:])


def main() -> None:
    """Prepare the day of a configuration."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.many_files", description=__doc__)
    parser.add_argument("config", type=Path)
    prepare_day(DATE, load_config(parser.parse_args().config), by_itself)


if __name__ == "__main__":
    main()
