"""The mirror of the ledger in DuckDB: for queries, and as a witness of what the ledger must hold."""

import logging

from tasks import ledger, private_files, warehouse
from tasks.config import Config
from tasks.errors import InUse, LedgerBroken

log = logging.getLogger("hexveil.mirror")

_CHARGE = ("number", "release_id", "date", "revision", "epsilon", "epsilon_total_after", "committed_at", "hash")


def check(entries: list[ledger.Entry], config: Config) -> None:
    """Check that the mirror knows of no release that the ledger lacks; what it lacks itself is no fault.

    Raises:
        LedgerBroken: It does, so the ledger was replaced.
    """
    try:
        with warehouse.connect_mirror(config) as connection:
            _check(connection, entries)
    except InUse as error:
        log.warning("%s: the ledger is not compared with it this time", error)


def bring_in_line(entries: list[ledger.Entry], config: Config) -> None:
    """Write into the mirror whatever of the ledger it never got or lost.

    Raises:
        LedgerBroken: It knows of a release that the ledger lacks, or a released file is missing or changed.
    """
    try:
        with warehouse.connect_mirror(config) as connection:
            whole = {(release_id, n_rows) for release_id, _, n_rows in _check(connection, entries)}
            with warehouse.transaction(connection):
                for entry in entries:
                    if (entry["release_id"], entry["cells"]["published"]) not in whole:
                        _write(connection, entry, config)
    except InUse as error:
        log.warning("%s: the mirror is behind, the next run brings it in line", error)


def _check(connection: warehouse.Connection, entries: list[ledger.Entry]) -> list[tuple[str, str, int]]:
    """Return what the mirror holds of each release: id, hash of the entry, number of rows."""
    hashes = {entry["release_id"]: entry["hash"] for entry in entries}
    held = warehouse.rows(connection, "release/held")
    for release_id, entry_hash, _ in held:
        if hashes.get(release_id) != entry_hash:
            raise LedgerBroken(
                f"release.duckdb knows the release {release_id}, which the ledger lacks or holds otherwise: the ledger "
                "was cut or replaced. Restore it from backup"
            )
    return held


def _write(connection: warehouse.Connection, entry: ledger.Entry, config: Config) -> None:
    file_hash = entry["files"]["statistics.parquet"]
    private_files.read(private_files.releases(config), file_hash)
    for table in ("statistic", "charge"):
        warehouse.run(connection, f"release/clear_{table}", {"release_id": entry["release_id"]})
    warehouse.run(connection, "release/statistic", {"path": str(private_files.releases(config) / file_hash)})
    warehouse.run(connection, "release/charge", {name: entry[name] for name in _CHARGE})
