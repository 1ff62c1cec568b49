"""The interface of every kind of sum that a release publishes for each cell: losses, promises, published cells."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpmath.core.accounting import ExactIntArray
from dpmath.core.occupancy import Occupancy


class CellSums(Protocol):
    """One noisy sum per cell, with its losses and promises."""

    @property
    def value_range(self) -> int:
        """The largest value one record can have, in ticks; the least is 0."""
        ...

    @property
    def published(self) -> NDArray[np.bool_]:
        """Which cells are published, shape (G,)."""
        ...

    def losses(self, occupancy: Occupancy) -> ExactIntArray:
        """Return each pair's privacy loss, in units of 1/LOSS_UNITS, shape (P,)."""
        ...

    def errors(self, occupancy: Occupancy) -> list[Fraction | None]:
        """Return each cell's promised error of the mean, in ticks; None if the cell is not published."""
        ...


def user_losses(occupancy: Occupancy, all_sums: Sequence[CellSums]) -> ExactIntArray:
    """Return each user's exact privacy loss by a whole release, in units of 1/LOSS_UNITS.

    The loss of user l is the sum over every cell and sum of the pair's loss: the densities of independent noises
    multiply.

    Args:
        occupancy: The occupancy array, L users.
        all_sums: Everything that the release publishes.

    Returns:
        Exact losses, shape (L,).

    Raises:
        ValueError: A shape is wrong, or a sum is not possible.

    Source:
        HV-L1.
    """
    losses = np.zeros(occupancy.n_users, dtype=object)
    for sums in all_sums:
        per_pair = sums.losses(occupancy)
        spending = np.flatnonzero(per_pair)
        np.add.at(losses, occupancy.user[spending], per_pair[spending])
    return losses
