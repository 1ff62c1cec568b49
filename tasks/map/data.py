"""The data of a day's map: its slots in local time, and its hexagons and rows by number."""

import datetime as dt
import math
from dataclasses import dataclass
from itertools import pairwise
from zoneinfo import ZoneInfo

import polars as pl

from tasks.base.config import Config
from tasks.output_formats.columns import expected_errors

_CELL = ("slot_start", "h3_cell")


@dataclass(frozen=True)
class MapDay:
    """A published day, for the map.

    Attributes:
        slots: Each slot of the day in local time, as readers see it; all are different.
        hours: The local hours that are marked, by their position on an axis of slots.
        hexagons: One row per hexagon: h3_cell, n_published, n_withheld; the one published most often is first.
        published: The published table, with numbers of ``slot`` and ``hexagon``, sorted by slot.
        withheld: The same for withheld cells: slot, hexagon, n_users, n_records.
    """

    slots: list[str]
    hours: dict[int, str]
    hexagons: pl.DataFrame
    published: pl.DataFrame
    withheld: pl.DataFrame

    @property
    def fullest_slot(self) -> int:
        """The slot with the most published cells; the first one if several have as many."""
        return int(self.published["slot"].value_counts().sort("count", "slot", descending=[True, False])["slot"][0])

    @property
    def first_hexagon(self) -> int:
        """The hexagon that is shown first, one that can be believed.

        Of those with a number in the fullest slot, and in at least half as many slots as any, it has the least error.
        """
        found = self.published.with_columns(error=expected_errors(self.published)).group_by("hexagon")
        hexagons = found.agg(
            pl.len(), error=pl.col("error").mean(), is_seen=(pl.col("slot") == self.fullest_slot).any()
        )
        seen = hexagons.filter("is_seen").filter(2 * pl.col("len") >= pl.col("len").max())
        return int(seen.sort("error", "hexagon")["hexagon"][0])


def map_day(statistics: pl.DataFrame, withheld: pl.DataFrame, date: dt.date, config: Config) -> MapDay:
    """Return the map's data from a published table and the withheld cells of its day."""
    starts = slot_starts(date, config)
    hexagons = _hexagons(statistics, withheld)
    slot_number = pl.DataFrame({"slot_start": starts[:-1], "slot": range(len(starts) - 1)})
    slot_number = slot_number.cast({"slot_start": pl.Datetime("us", "UTC")})
    hexagon_number = hexagons.select("h3_cell").with_row_index("hexagon")
    numbered = [
        cells.join(slot_number, on="slot_start").join(hexagon_number, on="h3_cell").sort("slot", "hexagon").drop(*_CELL)
        for cells in (statistics, withheld)
    ]
    return MapDay(slot_labels(starts, config), hour_marks(starts, config), hexagons, *numbered)


def slot_starts(date: dt.date, config: Config) -> list[dt.datetime]:
    """Return the first instant of each slot of a local day, and the day's end. A day has 24 hours, or 23 or 25."""
    start, end = config.day_bounds(date)
    slot = dt.timedelta(minutes=config.grid.slot_minutes)
    return [*(start + n * slot for n in range(math.ceil((end - start) / slot))), end]


def slot_labels(starts: list[dt.datetime], config: Config) -> list[str]:
    """Return each slot in local time. If the clock changes that day, the offset is added: an hour may occur twice."""
    local = [start.astimezone(ZoneInfo(config.dataset.timezone)) for start in starts]
    changes = len({time.utcoffset() for time in local}) > 1
    last = len(starts) - 2
    return [
        f"{start:%H:%M}\N{EN DASH}{'24:00' if n == last else format(end, '%H:%M')}"
        + (f" (UTC{start.isoformat()[-6:]})" if changes else "")
        for n, (start, end) in enumerate(pairwise(local))
    ]


def hour_marks(starts: list[dt.datetime], config: Config) -> dict[int, str]:
    """Return the slots that begin at every third local hour, and the day's end."""
    local = [start.astimezone(ZoneInfo(config.dataset.timezone)) for start in starts]
    marks = {n: f"{time:%H}" for n, time in enumerate(local[:-1]) if time.minute == 0 and time.hour % 3 == 0}
    return marks | {len(starts) - 1: "24"}


def _hexagons(statistics: pl.DataFrame, withheld: pl.DataFrame) -> pl.DataFrame:
    cells = [cells.select("h3_cell", published=pl.lit(n == 0)) for n, cells in enumerate((statistics, withheld))]
    counts = pl.concat(cells).group_by("h3_cell").agg(n_published=pl.col("published").sum(), n_cells=pl.len())
    counts = counts.select("h3_cell", "n_published", n_withheld=pl.col("n_cells") - pl.col("n_published"))
    return counts.sort("n_published", "n_withheld", "h3_cell", descending=[True, True, False])
