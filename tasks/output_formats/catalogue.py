"""The forms that tables are published in. To add one, write its writer, and add a row."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import polars as pl

from tasks.base.frames import parquet_bytes
from tasks.output_formats import geography, read_back
from tasks.output_formats.columns import INSTANT
from tasks.output_formats.csv_text import csv_text

P = TypeVar("P")


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
    return csv_text(table, INSTANT).encode()


@dataclass(frozen=True)
class TableFormat:
    """A form that every published table is written in.

    Attributes:
        ending: The ending of the file's name.
        medium: What the form is called.
        writes: Returns the bytes of a table whose hexagons are in the column that is named.
        says_the_same: Returns whether bytes contain the same values as such a table; None for what others are compared
            with.
        has_outlines: Whether it has the outlines of hexagons, so that it is made only of a table that has some.
    """

    ending: str
    medium: Medium
    writes: Callable[[pl.DataFrame, str], bytes]
    says_the_same: Callable[[bytes, pl.DataFrame, str], bool] | None = None
    has_outlines: bool = False


TABLE_FORMATS = (
    TableFormat("parquet", PARQUET, lambda table, _: parquet_bytes(table)),
    TableFormat(
        "csv",
        CSV,
        lambda table, _: csv_bytes(table),
        lambda content, table, _: read_back.same_csv(content, table),
    ),
    TableFormat("geojson", GEOJSON, geography.geojson, read_back.same_geojson, has_outlines=True),
    TableFormat("geoparquet", PARQUET, geography.geoparquet, read_back.same_geoparquet, has_outlines=True),
)
"""The forms of the tables of a day, in either privacy model, and of a period of a collection."""


def of_table(
    stem: str,
    table: Callable[[P], pl.DataFrame],
    place: str = "h3_cell",
    has_hexagons: Callable[[P], bool] = lambda _: True,
) -> tuple[Format[P], ...]:
    """Return the files of a table, one in each of the forms above.

    Args:
        stem: The name of the files, without its ending.
        table: Returns the table of what is published.
        place: The column of the hexagons.
        has_hexagons: Returns whether the table has any.
    """
    return tuple(_of_table(one, stem, table, place, has_hexagons) for one in TABLE_FORMATS)


def _of_table(
    one: TableFormat, stem: str, table: Callable[[P], pl.DataFrame], place: str, has_hexagons: Callable[[P], bool]
) -> Format[P]:
    same = one.says_the_same
    return Format(
        f"{stem}.{one.ending}",
        one.medium,
        lambda published: one.writes(table(published), place),
        None if same is None else lambda content, expected: same(content, expected, place),
        is_wanted=lambda published: not one.has_outlines or has_hexagons(published),
    )


def medium_of(name: str, formats: Iterable[Format[Any]]) -> Medium:
    """Return the medium of a release's file. It may have none of these formats: the manifest, or a further table."""
    ending = name.rpartition(".")[2]
    made = {one.name.rpartition(".")[2]: one.medium for one in formats}
    return made.get(ending) or _OTHERS.get(ending, _UNKNOWN)
