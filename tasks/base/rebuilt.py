"""Databases that can be made again from other files: one that cannot be read is set aside."""

import logging
import os
from pathlib import Path

from tasks.base import warehouse
from tasks.base.logs import warn
from tasks.base.owner import Owner

log = logging.getLogger("hexveil.rebuilt")


def is_damage(error: warehouse.EngineError) -> bool:
    """Return whether DuckDB raised an error because it cannot read a file. A wrong checksum has no class of its own."""
    return isinstance(error, warehouse.DAMAGE) or type(error) is warehouse.EngineError


def open_or_make_anew(path: Path, config: Owner, wait_seconds: int) -> warehouse.Connection:
    """Open a database file; one that cannot be read is renamed, and an empty one is made.

    Raises:
        InUse: Another program used it for ``wait_seconds``.
    """
    try:
        return warehouse.open_database(path, config, wait_seconds)
    except warehouse.EngineError as error:
        if not is_damage(error) or not os.access(path, os.R_OK | os.W_OK):
            raise
    warn(log, "damaged file is set aside and made anew", file=path)
    for damaged in (warehouse.log_of(path), path):
        if damaged.exists():
            damaged.replace(damaged.with_name(f"{damaged.name}.damaged"))
    return warehouse.open_database(path, config, wait_seconds)
