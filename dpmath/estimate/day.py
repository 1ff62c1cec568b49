"""The public facts of a day that an estimate is made from: who was where, how often, and where that is."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from dpmath.core import _check
from dpmath.core.occupancy import IntArray, Occupancy

FloatArray = NDArray[np.float64]

KINDS = ("weekday", "saturday", "sunday")
"""The kinds of day; a public holiday counts as a Sunday."""
_LEAST_BUSY = 0.01
"""A hexagon with fewer records, as a share of those of a usual record's hexagon, counts as if it had so many."""


@dataclass(frozen=True)
class Day:
    """One day. All of it is public.

    Attributes:
        occupancy: The occupancy array, P pairs of G cells and L users.
        hexagon: Hexagon of each cell, shape (G,), 0 <= hexagon < H.
        slot: Slot of each cell, counted from local midnight, shape (G,), 0 <= slot < n_slots.
        names: A number that names each hexagon on every day, shape (H,).
        position: Where each hexagon is, in kilometres in space, shape (H, 3).
        spacing: Distance between neighbouring hexagons, in kilometres.
        n_slots: Number of slots of a day.
        kind: Kind of day, a position in ``KINDS``.
        covariates: The owner's covariates of each cell, shape (G, n).

    Raises:
        ValueError: A shape or an index is wrong.
    """

    occupancy: Occupancy
    hexagon: IntArray
    slot: IntArray
    names: NDArray[Any]
    position: FloatArray
    spacing: float
    n_slots: int
    kind: int = 0
    covariates: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))

    def __post_init__(self) -> None:
        """Check shapes and indices."""
        _check.same_length(hexagon=self.hexagon, slot=self.slot, cell_records=self.occupancy.cell_records)
        _check.all_at_least(0, hexagon=self.hexagon, slot=self.slot)
        if self.hexagon.max(initial=-1) >= self.names.size or self.slot.max(initial=-1) >= self.n_slots:
            raise ValueError("hexagon must be below H, and slot below n_slots")
        if self.position.shape != (self.names.size, 3) or not 0 <= self.kind < len(KINDS):
            raise ValueError("position must be of shape (H, 3), and kind a position in KINDS")

    @cached_property
    def hexagon_records(self) -> FloatArray:
        """Number of records of each hexagon, shape (H,)."""
        return np.bincount(self.hexagon, self.occupancy.cell_records, self.names.size).astype(np.float64)

    @cached_property
    def remote(self) -> FloatArray:
        """How remote each hexagon is: one over the root of its records, times what makes 1 of its mean over records."""
        records = self.hexagon_records
        remote = 1 / np.sqrt(np.maximum(records, _LEAST_BUSY * np.average(records, weights=records)))
        return np.asarray(remote / np.average(remote, weights=records))

    def by_user(self, of_pairs: FloatArray) -> csr_array:
        """Return a number per pair as one row for each cell and one column for each user, shape (G, L)."""
        occupancy = self.occupancy
        return csr_array((of_pairs, (occupancy.cell, occupancy.user)), shape=(occupancy.n_cells, occupancy.n_users))

    def cell_means(self, of_pairs: FloatArray) -> FloatArray:
        """Return the mean of a number per pair over each cell, weighted by records, shape (G,)."""
        occupancy = self.occupancy
        sums = np.bincount(occupancy.cell, of_pairs * occupancy.n_records, occupancy.n_cells)
        return np.asarray(sums / occupancy.cell_records)
