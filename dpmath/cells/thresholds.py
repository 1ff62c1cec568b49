"""The clipping with the least worst-case error, one cell at a time."""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpmath.core import _check
from dpmath.core.occupancy import IntArray, Occupancy


def threshold_rank(epsilon: float | Fraction, dimension: int = 1) -> int:
    """Return the rank of the user at whose total the others are clipped, ceil(2 d / epsilon).

    Args:
        epsilon: Privacy loss of one cell, > 0.
        dimension: Number of components d of a value, >= 1.

    Returns:
        A rank, counted from 1 for the largest total.

    Raises:
        ValueError: ``epsilon`` is not above 0 or ``dimension`` is below 1.

    Source:
        BUCv-T1, HV-L30.
    """
    _check.positive(epsilon=epsilon)
    _check.at_least(1, dimension=dimension)
    return math.ceil(2 * dimension / Fraction(epsilon))


def clipping_thresholds(
    occupancy: Occupancy, kept: NDArray[np.bool_], epsilon: float | Fraction, dimension: int = 1
) -> IntArray:
    """Return each cell's clipping threshold T, in records.

    A kept user with m records has a total in [0, R m]. The least worst-case error under a user-level loss of
    ``epsilon`` clips it to the interval of width R min(T, m) about its midpoint, where T is the
    ceil(2 d / epsilon)-th largest m among the cell's kept users, and 0 if there are fewer. Vectors in an l1
    ball of radius R have totals in a ball of radius R m, which are projected onto that of radius R min(T, m).

    Args:
        occupancy: The occupancy array, P pairs in G cells.
        kept: False for a suppressed pair, shape (P,).
        epsilon: Privacy loss of one cell, > 0.
        dimension: Number of components d of a value, >= 1.

    Returns:
        T, in records, shape (G,).

    Raises:
        ValueError: ``epsilon`` is not above 0, ``dimension`` is below 1, or ``kept`` has another shape.

    Source:
        BUCv-T1, HV-L30.
    """
    _check.same_length(kept=kept, n_records=occupancy.n_records)
    rank = threshold_rank(epsilon, dimension)
    order = occupancy.by_size()
    order = order[kept[order]]
    n_kept = np.bincount(occupancy.cell[order], minlength=occupancy.n_cells)
    start = np.cumsum(n_kept) - n_kept
    thresholds = np.zeros(occupancy.n_cells, dtype=np.int64)
    enough = n_kept >= rank
    thresholds[enough] = occupancy.n_records[order[start[enough] + rank - 1]]
    return thresholds


def clipped_errors(
    occupancy: Occupancy,
    kept: NDArray[np.bool_],
    thresholds: IntArray,
    epsilon: float | Fraction,
    dimension: int = 1,
) -> NDArray[np.float64]:
    """Return each cell's worst-case error of a clipped mean, as a share of the range of one value.

    Half of what clipping or suppression takes off each user's range, plus the mean absolute Laplace noise:
    (1/N) [sum_l (m_l - w_l)/2 + T/epsilon] with w_l = min(T, m_l) for kept users and 0 for suppressed ones. For
    vectors of d >= 2 components, with the error in the l1 norm and as a share of the ball's radius, it is
    (1/N) [sum_l (m_l - w_l) + 2 d T/epsilon], a suppressed user counting as the zero vector.

    Args:
        occupancy: The occupancy array, P pairs in G cells.
        kept: False for a suppressed pair, shape (P,).
        thresholds: T of each cell, in records, shape (G,).
        epsilon: Privacy loss of one cell, > 0.
        dimension: Number of components d of a value, >= 1.

    Returns:
        The error divided by the range R of one value, shape (G,).

    Raises:
        ValueError: ``epsilon`` is not above 0, ``dimension`` is below 1, or a shape is wrong.

    Source:
        BUCv-T1, with suppressed users at their midpoint; BUCv-L3.5, HV-L30.
    """
    _check.positive(epsilon=epsilon)
    _check.at_least(1, dimension=dimension)
    _check.same_length(kept=kept, n_records=occupancy.n_records)
    _check.same_length(thresholds=thresholds, cell_records=occupancy.cell_records)
    widths = np.where(kept, np.minimum(thresholds[occupancy.cell], occupancy.n_records), 0)
    bias = (occupancy.cell_records - occupancy.cell_sums(widths)) / 2
    noise = dimension * thresholds / float(epsilon)
    return (1 if dimension == 1 else 2) * (bias + noise) / occupancy.cell_records
