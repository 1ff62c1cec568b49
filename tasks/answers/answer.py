"""Answers a question about areas and periods, with intervals that hold what areas and days have in common."""

import datetime as dt
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import polars as pl
from shapely.geometry.base import BaseGeometry

from tasks.answers.notes import about, known_later, missing_areas, missing_days, of_changes, of_edges
from tasks.answers.places import Areas, Outlines
from tasks.answers.published import Published
from tasks.answers.question import Question
from tasks.answers.rows import row_of, with_discoveries
from tasks.answers.sums import (
    Label,
    Reader,
    Said,
    chains_of,
    means_of,
    shares_of,
    users_of,
    with_link,
)
from tasks.answers.times import check_slots, n_slots, period_of
from tasks.base.errors import HexveilError
from tasks.output_formats.joint import JOINT, JOINT_SHARES, JOINT_USERS

Grids = dict[dt.date, tuple[int, int]]
"""Resolution of the hexagons and minutes of a slot, for each day."""


@dataclass(frozen=True)
class Answer:
    """The answer, and what must be said of it.

    Attributes:
        table: One row for each area, period and hour that has records.
        notes: Sentences.
        gaps: Those of them that say what is asked about and not in the answer, or not as asked.
        title: What the answer is.
        shown: The name of the column that a map shows; of a percentile, of its interval's.
        areas: The areas.
        hexagons: The hexagons that have records.
    """

    table: pl.DataFrame
    notes: tuple[str, ...]
    gaps: tuple[str, ...]
    title: str
    shown: str
    areas: Areas
    hexagons: tuple[str, ...]

    def outlines(self) -> dict[str, BaseGeometry]:
        """Return the outline of each area, in longitude and latitude."""
        return self.areas.outlines(self.hexagons)


def answer(published: Published, question: Question) -> Answer:
    """Answer a question of means, shares or numbers of users from published files alone.

    Raises:
        HexveilError: The files cannot answer it.
    """
    period = period_asked(published, question)
    asked = days_of(published, period, question)
    before = days_of(published, question.compare, question) if question.compare else []
    if asked == before:
        raise HexveilError("both periods are the same days, so nothing can have changed")
    _check_can_answer(published, question)
    both = sorted({*asked, *before})
    published.check_one_value(both)
    grids = published.grids(both)
    reader = Reader(question.areas, question.hours, published.zone, question.by_hour)
    rows = _rows(published, question, reader, grids, asked, before)
    if not rows:
        raise HexveilError(_in_no_area(question, sorted(reader.seen)))
    table = _within_bounds(pl.DataFrame(rows), published, both, question)
    gaps = (
        *missing_days(published, period, asked, question),
        *(missing_days(published, question.compare, before, question) if question.compare else ()),
        *missing_areas(question.areas, set(table["area"])),
    )
    return Answer(
        with_discoveries(table) if before else table,
        (
            about(published, question),
            *gaps,
            *of_edges(reader),
            *(["These days are of several grids."] if len(set(grids.values())) > 1 else []),
            *([] if question.of == "n_users" else known_later(published, both)),
            *([of_changes(question)] if before else []),
        ),
        gaps,
        _title(published, asked, question, bool(before)),
        "change" if before else question.name,
        question.areas,
        tuple(sorted(reader.seen)),
    )


def _rows(
    published: Published, question: Question, reader: Reader, grids: Grids, asked: list[dt.date], before: list[dt.date]
) -> list[dict[str, Any]]:
    """Return a row of each area, period and hour that has records."""
    for date, (_, minutes) in grids.items():
        check_slots(minutes, question.hours, date)
    found = {
        date: reader.of_day(said) for date, said in zip(grids, _said(published, list(grids), question), strict=True)
    }
    rows, n_seen = [], reader.n_seen()
    for period in sorted({period_of(date, question.by) for date in asked}):
        dates = [date for date in asked if period_of(date, question.by) == period]
        for label in sorted({label for date in dates for label in found[date]}):
            row = row_of([(date, found[date].get(label)) for date in grids], dates, before, question.name)
            asked_for = _asked_for(label, [grids[date] for date in dates], question, n_seen)
            share = {"share_with_records": min(row.pop("present", 0.0) / asked_for, 1.0)}
            of_means = {} if question.of == "n_users" else share
            rows += [_named(label, period, question) | row | of_means] if row else []
    return rows


def _within_bounds(table: pl.DataFrame, published: Published, dates: list[dt.date], question: Question) -> pl.DataFrame:
    """Return the table with no interval beyond what values, or numbers of users, can be."""
    if question.above is not None:
        return table
    lower, upper = (0, None) if question.of == "n_users" else map(float, published.bounds(dates))
    ends = pl.col(f"^{question.name}(_before)?_ci95_(low|high)$")
    return table.with_columns(ends.clip(lower, upper))


