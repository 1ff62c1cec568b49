"""Publish: copies a release's files to the published folder. May be repeated, with the same bytes."""

import logging

from tasks.account import ledger, private_files
from tasks.account.identity import published_folder
from tasks.account.presence_release import PresenceRelease, presence_releases
from tasks.base import durable
from tasks.base.errors import LedgerBroken
from tasks.base.logs import say
from tasks.base.steps import step
from tasks.presence.config import PresenceConfig
from tasks.presence.overview import write_overview

log = logging.getLogger("hexveil.publish")


@step("publish {release_id}")
def publish_day(release_id: str, config: PresenceConfig) -> PresenceRelease:
    """Copy a release's files to published/ with the released bytes, and return its entry.

    Raises:
        LedgerBroken: The ledger has no such release, or a file of it is missing or changed.
    """
    with ledger.locked(config):
        entries = presence_releases(ledger.read_entries(config))
        entry = next((one for one in entries if one.release_id == release_id), None)
        if entry is None:
            raise LedgerBroken(f"{release_id} is not in {ledger.ledger_path(config)}; restore the file from backup")
        folder = published_folder(entry.date, entry.revision, config)
        for name, file_hash in sorted(entry.files.items(), reverse=True):
            path = folder / name
            if not path.exists() or durable.sha256(path.read_bytes()) != file_hash:
                content = private_files.read(private_files.releases(config), file_hash)
                durable.write_whole(path, content, mode=0o644)
        write_overview(entries, config)
    say(log, "published", release=release_id, n_files=len(entry.files), folder=folder)
    return entry
