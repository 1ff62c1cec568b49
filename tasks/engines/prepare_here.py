"""Prepare here: has a day's records in a warehouse of this process, whichever engine the dataset uses."""

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager

from tasks.base.config import Config
from tasks.engines.prepare import by_itself, prepare_day
from tasks.engines.scratch import scratch
from tasks.records.forgotten import forgotten_days, note_forgotten


@contextmanager
def prepared_here(date: dt.date, config: Config) -> Iterator[Config]:
    """Prepare a day with the local engine, and yield the configuration of the warehouse that has its records.

    With the local engine that is the dataset's own. Records on a cluster are read once more, into a scratch folder that
    is deleted afterwards.

    Args:
        date: The local day.
        config: Names the files and the engine.

    Raises:
        BadInput: The day cannot be used, or was forgotten.
    """
    if config.engine.name == "local":
        prepare_day(date, config, by_itself)
        yield config
        return
    with scratch(config) as here:
        note_forgotten(forgotten_days(config), here)
        local = here.model_copy(update={"engine": here.engine.model_copy(update={"name": "local"})})
        prepare_day(date, local, by_itself)
        yield local
