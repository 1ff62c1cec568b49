"""Trial: a storage for a configuration that is not written yet, which stays only if the configuration is kept."""

import datetime as dt
import math
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from tasks.base import warehouse
from tasks.base.config import Config
from tasks.base.errors import BadInput, contained
from tasks.records.judge.count_outcomes import LEFT_OUT
from tasks.records.judge.hints import hint
from tasks.records.judge.places import use_places
from tasks.records.read.ingest import ingest_records

_MARGIN_DEGREES = 0.5
_FAR_DEGREES = 10.0
_GRIDS = ((7, 60), (6, 60), (5, 60), (4, 60), (3, 60), (3, 240))
"""Resolutions of hexagons and minutes of slots that are tried, the usual first."""
_FEWEST_CELLS = 1000
_LARGER_CELLS = 0.05
"""The share of records whose cells may be larger than the hexagons; they are quarantined."""


class Trial(NamedTuple):
    """A configuration that is tried.

    Attributes:
        config: It, with a storage of its own for the time of the trial.
        to: Its storage afterwards.
    """

    config: Config
    to: Path

    def keep(self) -> None:
        """Let what was read be the beginning of the storage, if there is none yet: it need not be read again."""
        if not self.to.exists():
            self.config.storage_path.rename(self.to)


@contextmanager
def trial(config: Config) -> Iterator[Trial]:
    """Make a storage beside the one of a configuration, and delete it afterwards, and every folder that it needed.

    Args:
        config: The configuration. Its folder need not exist yet.

    Yields:
        The configuration with that storage.
    """
    parent = config.storage_path.parent
    made = [one for one in (parent, *parent.parents) if not one.exists()]
    parent.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(dir=parent, prefix=".trial-") as folder:
            here = config.storage.model_copy(update={"path": str(Path(folder) / "store")})
            yield Trial(config.model_copy(update={"storage": here}), config.storage_path)
    finally:
        with suppress(OSError):  # a folder that is used stays
            for one in made:
                one.rmdir()


class Held(NamedTuple):
    """What the records that a day reads show.

    Attributes:
        area: The sides of a box around their places, with a margin, in degrees.
        n_places: How many places there are.
        n_swapped: How many of them are not in it, as they would lie among the others with both numbers swapped.
        days: How many records are of each local day.
        grid: The finest hexagons, and the shortest slots, with which most cells have several records.
        reason: Why it is not the usual grid; "" if it is.
    """

    area: dict[str, float]
    n_places: int
    n_swapped: int
    days: dict[dt.date, int]
    grid: dict[str, int]
    reason: str

    @property
    def caution(self) -> str:
        """What to say of places that seem to be swapped; "" if there are none."""
        if not self.n_swapped:
            return ""
        return (
            f"Caution: {self.n_swapped:,} of {self.n_places:,} places would lie among the others if latitude and "
            "longitude were swapped; they are left out of the area, and so will not count"
        )


@contained
def read_records(date: dt.date, config: Config) -> Held:
    """Read the files of a day, and return what all records in them show.

    Raises:
        BadInput: A file cannot be read, or no record has a place.
    """
    ingest_records.fn(date, config)
    with warehouse.connect(config) as connection:
        use_places(connection, config)
        *sides, n_places, n_swapped = warehouse.rows(connection, "read/area_of_records", {"far": _FAR_DEGREES})[0]
        days = dict(warehouse.rows(connection, "read/days_of_records"))
        grid, reason = _grid(connection, date)
    if not days and config.columns.only:
        raise BadInput(f"no row counts. {hint({LEFT_OUT: 1}, config)}")
    if not n_places:
        raise BadInput("no place can be read; say which columns they are in with --latitude and --longitude")
    south, north, west, east = sides
    return Held(
        {
            "south": max(-90.0, _outwards(south, -1)),
            "north": min(90.0, _outwards(north, 1)),
            "west": max(-180.0, _outwards(west, -1)),
            "east": min(180.0, _outwards(east, 1)),
        },
        n_places,
        n_swapped,
        days,
        grid,
        reason,
    )


def _grid(connection: warehouse.Connection, date: dt.date) -> tuple[dict[str, int], str]:
    """Return the usual grid or, if most of its many cells have one record, a coarser one, and why."""
    usual: tuple[int, int] | None = None
    grid, said = dict[str, int](), ""
    of_cells = warehouse.rows(connection, "read/largest_cell", {"date": date, "share": _LARGER_CELLS})[0][0]
    finest = _GRIDS[0][0] if of_cells is None else min(of_cells, _GRIDS[0][0])
    grids = [one for one in _GRIDS if one[0] <= finest] or [(finest, _GRIDS[-1][1])]
    for resolution, minutes in grids:
        grid = {"h3_resolution": resolution, "slot_minutes": minutes}
        n_cells, n_single = warehouse.rows(connection, "read/single_cells", {"date": date, **grid})[0]
        if usual is None:
            usual = n_single, n_cells
        else:
            said = (
                f"With h3_resolution = {grids[0][0]} and slots of {grids[0][1]} minutes {usual[0]:,} of {usual[1]:,} "
                f"cells would have one record: the grid is h3_resolution = {resolution} and slots of {minutes} "
                f"minutes, with {n_cells:,} cells."
            )
        if 2 * n_single <= n_cells or n_cells < _FEWEST_CELLS:
            break
    if not said and finest < _GRIDS[0][0]:
        said = f"The cells are of resolution {finest}, and so are the hexagons."
    return grid, said


def _outwards(degrees: float, way: int) -> float:
    """Return a side of the box a margin further out, in tenths of a degree."""
    return way * math.ceil((way * degrees + _MARGIN_DEGREES) * 10) / 10
