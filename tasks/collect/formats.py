"""The formats that a period is published in."""

from dataclasses import dataclass

import polars as pl

from tasks.collect.config import CollectionConfig
from tasks.output_formats.catalogue import HTML, Format, of_table

MEANS = "means.parquet"
"""The file that the others are compared with."""


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


FORMATS: tuple[Format[PublishedPeriod], ...] = (
    *of_table("means", lambda of: of.means, "area", lambda of: bool(of.config.collection.cells)),
    Format("map.html", HTML, _page),
)
"""The files of a period; those with outlines only if its areas are hexagons."""
