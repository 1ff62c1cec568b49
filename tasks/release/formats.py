"""The files of a day. To add one that is no table, write its writer, and add a row."""

import datetime as dt
from dataclasses import dataclass

import polars as pl

from tasks.base.config import Config
from tasks.output_formats.catalogue import HTML, Format, of_table


@dataclass(frozen=True)
class PublishedDay:
    """What the writers get of a release. All of it is public.

    Attributes:
        statistics: The noisy table.
        withheld: The day's other cells: slot_start, h3_cell, n_records, n_users.
        config: The configuration that the release was made with.
        date: The local day.
        revision: Name of a further release of the day, None for the first.
        guarantee: What each user is promised, of the day and of everything so far, in a sentence.
        said_first: What a reader must know before the numbers, in sentences; None if nothing.
        zones: The owner's zones: their outlines as GeoJSON, and the table of their numbers; None if there are none.
    """

    statistics: pl.DataFrame
    withheld: pl.DataFrame
    config: Config
    date: dt.date
    revision: str | None
    guarantee: str
    said_first: str | None
    zones: tuple[bytes, pl.DataFrame] | None = None


def _map(day: PublishedDay) -> bytes:
    from tasks.map.page import map_page

    said = day.guarantee, day.said_first
    return map_page(day.statistics, day.withheld, day.config, day.date, day.revision, *said, day.zones)


FORMATS: tuple[Format[PublishedDay], ...] = (
    *of_table("statistics", lambda day: day.statistics),
    Format("map.html", HTML, _map, is_wanted=lambda day: day.config.publish.map, is_kept_once=True),
)
"""The files of a day."""
KEPT_ONCE = tuple(one.name for one in FORMATS if one.is_kept_once)
