"""Prepare: the steps that bring a day's records in, by the engine that the configuration names."""

import datetime as dt
from contextlib import AbstractContextManager, nullcontext

from prefect import Task

from tasks import warehouse
from tasks.config import Config
from tasks.ingest import ingest_records
from tasks.occupancy import build_occupancy
from tasks.sharded_day import index_shards
from tasks.sharded_ingest import ingest_shards
from tasks.validate import validate_records

_STEPS = {
    "local": (ingest_records, validate_records, build_occupancy),
    "dask": (ingest_shards, index_shards),
}


def room(config: Config) -> AbstractContextManager[None]:
    """Return what to bring records in by: the warehouse stays open throughout, where it is what all work is done in."""
    return warehouse.kept_open(config) if config.engine.name == "local" else nullcontext()


def preparation(config: Config) -> tuple[Task[[dt.date, Config], None], ...]:
    """Return the steps that bring a day's records into the warehouse and write its occupancy, in order."""
    return _STEPS[config.engine.name]
