"""Witnesses: records of the account in addition to the ledger, so that a lost or replaced ledger is noticed."""

import os
from collections.abc import Iterable
from pathlib import Path

from tasks.account.chain import spendings
from tasks.account.entry import Entry, Spending
from tasks.account.identity import folder_name
from tasks.base.config_source import WHO
from tasks.base.config_types import shown
from tasks.base.durable import flush_folder, make_folder
from tasks.base.errors import HexveilError, LedgerBroken
from tasks.base.owner import Spender
from tasks.base.storage import WHOLE_TABLE, is_over_all_days

_RANK: dict[str | None, int] = {one: rank for rank, one in enumerate(WHO)}
_ATTEMPT, _RELEASED = b".", b"+"
_FOLDERS = ("date=", "week=", "month=")
"""How the folders of ``published`` begin that are checked elsewhere."""


def count_attempt(release_id: str, config: Spender) -> int:
    """Record on disk that a release will be drawn. Return how often that was recorded, including this time."""
    return _note(_ATTEMPT, release_id, config).count(_ATTEMPT)


def mark_paid(entries: Iterable[Spending], config: Spender) -> None:
    """Mark the ledger's releases and stopped days in files of their ids. What is marked is not marked again."""
    for entry in entries:
        path = _folder(config) / entry.release_id
        if not path.exists() or _RELEASED not in path.read_bytes():
            _note(_RELEASED, entry.release_id, config)


def marked_ids(config: Spender) -> set[str]:
    """Return the ids of the releases and stopped days that are marked as being in the ledger."""
    folder = _folder(config)
    return {path.name for path in folder.glob("*") if _RELEASED in path.read_bytes()}


def check_marks(marked: set[str], entries: list[Entry], config: Spender) -> None:
    """Check that the ledger contains everything that is marked.

    Args:
        marked: The ids that are marked, read before the entries, because a release may be made meanwhile.
        entries: The ledger's entries.
        config: Says where things are.

    Raises:
        LedgerBroken: The ledger lacks a marked release or stopped day, which the message names.
    """
    missing = sorted(marked - {entry.release_id for entry in spendings(entries)})
    if missing:
        raise LedgerBroken(
            f"{_folder(config) / missing[0]} says that {missing[0]} was paid for, but the ledger lacks it: it was cut, "
            "or one older than that was restored. Restore the last one from backup; releasing anything now "
            "would spend without knowing what is spent"
        )


def _note(mark: bytes, release_id: str, config: Spender) -> bytes:
    """Add a mark to a release's file, and return the whole content."""
    folder = _folder(config)
    make_folder(folder)
    with (folder / release_id).open("ab+") as file:
        file.write(mark)
        file.flush()
        os.fsync(file.fileno())
        file.seek(0)
        content = file.read()
    flush_folder(folder)
    return content


def _folder(config: Spender) -> Path:
    return config.storage_path / "private" / "attempts"


def check_same_users(entries: list[Entry], config: Spender) -> None:
    """Check that the ledger's losses are of the same users: same dataset, same user column, no more that is promised.

    Raises:
        HexveilError: They are not. Every user's account would begin again at 0, or all releases together would promise
            what some of them did not.
    """
    problem = other_users(entries, config)
    if problem is not None:
        raise HexveilError(problem)


def other_users(entries: list[Entry], config: Spender) -> str | None:
    """Return why the ledger's losses are not of the configuration's users; None if they are."""
    for entry in spendings(entries)[-1:]:
        column = entry.settings["columns"]["user"]
        if (entry.dataset, column) != (config.dataset.name, config.columns.user):
            return (
                f'the ledger counts the losses of the users in the column "{column}" of {entry.dataset}. With '
                f'{config.dataset.name} and "{config.columns.user}" everybody\'s account would begin anew; restore '
                "dataset.name and columns.user, or give the other users a storage.path of their own"
            )
    problem = stronger_than_before(config.columns.user_is, entries)
    if problem is not None:
        return f"columns.user_is cannot be changed so: {problem}; restore it, or take another storage.path"
    return None


def problem_with_users(entry: Entry, before: list[Entry]) -> str | None:
    """Return what is wrong with whom an entry that follows others protects; None if nothing."""
    return stronger_than_before(entry.user_is, before) if isinstance(entry, Spending) else None


def stronger_than_before(user_is: str | None, entries: list[Entry]) -> str | None:
    """Return that something protects more than an earlier entry did, which all together cannot; None if not."""
    weakest = max((_RANK[entry.user_is] for entry in spendings(entries)), default=0)
    if _RANK[user_is] >= weakest:
        return None
    names = list(WHO.values())
    return f"it promises to protect each {names[_RANK[user_is]]}, and an earlier release only each {names[weakest]}"


def check_nothing_unpaid(folders: list[str], entries: list[Entry], config: Spender) -> None:
    """Check that each published folder has its entry. A ledger restored from an older backup may lack some.

    Args:
        folders: Names of the published folders, listed before the entries were read, because a release may be made
            meanwhile.
        entries: The ledger's entries.
        config: Says where things are.

    Raises:
        LedgerBroken: A folder has no entry. The message names the first such folder.
    """
    paid = {folder_name(entry.date, entry.revision) for entry in spendings(entries) if entry.files}
    for folder in folders:
        if folder not in paid:
            raise LedgerBroken(
                f"{config.storage_path / 'published' / shown(folder)} was published, but no entry of the ledger pays "
                "for it: a backup older than that release was restored. Restore the last one; releasing anything now "
                "would spend without knowing what is spent."
            )


def published_folders(config: Spender) -> list[str]:
    """Return the names of the existing folders of releases, without ``Path`` objects: every release scans them all."""
    root = config.storage_path / "published"
    days = _names(root, "date=")
    return days + [f"{day}/{revision}" for day in days for revision in _names(root / day, "revision=")]


def folders_in_table(config: Spender) -> list[str]:
    """Return the names of the folders in the table of all days."""
    return _names(config.storage_path / "published" / WHOLE_TABLE, "")


def other_files(config: Spender) -> tuple[str, ...]:
    """Return the names of all else in ``published``, with control characters escaped."""
    everything = _names(config.storage_path / "published", "")
    return tuple(shown(name) for name in everything if not name.startswith(_FOLDERS) and not is_over_all_days(name))


def _names(folder: Path, beginning: str) -> list[str]:
    try:
        with os.scandir(folder) as found:
            return sorted(one.name for one in found if one.name.startswith(beginning))
    except (FileNotFoundError, NotADirectoryError):
        return []
