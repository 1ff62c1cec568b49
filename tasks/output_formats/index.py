"""The page over all days: a calendar of the releases, the budget, and the way to the latest day."""

import calendar
import datetime as dt
import functools
from collections.abc import Sequence
from typing import Any

from jinja2 import Template

from tasks.output_formats.curve import city_curve
from tasks.output_formats.look import look, template
from tasks.output_formats.publication import Publication, PublishedRelease

_WEEKDAYS = ("Mo", "Tu", "We", "Th", "Fr", "Sa", "Su")


def index_page(publication: Publication, catalogues: Sequence[str]) -> bytes:
    """Return the page, HTML in UTF-8. It needs no network; its script leads from a day's map to the next day's.

    Args:
        publication: The dataset and its releases.
        catalogues: The names of the files for programs.
    """
    first_ones, latest, limit = publication.first_ones, publication.latest, publication.config.budget.in_words
    return (
        _template()
        .render(
            look=look(),
            title=f"{publication.config.dataset.name}: all days",
            purpose=publication.purpose,
            publisher=publication.config.publisher,
            catalogues=catalogues,
            n_releases=f"{len(publication.releases):,}",
            n_days=f"{len(first_ones):,}",
            first=str(min(first_ones)),
            last=str(latest.date),
            guarantee=publication.privacy["statement"],
            is_presence_secret=publication.is_presence_secret,
            latest=f"{latest.date:%A}, {latest.date.day} {latest.date:%B %Y}",
            latest_link=latest.link,
            said_first=latest.said_first or "",
            limit=limit,
            share=f"{min(max(publication.share, 0.0), 1.0):.4f}",
            percent=f"{publication.share:.1%}",
            more_days=f"{publication.n_more_like_it:,}",
            curve=city_curve({one.date: one.whole_day for one in first_ones.values() if one.whole_day}, publication),
            weekdays=_WEEKDAYS,
            months=[
                _month(*month, first_ones) for month in sorted({(date.year, date.month) for date in first_ones})[::-1]
            ],
            revisions=[
                {"name": f"{one.date} {one.revision}", "link": one.link} for one in publication.releases if one.revision
            ],
        )
        .encode()
    )


@functools.cache
def _template() -> Template:
    return template("tasks.output_formats", "index.html.jinja")


def _month(year: int, month: int, releases: dict[dt.date, PublishedRelease]) -> dict[str, Any]:
    weeks = calendar.Calendar().monthdatescalendar(year, month)
    return {
        "name": f"{dt.date(year, month, 1):%B %Y}",
        "weeks": [[_day(date, releases) if date.month == month else _EMPTY for date in week] for week in weeks],
    }


_EMPTY = {"number": "", "link": "", "title": "", "date": ""}


def _day(date: dt.date, releases: dict[dt.date, PublishedRelease]) -> dict[str, str]:
    one = releases.get(date)
    title = f"{date}: {one.n_published:,} cells. {one.said_first or ''}".rstrip(". ") if one else ""
    return {"number": str(date.day), "link": one.link if one else "", "title": title, "date": str(date)}
