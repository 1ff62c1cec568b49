"""Prepare: runs the steps that read and index a day's records, with the engine that the configuration names."""

import datetime as dt
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from tasks.base import warehouse
from tasks.base.config import Config
from tasks.base.steps import Step
from tasks.engines.sharded_day import index_shards
from tasks.engines.sharded_ingest import ingest_shards
from tasks.occupancy.user_cells import build_occupancy
from tasks.records.judge.validate import validate_records
from tasks.records.read.ingest import ingest_records

Preparation = Step[[dt.date, Config], None]
Run = Callable[[Preparation, dt.date, Config], None]

_STEPS = {
    "local": (ingest_records, validate_records, build_occupancy),
    "dask": (ingest_shards, index_shards),
}


def in_its_run(one: Preparation, date: dt.date, config: Config) -> None:
    """Run a step as part of the current run."""
    one(date, config)


def by_itself(one: Preparation, date: dt.date, config: Config) -> None:
    """Run a step alone, once."""
    one.fn(date, config)


def prepare_day(date: dt.date, config: Config, run: Run = in_its_run) -> None:
    """Read a day's records into the warehouse, and write its occupancy.

    Args:
        date: The local day.
        config: Names the engine.
        run: Runs one of the steps.
    """
    with while_open(config):
        for one in preparation(config):
            run(one, date, config)


def while_open(config: Config) -> AbstractContextManager[None]:
    """Return a context that keeps the warehouse open, if the local engine is used; else one that does nothing."""
    return warehouse.kept_open(config) if config.engine.name == "local" else nullcontext()


def preparation(config: Config) -> tuple[Preparation, ...]:
    """Return the steps that read a day's records into the warehouse and write its occupancy, in order."""
    return _STEPS[config.engine.name]
