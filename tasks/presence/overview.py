"""The files over all days: a page with a calendar and the budget, and one table of all days. They say nothing new."""

from collections.abc import Sequence
from pathlib import Path

from tasks.account import private_files
from tasks.account.identity import folder_name, path_in_table
from tasks.account.presence_release import PresenceRelease
from tasks.base import durable
from tasks.base.storage import INDEX, TABLE
from tasks.formats.index import index_page
from tasks.formats.publication import Publication, PublishedRelease
from tasks.presence.config import PresenceConfig
from tasks.presence.release import guarantee


def write_overview(released: Sequence[PresenceRelease], config: PresenceConfig) -> None:
    """Write the page, and put each day's first release into the table of all days; what would be the same stays."""
    folder = config.storage_path / "published"
    _write(folder / INDEX, index_page(_publication(released, config), []))
    for entry in released:
        path = path_in_table(entry.date, config)
        if entry.revision is None and not path.exists():
            _write(path, private_files.read(private_files.releases(config), entry.files[TABLE]))


def _write(path: Path, content: bytes) -> None:
    if not path.exists() or path.read_bytes() != content:
        durable.write_whole(path, content, mode=0o644)


def _publication(released: Sequence[PresenceRelease], config: PresenceConfig) -> Publication:
    last = released[-1]
    return Publication(
        config=config.as_shown,
        privacy={"statement": last.in_words, **guarantee(config)},
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
                paid_in_part=None,
                fields=(),
            )
            for entry in released
        ],
        is_presence_secret=True,
    )
