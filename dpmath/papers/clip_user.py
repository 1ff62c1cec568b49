"""CLIP-USER as CPL prints it: suppressed records are dropped, and what that does to means and variances."""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpmath.cells.suppression import first_least, suppressed
from dpmath.core import _check
from dpmath.core.occupancy import Occupancy
from dpmath.papers.dropping import CellRelease, dropped_errors
from dpmath.papers.sensitivity import mean_sensitivity, variance_sensitivity


def clip_user_dropping(
    occupancy: Occupancy, release: CellRelease, error_bound: float | None = None, spare_best_cell: bool = False
) -> NDArray[np.bool_]:
    """Return which pairs CLIP-USER keeps as printed. Suppressed records are dropped.

    Args:
        occupancy: The occupancy array, P pairs.
        release: What every cell releases. It defines a cell's error.
        error_bound: Bound E on the error of a cell in which a user is suppressed, > 0; None is the largest
            error of a cell before suppression. Cells whose error is above it from the start do not change.
        spare_best_cell: Suppress no user in the cell that has the least error before suppression, as the
            paper's experiments do.

    Returns:
        False for the suppressed pairs, shape (P,). No cell is emptied.

    Raises:
        ValueError: ``error_bound`` is not a finite number above 0.

    Source:
        CPL-A1, with argmin in (14), line 6 read as the users in the most cells, and no cell ever emptied.
    """
    before = dropped_errors(occupancy, occupancy.n_records, release)
    if error_bound is None:
        error_bound = float(before.max())
    else:
        _check.positive(error_bound=error_bound)
    everyone = np.ones(occupancy.cell.size, dtype=bool)
    spared = first_least(before) if spare_best_cell else None
    return suppressed(occupancy, everyone, release.errors, error_bound, 1, spared)


def degradation_factor(occupancy: Occupancy, kept: NDArray[np.bool_]) -> int:
    """Return K, the largest number of cells that one user is kept in.

    Args:
        occupancy: The occupancy array, P pairs.
        kept: False for a suppressed pair, shape (P,).

    Returns:
        K; with a loss of epsilon in every cell, all cells together cost a user K epsilon.

    Raises:
        ValueError: ``kept`` has another shape.

    Source:
        CPL-A1.
    """
    _check.same_length(kept=kept, n_records=occupancy.n_records)
    return int(np.bincount(occupancy.user[kept], minlength=1).max())


def dropped_mean_bias(n_kept: int, n_total: int, upper: _check.Number) -> Fraction:
    """Return the worst-case bias of a mean after records are dropped, U (1 - n_kept / n_total).

    The largest |mean of all - mean of kept| over every dataset with values in [0, U].

    Args:
        n_kept: Records kept, 1 <= n_kept <= n_total.
        n_total: Records in the cell.
        upper: Upper bound U of a value, > 0.

    Returns:
        The bias, in the unit of ``upper``, exact.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        CPL-T4.1.
    """
    _check.at_least(1, n_kept=n_kept)
    _check.at_least(n_kept, n_total=n_total)
    return mean_sensitivity(n_total - n_kept, n_total, upper)


def dropped_variance_bias(n_kept: int, n_total: int, upper: _check.Number) -> Fraction:
    """Return the worst-case bias of a variance after records are dropped.

    The largest |variance of all - variance of kept| over every dataset with values in [0, U]. It is what changing
    the dropped records can do to the variance of all.

    Args:
        n_kept: Records kept, 1 <= n_kept <= n_total.
        n_total: Records in the cell.
        upper: Upper bound U of a value, > 0.

    Returns:
        The bias, in the square of the unit of ``upper``, exact.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        CPL-T4.2, HV-L20.
    """
    _check.at_least(1, n_kept=n_kept)
    _check.at_least(n_kept, n_total=n_total)
    return variance_sensitivity(n_total - n_kept, n_total, upper)
