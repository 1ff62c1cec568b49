"""Parts: finds the Parquet files that hold a shard's raw records of some days, and loads them on a worker."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.base import warehouse
from tasks.base.config import Config
from tasks.base.errors import HexveilError
from tasks.engines.shard_store import Store
from tasks.records.input_formats.parquet_files import parquet_rows


@dataclass(frozen=True)
class Part:
    """The raw records that one input file has of one shard and day; the columns of ``raw_part``."""

    name: str
    shard: int
    n_shards: int
    local_date: str
    n_rows: int


def find_parts(connection: warehouse.Connection, days: dict[str, Any]) -> list[Part]:
    """Return the parts that hold raw records of some ``dates`` and ``file_ids``."""
    return [Part(*row) for row in warehouse.rows(connection, "read/parts_of_days", days)]


def names_by_shard(parts: Sequence[Part], config: Config) -> list[list[str]]:
    """Return for each shard the names of the parts that may hold its records.

    A part that was made for another number of shards may hold records of every shard. A worker chooses them by user id
    when it loads the part.
    """
    n_shards = config.engine.n_shards
    return [
        [part.name for part in parts if part.shard == shard or part.n_shards != n_shards] for shard in range(n_shards)
    ]


def load_parts(
    connection: warehouse.Connection, store: Store, folder: Path, names: list[str], among: dict[str, int]
) -> None:
    """Load one shard's raw records into a worker's temporary warehouse.

    Args:
        connection: Connection to that warehouse.
        store: Where the parts are.
        folder: Where to copy the parts if they are not on a file system.
        names: The parts that may hold the shard's records.
        among: The number of the ``shard``, and ``n_shards``, the number of shards.
    """
    paths = [str(store.fetch(name, folder)) for name in names]
    warehouse.run(connection, "write/raw_record_from_parts", {"paths": paths, **among})


def forget_strays(connection: warehouse.Connection, store: Store, folder: Path, gone: dict[str, Any]) -> None:
    """Rewrite the parts with records of forgotten days that came in a file for another day, without these records.

    Args:
        connection: Connection to the warehouse, which then names the new parts. After the commit the caller must
            delete the old ones.
        store: Where the parts are.
        folder: Where to write.
        gone: The forgotten days, as parameters of statements.
    """
    for (name,) in warehouse.rows(connection, "read/stray_parts"):
        old, kept_name = store.fetch(name, folder), f"{name.removesuffix('.parquet')}-kept.parquet"
        kept = folder / "kept.parquet"
        warehouse.run(connection, "write/copy_kept_records", {"path": str(old), "kept_path": str(kept), **gone})
        n_rows, n_kept = parquet_rows(old), parquet_rows(kept)
        if n_kept < n_rows:
            store.put(kept, kept_name)
            warehouse.run(connection, "write/replace_part", {"name": name, "kept_name": kept_name, "n_rows": n_kept})


def refuse_missing(parts: Sequence[Part], n_loaded: int) -> None:
    """Refuse a day if the workers did not load each record of the parts once.

    Raises:
        HexveilError: The number of loaded records differs: a record went to no shard, or to two.
    """
    n_rows = sum(part.n_rows for part in parts)
    if n_loaded != n_rows:
        raise HexveilError(f"{n_loaded} records were loaded of {n_rows} in all shards; this is a defect, report it")


def all_names(connection: warehouse.Connection) -> set[str]:
    """Return the names of everything that the shards' storage must hold."""
    parts = [name for (name,) in warehouse.rows(connection, "read/part_names")]
    return {*parts, *map(note_of, parts)}


def note_of(part: str) -> str:
    """Return the name of the note beside a part."""
    return "/".join([*part.split("/")[:3], "note.json"])
