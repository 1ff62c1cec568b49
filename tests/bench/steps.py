"""The daily flow's steps, run one after the other in a process of their own: what each takes of time and memory."""

import argparse
import datetime as dt
import functools
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import flows.daily as daily
from tasks import warehouse
from tasks.config import load_config

from tests.bench.memory import forget_peak, peak_mib

Row = dict[str, Any]


class Watch:
    """Notes seconds and peak memory of each step, and of each SQL statement within it."""

    def __init__(self) -> None:
        self.steps: list[Row] = []
        self.statements: list[Row] = []

    def step(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run a task without the scheduler."""
        forget_peak()
        began, began_cpu = time.perf_counter(), time.process_time()
        result = function.fn(*arguments)
        spent = {"seconds": time.perf_counter() - began, "cpu_seconds": time.process_time() - began_cpu}
        self.steps.append({"step": function.fn.__name__, **spent, "peak_mib": peak_mib()})
        return result

    @contextmanager
    def statements_noted(self) -> Iterator[None]:
        """Time every file of ``sql/`` that is run, to its end; what is read in batches is timed where it begins."""
        run = warehouse.run

        @functools.wraps(run)
        def timed(connection: warehouse.Connection, name: str, parameters: Any = None) -> warehouse.Connection:
            began, began_cpu = time.perf_counter(), time.process_time()
            try:
                return run(connection, name, parameters)
            finally:
                spent = {"seconds": time.perf_counter() - began, "cpu_seconds": time.process_time() - began_cpu}
                self.statements.append({"statement": name, **spent})

        warehouse.run = timed
        try:
            yield
        finally:
            warehouse.run = run


def run_steps(config_file: Path, date: dt.date) -> Watch:
    """Publish a day by the steps of the daily flow, without Prefect's engine.

    Args:
        config_file: Of a dataset that does not hold the day yet.
        date: The day.
    """
    config = load_config(config_file)
    watch = Watch()
    with watch.statements_noted():
        watch.step(daily.find_release, date, config, None)
        for task in (daily.ingest_records, daily.validate_records, daily.build_occupancy):
            watch.step(task, date, config)
        plan_hash = watch.step(daily.plan_release, date, config)
        release_id = watch.step(daily.release_statistics, date, plan_hash, config, None)
        watch.step(daily.publish_files, release_id, config)
        watch.step(daily.count_late_records, date, config)
    return watch


def main() -> None:
    """Run a day and print what its steps took as JSON."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.steps", description=__doc__)
    parser.add_argument("config", type=Path)
    parser.add_argument("date", type=dt.date.fromisoformat)
    given = parser.parse_args()
    watch = run_steps(given.config, given.date)
    sys.stdout.write(json.dumps({"steps": watch.steps, "statements": watch.statements}))


if __name__ == "__main__":
    main()
