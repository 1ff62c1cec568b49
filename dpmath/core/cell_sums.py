"""The interface of every kind of sum that a release publishes for each cell: losses, promises, published cells."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpmath.core.accounting import ExactIntArray
from dpmath.core.currency import PURE, Currency
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

    def losses(self, occupancy: Occupancy, currency: Currency = PURE) -> ExactIntArray:
        """Return each pair's privacy loss, in the currency's unit, shape (P,)."""
        ...

    def errors(self, occupancy: Occupancy) -> list[Fraction | None]:
        """Return each cell's promised error of the mean, in ticks; None if the cell is not published."""
        ...


def user_losses(occupancy: Occupancy, all_sums: Sequence[CellSums], currency: Currency = PURE) -> ExactIntArray:
    """Return each user's exact privacy loss by a whole release, in the currency's unit.

    The loss of user l is the sum over every cell and sum of the pair's loss: the densities of independent noises
    multiply, so pure losses and Rényi divergences add up.

    Args:
        occupancy: The occupancy array, L users.
        all_sums: Everything that the release publishes.
        currency: What losses are counted in.

    Returns:
        Exact losses, shape (L,).

    Raises:
        ValueError: A shape is wrong, or a sum is not possible.

    Source:
        HV-L1, HV-L48, HV-L49.
    """
    losses = np.zeros(occupancy.n_users, dtype=object)
    for sums in all_sums:
        per_pair = sums.losses(occupancy, currency)
        spending = np.flatnonzero(per_pair)
        np.add.at(losses, occupancy.user[spending], per_pair[spending])
    return losses
