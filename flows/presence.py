"""The runs of a dataset whose users' presence is secret: a day, a range of days, and the check of all of them."""

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from tasks.account.identity import published_folder
from tasks.account.ledger import read_entries
from tasks.account.presence_release import PresenceRelease
from tasks.base.announcing import address, emit, show_markdown, show_verified, tell_if_low
from tasks.base.errors import WITHHELD, HexveilError, NoRecords
from tasks.base.progress import progress
from tasks.base.provenance import now
from tasks.presence.account import account_in_words
from tasks.presence.config import PresenceConfig, load_presence
from tasks.presence.publish import publish_day
from tasks.presence.release import release_day
from tasks.presence.verify import verify_presence


class PresenceReport(NamedTuple):
    """A released day in numbers. All of them are public.

    Attributes:
        release_id: The release's id in the ledger.
        n_published: Number of published cells.
        n_cells: Number of public cells.
        epsilon: What it cost everybody.
        epsilon_total: What all releases up to it cost everybody.
        n_more_like_it: How many more such days the budget paid when the day was released.
        in_words: The guarantee of the day and of all up to it, in a sentence.
        folder: Where the files are.
    """

    release_id: str
    n_published: int
    n_cells: int
    epsilon: Decimal
    epsilon_total: Decimal
    n_more_like_it: int
    in_words: str
    folder: Path

    @property
    def as_json(self) -> dict[str, Any]:
        """All of it by name, for programs; what is exact is a text."""
        return self._asdict()


def daily(config_file: Path, date: dt.date, revision: str | None = None) -> PresenceReport:
    """Publish one local day; a day that was released already is only published again, with the same bytes.

    Args:
        config_file: The dataset's TOML file.
        date: The local day.
        revision: Name of a deliberate further release of a released day, with its own charge.

    Returns:
        The report on the release.
    """
    config = load_presence(config_file)
    report = _published(date, config, revision)
    show_markdown("day", _page(date, report, config), f"{date}: {report.n_published:,} cells published", config)
    budget = account_in_words(read_entries(config), config)
    show_markdown("budget", budget, "The budget", config)
    is_low = report.n_more_like_it < config.monitoring.budget_low_days
    tell_if_low(is_low, config, days_left=report.n_more_like_it, pays=budget, limit=config.budget.in_words)
    return report


def backfill(config_file: Path, first: dt.date, last: dt.date, shortage: str, skip_missing: bool) -> None:
    """Publish every local day of a range, in order. A day that fails is reported, and the others are done.

    Args:
        config_file: The dataset's TOML file.
        first: The first local day.
        last: The last local day.
        shortage: Must be "refuse": there is no budget of some users that others could spare.
        skip_missing: Whether days without a file are no problems.

    Raises:
        HexveilError: Names the days with problems, and the problems.
    """
    if shortage != "refuse":
        raise HexveilError("--spread and --clip are for budgets of users; here each day costs everybody the same")
    config = load_presence(config_file)
    dates = [first + dt.timedelta(days=shift) for shift in range((last - first).days + 1)]
    problems: dict[dt.date, str] = {}
    began = now()
    for date in progress(dates, "releasing days"):
        try:
            _published(date, config, None, began)
        except HexveilError as error:
            if not (skip_missing and isinstance(error, NoRecords)):
                problems[date] = str(error)
    if problems:
        listed = "\n".join(f"  {date}: {problem}" for date, problem in sorted(problems.items()))
        raise HexveilError(f"{len(problems)} of {len(dates)} days have problems, the others are done:\n{listed}")


def verify(config_file: Path) -> None:
    """Make every release again from its noisy answers, and compare the published files.

    Raises:
        LedgerBroken: Names the first entry that disagrees, and with what; the event hexveil.verify.failed does too.
    """
    config = load_presence(config_file)
    show_verified(lambda: verify_presence(config), config)


def _published(date: dt.date, config: PresenceConfig, revision: str | None, began: str | None = None) -> PresenceReport:
    """Release and publish a day, and tell the scheduler how it ended."""
    try:
        entry = publish_day(release_day(date, config, revision, began), config)
    except WITHHELD as error:
        emit("withheld", config, date=date, whole_day=True, reason=str(error))
        raise
    emit("released", config, date=date, release_id=entry.release_id, epsilon=entry.stated["epsilon"])
    return _report(entry, config)


def _report(entry: PresenceRelease, config: PresenceConfig) -> PresenceReport:
    return PresenceReport(
        release_id=entry.release_id,
        n_published=entry.n_published,
        n_cells=entry.n_cells,
        epsilon=entry.epsilon,
        epsilon_total=entry.epsilon_total_after,
        n_more_like_it=entry.n_more_like_it,
        in_words=entry.in_words,
        folder=published_folder(entry.date, entry.revision, config),
    )


def _page(date: dt.date, report: PresenceReport, config: PresenceConfig) -> str:
    files = sorted(path for path in report.folder.iterdir() if path.is_file())
    links = ", ".join(f"[{path.name}]({address(path, config)})" for path in files)
    return (
        f"## {config.name} {date}\n\n{report.n_published:,} of {report.n_cells:,} cells are published.\n\n"
        f"{report.in_words}.\n\nFiles: {links}\n"
    )
