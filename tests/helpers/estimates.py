"""Days of an estimate: buses that go from place to place, and what was released of them."""

import datetime as dt
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from support import DATE, HEADER, Dataset

from tasks.account import ledger
from tasks.account.chain import releases
from tasks.account.entry import Release
from tasks.base.durable import sha256

PLACES = [(47.05 + 0.03 * row, 8.31 + 0.04 * column) for row in range(2) for column in range(3)]


def write_day(dataset: Dataset, date: dt.date, seed: int = 1, n_buses: int = 24, n_places: int = 6) -> None:
    """Write a day in which buses go from place to place, slower in the morning and at the first places."""
    rng = np.random.default_rng(seed)
    lines = []
    for bus in range(n_buses):
        for hour in range(7, 13):
            place = int(rng.integers(n_places))
            speed = 20 + 8 * place + 2 * (hour - 7)
            for minute in range(0, 60, 60 // int(rng.integers(1, 6))):
                latitude, longitude = PLACES[place]
                value = min(99.0, max(0.0, speed + rng.normal(0, 4)))
                lines.append(f"bus{bus:02},{date}T{hour:02}:{minute:02}:00Z,{latitude},{longitude},{value:.2f}")
    dataset.write(f"day-{date}.csv", HEADER + "\n".join(lines) + "\n")


def say_again(published: Path, date: dt.date, again: object) -> None:
    """Let the manifest of a day say another number of users who come again."""

    def change(stated: dict[str, Any]) -> None:
        assert float(stated["joint_error"]["again"]) >= 1
        stated["joint_error"]["again"] = again

    restate(published, date, change)


def restate(published: Path, date: dt.date, change: Callable[[dict[str, Any]], None]) -> None:
    """Let the manifest of a day say something else, and the Data Package name that file."""
    path = published / f"date={date}" / "manifest.json"
    stated = json.loads(path.read_text())
    change(stated)
    path.write_text(json.dumps(stated))
    name_anew(published, f"date={date}/manifest.json")


def name_anew(published: Path, name: str) -> None:
    """Let the Data Package name a file of a day as it is now."""
    package = published / "datapackage.json"
    said = json.loads(package.read_text())
    (resource,) = (one for one in said["resources"] if one["path"] == name)
    resource["hash"] = f"sha256:{sha256((published / name).read_bytes())}"
    package.write_text(json.dumps(said))


def day(number: int) -> dt.date:
    return DATE + dt.timedelta(days=number)


def released(dataset: Dataset) -> list[Release]:
    return releases(ledger.read_entries(dataset.config))
