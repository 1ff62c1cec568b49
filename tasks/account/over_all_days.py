"""What the files over all days tell, from the entries of the releases: of each of them, and what they cost together."""

from collections.abc import Mapping, Sequence
from typing import Any

from tasks.account import private_files
from tasks.account.entry import Release
from tasks.account.identity import folder_name
from tasks.account.presence_release import PresenceRelease
from tasks.base.config import Config
from tasks.base.storage import TABLE
from tasks.output_formats.data_package import fields_of_file
from tasks.output_formats.publication import Publication, PublishedRelease


def publication(
    released: Sequence[Release] | Sequence[PresenceRelease], config: Config, privacy: Mapping[str, Any], **of_kind: Any
) -> Publication:
    """Return what there is to tell of at least one release; the budget is that of the last.

    Args:
        released: The entries.
        config: The configuration, as it is shown.
        privacy: Each part of the guarantee, as texts, beside the statement of the last release.
        of_kind: What a publication says by its kind: see there.
    """
    last = released[-1]
    return Publication(
        config=config,
        privacy={"statement": last.in_words, **privacy},
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
        **of_kind,
    )
