"""Value forms: writes how many of a day's values could be read to a file that only the operator can read."""

import datetime as dt
import logging
import shutil
from pathlib import Path

from tasks.base import warehouse
from tasks.base.config import Config
from tasks.base.durable import readable_json, write_whole
from tasks.base.logs import say
from tasks.base.storage import private_folder

log = logging.getLogger("hexveil.values")


def note_value_forms(connection: warehouse.Connection, date: dt.date, n_records: int, config: Config) -> None:
    """Write how many values of a day's records are missing, unreadable or outside the bounds, and log where.

    The counts depend on values, so nothing else is done with them: neither the log nor any decision depends on them.

    Args:
        connection: Connection to the warehouse, where the day was validated.
        date: The local day.
        n_records: How many valid records the day has.
        config: Gives the place, and what counts as missing.
    """
    repairs = dict(warehouse.rows(connection, "read/value_repairs", {"date": date}))
    n_missing = repairs.get("missing", 0)
    path = _folder(config) / f"{date}.json"
    noted = {
        "private": "these counts depend on values: do not publish them, nor what you conclude from them",
        "date": date.isoformat(),
        "column": config.columns.value,
        "n_records": n_records,
        "n_read_as_numbers": n_records - n_missing,
        "n_empty_unreadable_or_missing": n_missing,
        "n_below_lower": repairs.get("below_lower", 0),
        "n_above_upper": repairs.get("above_upper", 0),
    }
    write_whole(path, readable_json(noted))
    say(log, "how many values could be read is in a private file", file=path)


def forget_value_forms(config: Config) -> None:
    """Delete the files of all days. They are written again when a day is prepared."""
    shutil.rmtree(_folder(config), ignore_errors=True)


def _folder(config: Config) -> Path:
    return private_folder(config) / "values"
