"""How the errors of a day's cells go together, as a matrix that is never made: its products, and its blocks."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from dpmath.core.occupancy import IntArray
from dpmath.estimate.areas import ALIKE
from dpmath.estimate.day import Day, FloatArray
from dpmath.estimate.factors import Factors, entries, squares, users_apart
from dpmath.estimate.posterior import LEAST_VARIANCE, Estimate, Joint
from dpmath.estimate.rows import Rows
from dpmath.estimate.told import Known


@dataclass(frozen=True)
class Errors:
    """A covariance of cells, in squared points: that of factors, and together together'.

    Attributes:
        factors: The factors: as many as there are coefficients and sums.
        together: What the cells of one user have in common, shape (G, L).
    """

    factors: Factors
    together: csr_array

    def times(self, weights: FloatArray) -> FloatArray:
        """Return the covariance of each cell with weighted sums of cells: shape (G, n) to (G, n)."""
        return self.factors.times(weights) + self.together @ (self.together.T @ weights)

    def variances(self, weights: csr_array) -> FloatArray:
        """Return the variance of weighted sums of cells: shape (G, n) to (n,)."""
        return np.maximum(self.factors.variances(weights) + squares(weights, self.together), LEAST_VARIANCE)

    @cached_property
    def diagonal(self) -> FloatArray:
        """The variance of each cell, shape (G,)."""
        return self.factors.diagonal + np.asarray((self.together**2).sum(axis=1)).ravel()

    def blocks(self, cells: IntArray) -> FloatArray:
        """Return the covariance of the cells of each hexagon: shape (n, m) of cells, -1 for none, to (n, m, m)."""
        there, found = cells >= 0, self.factors.blocks(cells)
        number, at = np.nonzero(there)
        of_hexagon = users_apart(self.together[cells[there]], number)
        one, other, part = entries(csr_array(of_hexagon @ of_hexagon.T))
        found[number[one], at[one], at[other]] += part
        return found


def errors_of(estimate: Estimate, day: Day) -> tuple[Errors, Errors]:
    """Return how the errors of a day's cells go together, and how they go with those of the same cells on days before.

    A user differs from others in a like way in all cells: a fast bus is fast everywhere. Errors of two days go together
    by what lasts of the cells: a day's error has nothing in common with sums that were known on that day.

    Args:
        estimate: The estimate of the day.
        day: The day.

    Source:
        HV-E8.
    """
    joint, occupancy = estimate.joint, day.occupancy
    of_pair = occupancy.n_records / occupancy.cell_records[occupancy.cell] * np.sqrt(ALIKE * estimate.residual_variance)
    users = csr_array((of_pair, (occupancy.cell, occupancy.user)), shape=(occupancy.n_cells, occupancy.n_users))
    alone = joint.of_cells + (1 - ALIKE) * estimate.residual_part
    before, lasting = (of_coefficients(one.prior, joint.rows, day) for one in (joint.before, joint.lasting))
    whole = Errors(replace(_with(before, joint.off, _seen(joint.before, joint), joint.known.T), alone=alone), users)
    # of few users the sums may know more than the residuals that cells are said to have at least
    alone = alone + np.maximum(estimate.variance - whole.diagonal, 0.0)
    half, apart = (joint.known + joint.lasts).T / 2, (joint.known - joint.lasts).T / 2
    lasting = _with(lasting, apart, _seen(joint.lasting, joint), half)
    nobody = csr_array((occupancy.n_cells, 1))
    return replace(whole, factors=replace(whole.factors, alone=alone)), Errors(lasting, nobody)


def of_coefficients(variance: FloatArray, rows: Rows, day: Day) -> Factors:
    """Return the covariance that independent coefficients give to the cells of a day.

    Args:
        variance: Variance of each coefficient, shape (S,).
        rows: The functions' values at the cells.
        day: The day.

    Source:
        HV-E8.
    """
    n_cells, n_common, n_own = day.slot.size, rows.common.shape[1], rows.own.shape[1]
    of_hexagon = n_common + rows.hexagon[:, None] * n_own + np.arange(n_own)
    nothing = np.zeros((n_cells, 0))
    return Factors(
        day.hexagon,
        day.slot,
        common=rows.common * np.sqrt(variance[:n_common]),
        against=nothing,
        of_hexagon=rows.own * np.sqrt(variance[of_hexagon]),
        of_slot=nothing,
        alone=np.zeros(n_cells),
    )


def _seen(known: Known, joint: Joint) -> FloatArray:
    """Return by how much earlier sums have made the covariance of cells smaller, as loadings."""
    return joint.rows.times(known.gain.T)


def _with(factors: Factors, common: FloatArray, *against: FloatArray) -> Factors:
    return replace(factors, common=np.column_stack([factors.common, common]), against=np.column_stack(against))
