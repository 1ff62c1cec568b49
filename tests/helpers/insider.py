"""An insider: changes what was released, and rewrites every hash and the whole chain so that they agree."""

import datetime as dt
import json
from collections.abc import Callable
from io import BytesIO
from typing import Any

import polars as pl
from support import Dataset

from tasks.account import chain, ledger, private_files
from tasks.account.commit import commit
from tasks.account.entry import Stated
from tasks.account.identity import published_folder
from tasks.base import durable
from tasks.base.frames import parquet_bytes
from tasks.base.owner import Spender
from tasks.base.storage import MANIFEST
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
    config, entry = dataset.config, only_entry(dataset.config)
    files = entry["files"] | write_files(table, load_plan(entry["plan"], config), entry, config)
    known = {name: change for name, change in (changes or {}).items() if name in files}
    (dataset.folder / "store" / "release.duckdb").unlink(missing_ok=True)
    release_again(entry | {"files": files} | (stated or {}), known, _manifest, config)
    write_overview(ledger.list_entries(config), config)


def only_entry(config: Spender) -> Stated:
    (line,) = ledger.ledger_path(config).read_bytes().splitlines()
    entry: Stated = json.loads(line)
    return entry


def release_again(
    entry: Stated,
    changes: dict[str, Change | None],
    manifest_of: Callable[[Stated, dict[str, str]], bytes],
    config: Spender,
) -> None:
    """Write the files of an entry, changed, its manifest, and the entry in place of the only one; every hash agrees.

    Args:
        entry: The entry, with the hashes of its files.
        changes: By the name of a file, what changes it; None leaves it out, and a new name adds one.
        manifest_of: Makes the manifest of an entry and the hashes of the other files.
        config: Says where they are.
    """
    folder = private_files.releases(config)
    contents = {name: private_files.read(folder, one) for name, one in entry["files"].items() if name != MANIFEST}
    for name, change in changes.items():
        if change is None:
            del contents[name]
        elif name != MANIFEST:
            contents[name] = change(contents.get(name, b""))
    hashes = {name: durable.write_named_by_hash(folder, content) for name, content in contents.items()}
    contents[MANIFEST] = manifest_of(entry, hashes)
    change = changes.get(MANIFEST)
    if change is not None:
        contents[MANIFEST] = change(contents[MANIFEST])
    hashes[MANIFEST] = durable.write_named_by_hash(folder, contents[MANIFEST])
    for name, content in contents.items():
        published = published_folder(dt.date.fromisoformat(entry["date"]), entry["revision"], config) / name
        durable.write_whole(published, content, mode=0o644)
    ledger.ledger_path(config).write_bytes(b"")
    commit(chain.chained(entry | {"files": hashes}, None), config)


def _manifest(entry: Stated, hashes: dict[str, str]) -> bytes:
    return durable.readable_json(manifest(entry, hashes))


def of_table(change: Callable[[pl.DataFrame], pl.DataFrame]) -> Change:
    """Return a change of a file of Parquet."""
    return lambda content: parquet_bytes(change(pl.read_parquet(BytesIO(content))))


def forged(line: bytes, **changes: Any) -> bytes:
    """Return a line changed by someone who knows how to hash."""
    entry = json.loads(line) | changes
    entry["hash"] = chain.entry_hash(entry)
    return durable.canonical_json(entry) + b"\n"
