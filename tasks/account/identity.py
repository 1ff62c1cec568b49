"""The id of a release, its entry in the ledger, and its published folder."""

import datetime as dt
import re
from pathlib import Path

from tasks.account.chain import releases
from tasks.account.entry import Entry, Release
from tasks.base.config import Config
from tasks.base.errors import HexveilError
from tasks.base.owner import Owner
from tasks.base.storage import WHOLE_TABLE

_REVISION = re.compile(r"[a-z0-9][a-z0-9_]{0,39}")


def release_id(date: dt.date, config: Config, revision: str | None = None) -> str:
    """Return the id of a release: dataset, day, grid, statistics, and the name of the revision if it is one."""
    statistics = "mean-variance" if config.statistics.variance else "mean"
    grid = f"h3r{config.grid.h3_resolution}-{config.grid.slot_minutes}min"
    return f"{config.dataset.name}-{date}-{grid}-{statistics}" + (f"-revision-{revision}" if revision else "")


def find_entry(date: dt.date, revision: str | None, entries: list[Entry], config: Config) -> Release | None:
    """Return the entry of a day's release or of one of its revisions; None if it does not exist.

    Raises:
        HexveilError: It was made with another grid or other statistics, or the revision's name is not allowed.
    """
    check_revision(revision)
    wanted = release_id(date, config, revision)
    for entry in of_day(date, entries):
        if entry.revision == revision and entry.release_id != wanted:
            raise HexveilError(
                f"{date} was released as {entry.release_id}; releasing it as {wanted} would cost its users "
                "again. Restore [grid] and [statistics] to publish the release that was made, or, if it shall be paid "
                "for a second time, name a revision: --revision NAME."
            )
        if entry.release_id == wanted:
            return entry
    return None


def check_revision(revision: str | None) -> None:
    """Check the name of a revision.

    Raises:
        HexveilError: It is not allowed.
    """
    if revision is not None and not _REVISION.fullmatch(revision):
        raise HexveilError("a revision's name is made of at most 40 of a-z, 0-9 and _, and begins with no _")


def of_day(date: dt.date, entries: list[Entry]) -> list[Release]:
    """Return the entries of a day: its first release, then its revisions."""
    return [entry for entry in releases(entries) if entry.date == date]


def published_folder(date: dt.date, revision: str | None, config: Owner) -> Path:
    """Return the folder of a release's published files. The folder of a revision is inside the folder of its day."""
    return config.storage_path / "published" / folder_name(date, revision)


def folder_name(date: dt.date, revision: str | None) -> str:
    """Return the path of a release's folder inside ``published``."""
    return f"date={date}/revision={revision}" if revision else f"date={date}"


def path_in_table(date: dt.date, config: Owner) -> Path:
    """Return the path of a day's rows in the table of all days.

    It ends in .pq, so that ``published/**/*.parquet`` does not find the rows twice.
    """
    return config.storage_path / "published" / WHOLE_TABLE / folder_name(date, None) / "statistics.pq"
