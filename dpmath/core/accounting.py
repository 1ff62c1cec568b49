"""What a release costs each user: exact integers over one common denominator."""

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmath.core import _check
from dpmath.core.occupancy import IntArray, Occupancy

LOSS_UNIT_BITS = 50
LOSS_UNITS = 1 << LOSS_UNIT_BITS
"""Privacy losses are whole numbers of 2^-50, noise scales are 2^50 over a whole number: so every loss and
every sum of losses, over any number of releases, is an exact integer whose digits do not grow."""

LARGEST_INVERSE_SCALE = 1 << 62
"""The finest noise that can be drawn, 2^-12 ticks."""

ExactIntArray = NDArray[Any]
"""An array of Python integers, dtype object: products and sums in it never overflow."""


def exact_integers(array: IntArray) -> ExactIntArray:
    """Return the same integers as Python integers, which cannot overflow."""
    return array.astype(object)


def roots_rounded_up(square: IntArray) -> IntArray:
    """Return the square roots of whole numbers below 2^62, rounded up to whole numbers, of the same shape.

    Source:
        HV-L52, HV-L70.
    """
    root = np.sqrt(square.astype(np.float64)).astype(np.int64)  # at most one off, so it is put right in integers
    root += (root + 1) * (root + 1) <= square
    root -= root * root > square
    return root + (root * root < square)


def composed_loss(occupancy: Occupancy, kept: NDArray[np.bool_], cell_epsilons: list[Fraction]) -> Fraction:
    """Return the largest sum, over the cells one user is kept in, of what each cell may cost.

    It holds for any releases of one cell each that cost a user of the cell at most that much, also one after
    another; a release whose noise is known costs less (HV-L1).

    Args:
        occupancy: The occupancy array, P pairs in G cells.
        kept: False for a pair whose values take no part, shape (P,).
        cell_epsilons: The privacy loss of each cell, >= 0, G of them.

    Returns:
        The privacy loss of all cells together.

    Raises:
        ValueError: A length is wrong or an epsilon below 0.

    Source:
        CPL-T2.3.
    """
    _check.same_length(kept=kept, n_records=occupancy.n_records)
    epsilons = np.array(cell_epsilons, dtype=object)
    _check.same_length(cell_epsilons=epsilons, cell_records=occupancy.cell_records)
    _check.all_at_least(0, cell_epsilons=epsilons)
    losses = np.full(occupancy.n_users, Fraction(0), dtype=object)
    np.add.at(losses, occupancy.user[kept], epsilons[occupancy.cell[kept]])
    return max(losses, default=Fraction(0))


def in_loss_units(epsilon: Fraction) -> int:
    """Return the most whole units of 1/LOSS_UNITS within an epsilon.

    Source:
        HV-L1.
    """
    return int(epsilon * LOSS_UNITS)
