"""Where cells are: their slot of the local day, and the coarser hexagon that holds them."""

from zoneinfo import ZoneInfo

import h3
import numpy as np
import polars as pl

from dpmath.core.occupancy import IntArray
from tasks.base.config import Config


def slots_of(starts: pl.Series, config: Config) -> np.ndarray:
    """Return the slot of the local day by the clock: where an hour occurs twice, both are the same slot."""
    zone = ZoneInfo(config.dataset.timezone)
    local = {start: start.astimezone(zone) for start in starts.unique()}
    slots = {start: (time.hour * 60 + time.minute) // config.grid.slot_minutes for start, time in local.items()}
    return np.array([slots[start] for start in starts], dtype=np.int64)


def n_slots_of(config: Config) -> int:
    """Return the number of slots of a day."""
    return 1440 // config.grid.slot_minutes


def parents_of(names: np.ndarray) -> IntArray:
    """Return the number of each hexagon's parent: the hexagon of the next coarser resolution that holds its centre."""
    parents = [h3.cell_to_parent(cell) if h3.get_resolution(cell) else cell for cell in map(h3.int_to_str, names)]
    return np.unique(parents, return_inverse=True)[1].astype(np.int64)
