"""An insider: changes what was released, and rewrites every hash and the whole chain so that they agree."""

import datetime as dt
import json
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl
from support import Dataset

from tasks.account import chain, ledger, private_files
from tasks.account.commit import commit
from tasks.account.entry import Stated
from tasks.account.identity import published_folder
from tasks.base import durable
from tasks.base.frames import parquet_bytes
from tasks.kinds.table import load_plan
from tasks.release.files import manifest, write_files
from tasks.release.overview import write_overview

Change = Callable[[bytes], bytes]


def rewrite(
    dataset: Dataset,
    table: pl.DataFrame,
    changes: dict[str, Change | None] | None = None,
    stated: Stated | None = None,
) -> None:
    """Release a table in place of that of the only release.

    Args:
        dataset: Its dataset.
        table: The table.
        changes: By the name of a file that is changed besides, what changes it; None leaves it out.
        stated: What the entry states otherwise.
    """
    config, folder = dataset.config, private_files.releases(dataset.config)
    (entry,) = (json.loads(line) for line in ledger.ledger_path(config).read_bytes().splitlines())
    changes = changes or {}
    files = entry["files"] | write_files(table, load_plan(entry["plan"], config), entry, config)
    names = [name for name in files if name != "manifest.json" and changes.get(name, bytes) is not None]
    contents = {name: (folder / files[name]).read_bytes() for name in names}
    contents |= {name: change(contents[name]) for name, change in changes.items() if change and name in contents}
    entry |= stated or {}
    hashes = {name: durable.write_named_by_hash(folder, content) for name, content in contents.items()}
    contents["manifest.json"] = durable.readable_json(manifest(entry, hashes))
    change = changes.get("manifest.json")
    if change is not None:
        contents["manifest.json"] = change(contents["manifest.json"])
    hashes["manifest.json"] = durable.write_named_by_hash(folder, contents["manifest.json"])
    for name, content in contents.items():
        published = published_folder(dt.date.fromisoformat(entry["date"]), entry["revision"], config) / name
        durable.write_whole(published, content, mode=0o644)
    _write_ledger(chain.chained(entry | {"files": hashes}, None), dataset)


def of_table(change: Callable[[pl.DataFrame], pl.DataFrame]) -> Change:
    """Return a change of a file of Parquet."""
    return lambda content: parquet_bytes(change(pl.read_parquet(BytesIO(content))))


def _write_ledger(entry: Stated, dataset: Dataset) -> None:
    store: Path = dataset.folder / "store"
    ledger.ledger_path(dataset.config).write_bytes(b"")
    (store / "release.duckdb").unlink(missing_ok=True)
    commit(entry, dataset.config)
    write_overview(ledger.list_entries(dataset.config), dataset.config)


def forged(line: bytes, **changes: Any) -> bytes:
    """Return a line changed by someone who knows how to hash."""
    entry = json.loads(line) | changes
    entry["hash"] = chain.entry_hash(entry)
    return durable.canonical_json(entry) + b"\n"
