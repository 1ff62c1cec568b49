"""The daily flow beside the limit: the same files, one after the other in turn, each in a process of its own."""

import itertools
import json
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.bench.days import FIRST, Size, write_dataset
from tests.bench.memory import measured

DAYS = Path("var/bench/days")
MEMORY_LIMIT = "2GiB"

AS_INSTALLED = {"PYTHONPATH": str(Path(__file__).with_name("as_installed"))}
"""No module that only the tests need."""
ALONE = AS_INSTALLED | {"PREFECT_API_URL": "", "HEXVEIL_HOME": str(Path("var/bench/no-house").resolve())}
"""Without a server, even where one runs: what is measured is the pipeline."""
HEXVEIL = str(Path(sys.executable).with_name("hexveil"))

Row = dict[str, Any]


def measure_size(size: Size, kind: str, n_runs: int) -> list[Row]:
    """Measure the limit, the whole flow by either mechanism and the steps in turn, as often as asked.

    Args:
        size: Of the day.
        kind: ``parquet`` or ``csv``.
        n_runs: How often each is run.

    Returns:
        One row for each limit, flow, step, part and SQL statement of each run; the steps are those of ``planned``.
    """
    folder = DAYS / f"{kind}-{size.n_records}"
    config, _ = write_dataset(folder, size, kind, memory_limit=MEMORY_LIMIT)
    estimated = estimated_of(config)
    rows = []
    for run in range(n_runs):
        flows = [*_flow(config, "flow"), *_flow(estimated, "estimated")]
        found = [_limit(folder, kind, size), *flows, *_steps(config)]
        rows += [{"kind_of_file": kind, "n_records": size.n_records, "run": run, **row} for row in found]
    shutil.rmtree(folder)
    return rows


def measure_growth(sizes: Iterable[Size], n_runs: int) -> list[Row]:
    """Measure the steps and the limit on days of several sizes, and count what the days hold.

    Args:
        sizes: Of the days.
        n_runs: How often each is run, all sizes in turn.

    Returns:
        One row for each size and run: whole seconds and those of each step, of the limit, and the numbers of pairs
        and cells.
    """
    sizes = list(sizes)
    rows = []
    for size in sizes:
        write_dataset(_folder(size), size, memory_limit=MEMORY_LIMIT)
    for run, size in itertools.product(range(n_runs), sizes):
        folder = _folder(size)
        limit, steps = _limit(folder, "parquet", size), _steps(folder / "dataset.toml")
        seconds = {row["name"]: row["seconds"] for row in steps if row["kind"] == "step"}
        held = {"n_pairs": limit["n_pairs"], "n_cells": limit["n_cells"]}
        asked = {"n_records": size.n_records, "n_users": size.n_users}
        rows.append({**asked, **held, "run": run, "limit": limit["seconds"], "whole": sum(seconds.values()), **seconds})
    for size in sizes:
        shutil.rmtree(_folder(size))
    return rows


def _folder(size: Size) -> Path:
    return DAYS / f"growth-{size.n_records}-{size.n_users}-{size.radius_km:g}"


def _limit(folder: Path, kind: str, size: Size) -> Row:
    database = folder / "limit.duckdb"
    database.unlink(missing_ok=True)
    command = [sys.executable, "-m", "tests.bench.limit", f"{folder}/raw/day_{FIRST}.{kind}", str(database)]
    options = ["--resolution", str(size.h3_resolution), "--slot-minutes", str(size.slot_minutes)]
    finished = measured([*command, *options, "--memory-limit", MEMORY_LIMIT])
    database.unlink()
    return {"kind": "limit", "name": "limit", **json.loads(finished.output), "peak_mib": finished.peak_mib}


def estimated_of(config: Path) -> Path:
    """Write the configuration of the same day with the estimate in place of the planner, and return its path."""
    text = config.read_text()
    path = config.with_name("estimated.toml")
    planned = 'definition = "pure"\nepsilon_per_day = 2.0\nmechanism = "planned"\ntarget_error = 10.0'
    if planned not in text:
        raise ValueError(f"{config.name} is not that of the planner")
    path.write_text(text.replace(planned, "epsilon_per_day = 2.0"))
    return path


def _flow(config: Path, kind: str) -> list[Row]:
    """Publish the day of a dataset by the command line, and tell the whole run from the day without its start."""
    shutil.rmtree(config.parent / "store", ignore_errors=True)
    finished = measured([sys.executable, "-m", "tests.bench.whole", str(config), str(FIRST)], ALONE)
    shutil.rmtree(config.parent / "store")
    took = {"flow": finished.seconds, "day": float(finished.output.split()[-1])}
    common = {"kind": kind, "peak_mib": finished.peak_mib, "cpu_seconds": finished.cpu_seconds}
    return [{**common, "name": name, "seconds": seconds} for name, seconds in took.items()]


def _steps(config: Path) -> list[Row]:
    shutil.rmtree(config.parent / "store", ignore_errors=True)
    finished = measured([sys.executable, "-m", "tests.bench.steps", str(config), str(FIRST)], AS_INSTALLED)
    shutil.rmtree(config.parent / "store")
    return json.loads(finished.output)
