"""Back up: copies the files of a storage that cannot be made again, complete and consistent, while runs go on."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from tasks.account import ledger, private_files
from tasks.account.entry import Entry
from tasks.account.identity import published_folder
from tasks.account.presence_release import presence_releases
from tasks.base.copies import copy_all
from tasks.base.errors import contained
from tasks.base.storage import OWNER, is_over_all_days
from tasks.presence.config import PresenceConfig


@contained
def back_up_presence(target: Path, config: PresenceConfig) -> int:
    """Copy the ledger and the files of releases to a folder, and return the number of releases.

    New releases wait until the copy is done. What releases need is copied before the ledger, and witnesses after it.

    Raises:
        HexveilError: The target is inside the storage, or its ledger is not the beginning of this one.
        LedgerBroken: The ledger is damaged, so it must not replace a copy that may be good.
    """
    with ledger.locked(config):
        entries = ledger.read_entries(config)
        copy_all(target, list(_in_order(entries, config)), config.storage_path)
    return len(presence_releases(entries))


def _in_order(entries: Sequence[Entry], config: PresenceConfig) -> Iterator[Path]:
    """Yield the files to copy. A draw that the ledger does not name was not charged, so it is never copied."""
    private, released = config.storage_path / "private", presence_releases(entries)
    yield private / OWNER
    for name in sorted({name for entry in released for name in entry.files.values()}):
        yield private_files.releases(config) / name
    yield ledger.ledger_path(config)
    yield from (path for path in [private / "ledger-head", *sorted((private / "attempts").glob("*"))] if path.exists())
    for entry in released:
        folder = published_folder(entry.date, entry.revision, config)
        yield from (path for path in map(folder.joinpath, entry.files) if path.exists())
    published = sorted((config.storage_path / "published").glob("*"))
    yield from (path for path in published if path.is_file() and is_over_all_days(path.name))
