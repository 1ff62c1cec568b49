"""Back up: what cannot be made anew of a storage, whole and consistent, while runs go on."""

import shutil
from collections.abc import Iterator
from pathlib import Path

from tasks.account import ledger, private_files
from tasks.account.chain import releases
from tasks.account.entry import Entry
from tasks.account.identity import published_folder
from tasks.base.config import Config
from tasks.base.errors import HexveilError, contained
from tasks.base.progress import progress
from tasks.planning.stored_plan import load_plan


@contained
def back_up(target: Path, config: Config) -> int:
    """Copy ledger, private and published files to a folder that may hold an earlier copy; return how many releases.

    Releases wait meanwhile. A copy that is cut short is as good as the one before: what a release rests on is copied
    before the ledger, and what witnesses it after.

    Args:
        target: Where to; a folder of its own for each dataset. It will hold what is private.
        config: Says what.

    Raises:
        HexveilError: The target holds another ledger, or one that is not the beginning of this one.
        LedgerBroken: The ledger is not in order, so it is not copied over a copy that may be.
    """
    storage = config.storage_path
    if target.resolve().is_relative_to(storage):
        raise HexveilError(f"{target} is within the storage; give a folder on another disk")
    with ledger.locked(config):
        entries = ledger.read_entries(config)
        _check_earlier_copy(target / "ledger.jsonl", storage / "ledger.jsonl")
        (target / "private").mkdir(parents=True, exist_ok=True)
        (target / "private").chmod(0o700)
        wanted = list(_in_order(entries, config))
        for path in progress(wanted, "copying files"):
            _copy(path, target / path.relative_to(storage))
        _remove_others({target / path.relative_to(storage) for path in wanted}, target)
    return len(releases(entries))


def _check_earlier_copy(earlier: Path, now: Path) -> None:
    if earlier.exists() and not now.read_bytes().startswith(earlier.read_bytes()):
        raise HexveilError(f"{earlier} is not the beginning of {now}: another dataset, or one was changed")


def _in_order(entries: list[Entry], config: Config) -> Iterator[Path]:
    """Yield what to copy, and no draw that the ledger does not name: it was not charged, so nobody may ever see it."""
    private = config.storage_path / "private"
    for name in ("dataset", "user-key", "forgotten", "shards-owner"):
        yield from (path for path in [private / name] if path.exists())
    for entry in releases(entries):
        plan = load_plan(entry.plan, config)
        yield from (private_files.plans(config) / name for name in (plan.name, *plan.files.values()))
        yield from (private_files.releases(config) / name for name in entry.files.values())
    for entry in releases(entries)[-1:]:
        yield private_files.totals(config) / entry.totals
    yield ledger.ledger_path(config)
    yield from (path for path in [private / "ledger-head", *sorted((private / "attempts").glob("*"))] if path.exists())
    for entry in releases(entries):
        folder = published_folder(entry.date, entry.revision, config)
        yield from (path for path in map(folder.joinpath, entry.files) if path.exists())


def _remove_others(wanted: set[Path], target: Path) -> None:
    """Remove what an earlier copy held and the ledger does not name, or no more."""
    for folder in ("plans", "releases", "totals"):
        for path in (target / "private" / folder).glob("*"):
            if path not in wanted:
                path.unlink()


def _copy(path: Path, copy: Path) -> None:
    """Copy a file unless its copy has the same size and time."""
    status = path.stat()
    if copy.exists() and (copy.stat().st_size, copy.stat().st_mtime_ns) == (status.st_size, status.st_mtime_ns):
        return
    copy.parent.mkdir(parents=True, exist_ok=True)
    temporary = copy.with_name(f".{copy.name}.copy")
    shutil.copy2(path, temporary)
    temporary.replace(copy)
