"""Back up: what cannot be made anew of a storage, whole and consistent, while runs go on."""

import shutil
from collections.abc import Iterator
from pathlib import Path

from tasks import ledger
from tasks.config import Config
from tasks.errors import HexveilError, contained
from tasks.progress import progress

_PRIVATE_FIRST = ("dataset", "user-key", "forgotten", "plans", "releases", "totals", "attempts")


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
        n_releases = len(ledger.read_entries(config))
        _check_earlier_copy(target / "ledger.jsonl", storage / "ledger.jsonl")
        (target / "private").mkdir(parents=True, exist_ok=True)
        (target / "private").chmod(0o700)
        for path in progress(list(_in_order(storage)), "copying files"):
            _copy(path, target / path.relative_to(storage))
    return n_releases


def _check_earlier_copy(earlier: Path, now: Path) -> None:
    if earlier.exists() and not now.read_bytes().startswith(earlier.read_bytes()):
        raise HexveilError(f"{earlier} is not the beginning of {now}: another dataset, or one was changed")


def _in_order(storage: Path) -> Iterator[Path]:
    private = storage / "private"
    for name in _PRIVATE_FIRST:
        yield from _files(private / name)
    yield from _files(storage / "ledger.jsonl")
    yield from _files(private / "ledger-head")
    yield from _files(storage / "published")


def _files(path: Path) -> list[Path]:
    """Return a file, or those of a folder that are whole: a name with a dot is one being written."""
    found = [path] if path.is_file() else sorted(path.rglob("*"))
    return [file for file in found if file.is_file() and not file.name.startswith(".")]


def _copy(path: Path, copy: Path) -> None:
    """Copy a file unless its copy has the same size and time."""
    status = path.stat()
    if copy.exists() and (copy.stat().st_size, copy.stat().st_mtime_ns) == (status.st_size, status.st_mtime_ns):
        return
    copy.parent.mkdir(parents=True, exist_ok=True)
    temporary = copy.with_name(f".{copy.name}.copy")
    shutil.copy2(path, temporary)
    temporary.replace(copy)
