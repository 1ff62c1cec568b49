"""The files of a release: made once, before the ledger entry that names them, and only copied after it."""

import datetime as dt
from typing import Any

import polars as pl

from tasks.account import private_files
from tasks.account.entry import Stated
from tasks.base import durable, frames
from tasks.base.config import Config
from tasks.formats import geography
from tasks.formats.columns import COLUMNS
from tasks.planning.stored_plan import StoredPlan

_WRITTEN_LATER = ("number", "previous_hash", "hash", "committed_at")
_NOT_IN_MANIFEST = ("inputs", "losses", "totals", "user_key_fingerprint", *_WRITTEN_LATER)
INSTANT = "%Y-%m-%dT%H:%M:%SZ"


def write_files(statistics: pl.DataFrame, plan: StoredPlan, entry: Stated, config: Config) -> dict[str, str]:
    """Write what will be published to private files named by their hash, and return the hashes by name.

    Args:
        statistics: The noisy table.
        plan: The stored plan, which knows the withheld cells.
        entry: The ledger entry so far.
        config: That the plan was made under.
    """
    date = dt.date.fromisoformat(entry["date"])
    contents = {
        "statistics.parquet": frames.parquet_bytes(statistics),
        "statistics.csv": statistics.write_csv(datetime_format=INSTANT).encode(),
        "statistics.geojson": geography.geojson(statistics),
        "statistics.geoparquet": geography.geoparquet(statistics),
    }
    if config.publish.map:
        from tasks.formats.map.page import map_page

        contents["map.html"] = map_page(statistics, plan.withheld, config, date, entry["revision"], entry["epsilon"])
    folder = private_files.releases(config)
    hashes = {name: durable.write_named_by_hash(folder, content) for name, content in contents.items()}
    hashes["manifest.json"] = durable.write_named_by_hash(folder, durable.readable_json(manifest(entry, hashes)))
    return hashes


def manifest(entry: Stated, hashes: dict[str, str]) -> dict[str, Any]:
    """Return what stands beside the published files.

    Args:
        entry: The ledger entry so far, or as it was written in the end.
        hashes: Of the other files, by name.
    """
    public = {key: value for key, value in entry.items() if key not in _NOT_IN_MANIFEST}
    return public | {"files": dict(hashes), "columns": COLUMNS}
