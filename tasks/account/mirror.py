"""The mirror of the ledger in DuckDB: for queries, and as a second record of what the ledger must contain."""

import logging
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial

from tasks.account import private_files
from tasks.account.chain import releases
from tasks.account.entry import Entry, Release
from tasks.base import tables, warehouse
from tasks.base.config import Config
from tasks.base.errors import InUse, LedgerBroken
from tasks.base.logs import warn
from tasks.base.progress import progress
from tasks.base.rebuilt import is_damage, open_or_make_anew
from tasks.base.storage import TABLE

_WAIT_SECONDS = 5

log = logging.getLogger("hexveil.mirror")


@contextmanager
def connect(config: Config, make_anew: bool = False) -> Iterator[warehouse.Connection]:
    """Open the database of published rows and charges. It contains nothing private and can be rebuilt.

    Args:
        config: Says where it is.
        make_anew: Whether to rename a damaged one and create a new one.

    Raises:
        InUse: Another program, perhaps a reader, used it for some seconds.
        LedgerBroken: It is damaged.
    """
    opened = open_or_make_anew if make_anew else warehouse.open_database
    with _opened(opened, config) as connection:
        warehouse.define(connection, *tables.MIRRORED)
        yield connection


@contextmanager
def _opened(opens: Callable[..., warehouse.Connection], config: Config) -> Iterator[warehouse.Connection]:
    path = config.storage_path / "release.duckdb"
    try:
        connection = opens(path, config, _WAIT_SECONDS)
    except warehouse.EngineError as error:
        if not is_damage(error):
            raise
        raise LedgerBroken(
            f"{path} cannot be read, so the ledger cannot be compared with it; the next run of a day sets it aside "
            "and makes it anew"
        ) from None
    with closing(connection):
        connection.execute("set TimeZone = 'UTC'")
        yield connection


@contextmanager
def _only_read(config: Config) -> Iterator[warehouse.Connection | None]:
    """Open the mirror to read it, also where nothing can be written; None if it has no tables yet."""
    with _opened(partial(warehouse.open_database, read_only=True), config) as connection:
        held = {name for (name,) in warehouse.rows(connection, "read/table_names")}
        yield connection if held.issuperset(tables.MIRRORED) else None


_CHARGE = ("number", "release_id", "date", "revision", "epsilon", "epsilon_total_after", "committed_at", "hash")


def known_releases(config: Config, make_anew: bool = False) -> dict[str, str | None]:
    """Return the hash of the ledger entry of each release in the mirror; None for a release without its charge.

    The result is empty if there is no mirror.

    Raises:
        InUse: Another program has the mirror open.
        LedgerBroken: The mirror is damaged, and ``make_anew`` is False.
    """
    if not (config.storage_path / "release.duckdb").exists():
        return {}
    with connect(config, make_anew) if make_anew else _only_read(config) as connection:
        held = warehouse.rows(connection, "read/mirrored_releases") if connection is not None else []
        return {release_id: entry_hash for release_id, entry_hash, _ in held}


def check(known: dict[str, str | None], entries: list[Entry]) -> None:
    """Check that the ledger contains every release in the mirror. A release that the mirror lacks is no error.

    Raises:
        LedgerBroken: The ledger lacks one or has another entry for it, so it was replaced.
    """
    hashes = {entry.release_id: entry.hash for entry in releases(entries)}
    for release_id, entry_hash in known.items():
        if release_id not in hashes or entry_hash not in (None, hashes[release_id]):
            raise LedgerBroken(
                f"release.duckdb knows the release {release_id}, which the ledger lacks or holds otherwise: the ledger "
                "was cut or replaced. Restore it from backup"
            )


def check_rows(known: dict[str, str | None], entries: list[Entry], config: Config) -> None:
    """Check that the mirror's rows and charges are those that were released. Rows that the mirror lacks are no error.

    Args:
        known: What ``known_releases`` returned before the entries were read.
        entries: The ledger's entries.
        config: Says where the mirror and the released files are.

    Raises:
        InUse: Another program has the mirror open.
        LedgerBroken: The mirror differs, or a released file is missing or changed.
    """
    held = [entry for entry in releases(entries) if entry.release_id in known]
    if not held:
        return
    with _only_read(config) as connection:
        if connection is None:
            return
        for entry in progress(held, "comparing the mirror"):
            released = {"release_id": entry.release_id, **_table_of(entry, connection, config)}
            charged = {name: entry.stated[name] for name in _CHARGE}
            is_charged = known[entry.release_id] is not None
            if warehouse.rows(connection, "checks/mirrored_rows_otherwise", released) or (
                is_charged and not warehouse.rows(connection, "checks/mirrored_charge_same", charged)
            ):
                raise LedgerBroken(
                    f"release.duckdb says something else of {entry.release_id} than the ledger and its released "
                    "file; delete release.duckdb: the next run of a day makes it anew"
                )


def bring_in_line(entries: list[Entry], config: Config) -> None:
    """Write into the mirror all releases of the ledger that it lacks.

    Raises:
        LedgerBroken: The mirror has a release that the ledger lacks, or a released file is missing or changed.
    """
    try:
        with connect(config, make_anew=True) as connection:
            held = warehouse.rows(connection, "read/mirrored_releases")
            check({release_id: entry_hash for release_id, entry_hash, _ in held}, entries)
            whole = {(release_id, n_rows) for release_id, entry_hash, n_rows in held if entry_hash is not None}
            with warehouse.transaction(connection):
                for entry in releases(entries):
                    if (entry.release_id, entry.n_published) not in whole:
                        _write(connection, entry, config)
    except InUse as error:
        warn(log, "mirror is behind, the next run brings it in line", reason=error)


def _write(connection: warehouse.Connection, entry: Release, config: Config) -> None:
    for table in tables.MIRRORED:
        warehouse.run_on(connection, "write/delete_release", table, {"release_id": entry.release_id})
    warehouse.run(connection, "write/statistic", _table_of(entry, connection, config))
    warehouse.run(connection, "write/charge", {name: entry.stated[name] for name in _CHARGE})


def _table_of(entry: Release, connection: warehouse.Connection, config: Config) -> dict[str, str | list[str]]:
    """Return the path of a release's table, after checking that it is unchanged, and the columns that are mirrored."""
    file_hash, folder = entry.files[TABLE], private_files.releases(config)
    private_files.read(folder, file_hash)
    return {"path": str(folder / file_hash), "columns": connection.table("statistic").columns}
