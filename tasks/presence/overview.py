"""The files over all days: a page with a calendar and the budget, and one table of all days. They say nothing new."""

from collections.abc import Sequence

from tasks.account import private_files
from tasks.account.identity import path_in_table
from tasks.account.over_all_days import publication
from tasks.account.presence_release import PresenceRelease
from tasks.base import durable
from tasks.base.storage import TABLE
from tasks.output_formats.over_all_days import files_over_all_days, write_over_all_days
from tasks.presence.config import PresenceConfig
from tasks.presence.formats import FORMATS
from tasks.presence.release import guarantee
from tasks.presence.table import meaning


def write_overview(released: Sequence[PresenceRelease], config: PresenceConfig) -> None:
    """Write the page, and put each day's first release into the table of all days; what would be the same stays."""
    write_over_all_days(over_all_days(released, config), config.storage_path / "published")
    for entry in released:
        path = path_in_table(entry.date, config)
        if entry.revision is None and not path.exists():
            durable.write_whole(
                path, private_files.read(private_files.releases(config), entry.files[TABLE]), mode=0o644
            )


def over_all_days(released: Sequence[PresenceRelease], config: PresenceConfig) -> dict[str, bytes]:
    """Return the page and the catalogue by the names of their files, of at least one release."""
    told = publication(
        released, config.as_shown, guarantee(config), formats=FORMATS, is_presence_secret=True, meaning=meaning
    )
    return files_over_all_days(told)
