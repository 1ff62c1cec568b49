"""A collection in a folder, with simulated devices that answer its rounds."""

import csv
import datetime as dt
import json
from pathlib import Path
from typing import Any

from tasks.collect.config import CollectionConfig, load_collection
from tasks.collect.rounds import estimate, localise, open_period
from tasks.collect.simulated import write_reports
from tasks.device.parameters import RoundParameters, read_parameters

DATE = dt.date(2026, 3, 2)
N_DEVICES = 900
CELLS = ("86489e347ffffff", "86489e34fffffff", "86489e357ffffff")
CONFIG = """
[collection]
name = "phones"
reports = "reports/{period}/*.jsonl"
alpha = 4
areas = ["north", "south", "empty"]
expected_devices = 100000
least_devices = 50
counts = [0, 400, 1000]
shares = [0.1, 0.3, 0.6]
[value]
name = "speed"
unit = "km/h"
lower = 0
upper = 100
tick = 0.1
[storage]
path = "store"
"""


class Collected:
    """A collection in a folder, with simulated devices in two of its three areas."""

    def __init__(self, folder: Path, anew: bool = True) -> None:
        self.file = folder / "collection.toml"
        if anew:
            self.file.write_text(CONFIG)
        self.reports = folder / "reports" / "2026-03-02"

    @property
    def config(self) -> CollectionConfig:
        return load_collection(self.file)

    def change(self, before: str, after: str) -> None:
        assert before in self.file.read_text()
        self.file.write_text(self.file.read_text().replace(before, after))

    def asked(self, number: int) -> RoundParameters:
        step = open_period if number == 1 else localise
        return read_parameters(step.fn(DATE, self.config) / f"round-{number}.json")

    def report(self, number: int) -> list[dict[str, Any]]:
        """Let the devices answer a round, and return their reports."""
        asked = self.asked(number)
        kept = {area: found for area, found in asked.bins.items() if area not in ("empty", CELLS[2])}
        public = self.config.model_copy(
            update={"collection": self.config.collection.model_copy(update={"areas": tuple(kept)})}
        )
        write_reports(N_DEVICES, asked, public)
        path = self.reports / f"round-{number}.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()]

    def add(self, *lines: object, name: str = "zz.jsonl") -> None:
        self.reports.mkdir(parents=True, exist_ok=True)
        texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        (self.reports / name).write_text("\n".join(texts) + "\n")

    def entries(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.config.storage_path / "ledger.jsonl").read_text().splitlines()]

    def published(self) -> dict[str, bytes]:
        folder = self.config.storage_path / "published" / "period=2026-03-02"
        return {path.name: path.read_bytes() for path in folder.iterdir()}

    def whole(self) -> list[dict[str, str]]:
        for number in (1, 2):
            self.report(number)
        folder = estimate.fn(DATE, self.config)
        return list(csv.DictReader((folder / "means.csv").read_text().splitlines()))
