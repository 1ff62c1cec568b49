"""Publish: copy a release's files to where readers look, and mirror it for queries. May be repeated at will."""

import logging
from pathlib import Path

from prefect import task

from tasks import durable, ledger, private_files, warehouse
from tasks.config import Config
from tasks.errors import LedgerBroken, contained
from tasks.private_files import published_folder

log = logging.getLogger("hexveil.publish")

_MIRRORED = ("number", "release_id", "date", "epsilon", "epsilon_total_after", "committed_at", "hash")


@task
@contained
def publish_files(release_id: str, config: Config) -> None:
    """Put a release's files under published/, byte for byte as they were released, and mirror it in DuckDB.

    Raises:
        LedgerBroken: The ledger has no such release, or a file of it is missing or changed.
    """
    entry = ledger.find_release(release_id, config)
    if entry is None:
        raise LedgerBroken(f"{release_id} is not in {ledger.ledger_path(config)}; restore the file from backup")
    folder = published_folder(entry["date"], config)
    for name, file_hash in sorted(entry["files"].items(), reverse=True):
        content = private_files.read(private_files.releases(config), file_hash)
        if not _holds(folder / name, content):
            durable.write_whole(folder / name, content, mode=0o644)
    _mirror(entry, folder / "statistics.parquet", config)
    log.info("%s published in %s", release_id, folder)


def _holds(path: Path, content: bytes) -> bool:
    return path.exists() and path.read_bytes() == content


def _mirror(entry: ledger.Entry, statistics: Path, config: Config) -> None:
    release = {"release_id": entry["release_id"]}
    with warehouse.connect_mirror(config) as connection, warehouse.transaction(connection):
        for table in ("statistic", "charge"):
            warehouse.run(connection, f"release/clear_{table}", release)
        warehouse.run(connection, "release/statistic", {"path": str(statistics)})
        warehouse.run(connection, "release/charge", {key: entry[key] for key in _MIRRORED})
