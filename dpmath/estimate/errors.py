"""How the errors of a day's cells go together, as a matrix that is never made: its products, and its blocks."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from dpmath.core.occupancy import IntArray
from dpmath.estimate.areas import ALIKE
from dpmath.estimate.day import Day, FloatArray
from dpmath.estimate.factors import by_label, entries
from dpmath.estimate.posterior import LEAST_VARIANCE, Estimate
from dpmath.estimate.products import product
from dpmath.estimate.rows import Rows
from dpmath.estimate.told import Known


@dataclass(frozen=True)
class Errors:
    """A covariance of cells, in squared points: common common' + own own' + together together' - less less' + alone.

    Attributes:
        hexagon: Hexagon of each cell, shape (G,).
        common: What all cells have in common, shape (G, a).
        own: What the cells of one hexagon have in common, shape (G, k).
        together: What the cells of one user have in common, shape (G, L).
        less: By how much sums have made it smaller, shape (G, b).
        alone: What is each cell's own, shape (G,).
    """

    hexagon: IntArray
    common: FloatArray
    own: FloatArray
    together: csr_array
    less: FloatArray
    alone: FloatArray

    def times(self, weights: FloatArray) -> FloatArray:
        """Return the covariance of each cell with weighted sums of cells: shape (G, n) to (G, n)."""
        own = by_label(self.own, self.hexagon)
        found = product(self.common, product(self.common.T, weights)) - product(
            self.less, product(self.less.T, weights)
        )
        return (
            found
            + own @ (own.T @ weights)
            + self.together @ (self.together.T @ weights)
            + self.alone[:, None] * weights
        )

    def variances(self, weights: csr_array) -> FloatArray:
        """Return the variance of weighted sums of cells: shape (G, n) to (n,)."""
        found = (weights**2).T @ self.alone
        own = by_label(self.own, self.hexagon)
        for loading, sign in ((self.common, 1), (own, 1), (self.together, 1), (self.less, -1)):
            found = found + sign * np.asarray(((weights.T @ loading) ** 2).sum(axis=1)).ravel()
        return np.maximum(found, LEAST_VARIANCE)

    @cached_property
    def diagonal(self) -> FloatArray:
        """The variance of each cell, shape (G,)."""
        together = self.together.multiply(self.together).sum(axis=1)
        squares = sum(((one**2).sum(axis=1) for one in (self.common, self.own)), np.asarray(together).ravel())
        return np.asarray(squares - (self.less**2).sum(axis=1) + self.alone)

    def blocks(self, cells: IntArray) -> FloatArray:
        """Return the covariance of the cells of each hexagon: shape (n, m) of cells, -1 for none, to (n, m, m)."""
        there = cells >= 0
        parts = [there[..., None] * one[cells] for one in (self.common, self.own, self.less)]
        common, own, less = (one @ one.transpose(0, 2, 1) for one in parts)
        found = common + own - less
        place = np.arange(cells.shape[1])
        found[:, place, place] += there * self.alone[cells]
        n_users = int(self.together.indices.max(initial=0)) + 1
        row, user, part = entries(self.together[cells[there]])
        number, at = np.nonzero(there)
        names, column = np.unique(number[row] * n_users + user, return_inverse=True)  # of a hexagon and a user
        of_one = csr_array((part, (row, column)), shape=(number.size, max(1, names.size)))
        one, other, product_of_parts = entries(csr_array(of_one @ of_one.T))
        found[number[one], at[one], at[other]] += product_of_parts
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
    whole = _of_known(joint.before, joint.rows, day, users, alone)
    whole = replace(
        whole,
        common=np.column_stack([whole.common, joint.off]),
        less=np.column_stack([whole.less, joint.known.T]),
    )
    # of few users the sums may know more than the residuals that cells are said to have at least
    whole = replace(whole, alone=whole.alone + np.maximum(estimate.variance - whole.diagonal, 0.0))
    lasting = _of_known(joint.lasting, joint.rows, day, no_users(occupancy.n_cells), np.zeros(occupancy.n_cells))
    half, apart = (joint.known + joint.lasts).T / 2, (joint.known - joint.lasts).T / 2
    lasting = replace(
        lasting,
        common=np.column_stack([lasting.common, apart]),
        less=np.column_stack([lasting.less, half]),
    )
    return whole, lasting


def _of_known(known: Known, rows: Rows, day: Day, users: csr_array, alone: FloatArray) -> Errors:
    n_common, n_own = rows.common.shape[1], rows.own.shape[1]
    of_hexagon = n_common + rows.hexagon[:, None] * n_own + np.arange(n_own)
    return Errors(
        hexagon=day.hexagon,
        common=rows.common * np.sqrt(known.prior[:n_common]),
        own=rows.own * np.sqrt(known.prior[of_hexagon]),
        together=users,
        less=rows.times(known.gain.T),
        alone=alone,
    )


def no_users(n_cells: int) -> csr_array:
    """Return what cells have in common by their users if they have nothing.

    Source:
        HV-E8.
    """
    return csr_array((n_cells, 1))
