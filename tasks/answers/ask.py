"""A question in the words of the command line, and of a notebook."""

import datetime as dt
import warnings
from collections.abc import Iterable, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import polars as pl

from tasks.answers.answer import Answer, answer
from tasks.answers.area_files import read_areas
from tasks.answers.percentile import between_limits
from tasks.answers.places import Areas, EachHexagon, Everything, Hexagons
from tasks.answers.published import Published
from tasks.answers.question import OF, Question
from tasks.answers.times import PERIODS, date_of, hours_of, range_of, weekdays_of
from tasks.base.errors import HexveilError
from tasks.output_formats.joint import JOINT, JOINT_USERS

Words = str | Iterable[object]


def ask(
    published: str | Path,
    *,
    where: str | Path | None = None,
    name: str | None = None,
    width: float | None = None,
    hexagons: Words | None = None,
    first: str | dt.date | None = None,
    last: str | dt.date | None = None,
    days: Words = "mon-sun",
    hours: Words | int = "0-24",
    by: Words = "",
    compare: str | Sequence[str | dt.date] | None = None,
    of: str = "",
    above: float | str | None = None,
    percentile: int | None = None,
) -> Answer:
    """Answer a question about areas and periods from published files alone. It costs nothing and reads nothing private.

    Where commas may stand between words, a list of them will do.

    Args:
        published: The folder `published` of a storage, or its address.
        where: A GeoJSON or GeoParquet file of areas, such as districts, or of lines; None: everything.
        name: The property of these that names them.
        width: How wide a corridor along a line is, in metres.
        hexagons: H3 cells with commas between them, as one area; coarser cells have all that is in them.
        first: The first local day, as 2026-03-02; None: the first that is published.
        last: The last one; None: the last that is published.
        days: Weekdays, as mon-fri or sat,sun.
        hours: Local hours, as 7-11, which ends at 11:00.
        by: What is answered apart: day, week or month, hour, and area (every hexagon), with commas between them.
        compare: A period, as 2026-02-02:2026-02-08 or its two days, that this one is compared with.
        of: What is asked for: mean, or n_users where presence is secret; nothing for means if there are any.
        above: A published limit: the share of records above it is asked for.
        percentile: From 1 to 99: between which published limits this percentile of records is.

    Returns:
        A row for each area and period, and what must be said of them.

    Raises:
        HexveilError: The files cannot answer it, or it is no question.
    """
    by, hexagons = _words(by), None if hexagons is None else _words(hexagons)
    wanted = [one.strip() for one in by.split(",") if one.strip()]
    periods = [one for one in wanted if one in PERIODS]
    unknown = [one for one in wanted if one not in (*PERIODS, "hour", "area")]
    if unknown or len(periods) > 1:
        raise HexveilError(f"by={by} must name one of day, week and month, and hour, or area")
    if of not in ("", *OF):
        raise HexveilError(f"of={of} must be one of {' and '.join(OF)}")
    if [of == "", above is None, percentile is None].count(False) > 1:
        raise HexveilError("ask for one of: of, a share above a limit, and a percentile")
    if percentile is not None and not 1 <= percentile <= 99:
        raise HexveilError(f"percentile={percentile} must be from 1 to 99")
    files = Published(str(published))
    question = Question(
        areas=_areas(where, name, width, hexagons, apart="area" in wanted),
        first=None if first is None else date_of(_day(first)),
        last=None if last is None else date_of(_day(last)),
        weekdays=weekdays_of(_words(days)),
        hours=hours_of(_words(hours)),
        by=periods[0] if periods else None,
        by_hour="hour" in wanted,
        compare=None if compare is None else range_of(_period(compare)),
        above=None if above is None else _limit(above),
        of=of or ("n_users" if files.has(JOINT_USERS) and not files.has(JOINT) else "mean"),
    )
    return answer(files, question) if percentile is None else between_limits(files, question, percentile)


def _words(given: object) -> str:
    """Return what a notebook gives as a text of the command line."""
    return ",".join(map(str, given)) if isinstance(given, Iterable) and not isinstance(given, str) else str(given)


def _day(given: str | dt.date) -> str:
    return str(given.date() if isinstance(given, dt.datetime) else given)


def _period(given: str | Sequence[str | dt.date]) -> str:
    return given if isinstance(given, str) else ":".join(map(_day, given))


def ask_for_table(published: str | Path, **question: Any) -> pl.DataFrame:
    """Return the rows of an answer, for a notebook; see ``ask`` for the question.

    Warns:
        UserWarning: Days or areas that are asked about are not in the answer, or not as asked.

    Raises:
        HexveilError: As ``ask`` does.
    """
    found = ask(published, **question)
    for gap in found.gaps:
        warnings.warn(gap, stacklevel=2)
    return found.table


def _limit(above: float | str) -> Decimal:
    try:
        found = Decimal(str(above))
    except InvalidOperation:
        found = Decimal("nan")
    if not found.is_finite():
        raise HexveilError(f"above={above} must be a number")
    return Decimal(format(found.normalize(), "f"))  # 50.0 and 5e1 are 50


def _areas(
    where: str | Path | None, name: str | None, width: float | None, hexagons: str | None, *, apart: bool
) -> Areas:
    if where is not None and hexagons is not None:
        raise HexveilError("give a file of areas or hexagons, not both")
    if (name is not None or width is not None) and where is None:
        raise HexveilError("name and width are about the areas of a file: give where too")
    if apart and (where is not None or hexagons is not None):
        raise HexveilError("by area answers for every hexagon: leave out where and hexagons")
    if width is not None and not width > 0:
        raise HexveilError(f"width={width} must be metres above 0")
    if where is not None:
        return read_areas(Path(where), name, width)
    if hexagons is not None:
        return Hexagons(frozenset(one.strip().lower() for one in hexagons.strip(" ,").split(",")))
    return EachHexagon() if apart else Everything()
