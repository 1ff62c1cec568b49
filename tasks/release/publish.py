"""Publish: copies a release's files to the published folder, and mirrors the ledger for queries. May be repeated."""

import logging

from tasks.account import ledger, mirror, private_files
from tasks.account.chain import releases
from tasks.account.entry import Entry, Release
from tasks.account.identity import folder_name, published_folder
from tasks.base import durable
from tasks.base.config import Config
from tasks.base.errors import LedgerBroken
from tasks.base.logs import say
from tasks.base.steps import step
from tasks.formats.index import INDEX, IndexedRelease, index_page
from tasks.release.files import MANIFEST

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
        for unfinished in folder.glob(".*"):
            unfinished.unlink()
        for name, file_hash in sorted(entry.files.items(), reverse=True):
            content = private_files.read(private_files.releases(config), file_hash)
            path = folder / name
            if not path.exists() or path.read_bytes() != content:
                durable.write_whole(path, content, mode=0o644)
        _write_index(entries, config)
        mirror.bring_in_line(entries, config)
    say(log, "published", release=release_id, folder=folder)


def _write_index(entries: list[Entry], config: Config) -> None:
    """Write the page over all days. It says nothing that the releases and the ledger do not say."""
    released = releases(entries)
    last, currency = released[-1], released[-1].currency
    page = index_page(
        name=config.dataset.name,
        purpose="" if config.dataset.purpose == "not stated" else config.dataset.purpose,
        guarantee=last.in_words,
        used=f"{last.epsilon_used_after:f}",
        limit=config.budget.in_words,
        share=last.loss_used_after / max(currency.within(config.budget.epsilon_total), 1),
        releases=[
            IndexedRelease(
                date=entry.date,
                revision=entry.revision,
                link=f"{folder_name(entry.date, entry.revision)}/{_shown_first(entry)}",
                n_published=entry.n_published,
            )
            for entry in released
        ],
    )
    folder = config.storage_path / "published"
    for unfinished in folder.glob(f".{INDEX}.*"):
        unfinished.unlink()
    durable.write_whole(folder / INDEX, page, mode=0o644)


def _shown_first(entry: Release) -> str:
    """Return the file of a release that readers open: its map, if it has one."""
    return next((name for name in ("map.html", "statistics.csv") if name in entry.files), MANIFEST)
