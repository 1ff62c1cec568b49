"""The daily flow's steps, run one after the other in a process of their own: what each takes of time and memory."""

import argparse
import datetime as dt
import functools
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from flows import daily
from tasks.account.ledger import read_entries
from tasks.base import warehouse
from tasks.base.config import load_config
from tasks.engines.prepare import prepare_day
from tasks.kinds.clipped.kind import Clipped
from tasks.map.page import map_page
from tasks.planning import plan
from tasks.release import draw
from tasks.reporting.budget_report import report_budget
from tasks.reporting.day_report import report_day
from tests.bench.memory import forget_peak, peak_mib

Row = dict[str, Any]

IMPORTED = map_page
"""What a step imports only where it is needed; here that is not a part of what it takes."""

PARTS = {"propose": "planner", "drawn": "sampler", "write_files": "export"}
"""Parts of steps which are shown by themselves."""


class Watch:
    """Notes seconds and peak memory of each step, of parts of it, and of each SQL statement."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def step(self, function: Any, *arguments: Any) -> Any:
        """Run a task without the scheduler, or what a task does besides telling the scheduler."""
        forget_peak()
        plain = getattr(function, "fn", function)
        with self._noted("step", plain.__name__) as row:
            result = plain(*arguments)
        row["peak_mib"] = peak_mib()
        return result

    @contextmanager
    def parts_noted(self) -> Iterator[None]:
        """Time every file of ``sql/`` that is run, and the parts of steps."""
        with (
            self._watched(warehouse, "run", "statement"),
            self._watched(warehouse, "run_on", "statement"),
            self._watched(plan, "propose", "part"),
            self._watched(Clipped, "drawn", "part"),
            self._watched(draw, "write_files", "part"),
        ):
            yield

    @contextmanager
    def _watched(self, module: ModuleType | type, name: str, kind: str) -> Iterator[None]:
        original = getattr(module, name)

        @functools.wraps(original)
        def timed(*arguments: Any, **named: Any) -> Any:
            with self._noted(kind, arguments[1] if kind == "statement" else PARTS[name]):
                return original(*arguments, **named)

        setattr(module, name, timed)
        try:
            yield
        finally:
            setattr(module, name, original)

    @contextmanager
    def _noted(self, kind: str, name: str) -> Iterator[Row]:
        row: Row = {"kind": kind, "name": name}
        began, began_cpu = time.perf_counter(), time.process_time()
        yield row
        row |= {"seconds": time.perf_counter() - began, "cpu_seconds": time.process_time() - began_cpu}
        self.rows.append(row)


def run_steps(config_file: Path, dates: list[dt.date]) -> list[Row]:
    """Publish days by the steps of the daily flow, without Prefect's engine.

    Args:
        config_file: Of a dataset that does not hold the days yet.
        dates: The days, in order; they go into one warehouse.

    Returns:
        One row for each step, part and SQL statement: its kind, name, day, seconds and CPU seconds, and a step's
        peak memory in MiB.
    """
    config = load_config(config_file)
    rows = []
    for date in dates:
        watch = Watch()
        with watch.parts_noted():
            watch.step(daily.find_release, date, config, None)
            prepare_day(date, config, watch.step)
            plan_hash = watch.step(daily.plan_release, date, config)
            release_id = watch.step(daily.release_statistics, date, plan_hash, config, None)
            watch.step(daily.publish_files, release_id, config)
            late = watch.step(daily.count_late_records, date, config)
            watch.step(report_day, date, late, config)
            watch.step(report_budget, read_entries(config), config)
        rows += [{"date": date.isoformat(), **row} for row in watch.rows]
    return rows


def main() -> None:
    """Run days and print what their steps took as JSON."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.steps", description=__doc__)
    parser.add_argument("config", type=Path)
    parser.add_argument("dates", type=dt.date.fromisoformat, nargs="+")
    given = parser.parse_args()
    sys.stdout.write(json.dumps(run_steps(given.config, given.dates)))
    sys.stdout.flush()


if __name__ == "__main__":
    main()
