"""Publish: copies a release's files to the published folder, and mirrors the ledger for queries. May be repeated."""

import logging
from contextlib import suppress
from pathlib import Path

from tasks.account import ledger, mirror, private_files
from tasks.account.chain import releases
from tasks.account.entry import Entry, Release
from tasks.account.identity import path_in_table, published_folder
from tasks.base import durable
from tasks.base.config import Config
from tasks.base.errors import LedgerBroken
from tasks.base.logs import say, warn
from tasks.base.steps import step
from tasks.base.storage import TABLE
from tasks.release.formats import KEPT_ONCE
from tasks.release.overview import write_overview
from tasks.release.periods import write_periods

log = logging.getLogger("hexveil.publish")


@step("publish {release_id}")
def publish_files(release_id: str, config: Config) -> None:
    """Copy a release's files to published/ with the released bytes, and mirror the ledger in DuckDB.

    Raises:
        LedgerBroken: The ledger has no such release, or a file of it is missing or changed.
    """
    with ledger.locked(config):
        entries = ledger.read_entries(config)
        entry = next((entry for entry in releases(entries) if entry.release_id == release_id), None)
        if entry is None:
            raise LedgerBroken(f"{release_id} is not in {ledger.ledger_path(config)}; restore the file from backup")
        folder = published_folder(entry.date, entry.revision, config)
        published, in_table = config.storage_path / "published", path_in_table(entry.date, config).parent
        for above in (config.storage_path, published, folder, in_table.parent, in_table):
            if above.is_dir():
                durable.close_to_others(above)
        for unfinished in (*folder.glob(".*"), *in_table.glob(".*")):
            unfinished.unlink()
        for name, file_hash in sorted(entry.files.items(), reverse=True):
            try:
                _publish(file_hash, folder / name, config)
            except LedgerBroken:
                if name not in KEPT_ONCE:
                    raise
                warn(log, "page is lost or was changed; restore it from backup", file=folder / name)
        _keep_once(entries, config)
        _fill_table(entry, entries, config)
        write_overview(entries, config)
        write_periods(releases(entries), entry.date, config)
        mirror.bring_in_line(entries, config)
    say(log, "published", release=release_id, n_files=len(entry.files), folder=folder)


def _publish(file_hash: str, path: Path, config: Config) -> None:
    if not _is_published(file_hash, path):
        durable.write_whole(path, private_files.read(private_files.releases(config), file_hash), mode=0o644)


def _is_published(file_hash: str, path: Path) -> bool:
    return path.exists() and durable.sha256(path.read_bytes()) == file_hash


def _keep_once(entries: list[Entry], config: Config) -> None:
    """Remove the second copies of large files for looking, of releases before the last."""
    for entry in releases(entries)[:-1]:
        folder = published_folder(entry.date, entry.revision, config)
        for name in entry.files.keys() & set(KEPT_ONCE):
            copy = private_files.releases(config) / entry.files[name]
            if copy.exists() and _is_published(entry.files[name], folder / name):
                copy.unlink()


def _fill_table(published: Release, entries: list[Entry], config: Config) -> None:
    """Put a release, and what is missing of others, into the table of all days, which has no revisions."""
    for entry in releases(entries):
        path = path_in_table(entry.date, config)
        if entry.revision is None and (entry is published or not path.exists()):
            with suppress(LedgerBroken):  # a damaged release of another day does not stop this one: verify names it
                _publish(entry.files[TABLE], path, config)
