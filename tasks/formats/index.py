"""The page over all days: a calendar of the releases, the budget, and the way to the latest day."""

import calendar
import datetime as dt
import importlib.resources
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment, StrictUndefined

INDEX = "index.html"
_WEEKDAYS = ("Mo", "Tu", "We", "Th", "Fr", "Sa", "Su")


@dataclass(frozen=True)
class IndexedRelease:
    """A release as the page shows it.

    Attributes:
        date: The local day.
        revision: Name of a further release of the day; None for the first.
        link: Where its page is, relative to the folder of all releases.
        n_published: Number of published cells.
    """

    date: dt.date
    revision: str | None
    link: str
    n_published: int


def index_page(
    name: str, purpose: str, guarantee: str, used: str, limit: str, share: float, releases: Sequence[IndexedRelease]
) -> bytes:
    """Return the page, HTML in UTF-8. It needs no network and no script.

    Args:
        name: Name of the dataset.
        purpose: What the publication is for; empty if that is not stated.
        guarantee: What each user is promised, in a sentence.
        used: What counts against the budget, of the user who lost most.
        limit: The budget, in words.
        share: The first as a share of the second.
        releases: All releases, at least one.
    """
    first_ones = {one.date: one for one in releases if one.revision is None}
    latest = first_ones[max(first_ones)]
    template = Environment(autoescape=True, undefined=StrictUndefined).from_string(
        importlib.resources.files("tasks.formats").joinpath("index.html.jinja").read_text("utf-8")
    )
    return template.render(
        title=f"{name}: all days",
        purpose=purpose,
        n_releases=f"{len(releases):,}",
        n_days=f"{len(first_ones):,}",
        first=str(min(first_ones)),
        last=str(latest.date),
        guarantee=guarantee,
        latest=f"{latest.date:%A}, {latest.date.day} {latest.date:%B %Y}",
        latest_link=latest.link,
        used=used,
        limit=limit,
        share=f"{min(max(share, 0.0), 1.0):.4f}",
        weekdays=_WEEKDAYS,
        months=[_month(*month, first_ones) for month in sorted({(date.year, date.month) for date in first_ones})[::-1]],
        revisions=[{"name": f"{one.date} {one.revision}", "link": one.link} for one in releases if one.revision],
    ).encode()


def _month(year: int, month: int, releases: dict[dt.date, IndexedRelease]) -> dict[str, Any]:
    weeks = calendar.Calendar().monthdatescalendar(year, month)
    return {
        "name": f"{dt.date(year, month, 1):%B %Y}",
        "weeks": [[_day(date, releases) if date.month == month else _EMPTY for date in week] for week in weeks],
    }


_EMPTY = {"number": "", "link": "", "title": ""}


def _day(date: dt.date, releases: dict[dt.date, IndexedRelease]) -> dict[str, str]:
    one = releases.get(date)
    title = f"{date}: {one.n_published:,} cells" if one else ""
    return {"number": str(date.day), "link": one.link if one else "", "title": title}
