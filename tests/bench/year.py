"""Many days in one warehouse: what a day costs after a year of releases, and how many a minute a backfill makes."""

import datetime as dt
import itertools
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import polars as pl

from tests.bench.days import FIRST, Size, write_dataset
from tests.bench.measure import ALONE, AS_INSTALLED, DAYS, HEXVEIL, MEMORY_LIMIT
from tests.bench.memory import measured

AFTER = (10, 100, 365)
"""After how many released days a day's cost is compared."""

_N_ROUNDS, _N_IN_TURN = 5, 4
_TINY = Size(2_000, n_users=50, radius_km=0.5)

Row = dict[str, Any]


def measure_days(n_days: int) -> tuple[list[Row], list[Row]]:
    """Measure the steps of one small day after another, all with the same records but for the date.

    The budget is for a window of a year, so that each release looks at the losses of all days before it. As a machine
    is not equally fast all the while, what days cost after few and after many others is then measured in turn.

    Args:
        n_days: How many; so many of ``AFTER`` are compared as are no more.

    Returns:
        One row for each day and step: days released before, CPU seconds and seconds. And such rows of the days
        measured in turn, with the round and after how many they went on; the first of each process is left out, for
        it reads the ledger whole.
    """
    folder = DAYS / "many"
    shutil.rmtree(folder, ignore_errors=True)
    config, dates = write_dataset(
        folder, _TINY, n_days=n_days + _N_ROUNDS * _N_IN_TURN, memory_limit=MEMORY_LIMIT, alike=True
    )
    text = config.read_text().replace("[storage]", "[publish]\nmap = false\n[storage]")
    config.write_text(text.replace("epsilon_total = 100.0", "epsilon_total = 1000.0\nwindow_days = 365"))
    rows: list[Row] = []
    compared = [after for after in AFTER if after <= n_days]
    for begin, end in itertools.pairwise(sorted({0, *compared, n_days})):
        rows += _run(config, dates[begin:end])
        if end in compared:
            shutil.copytree(folder / "store", folder / f"store_{end}")
    in_turn: list[Row] = []
    for number, after in itertools.product(range(_N_ROUNDS), compared):
        config_after = folder / f"after_{after}.toml"
        config_after.write_text(config.read_text().replace('path = "store"', f'path = "store_{after}"'))
        begin = after + number * _N_IN_TURN
        found = _run(config_after, dates[begin : begin + _N_IN_TURN])
        in_turn += [{"round": number, "after": after, **row} for row in found if row["n_released"] > begin]
    shutil.rmtree(folder)
    return rows, in_turn


def _run(config: Path, dates: list[dt.date]) -> list[Row]:
    finished = measured([sys.executable, "-m", "tests.bench.steps", str(config), *map(str, dates)], AS_INSTALLED)
    steps = pl.DataFrame(json.loads(finished.output), infer_schema_length=None).filter(kind="step")
    released = pl.col("date").str.to_date().sub(FIRST).dt.total_days().alias("n_released")
    return steps.select(released, step="name", seconds="seconds", cpu_seconds="cpu_seconds").to_dicts()


def days_compared(in_turn: pl.DataFrame) -> pl.DataFrame:
    """Return the median CPU seconds of each step, and of all together, of days measured in turn."""
    whole = in_turn.group_by("after", "n_released", maintain_order=True).agg(pl.col("cpu_seconds").sum())
    every = pl.concat(
        [
            in_turn.select("step", "after", "cpu_seconds"),
            whole.select(pl.lit("the whole day").alias("step"), "after", "cpu_seconds"),
        ]
    )
    return every.group_by("step", maintain_order=True).agg(
        pl.col("cpu_seconds").filter(pl.col("after") == after).median().alias(f"after_{after}") for after in AFTER
    )


def measure_backfill(n_days: int, size: Size) -> tuple[Row, list[Row]]:
    """Backfill days from nothing by the command line.

    Args:
        n_days: How many.
        size: Of each.

    Returns:
        What the whole took, and of each day the seconds from the first plan to its own plan and to its release.
    """
    folder = DAYS / "backfill"
    shutil.rmtree(folder, ignore_errors=True)
    config, dates = write_dataset(folder, size, n_days=n_days, memory_limit=MEMORY_LIMIT)
    config.write_text(config.read_text().replace("epsilon_total = 100.0", "epsilon_total = 10000.0"))
    command = [HEXVEIL, "backfill", "--config", str(config), "--from", str(dates[0]), "--to", str(dates[-1])]
    finished = measured(command, ALONE)
    rows = _progress(folder / "store")
    shutil.rmtree(folder)
    whole = {
        "n_days": n_days,
        "n_records": size.n_records,
        "seconds": finished.seconds,
        "cpu_seconds": finished.cpu_seconds,
        "days_per_minute": 60 * n_days / finished.seconds,
        "peak_mib": finished.peak_mib,
    }
    return whole, rows


def _progress(store: Path) -> list[Row]:
    entries = [json.loads(line) for line in (store / "ledger.jsonl").read_text().splitlines()]
    planned = [(store / "private" / "plans" / entry["plan"]).stat().st_mtime for entry in entries]
    released = [dt.datetime.fromisoformat(entry["committed_at"]).timestamp() for entry in entries]
    return [
        {"n_released": number, "planned_after": plan - min(planned), "released_after": release - min(planned)}
        for number, (plan, release) in enumerate(zip(planned, released, strict=True))
    ]
