"""How the errors of a day's cells go together, as the sums leave them."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array, hstack

from dpmath.estimate.areas import ALIKE
from dpmath.estimate.day import Day, FloatArray
from dpmath.estimate.posterior import Estimate, Joint
from dpmath.estimate.rows import Rows
from dpmath.estimate.told import Known, Told
from dpmath.joint.errors import LEAST_VARIANCE, OfFactors
from dpmath.joint.factors import Factors
from dpmath.joint.loadings import Cells, Loadings, loadings
from dpmath.joint.products import gram


def errors_of(estimate: Estimate, day: Day) -> tuple[OfFactors, OfFactors]:
    """Return how the errors of a day's cells go together, and how they go with those of the same cells on days before.

    A user differs from others in a like way in all cells, as a fast bus does: of that the sums tell. What else it
    differs by goes together in its cells, of which the sums are taken to tell nothing. Errors of two days go together
    by what lasts of the cells: a day's error has nothing in common with sums that were known on that day.

    Args:
        estimate: The estimate of the day.
        day: The day.

    Source:
        HV-E8.
    """
    joint = estimate.joint
    own = np.maximum(estimate.residual_variance - estimate.alike_variance, 0.0)
    near = day.by_user(estimate.view.share_of_cell * np.sqrt(ALIKE * own))
    users = csr_array(hstack([joint.users, near]))
    # the check has changed what residuals are thought to be; what users have in common is as the sums told it
    alone = joint.of_cells + np.maximum(estimate.residual_part - np.asarray((users**2).sum(axis=1)), 0.0)
    before, lasting = (of_coefficients(one.prior, joint.rows, day) for one in (joint.before, joint.lasting))
    seen = _seen(joint.before, joint)
    whole = OfFactors(replace(_with(before, joint.off, seen, joint.known.T), alone=alone), users)
    # of few users the sums may know more than the residuals that cells are said to have at least
    alone = alone + np.maximum(estimate.variance - whole.diagonal, 0.0)
    apart, half = _together(-joint.lasts / 2, joint.known)
    is_same = joint.lasting.gains is joint.before.gains
    lasting = _with(lasting, apart, seen if is_same else _seen(joint.lasting, joint), half)
    nobody = csr_array((day.occupancy.n_cells, 1))
    return replace(whole, factors=replace(whole.factors, alone=alone)), OfFactors(lasting, nobody)


def with_users_again(lasting: OfFactors, joint: Joint) -> Callable[[csr_array], FloatArray]:
    """Return what gives the covariance of two days' errors if users come again, and differ as they did before.

    How much of that is so, no sum tells.

    Args:
        lasting: How errors go together by what lasts of cells.
        joint: The errors of the later day.

    Returns:
        A function of weights of cells, shape (G, n): the covariance of each weighted sum, shape (n,).

    Source:
        HV-E8.
    """
    turned, of_sums = joint.turned, gram(joint.of_users)
    told = turned.of(turned.of(of_sums))

    def variances(weights: csr_array) -> FloatArray:
        users = (weights.T @ joint.users).toarray()
        known, left = joint.known @ weights, turned.of(users @ joint.of_users)
        by_users = (users**2).sum(axis=1) + (known * (told @ known - 2 * left)).sum(axis=0)
        return np.maximum(lasting.factors.signed_variances(weights) + by_users, LEAST_VARIANCE)

    return variances


def _together(one: FloatArray, other: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return one' other + other' one as loadings that add to a covariance, and loadings that lower it, (G, Q) each."""
    half = np.sqrt(0.5)
    return half * (one + other).T, half * (one - other).T


def loadings_of(estimate: Estimate, day: Day) -> Loadings:
    """Return how the errors of a day's cells go together, in squared points, by few factors.

    Args:
        estimate: The estimate of the day.
        day: The day.

    Source:
        HV-E8.
    """
    errors, lasting = errors_of(estimate, day)
    return loadings(errors, lasting, cells_of(day), with_users_again(lasting, estimate.joint))


def cells_of(day: Day) -> Cells:
    """Return where a day's cells are, and how much they count: by their records.

    Source:
        HV-E8.
    """
    return Cells(day.hexagon, day.slot, day.position, day.n_slots, day.occupancy.cell_records.astype(np.float64))


def of_lasting(lasting: Known, told: Told, joint: Joint, day: Day) -> OfFactors:
    """Return the covariance that a day's cells have by what lasts, where the day's sums were taken as if that is known.

    A cell is off by what it takes from the coefficients itself, less what the sums are thought to tell of the day.

    Args:
        lasting: What is known of the coefficients that last.
        told: The sums of the day.
        joint: How the errors of cells go together if what lasts is known.
        day: The day.

    Source:
        HV-E31.
    """
    seen = joint.turned.of(told.seen)
    moved = lasting.times(seen.T)
    by_sums = joint.rows.times(moved).T - (seen @ moved) @ joint.known / 2
    apart, half = _together(-by_sums, joint.known)
    factors = of_coefficients(lasting.prior, joint.rows, day)
    return OfFactors(_with(factors, apart, _seen(lasting, joint), half), csr_array((day.occupancy.n_cells, 1)))


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
    return replace(factors, common=_beside(factors.common, common), against=_beside(*against))


def _beside(*loadings: FloatArray) -> FloatArray:
    """Return loadings side by side, factor by factor: most of them lie so in memory, and are copied as they lie."""
    return np.concatenate([one.T for one in loadings]).T
