"""The formats that a period is published in."""

from dataclasses import dataclass
from functools import partial

import polars as pl

from tasks.base.frames import parquet_bytes
from tasks.collect.config import CollectionConfig
from tasks.formats import geography, read_back
from tasks.formats.catalogue import CSV, GEOJSON, HTML, PARQUET, Format, csv_bytes

MEANS = "means.parquet"
"""The file that the others are compared with."""
_AREA = "area"


@dataclass(frozen=True)
class PublishedPeriod:
    """What the writers get of a period. All of it is public.

    Attributes:
        means: The published table.
        config: The configuration that the period was collected with.
        period: The period.
    """

    means: pl.DataFrame
    config: CollectionConfig
    period: str


def _page(of: PublishedPeriod) -> bytes:
    from tasks.collect.areas import areas_page

    return areas_page(of.means, of.period, of.config)


def _has_cells(of: PublishedPeriod) -> bool:
    return bool(of.config.collection.cells)


FORMATS: tuple[Format[PublishedPeriod], ...] = (
    Format(MEANS, PARQUET, lambda of: parquet_bytes(of.means)),
    Format("means.csv", CSV, lambda of: csv_bytes(of.means), read_back.same_csv),
    Format(
        "means.geojson",
        GEOJSON,
        lambda of: geography.geojson(of.means, _AREA),
        partial(read_back.same_geojson, place=_AREA),
        _has_cells,
    ),
    Format(
        "means.geoparquet",
        PARQUET,
        lambda of: geography.geoparquet(of.means, _AREA),
        partial(read_back.same_geoparquet, place=_AREA),
        _has_cells,
    ),
    Format("map.html", HTML, _page),
)
"""The files of a period; those with outlines only if its areas are hexagons."""
