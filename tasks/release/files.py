"""Makes the files of a release once, before the ledger entry that names them; later they are only copied."""

import datetime as dt
from typing import Any

import polars as pl

from tasks.account import private_files
from tasks.account.entry import Stated
from tasks.account.said_first import said_first
from tasks.base import durable, frames
from tasks.base.config import Config
from tasks.base.storage import MANIFEST
from tasks.kinds.stored_plan import StoredPlan
from tasks.output_formats.columns import COLUMNS
from tasks.release.formats import FORMATS, PublishedDay
from tasks.release.zones import zone_files

_WRITTEN_LATER = ("number", "previous_hash", "hash", "committed_at")
_NOT_IN_MANIFEST = (
    "inputs",
    "losses",
    "totals",
    "user_key_fingerprint",
    "kept",
    "states",
    *_WRITTEN_LATER,
)


def write_files(
    statistics: pl.DataFrame,
    plan: StoredPlan,
    entry: Stated,
    config: Config,
    extra: dict[str, pl.DataFrame] | None = None,
    zones: tuple[bytes, pl.DataFrame] | None = None,
) -> dict[str, str]:
    """Write the files to publish as private files named by their hash, and return the hashes by name.

    Args:
        statistics: The noisy table.
        plan: The stored plan, which has the withheld cells.
        entry: The fields of the ledger entry so far.
        config: The configuration that the plan was made with.
        extra: Further tables to publish, by the name of their file.
        zones: The outlines of the owner's zones, and the table of their numbers; None if there are none.
    """
    date = dt.date.fromisoformat(entry["date"])
    said = entry["in_words"], said_first(entry)
    day = PublishedDay(statistics, plan.withheld, config, date, entry["revision"], *said, zones)
    folder = private_files.releases(config)
    hashes = {one.name: durable.write_named_by_hash(folder, one.writes(day)) for one in FORMATS if one.is_wanted(day)}
    hashes |= {name: frames.write_frame(folder, table) for name, table in (extra or {}).items()}
    contents = {} if zones is None else zone_files(*zones)
    hashes |= {name: durable.write_named_by_hash(folder, content) for name, content in contents.items()}
    hashes[MANIFEST] = durable.write_named_by_hash(folder, durable.readable_json(manifest(entry, hashes)))
    return hashes


def manifest(entry: Stated, hashes: dict[str, str]) -> dict[str, Any]:
    """Return the content of the manifest beside the published files.

    Args:
        entry: The fields of the ledger entry so far, or of the finished entry.
        hashes: The hashes of the other files, by name.
    """
    public = {key: value for key, value in entry.items() if key not in _NOT_IN_MANIFEST}
    return public | {"files": dict(hashes), "columns": COLUMNS}
