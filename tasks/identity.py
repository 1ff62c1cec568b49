"""What a release is known by, and where it is published."""

import datetime as dt
import os
import re
from pathlib import Path

from tasks.chain import Entry, releases
from tasks.config import Config
from tasks.errors import HexveilError, LedgerBroken
from tasks.sections import shown

_REVISION = re.compile(r"[a-z0-9][a-z0-9_]{0,39}")


def release_id(date: dt.date, config: Config, revision: str | None = None) -> str:
    """Return what a release is known by: dataset, day, grid, statistics, and the revision's name if it is one."""
    statistics = "mean-variance" if config.statistics.variance else "mean"
    grid = f"h3r{config.grid.h3_resolution}-{config.grid.slot_minutes}min"
    return f"{config.dataset.name}-{date}-{grid}-{statistics}" + (f"-revision-{revision}" if revision else "")


def find_entry(date: dt.date, revision: str | None, entries: list[Entry], config: Config) -> Entry | None:
    """Return the entry of a day's release or of a revision of it, None where it has not been made.

    Raises:
        HexveilError: It was made in another grid or with other statistics, or the revision's name cannot be one.
    """
    if revision is not None and not _REVISION.fullmatch(revision):
        raise HexveilError("a revision's name is made of at most 40 of a-z, 0-9 and _, and begins with no _")
    wanted = release_id(date, config, revision)
    for entry in of_day(date, entries):
        if entry["revision"] == revision and entry["release_id"] != wanted:
            raise HexveilError(
                f"{date} was released as {entry['release_id']}; releasing it as {wanted} would cost its users "
                "again. Restore [grid] and [statistics] to publish the release that was made, or, if it shall be paid "
                "for a second time, name a revision: --revision NAME."
            )
        if entry["release_id"] == wanted:
            return entry
    return None


def of_day(date: dt.date, entries: list[Entry]) -> list[Entry]:
    """Return the entries of a day: its first release, then revisions."""
    return [entry for entry in releases(entries) if entry["date"] == date.isoformat()]


def published_folder(date: str, revision: str | None, config: Config) -> Path:
    """Return where the files of a release are published; a revision's are in a folder within that of the day."""
    return config.storage_path / "published" / _folder_name(date, revision)


def check_same_users(entries: list[Entry], config: Config) -> None:
    """Check that the ledger's losses are of the same users: told by the same column of the same dataset.

    Raises:
        HexveilError: They are not; everybody's account would begin anew.
    """
    for entry in releases(entries)[-1:]:
        column = entry["settings"]["columns"]["user"]
        if (entry["dataset"], column) != (config.dataset.name, config.columns.user):
            raise HexveilError(
                f'the ledger counts what users of {entry["dataset"]}, told by the column "{column}", have lost. With '
                f'{config.dataset.name} and "{config.columns.user}" everybody\'s account would begin anew; restore '
                "dataset.name and columns.user, or give the other users a storage.path of their own"
            )


def check_nothing_unpaid(folders: list[str], entries: list[Entry], config: Config) -> None:
    """Check that each published folder has its entry: a ledger restored from an older backup may lack some.

    Args:
        folders: Names of the published folders, listed before the entries were read: a release may be made meanwhile.
        entries: Those of the ledger.
        config: Says where things are.

    Raises:
        LedgerBroken: Names the first folder that no entry pays for.
    """
    paid = {_folder_name(entry["date"], entry["revision"]) for entry in releases(entries)}
    for folder in folders:
        if folder not in paid:
            raise LedgerBroken(
                f"{config.storage_path / 'published' / shown(folder)} was published, but no entry of the ledger pays "
                "for it: a backup older than that release was restored. Restore the last one; releasing anything now "
                "would spend without knowing what is spent."
            )


def published_folders(config: Config) -> list[str]:
    """Return the names of the folders of releases that are there; looked through at each release, so without paths."""
    root = config.storage_path / "published"
    days = _names(root, "date=")
    return days + [f"{day}/{revision}" for day in days for revision in _names(root / day, "revision=")]


def other_files(config: Config) -> tuple[str, ...]:
    """Return the names of what lies beside the folders of releases, fit to be shown."""
    everything = _names(config.storage_path / "published", "")
    return tuple(shown(name) for name in everything if not name.startswith("date="))


def _names(folder: Path, beginning: str) -> list[str]:
    try:
        with os.scandir(folder) as found:
            return sorted(one.name for one in found if one.name.startswith(beginning))
    except (FileNotFoundError, NotADirectoryError):
        return []


def _folder_name(date: str, revision: str | None) -> str:
    return f"date={date}/revision={revision}" if revision else f"date={date}"