def _check_can_answer(published: Published, question: Question) -> None:
    """Refuse a question that these files cannot answer, whatever its days are."""
    of_users = question.of == "n_users"
    if question.compare and question.by:
        raise HexveilError("one period is compared with one other: leave out --by day, week or month")
    if not of_users and published.has(JOINT_USERS) and not published.has(JOINT):
        raise HexveilError("these files have no means, only numbers of users: ask for them with --of n_users")
    if of_users and not published.has(JOINT_USERS):
        raise HexveilError(
            "these files have no numbers of users to add up: they are published where presence is secret"
        )
    if question.above is not None:
        check_has_shares(published)


def _in_no_area(question: Question, hexagons: list[str]) -> str:
    said = "no hexagon with records on these days and hours is in an area"
    if isinstance(question.areas, Outlines) and question.areas.seem_swapped(hexagons):
        return f"{said}: latitude and longitude seem to be swapped in the file; write the longitude first"
    if question.compare:
        return "no area has records on these days and hours in both periods; ask about each without --compare"
    return f"{said}; index.html shows what is"


def _asked_for(label: Label, grids: list[tuple[int, int]], question: Question, n_seen: Mapping[int, int]) -> float:
    """Return how many hexagons and slots an area and hour have, on days of these grids."""
    name, hour = label
    hours = question.hours if hour is None else frozenset([hour])
    of_each = {resolution: question.areas.n_hexagons(name, resolution) for resolution, _ in grids}
    n_hexagons = {one: n_seen.get(one, 0) if number is None else number for one, number in of_each.items()}
    return sum(
        n_days * n_slots(minutes, hours) * n_hexagons[resolution]
        for (resolution, minutes), n_days in Counter(grids).items()
    )


def _title(published: Published, asked: list[dt.date], question: Question, compares: bool) -> str:
    about = published.quantity
    of = {"mean": f"mean {about}", "n_users": "users"}.get(question.name, f"{about} above {question.above}")
    first, last = (one.strftime("%-d %B %Y") for one in (asked[0], asked[-1]))
    days = first if asked[0] == asked[-1] else f"{first} to {last}"
    title = f"{'Change of ' if compares else ''}{of}, {days}"
    return title[0].upper() + title[1:]


def _said(published: Published, dates: list[dt.date], question: Question) -> Iterator[Said]:
    """Yield what each day says of its cells."""
    stated = published.manifests(dates)
    for said, chain, one in zip(_numbers(published, dates, question), chains_of(stated), stated, strict=True):
        yield with_link(said, chain, one)


def _numbers(published: Published, dates: list[dt.date], question: Question) -> Iterator[Said]:
    """Return the means, shares or numbers of users of each day."""
    if question.of == "n_users":
        return map(users_of, published.days(dates, JOINT_USERS))
    if question.above is not None:
        of_limit = partial(shares_of, limit=float(question.above))
        return map(of_limit, published.means(dates), published.days(dates, JOINT_SHARES))
    of_users = [published.days(dates, JOINT_USERS)] if published.has(JOINT_USERS) else []
    return map(means_of, published.means(dates), *of_users)


def check_has_shares(published: Published) -> None:
    """Raise a ``HexveilError`` if no share above a limit is published."""
    if not published.has(JOINT_SHARES):
        raise HexveilError("no share above a limit can be asked for: the publisher did not set statistics.limits")


def period_asked(published: Published, question: Question) -> tuple[dt.date, dt.date]:
    """Return the first and last day that are asked about: all that are published, if it is not said."""
    return question.first or published.dates[0], question.last or published.dates[-1]


def days_of(published: Published, period: tuple[dt.date, dt.date], question: Question) -> list[dt.date]:
    """Return the published days of a period that count.

    Raises:
        HexveilError: There is none.
    """
    first, last = period
    if question.first and question.last and question.last < question.first:
        raise HexveilError(f"the days from {first} to {last} are none; give --from before --to")
    found = [date for date in published.dates if first <= date <= last and date.weekday() in question.weekdays]
    if not found:
        days = f" from {first} to {last}" if first <= last else f" since {first}" if question.first else f" by {last}"
        raise HexveilError(f"no such day{days} is published; there are {published.dates[0]} to {published.dates[-1]}")
    return found


def _named(label: Label, period: str, question: Question) -> dict[str, Any]:
    name, hour = label
    named: dict[str, Any] = {"area": name}
    if question.by:
        named[question.by] = period
    return named if hour is None else named | {"hour": hour}
