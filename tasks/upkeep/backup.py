"""Back up: copies the files of a storage that cannot be made again, complete and consistent, while runs go on."""

from collections.abc import Iterator
from pathlib import Path

from tasks.account import ledger, private_files
from tasks.account.chain import charges, releases
from tasks.account.entry import Entry
from tasks.account.identity import published_folder
from tasks.base.config import Config
from tasks.base.copies import copy_all
from tasks.base.errors import contained
from tasks.base.storage import OWNER, is_over_all_days
from tasks.kinds.table import load_plan
from tasks.release.formats import KEPT_ONCE


@contained
def back_up(target: Path, config: Config) -> int:
    """Copy the ledger and the files of releases to a folder, and return the number of releases.

    New releases wait until the copy is done. An interrupted copy is as good as the one before: the files that a release
    needs are copied before the ledger, and the witnesses of the release after it.

    Args:
        target: The folder to copy to, one for each dataset. It may hold an earlier copy. It will hold private files.
        config: Names the storage to copy.

    Raises:
        HexveilError: The target is inside the storage, or its ledger is not the beginning of this one.
        LedgerBroken: The ledger is damaged, so it must not replace a copy that may be good.
    """
    with ledger.locked(config):
        entries = ledger.read_entries(config)
        copy_all(target, list(_in_order(entries, config)), config.storage_path)
    return len(releases(entries))


def _in_order(entries: list[Entry], config: Config) -> Iterator[Path]:
    """Yield the files to copy. A draw that the ledger does not name was not charged, so it is never copied."""
    private = config.storage_path / "private"
    for name in (OWNER, "user-key", "forgotten", "shards-owner"):
        yield from (path for path in [private / name] if path.exists())
    for entry in charges(entries):
        plan = load_plan(entry.plan, config)
        yield from (private_files.plans(config) / name for name in (plan.name, *plan.files.values()))
    kept_once = {entry.files.get(name) for entry in releases(entries) for name in KEPT_ONCE}
    for path in (private_files.releases(config) / name for name in private_files.released_files(entries)):
        if path.name not in kept_once or path.exists():
            yield path
    yield from (private_files.totals(config) / entry.totals for entry in charges(entries)[-1:])
    yield ledger.ledger_path(config)
    yield from (path for path in [private / "ledger-head", *sorted((private / "attempts").glob("*"))] if path.exists())
    for entry in releases(entries):
        folder = published_folder(entry.date, entry.revision, config)
        yield from (path for path in map(folder.joinpath, entry.files) if path.exists())
    published = sorted((config.storage_path / "published").glob("*"))
    yield from (path for path in published if path.is_file() and is_over_all_days(path.name))
