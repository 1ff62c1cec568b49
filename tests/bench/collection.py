"""Both rounds of a collection beside bare DuckDB that adds the same reports up, each in a process of its own.

Bare DuckDB judges no line, knows no device, keeps no account, and publishes nothing.
"""

import argparse
import datetime as dt
import json
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from tasks.collect.areas import areas_page
from tasks.collect.config import CollectionConfig, load_collection
from tasks.collect.ledger import published_folder
from tasks.collect.rounds import estimate, localise, open_period
from tasks.device.parameters import RoundParameters, read_parameters
from tests.bench.devices import write_reports
from tests.bench.memory import measured

FOLDER = Path("var/bench/collection")
MEMORY_LIMIT = "2GiB"
IMPORTED = areas_page
"""What a step imports on its way."""

STEPS = ("localise", "estimate")
_CONFIG = Path(__file__).parents[2] / "deploy" / "config" / "collection.toml"
_DATE = dt.date(2026, 3, 2)
_MEMBERS = "{area: 'varchar', round: 'integer', ballot: 'varchar', estimate: 'bigint'}"
_VOTES = """
select area, bin.number, count(*), count(*) filter (ballot[bin.number + 1] = '1')
from read_json({files}, format = 'newline_delimited', columns = {members})
cross join range({n_bins}) as bin (number)
where round = 1
group by all
"""
_SUMS = """
select area, count(*), sum(estimate), sum(estimate::hugeint * estimate)
from read_json({files}, format = 'newline_delimited', columns = {members})
where round = 2
group by all
"""

Row = dict[str, Any]


def measure_collection(n_devices: int, n_runs: int) -> list[Row]:
    """Measure the rounds of a collection and bare DuckDB in turn, as often as asked.

    Args:
        n_devices: Devices of both rounds together; each sends one report.
        n_runs: How often each is run.

    Returns:
        A row for each run: seconds and CPU seconds of ``localise`` and ``estimate``, of bare DuckDB for the same two
        sums, their ratios, and the peaks of memory in MiB.
    """
    shutil.rmtree(FOLDER, ignore_errors=True)
    config = _write_config(n_devices)
    for number, step in ((1, open_period), (2, localise)):
        write_reports(n_devices, _asked(step.fn, number, config), _reports(number, config))
    rows = []
    for run in range(n_runs):
        done = {kind: measured([sys.executable, "-m", "tests.bench.collection", kind]) for kind in ("bare", "ours")}
        took = {kind: json.loads(one.output) for kind, one in done.items()}
        seconds = {f"{name}_{kind}": one for kind, steps in took.items() for name, one in steps.items()}
        peaks = {f"peak_mib_{kind}": one.peak_mib for kind, one in done.items()}
        ratios = {
            name: sum(took["ours"][step + end] for step in STEPS) / sum(took["bare"][step + end] for step in STEPS)
            for name, end in (("ratio", ""), ("ratio_cpu", "_cpu"))
        }
        rows.append({"n_devices": n_devices, "run": run, **seconds, **peaks, **ratios})
    shutil.rmtree(FOLDER)
    return rows


def add_up_bare(config: CollectionConfig) -> dict[str, float]:
    """Add the reports of both rounds up in DuckDB, and return the seconds of each, by the clock and of CPU."""
    first, second = (_reports(number, config) for number in (1, 2))
    n_bins = _asked(open_period.fn, 1, config).protocol.n_bins
    seconds: dict[str, float] = {}
    for name, statement, files in zip(STEPS, (_VOTES, _SUMS), ([first], [first, second]), strict=True):
        with _timed(name, seconds), duckdb.connect(config={"memory_limit": MEMORY_LIMIT}) as connection:
            listed = [str(file) for file in files]
            connection.sql(statement.format(files=listed, members=_MEMBERS, n_bins=n_bins)).fetchall()
    return seconds


def run_rounds(config: CollectionConfig) -> dict[str, float]:
    """Do both rounds anew from the period's opening, and return the seconds of each; each sees its own files."""
    second = _reports(2, config)
    (config.storage_path / "private" / "reports.duckdb").unlink(missing_ok=True)
    ledger = config.storage_path / "ledger.jsonl"
    ledger.write_bytes(ledger.read_bytes().splitlines(keepends=True)[0])
    # A step refuses a period whose answers are published and whose ledger has no entry for them.
    shutil.rmtree(published_folder(str(_DATE), config))
    hidden = second.rename(second.with_suffix(".later"))
    seconds: dict[str, float] = {}
    for name, step in zip(STEPS, (localise, estimate), strict=True):
        with _timed(name, seconds):
            step.fn(_DATE, config)
        if hidden.exists():
            hidden.rename(second)
    return seconds


@contextmanager
def _timed(name: str, seconds: dict[str, float]) -> Iterator[None]:
    began, began_cpu = time.perf_counter(), time.process_time()
    yield
    seconds |= {name: time.perf_counter() - began, f"{name}_cpu": time.process_time() - began_cpu}


def _write_config(n_devices: int) -> CollectionConfig:
    """Write the demo's configuration with so many devices, with values enough for several bins."""
    FOLDER.mkdir(parents=True)
    text = _CONFIG.read_text().replace("counts = [0, 10, 40, 120]", "counts = [0, 400, 1000, 2000]")
    text = text.replace("expected_devices = 7000", f"expected_devices = {max(n_devices // 7, 2)}")
    text = text.replace("least_devices = 500", "least_devices = 50")
    text = text.replace("[storage]", f'[storage]\nmemory_limit = "{MEMORY_LIMIT}"')
    (FOLDER / "collection.toml").write_text(text)
    return load_collection(FOLDER / "collection.toml")


def _asked(step: Callable[[dt.date, CollectionConfig], Path], number: int, config: CollectionConfig) -> RoundParameters:
    return read_parameters(step(_DATE, config) / f"round-{number}.json")


def _reports(number: int, config: CollectionConfig) -> Path:
    return config.folder / "reports" / str(_DATE) / f"round-{number}.jsonl"


def main() -> None:
    """Do what was asked for once, and print its seconds as JSON."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.collection", description=__doc__)
    parser.add_argument("kind", choices=["bare", "ours"])
    config = load_collection(FOLDER / "collection.toml")
    seconds = (add_up_bare if parser.parse_args().kind == "bare" else run_rounds)(config)
    sys.stdout.write(json.dumps(seconds))
    sys.stdout.flush()


if __name__ == "__main__":
    main()
