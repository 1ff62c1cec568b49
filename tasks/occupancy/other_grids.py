"""Other grids: the occupancy that a prepared day would have in other hexagons and slots. It reads no value."""

import datetime as dt
import math
from collections.abc import Iterator, Sequence

import polars as pl

from dpmath.core.occupancy import Occupancy
from tasks.base import warehouse
from tasks.base.config import Config
from tasks.base.config_sections import Grid
from tasks.base.errors import HexveilError


def other_occupancies(
    date: dt.date, resolution: int, slots: Sequence[int], config: Config
) -> Iterator[tuple[Grid, pl.DataFrame, Occupancy]]:
    """Yield the grid, the cells (slot_start, h3_cell) and the occupancy array of a day for each length of slots.

    Args:
        date: The local day; it must be prepared.
        resolution: Of the hexagons.
        slots: Lengths of slots, in minutes.
        config: Names the warehouse, which must have the records, and the time zone.
    """
    day_start, _ = config.day_bounds(date)
    with warehouse.connect(config) as connection:
        shortest = {"h3_resolution": resolution, "slot_minutes": math.gcd(*slots)}
        warehouse.run(connection, "scratch/explored_pair", {"date": date, **shortest})
        pairs = [
            warehouse.frame(connection, "read/explored_pairs", {"day_start": day_start, "slot_minutes": minutes})
            for minutes in slots
        ]
    for minutes, counted in zip(slots, pairs, strict=True):
        yield Grid(h3_resolution=resolution, slot_minutes=minutes), *_numbered(counted, day_start, minutes)


def divided(date: dt.date, resolutions: Sequence[int], config: Config) -> list[int]:
    """Return the resolutions of hexagons that are no smaller than the cells that a day's records have as places.

    Raises:
        HexveilError: There is none.
    """
    with warehouse.connect(config) as connection:
        finest = warehouse.rows(connection, "read/largest_cell", {"date": date, "share": 0.0})[0][0]
    found = [one for one in resolutions if finest is None or one <= finest]
    if not found:
        raise HexveilError(
            f"records have cells of resolution {finest} as places, which cannot be divided: explore that"
        )
    return found


def _numbered(pairs: pl.DataFrame, day_start: dt.datetime, minutes: int) -> tuple[pl.DataFrame, Occupancy]:
    """Return the cells in the order of their numbers, and the array of pairs that are sorted by cell."""
    cells = pairs.select("slot", "h3_cell").unique(maintain_order=True)
    cell = pairs.join(cells.with_row_index("cell"), on=["slot", "h3_cell"], maintain_order="left")["cell"]
    user, n_records = (pairs[name].to_numpy().astype("int64") for name in ("user_number", "n_records"))
    occupancy = Occupancy(cell.to_numpy().astype("int64"), user, n_records, cells.height, int(user.max()) + 1)
    starts = pl.lit(day_start).dt.cast_time_unit("us") + pl.duration(minutes=pl.col("slot") * minutes)
    return cells.select(slot_start=starts, h3_cell="h3_cell"), occupancy
