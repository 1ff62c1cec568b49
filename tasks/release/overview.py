"""Writes the files over all days: a page for people, and the catalogue for programs and portals.

They say nothing that the releases, the ledger and the configuration do not say. So they can be made again at any time.
"""

from tasks.account.chain import releases
from tasks.account.entry import Entry, Release
from tasks.account.over_all_days import publication
from tasks.base.config import Config
from tasks.base.errors import LedgerBroken
from tasks.output_formats.over_all_days import files_over_all_days, write_over_all_days
from tasks.release.formats import FORMATS
from tasks.release.statement import guarantee


def write_overview(entries: list[Entry], config: Config) -> None:
    """Write the files over all days into the published folder; see ``write_over_all_days``."""
    write_over_all_days(overview(releases(entries), config), config.storage_path / "published")


def overview(released: list[Release], config: Config) -> dict[str, bytes]:
    """Return the files over all days by name, of at least one release.

    The guarantee and the budget are those that the last release was made with.

    Raises:
        LedgerBroken: The last entry does not state what a release does.
    """
    last = released[-1]
    name = last.misstated()
    if name is not None:
        raise LedgerBroken(f"entry {last.number}: {name} is missing, or is not what a release states")
    then = config.with_settings(last.settings)
    privacy = {
        "epsilon_of_the_last_release": last.stated["epsilon"],
        "epsilon_in_all": last.stated["epsilon_total_after"],
        "epsilon_limit": then.budget.in_words,
        "delta": last.stated.get("delta"),
        **guarantee(then.privacy, then.columns.user_is),
        **last.stated["guarantee"],
    }
    return files_over_all_days(publication(released, then, privacy, formats=FORMATS))
