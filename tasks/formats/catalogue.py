"""The formats that a day is published in. To add one, write its writer, and add a row."""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import polars as pl

from tasks.base.config import Config
from tasks.base.frames import parquet_bytes
from tasks.base.storage import TABLE
from tasks.formats import geography, read_back
from tasks.formats.columns import INSTANT

P = TypeVar("P")


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


class Medium(NamedTuple):
    """What programs and portals call the form of a file.

    Attributes:
        media_type: Its media type.
        file_type: Its type in the list of the EU's portals; None: they are not told of such files.
    """

    media_type: str
    file_type: str | None = None


CSV = Medium("text/csv", "CSV")
GEOJSON = Medium("application/geo+json", "GEOJSON")
HTML = Medium("text/html")
JSON = Medium("application/json", "JSON")
PARQUET = Medium("application/vnd.apache.parquet", "PARQUET")
_OTHERS = {"csv": CSV, "geojson": GEOJSON, "json": JSON, "parquet": PARQUET}
_UNKNOWN = Medium("application/octet-stream")


@dataclass(frozen=True)
class Format(Generic[P]):
    """A file that something is published in.

    Attributes:
        name: The name of the file.
        medium: What its form is called.
        writes: Returns its bytes.
        says_the_same: Returns whether the bytes contain the same values as the table; None if nothing is compared.
        is_wanted: Returns whether the file is made.
        is_kept_once: Whether it is for looking alone, and large: of days before the last it is kept where it is
            published, and not among the released files too.
    """

    name: str
    medium: Medium
    writes: Callable[[P], bytes]
    says_the_same: Callable[[bytes, pl.DataFrame], bool] | None = None
    is_wanted: Callable[[P], bool] = lambda _: True
    is_kept_once: bool = False


def csv_bytes(table: pl.DataFrame) -> bytes:
    """Return a table as CSV."""
    return table.write_csv(datetime_format=INSTANT).encode()


def _map(day: PublishedDay) -> bytes:
    from tasks.formats.map.page import map_page

    said = day.guarantee, day.said_first
    return map_page(day.statistics, day.withheld, day.config, day.date, day.revision, *said, day.zones)


FORMATS: tuple[Format[PublishedDay], ...] = (
    Format(TABLE, PARQUET, lambda day: parquet_bytes(day.statistics)),
    Format("statistics.csv", CSV, lambda day: csv_bytes(day.statistics), read_back.same_csv),
    Format("statistics.geojson", GEOJSON, lambda day: geography.geojson(day.statistics), read_back.same_geojson),
    Format(
        "statistics.geoparquet",
        PARQUET,
        lambda day: geography.geoparquet(day.statistics),
        read_back.same_geoparquet,
    ),
    Format("map.html", HTML, _map, is_wanted=lambda day: day.config.publish.map, is_kept_once=True),
)
"""The files of a day."""
KEPT_ONCE = tuple(one.name for one in FORMATS if one.is_kept_once)


def medium_of(name: str) -> Medium:
    """Return the medium of a release's file. It may have none of these formats: the manifest, or a further table."""
    ending = name.rpartition(".")[2]
    made = {one.name.rpartition(".")[2]: one.medium for one in FORMATS}
    return made.get(ending) or _OTHERS.get(ending, _UNKNOWN)
