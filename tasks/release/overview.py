"""Writes the files over all days: a page for people, and the catalogue for programs and portals.

They say nothing that the releases, the ledger and the configuration do not say. So they can be made again at any time.
"""

from tasks.account import private_files
from tasks.account.chain import releases
from tasks.account.entry import Entry, Release
from tasks.account.identity import folder_name
from tasks.base.config import Config
from tasks.base.errors import LedgerBroken
from tasks.base.storage import TABLE
from tasks.output_formats.data_package import fields_of_file
from tasks.output_formats.over_all_days import files_over_all_days, write_over_all_days
from tasks.output_formats.publication import Publication, PublishedRelease
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
    return files_over_all_days(_publication(released, config.with_settings(last.settings)))


def _publication(released: list[Release], config: Config) -> Publication:
    last = released[-1]
    return Publication(
        config=config,
        privacy={
            "statement": last.in_words,
            "epsilon_of_the_last_release": last.stated["epsilon"],
            "epsilon_in_all": last.stated["epsilon_total_after"],
            "epsilon_limit": config.budget.in_words,
            "delta": last.stated.get("delta"),
            **guarantee(config.privacy, config.columns.user_is),
            **last.stated["guarantee"],
        },
        share=last.loss_used_after / max(last.currency.within(config.budget.epsilon_total), 1),
        n_more_like_it=last.n_more_like_it,
        created=released[0].committed_at,
        modified=last.committed_at,
        releases=[
            PublishedRelease(
                date=entry.date,
                revision=entry.revision,
                folder=folder_name(entry.date, entry.revision),
                files=entry.files,
                n_published=entry.n_published,
                said_first=entry.said_first,
                fields=fields_of_file(private_files.releases(config) / entry.files[TABLE]),
                whole_day=entry.whole_day,
            )
            for entry in released
        ],
        formats=FORMATS,
    )
