"""Ingest by shards: workers read the input files into parts. All records of a user go to the same shard."""

import datetime as dt
import json
import uuid
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import polars as pl

from tasks.base import durable, warehouse
from tasks.base.config import Config, day_bounds
from tasks.base.errors import BadInput, HexveilError
from tasks.base.steps import step
from tasks.engines import cluster, shard_store
from tasks.engines.scratch import scratch
from tasks.engines.shard_parts import all_names, note_of
from tasks.records.forgotten import Forgetting, forgotten_days, note_forgotten, refuse_other_engine
from tasks.records.input_formats.archives import is_archive
from tasks.records.input_formats.parquet_files import parquet_rows
from tasks.records.read import source
from tasks.records.read.fetched import at_hand
from tasks.records.read.files import read_file
from tasks.records.read.ingest import (
    ingest_before,
    known_contents,
    looks_back,
    new_inputs,
    note_seen,
    refuse_forgotten,
)
from tasks.records.read.inputs import Input, settings_hash

_PART = {
    "name": pl.String,
    "shard": pl.Int32,
    "n_shards": pl.Int32,
    "local_date": pl.String,
    "n_rows": pl.Int64,
    "is_stray": pl.Boolean,
}


@dataclass(frozen=True)
class ReadInput:
    """What a worker returns for a file it read: only the place of the results.

    Attributes:
        file_id: The file's id, or the id of an earlier file with the same content.
        folder: Where its parts and their note are; None if nothing was read.
    """

    file_id: int
    folder: str | None


@step("ingest {config.dataset.name} {date}")
def ingest_shards(date: dt.date, config: Config) -> None:
    """Read the files for a day that the shards' storage does not hold yet, on workers.

    Args:
        date: The local day.
        config: Names the files, and gives the address of the workers.

    Raises:
        BadInput: No file exists, or one cannot be read; nothing of that file is kept. Or the day was forgotten.
    """
    refuse_forgotten(date, config)
    read_into_shards(date, config)
    if looks_back(config):
        before = date - dt.timedelta(days=1)
        ingest_before(partial(read_into_shards, before, config, needed=False), before)


def read_into_shards(date: dt.date, config: Config, needed: bool = True) -> None:
    """Do the same as ``ingest_shards``, even if the day was forgotten."""
    cluster.succeeded(_read_into_shards(date, config, needed))


def read_readable_into_shards(date: dt.date, config: Config) -> list[BadInput]:
    """Do the same, but go on after a file that cannot be read, and return what is wrong with each."""
    outcomes = _read_into_shards(date, config, needed=False)
    cluster.succeeded([one for one in outcomes if not isinstance(one, BadInput)])
    return [one for one in outcomes if isinstance(one, BadInput)]


def _read_into_shards(date: dt.date, config: Config, needed: bool) -> list[ReadInput | HexveilError]:
    """Read new files, and return what was read of each, or what is wrong with it."""
    with shard_store.exclusive_shards(config) as fence:
        new, calls = _begin(date, fence, config, needed)
        outcomes = cluster.run_each(read_input, calls, config)
        for one, outcome in zip(new, outcomes, strict=True):
            if isinstance(outcome, ReadInput):
                _keep(one, outcome, config)
    return outcomes


@step("read {one.name}")
def read_input(
    one: Input,
    file_id: int,
    earlier: list[tuple[int, str]],
    forgotten: dict[dt.date, Forgetting],
    fence: str,
    config: Config,
) -> ReadInput:
    """Read one file on a worker, with the same statements as without a cluster, and store its parts.

    Args:
        one: The file.
        file_id: The id it gets.
        earlier: Id and one part of each file of the same name that was read before.
        forgotten: Days whose rows may not be kept.
        fence: The fencing token of the run; when the run is over, nothing is stored.
        config: Says how to read, and gives the place of the shards' storage.

    Raises:
        BadInput: The file cannot be read; nothing of it is kept.
    """
    store = shard_store.open_store(config, fence)
    with scratch(config) as here, at_hand(one, here.storage_path / "fetched") as path:
        identity = {
            "name": one.name,
            "content_hash": source.content_hash(path),
            "settings_hash": settings_hash(one.file_date, config),
        }
        for known, part in earlier:
            note = store.read(note_of(part))
            if note and json.loads(note)["file"]["content_hash"] == identity["content_hash"]:
                return ReadInput(known, None)
        note_forgotten(forgotten, here)
        folder = f"parts/{file_id}/{uuid.uuid4().hex}"
        with warehouse.connect(here) as connection:
            _read(connection, path, one.file_date, identity, here)
            _store(connection, store, folder, file_id, one.file_date, here)
    return ReadInput(file_id, folder)


