"""Witnesses: what a storage keeps of its account beside the ledger, so that no account begins anew unseen."""

import os
from collections.abc import Iterable
from pathlib import Path

from tasks.chain import Entry
from tasks.config import Config
from tasks.durable import flush_folder
from tasks.errors import LedgerBroken
from tasks.ledger_file import ledger_path

_ATTEMPT, _RELEASED = b".", b"+"
_OF_AN_ACCOUNT = ("plans", "attempts", "releases", "totals", "pending-entry", "ledger-head")


def begin_ledger(config: Config) -> None:
    """Make the empty ledger that a storage begins with, before anything of an account is stored beside it.

    Raises:
        LedgerBroken: The ledger is missing, though there was one.
    """
    path = ledger_path(config)
    if path.exists():
        return
    check_no_ledger_is_missing(config)
    path.parent.mkdir(parents=True, exist_ok=True)
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o644))
    flush_folder(path.parent)


def check_no_ledger_is_missing(config: Config) -> None:
    """Check that there is a ledger, or nothing yet that one should be beside.

    Raises:
        LedgerBroken: Names what is left of an account whose ledger is gone.
    """
    private, path = config.storage_path / "private", ledger_path(config)
    left = [private / name for name in _OF_AN_ACCOUNT if _holds_anything(private / name)]
    emptied = _holds_anything(private / "releases") and not _holds_anything(private / "attempts")
    if left and (emptied or not path.exists()):  # looked at last, for it may have been made meanwhile
        raise LedgerBroken(
            f"{path} is missing or was emptied, but {left[0]} is left of an account: what users lost would be "
            "forgotten. Restore ledger.jsonl from backup. Only if nothing was ever released from this storage, delete "
            f"{', '.join(map(str, left))} and run the day again"
        )


def count_attempt(release_id: str, config: Config) -> int:
    """Note on disk that a release is about to be drawn, and return how often that was noted, this time included."""
    return _note(_ATTEMPT, release_id, config).count(_ATTEMPT)


def mark_released(entries: Iterable[Entry], config: Config) -> None:
    """Mark, beside their attempts, the releases that the ledger holds; those that are marked already stay so."""
    for entry in entries:
        path = _folder(config) / entry["release_id"]
        if not path.exists() or _RELEASED not in path.read_bytes():
            _note(_RELEASED, entry["release_id"], config)


def marked_releases(config: Config) -> set[str]:
    """Return the ids of the releases that are marked as being in the ledger."""
    folder = _folder(config)
    return {path.name for path in folder.glob("*") if _RELEASED in path.read_bytes()}


def check_marks(marked: set[str], entries: list[Entry], config: Config) -> None:
    """Check that the ledger holds every release that is marked.

    Args:
        marked: The ids of those releases, read before the entries were: a release may be made meanwhile.
        entries: Those of the ledger.
        config: Says where things are.

    Raises:
        LedgerBroken: Names a release that it lacks.
    """
    missing = sorted(marked - {entry.get("release_id") for entry in entries})
    if missing:
        raise LedgerBroken(
            f"{_folder(config) / missing[0]} says that {missing[0]} was released, but the ledger lacks it: it was cut, "
            "or one older than that release was restored. Restore the last one from backup; releasing anything now "
            "would spend without knowing what is spent"
        )


def _note(mark: bytes, release_id: str, config: Config) -> bytes:
    """Add a mark to a release's file, and return all that is in it."""
    folder = _folder(config)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / release_id).open("ab+") as file:
        file.write(mark)
        file.flush()
        os.fsync(file.fileno())
        file.seek(0)
        content = file.read()
    flush_folder(folder)
    return content


def _folder(config: Config) -> Path:
    return config.storage_path / "private" / "attempts"


def _holds_anything(path: Path) -> bool:
    return any(path.iterdir()) if path.is_dir() else path.exists()
