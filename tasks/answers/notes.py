"""What must be said beside an answer, in sentences."""

import datetime as dt
from collections.abc import Iterator

from tasks.answers.places import Areas, Outlines
from tasks.answers.published import Published
from tasks.answers.question import Question
from tasks.answers.sums import Reader
from tasks.answers.words import MOST_NAMES, some_of


def about(published: Published, question: Question) -> str:
    """Return what the numbers are."""
    what = (
        "Users, counted once in each hexagon and slot and added up, for a day on average"
        if question.of == "n_users"
        else f"Means over records in {published.unit}"
        if question.above is None
        else f"Shares of the records above {question.above} {published.unit}"
    )
    return f"{what}; 95 % intervals hold what cells and days have in common."


def missing_days(
    published: Published, period: tuple[dt.date, dt.date], found: list[dt.date], question: Question
) -> Iterator[str]:
    """Yield that days which are asked about are not published, if there are such."""
    first, last = period
    days = (first + dt.timedelta(days=number) for number in range((last - first).days + 1))
    missing = [str(day) for day in days if day.weekday() in question.weekdays and day not in found]
    if missing:
        named = f": {', '.join(missing)}" if len(missing) <= MOST_NAMES else ""
        there = f"; {published.dates[0]} to {published.dates[-1]} are" if first < published.dates[0] else named
        yield f"{len(missing)} of the days asked about from {first} to {last} are not published{there}."


def known_later(published: Published, dates: list[dt.date]) -> Iterator[str]:
    """Yield how many days are not as they were released, if there are such."""
    number = published.n_known_later(dates)
    if number:
        yield f"{number} of {len(dates)} days are as known when their week was over, not as first released."


def of_changes(question: Question) -> str:
    """Return what `changed` means."""
    more = "" if question.above is None else "; of shares, more"
    return f"`changed`: of the areas listed as changed, at most a tenth have not, on average{more}."


def of_edges(reader: Reader) -> Iterator[str]:
    """Yield how many hexagons an edge cuts, if there are such."""
    if reader.cut:
        yield f"{len(reader.cut)} hexagons are cut by an area's edge and count by the share that is inside."


def missing_areas(areas: Areas, found: set[str]) -> Iterator[str]:
    """Yield what of a file of areas is not in the answer, or not as in the file."""
    if isinstance(areas, Outlines):
        yield from areas.remarks
        missing = [name for name in areas.named if name not in found]
        if missing:
            yield f"{len(missing)} areas have no records on these days and hours: {some_of(missing)}."