def _read(
    connection: warehouse.Connection, path: Path, file_date: dt.date | None, identity: dict[str, str], config: Config
) -> None:
    """Read a file; the files of an archive at once or, if one of them cannot be read so, one by one."""
    try:
        with warehouse.transaction(connection):
            read_file(connection, path, file_date, identity, config)
    except BadInput:
        if not is_archive(path):
            raise
        with warehouse.transaction(connection):
            read_file(connection, path, file_date, identity, config, together=False)


def _begin(date: dt.date, fence: str, config: Config, needed: bool) -> tuple[list[Input], list[dict[str, Any]]]:
    """Delete what an interrupted run left, and return the new files, with the arguments to read each of them."""
    with warehouse.connect(config) as connection:
        refuse_other_engine(connection, config)
        shard_store.sweep(all_names(connection), fence, config)
        new = new_inputs(connection, date, config, needed)
        if not new:
            return [], []
        first_id = warehouse.rows(connection, "read/next_file_id")[0][0]
        earlier = [warehouse.rows(connection, "read/earlier_files", _named(one, config)) for one in new]
    everyone = {"forgotten": forgotten_days(config), "fence": fence, "config": config}
    return new, [
        {"one": replace(one, version="", n_bytes=0), "file_id": file_id, "earlier": before, **everyone}
        for file_id, (one, before) in enumerate(zip(new, earlier, strict=True), start=first_id)
    ]


def _named(one: Input, config: Config) -> dict[str, str]:
    return {"name": one.name, "settings_hash": settings_hash(one.file_date, config)}


def _keep(one: Input, read: ReadInput, config: Config) -> None:
    """Write a file that was read, and its parts, into the tables of the warehouse."""
    store, file_id = shard_store.open_store(config), read.file_id
    with scratch(config) as here, warehouse.connect(config) as connection, warehouse.transaction(connection):
        if read.folder is not None:
            file_id = _keep_parts(connection, store, read, here.storage_path)
        note_seen(connection, [one], [file_id], config)
    if read.folder is not None:
        store.remove([f"{read.folder}/quarantine.parquet"])


def _keep_parts(connection: warehouse.Connection, store: shard_store.Store, read: ReadInput, folder: Path) -> int:
    note = json.loads(store.fetch(f"{read.folder}/note.json", folder).read_bytes())
    file = {**note["file"], "file_id": read.file_id}
    identity = {name: file[name] for name in ("name", "content_hash", "settings_hash")}
    (known,) = known_contents(connection, [identity])
    if known is not None:
        return known
    warehouse.run(connection, "write/raw_file", file)
    rejected = store.fetch(f"{read.folder}/quarantine.parquet", folder)
    warehouse.run(connection, "write/quarantine_from_file", {"path": str(rejected), "file_id": read.file_id})
    connection.register("written_part", pl.DataFrame(note["parts"], _PART))
    warehouse.run(connection, "write/raw_part", {"file_id": read.file_id})
    if warehouse.rows(connection, "checks/rows_unaccounted", {"file_id": read.file_id}):
        raise BadInput(
            f"{identity['name']}: its parts do not hold the rows that were read; this is a defect, report it"
        )
    return read.file_id


def _store(
    connection: warehouse.Connection,
    store: shard_store.Store,
    folder: str,
    file_id: int,
    file_date: dt.date | None,
    config: Config,
) -> None:
    """Store a file's parts, its rejected rows, and last the note that names them."""
    here, n_shards = config.storage_path / "parts", config.engine.n_shards
    here.mkdir()
    start, end = day_bounds(file_date, config.dataset.timezone) if file_date else (None, None)
    among = {"file_id": file_id, "n_shards": n_shards, "folder": str(here), "start": start, "end": end}
    warehouse.run(connection, "write/copy_parts", among)
    parts = []
    for path in sorted(here.rglob("*.parquet")):
        name = f"{folder}/{path.relative_to(here)}"
        store.put(path, name)
        parts.append({"name": name, "n_shards": n_shards, **_divided(path)})
    rejected = config.storage_path / "quarantine.parquet"
    warehouse.run_on(connection, "write/copy_table", "quarantine", {"path": str(rejected)})
    store.put(rejected, f"{folder}/quarantine.parquet")
    file = warehouse.frame(connection, "read/only_file").row(0, named=True)
    note = config.storage_path / "note.json"
    note.write_bytes(durable.canonical_json({"file": file, "parts": parts}))
    store.put(note, f"{folder}/note.json")


def _divided(path: Path) -> dict[str, Any]:
    """Return the shard, the day and the number of rows of a part, from the folders that the engine wrote it to."""
    stray, day, shard = (unquote(folder.name).partition("=")[2] for folder in path.parents[:3])
    return {
        "shard": int(shard),
        "local_date": None if day == "undated" else day,
        "n_rows": parquet_rows(path),
        "is_stray": stray == "true",
    }
