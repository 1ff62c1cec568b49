"""Forgotten: the days whose rows may never be read again, stored outside the warehouse, which can be lost."""

import datetime as dt
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.base import durable, warehouse
from tasks.base.config import Config, day_bounds
from tasks.base.errors import HexveilError, LedgerBroken
from tasks.base.storage import private_folder


@dataclass(frozen=True)
class Forgetting:
    """When a local day was forgotten, and in which time zone: in another zone its instants belong to other days too."""

    when: str
    timezone: str


def forgotten_days(config: Config) -> dict[dt.date, Forgetting]:
    """Return the days that were forgotten.

    Raises:
        LedgerBroken: The file that lists them is damaged.
    """
    path = _path(config)
    try:
        days = json.loads(path.read_bytes()) if path.exists() else {}
        return {
            dt.date.fromisoformat(date): Forgetting(noted["when"], noted["timezone"]) for date, noted in days.items()
        }
    except (ValueError, AttributeError, KeyError, TypeError):
        problem = f"{path} is damaged; restore it from backup, so that no forgotten day is read again"
    raise LedgerBroken(problem)


def note_forgotten(days: dict[dt.date, Forgetting], config: Config) -> None:
    """Store the list of days whose rows may never be read into a storage."""
    noted = {date.isoformat(): {"when": one.when, "timezone": one.timezone} for date, one in days.items()}
    durable.write_whole(_path(config), durable.canonical_json(noted))


def forgotten_parameters(config: Config) -> dict[str, list[Any]]:
    """Return the parameters of statements: the forgotten ``dates``, and the ``starts`` and ``ends`` of their spans.

    A row belongs to a forgotten day if its own day was forgotten, or if its time is within a forgotten day. A day that
    was forgotten in one time zone is parts of two days in another. Consecutive days are one span.
    """
    days = forgotten_days(config)
    starts: list[dt.datetime] = []
    ends: list[dt.datetime] = []
    for start, end in sorted(day_bounds(date, one.timezone) for date, one in days.items()):
        if ends and start <= ends[-1]:
            ends[-1] = max(end, ends[-1])
        else:
            starts.append(start)
            ends.append(end)
    return {"dates": list(days), "starts": starts, "ends": ends}


def _path(config: Config) -> Path:
    return private_folder(config) / "forgotten"


def refuse_other_engine(connection: warehouse.Connection, config: Config) -> None:
    """Refuse a warehouse whose raw records were read by the other engine: the configured one would not find them.

    Raises:
        HexveilError: The other engine read them.
    """
    sharded = config.engine.name == "dask"
    if warehouse.rows(connection, "checks/records_of_other_engine", {"sharded": sharded}):
        other, name = ("local", "dask") if sharded else ("dask", "local")
        raise HexveilError(
            f'the records were read by engine.name = "{other}": set it, or remove private/warehouse.duckdb and '
            f'private/shards (or what engine.shards named) from storage.path; they are made anew for "{name}" from the '
            "input files, and what was released and forgotten stays so"
        )
