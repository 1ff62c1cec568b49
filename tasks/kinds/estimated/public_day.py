"""Makes the public facts of a day for the estimate, from the cells and pairs of its plan."""

import datetime as dt
import math

import h3
import numpy as np
import polars as pl

from dpmath.core.occupancy import Occupancy
from dpmath.estimate.day import Day, FloatArray
from tasks.base.config import Config
from tasks.kinds.estimated.owner_covariates import PREFIX, covariate_names
from tasks.occupancy.cells import n_slots_of, slots_of

_EARTH_RADIUS = 6371.0
_CELL = ["slot_start", "h3_cell"]


def public_day(date: dt.date, cells: pl.DataFrame, occupancy: Occupancy, config: Config) -> Day:
    """Return the public facts of a day.

    Args:
        date: The local day.
        cells: One row per cell, by slot and hexagon: slot_start, h3_cell, and the owner's covariates.
        occupancy: Pairs of cell and user, numbered by the rows above.
        config: Gives the grid, the time zone and the holidays.
    """
    names, hexagon = np.unique(cells["h3_cell"].to_numpy(), return_inverse=True)
    return Day(
        occupancy=occupancy,
        hexagon=hexagon.astype(np.int64),
        slot=slots_of(cells["slot_start"], config),
        names=names,
        position=hexagon_positions(names),
        spacing=h3.average_hexagon_edge_length(config.grid.h3_resolution) * math.sqrt(3),
        n_slots=n_slots_of(config),
        kind=config.calendar.kind_of_day(date),
        covariates=cells.select(f"{PREFIX}{name}" for name in covariate_names(cells)).to_numpy(),
    )


def occupancy_of(cells: pl.DataFrame, pairs: pl.DataFrame) -> tuple[Occupancy, list[str]]:
    """Return the occupancy array of a stored plan, and the keyed hash of each of its users, sorted.

    Args:
        cells: One row per cell: slot_start, h3_cell.
        pairs: One row per pair: slot_start, h3_cell, user_hash, n_records.
    """
    users = pairs["user_hash"].unique().sort()
    number = pl.DataFrame({"user_hash": users}).with_row_index("user")
    numbered = pairs.join(cells.select(_CELL).with_row_index("cell"), on=_CELL).join(number, on="user_hash")
    numbered = numbered.sort("cell", "user")
    cell, user, n_records = (numbered[name].to_numpy().astype(np.int64) for name in ("cell", "user", "n_records"))
    return Occupancy(cell, user, n_records, cells.height, users.len()), users.to_list()


def hexagon_positions(names: np.ndarray) -> FloatArray:
    """Return where hexagons are, in kilometres in space. Distances are then the same at any place of the world."""
    degrees = np.array([h3.cell_to_latlng(h3.int_to_str(int(name))) for name in names])
    latitude, longitude = np.radians(degrees.reshape(-1, 2)).T
    flat = np.cos(latitude)
    return _EARTH_RADIUS * np.column_stack([flat * np.cos(longitude), flat * np.sin(longitude), np.sin(latitude)])
