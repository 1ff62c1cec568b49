"""Copies the files of a storage to a folder: what a backup of a dataset or of a collection does."""

import os
import shutil
from pathlib import Path

from tasks.base.durable import flush_folder, make_folder
from tasks.base.errors import HexveilError, LedgerBroken
from tasks.base.progress import progress


def copy_all(target: Path, wanted: list[Path], storage: Path) -> None:
    """Copy files in their order, and remove what an earlier copy has besides.

    Args:
        target: The folder to copy to. It may hold an earlier copy.
        wanted: The files, below the storage.
        storage: The folder of the storage.

    Raises:
        HexveilError: The target is inside the storage, or its ledger is not the beginning of this one.
        LedgerBroken: A file is missing.
    """
    if target.resolve().is_relative_to(storage):
        raise HexveilError(f"{target} is within the storage; give a folder on another disk")
    _check_earlier_copy(target / "ledger.jsonl", storage / "ledger.jsonl")
    make_folder(target / "private")
    (target / "private").chmod(0o700)
    for path in progress(wanted, "copying files"):
        _copy(path, target / path.relative_to(storage))
    _remove_others({target / path.relative_to(storage) for path in wanted}, target)


def _check_earlier_copy(earlier: Path, now: Path) -> None:
    if earlier.exists() and not now.read_bytes().startswith(earlier.read_bytes()):
        raise HexveilError(f"{earlier} is not the beginning of {now}: another dataset, or one was changed")


def _remove_others(wanted: set[Path], target: Path) -> None:
    """Remove files of an earlier copy that the ledger does not name now."""
    for folder in ("plans", "releases", "totals"):
        for path in (target / "private" / folder).glob("*"):
            if path not in wanted:
                path.unlink()


def _copy(path: Path, copy: Path) -> None:
    """Copy a file unless its copy has the same size and time; a copy is flushed before it has its name."""
    if not path.exists():
        raise LedgerBroken(f"{path} is missing; restore it from an earlier backup")
    status = path.stat()
    if copy.exists() and (copy.stat().st_size, copy.stat().st_mtime_ns) == (status.st_size, status.st_mtime_ns):
        return
    make_folder(copy.parent)
    temporary = copy.with_name(f".{copy.name}.copy")
    shutil.copy2(path, temporary)
    with temporary.open("rb") as file:
        os.fsync(file.fileno())  # a copy that a power cut tore would have size and time of a whole one
    temporary.replace(copy)
    flush_folder(copy.parent)
