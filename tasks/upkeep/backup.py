"""Back up: copies the files of a storage that cannot be made again, complete and consistent, while runs go on."""

import shutil
from collections.abc import Iterator
from pathlib import Path

from tasks.account import ledger, private_files
from tasks.account.chain import charges, releases
from tasks.account.changes import Conversion
from tasks.account.definitions import totals_file
from tasks.account.entry import Entry
from tasks.account.identity import published_folder
from tasks.base.config import Config
from tasks.base.config_collection import CollectionConfig
from tasks.base.errors import HexveilError, LedgerBroken, contained
from tasks.base.progress import progress
from tasks.base.storage import OWNER
from tasks.collect import ledger as collect_ledger
from tasks.kinds.table import load_plan


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
        _copy_all(target, list(_in_order(entries, config)), config.storage_path)
    return len(releases(entries))


@contained
def back_up_collection(target: Path, config: CollectionConfig) -> int:
    """Copy the ledger and the files of a collection to a folder, and return the number of periods.

    The reports are not copied: they are yours, and what was added up is in the files.

    Args:
        target: The folder to copy to, one for each collection. It may hold an earlier copy.
        config: Names the storage to copy.

    Raises:
        HexveilError: The target is inside the storage, or its ledger is not the beginning of this one.
        LedgerBroken: The ledger is damaged, so it must not replace a copy that may be good.
    """
    with collect_ledger.locked(config) as entries:
        released = config.storage_path / "private" / "releases"
        wanted = [released / name for entry in entries for name in entry["files"].values()]
        wanted += [collect_ledger.ledger_path(config), config.storage_path / "private" / OWNER]
        for entry in entries:
            folder = collect_ledger.published_folder(entry["period"], config)
            wanted += [path for path in map(folder.joinpath, entry["files"]) if path.exists()]
        _copy_all(target, wanted, config.storage_path)
    return len({one["period"] for one in entries})


def _copy_all(target: Path, wanted: list[Path], storage: Path) -> None:
    if target.resolve().is_relative_to(storage):
        raise HexveilError(f"{target} is within the storage; give a folder on another disk")
    _check_earlier_copy(target / "ledger.jsonl", storage / "ledger.jsonl")
    (target / "private").mkdir(parents=True, exist_ok=True)
    (target / "private").chmod(0o700)
    for path in progress(wanted, "copying files"):
        _copy(path, target / path.relative_to(storage))
    _remove_others({target / path.relative_to(storage) for path in wanted}, target)


def _check_earlier_copy(earlier: Path, now: Path) -> None:
    if earlier.exists() and not now.read_bytes().startswith(earlier.read_bytes()):
        raise HexveilError(f"{earlier} is not the beginning of {now}: another dataset, or one was changed")


def _in_order(entries: list[Entry], config: Config) -> Iterator[Path]:
    """Yield the files to copy. A draw that the ledger does not name was not charged, so it is never copied."""
    private = config.storage_path / "private"
    for name in (OWNER, "user-key", "forgotten", "shards-owner"):
        yield from (path for path in [private / name] if path.exists())
    for entry in charges(entries):
        plan = load_plan(entry.plan, config)
        yield from (private_files.plans(config) / name for name in (plan.name, *plan.files.values()))
    yield from (private_files.releases(config) / name for name in private_files.released_files(entries))
    for entry in entries:
        if isinstance(entry, Conversion):
            yield from (private_files.plans(config) / name for name in entry.losses.values())
    name = totals_file(entries)
    if name is not None:
        yield private_files.totals(config) / name
    yield ledger.ledger_path(config)
    yield from (path for path in [private / "ledger-head", *sorted((private / "attempts").glob("*"))] if path.exists())
    for entry in releases(entries):
        folder = published_folder(entry.date, entry.revision, config)
        yield from (path for path in map(folder.joinpath, entry.files) if path.exists())


def _remove_others(wanted: set[Path], target: Path) -> None:
    """Remove files of an earlier copy that the ledger does not name now."""
    for folder in ("plans", "releases", "totals"):
        for path in (target / "private" / folder).glob("*"):
            if path not in wanted:
                path.unlink()


def _copy(path: Path, copy: Path) -> None:
    """Copy a file unless its copy has the same size and time."""
    if not path.exists():
        raise LedgerBroken(f"{path} is missing; restore it from an earlier backup")
    status = path.stat()
    if copy.exists() and (copy.stat().st_size, copy.stat().st_mtime_ns) == (status.st_size, status.st_mtime_ns):
        return
    copy.parent.mkdir(parents=True, exist_ok=True)
    temporary = copy.with_name(f".{copy.name}.copy")
    shutil.copy2(path, temporary)
    temporary.replace(copy)
