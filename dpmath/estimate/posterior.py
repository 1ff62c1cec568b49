"""The estimate of a day and the next state from noisy sums: one linear-Gaussian solve. All of it is post-processing."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.linalg import cho_solve, solve_triangular
from scipy.sparse import csr_array

from dpmath.estimate.day import FloatArray
from dpmath.estimate.measurement import user_sums
from dpmath.estimate.rows import Rows
from dpmath.estimate.scaled import scales_after, shocks_after
from dpmath.estimate.scales import Scales
from dpmath.estimate.state import POINTS, State
from dpmath.estimate.taken import Design, Read, Taken
from dpmath.estimate.told import Known, Told, Turned
from dpmath.estimate.view import View
from dpmath.joint.errors import LEAST_VARIANCE
from dpmath.joint.products import gram


@dataclass(frozen=True)
class Joint:
    """How the errors of cells go together: what the variance of a mean of several cells is made from.

    Attributes:
        rows: The functions' values at the cells.
        before: What was known of the day's coefficients before its sums.
        of_cells: Variance of what is each cell's own, shape (G,).
        residual: How much of each cell's variance is that of the pairs' residuals, before the check, shape (G,).
        users: How each cell moves with what all residuals of each user have in common, shape (G, L).
        known: Covariance of each cell with the sums, which are turned so that they are independent, shape (Q, G).
        off: How far each cell may be off, by each cause that all cells have in common, shape (G, n).
        lasting: What was known, before the sums, of the coefficients that last over days.
        lasts: Covariance of what lasts of each cell with the sums, shape (Q, G).
        of_the_day: Variance of what each coefficient differs by on the day, shape (S,).
        departs: Covariance of what each cell differs by on the day with the sums, shape (Q, G).
        turned: The sums as they are turned.
        of_users: How each user moves them, before they are turned, by what all its residuals have in common, (L, Q).
    """

    rows: Rows
    before: Known
    of_cells: FloatArray
    residual: FloatArray
    users: csr_array
    known: FloatArray
    off: FloatArray
    lasting: Known
    lasts: FloatArray
    of_the_day: FloatArray
    departs: FloatArray
    turned: Turned
    of_users: FloatArray


@dataclass(frozen=True)
class Estimate:
    """The cells' means as estimated, and what the day tells of the days to come.

    Attributes:
        view: The day as it is expected with these sums, before others are taken.
        mean: Estimated mean of each cell's values, in points, shape (G,).
        variance: Its variance, shape (G,).
        variance_before: The same before the day's sums were known, shape (G,).
        state: The state after the day.
        residual_variance: Variance of each pair's residual, shape (P,).
        alike_variance: How much of it all residuals of a user have in common, shape (P,).
        residual_part: How much of the variance is that of the pairs' residuals, shape (G,).
        joint: How the errors of cells go together.
        read: How the day's sums were read.
    """

    view: View
    mean: FloatArray
    variance: FloatArray
    variance_before: FloatArray
    state: State
    residual_variance: FloatArray
    alike_variance: FloatArray
    residual_part: FloatArray
    joint: Joint
    read: Read = field(default_factory=Read)


def told_by(view: View, taken: Sequence[Taken]) -> Told:
    """Return the sums of a day as they are kept: with what they see of the coefficients, and their variance by parts.

    Source:
        HV-E3.
    """
    state, factors = view.state, view.state.factors
    of_each, seen_by_each = [], []
    for one in taken:
        strata, loading = view.strata.weighed(one.design.weight), one.design.loading
        total = strata.pair_sums(one.design.weight)
        of_each.append(strata.weighted_sums(loading, total))
        seen_by_each.append(strata.seen_by(loading, total, of_each[-1], state.n_hexagons))
    seen, of_cells = np.column_stack(seen_by_each), np.column_stack(of_each)
    of_users = np.column_stack([_of_users(view, one.design) for one in taken])
    return Told(
        sums=np.concatenate([one.sums for one in taken]),
        seen=seen,
        cell=gram(of_cells, view.cell_variance / factors["cell"]),
        level=np.outer(seen[0], seen[0]) * (view.of_the_day[0] / factors["level"]),
        day=gram(seen[1:], view.of_the_day[1:] / factors["day"]),
        residual=np.block([[_together(view, one, other) for other in taken] for one in taken]),
        user=gram(of_users),
        noise=np.diag(np.concatenate([np.full(one.sums.size, one.noise**2) for one in taken])),
    )


def _of_users(view: View, design: Design) -> FloatArray:
    """Return how each user moves the sums by what all its residuals have in common, shape (L, Q)."""
    of_pairs = design.weight * np.sqrt(view.alike_variance)
    return user_sums(view.day.occupancy, of_pairs, design.loading, view.strata.of_pair)


def _together(view: View, one: Taken, other: Taken) -> FloatArray:
    """Return the covariance that residuals give to the sums of two measurements."""
    spread = view.strata.pair_sums(one.design.weight * other.design.weight * view.apart_variance)
    if one is other:
        return gram(one.design.loading, spread)
    if one.sums.size > other.sums.size:  # the smaller one is copied
        return _together(view, other, one).T
    return (spread[:, None] * one.design.loading).T @ other.design.loading


def expected_after(view: View, taken: Sequence[Taken]) -> View:
    """Return the day as it is expected with some of its sums, before others are taken.

    Args:
        view: The day as it was expected before.
        taken: The sums.

    Source:
        HV-E3.
    """
    told = told_by(view, taken)
    view, told = with_shocks(view, told, shocks_after(view, told))
    return replace(view, today=view.today.given(told.seen, told.apart(view.state.factors), told.sums)[0])


def estimated(view: View, taken: Sequence[Taken]) -> Estimate:
    """Return the estimate from all sums of a day, by the scales that the sums of all releases tell of.

    Args:
        view: The day as it was expected before the last sums.
        taken: The sums.

    Source:
        HV-E3.
    """
    told = told_by(view, taken)
    scales, shocks = scales_after(view, told)
    expected, kept = _with_scales(view, told, scales, shocks)
    today, turned, (_, covariance, _) = _with_cells(expected, kept, taken)
    mean = _mean(expected, turned, turned.of(covariance))
    wide = solved(*_with_scales(view, told, scales.widened(float(np.mean(taken[-1].cut))), shocks), taken)
    off = wide.mean - mean
    joint = replace(wide.joint, off=np.column_stack([wide.joint.off, off]))
    variance = wide.variance + off**2
    state, read = expected.state.with_told(kept), Read(shocks=shocks * np.array([view.odd, 1.0]))
    expected = replace(expected, today=today)
    return replace(wide, view=expected, mean=mean, variance=variance, state=state, joint=joint, read=read)


def _with_scales(view: View, told: Told, scales: Scales, shocks: FloatArray) -> tuple[View, Told]:
    """Return a day that differs more or less than others, before its sums, and the sums, with some scales."""
    return with_shocks(replace(view, state=replace(view.state, scales=scales)), told, shocks)


def with_shocks(view: View, told: Told, shocks: FloatArray) -> tuple[View, Told]:
    """Return a day that differs more or less than others, before its sums, and the sums, with the view's scales.

    Source:
        HV-E7.
    """
    of_level, of_rest = shocks
    of_the_day = view.of_the_day * of_rest
    of_the_day[0] *= of_level / of_rest
    told = replace(told, level=of_level * told.level, day=of_rest * told.day)
    return replace(view, today=view.state.known.varying(of_the_day)), told


def solved(view: View, told: Told, taken: Sequence[Taken], lasting: Known | None = None) -> Estimate:
    """Return the estimate with the scales that the view's state has.

    Args:
        view: The day as it was expected before any of its sums.
        told: The sums of the day, and what they depend on.
        taken: The same as they were taken.
        lasting: What is known of what lasts; None for what the view's state knows.

    Source:
        HV-E3.
    """
    rows, occupancy, of_cells = view.rows, view.day.occupancy, view.cell_variance
    alone = np.bincount(occupancy.cell, view.share_of_cell**2 * view.residual_variance, occupancy.n_cells).astype(float)
    today, turned, (by_coefficients, covariance, of_users) = _with_cells(view, told, taken)
    known, lasting = turned.of(covariance), lasting or view.state.known
    of_the_day = view.today.prior - lasting.prior
    before = view.today.variances(rows) + of_cells + alone
    departs = turned.of(rows.times(of_the_day[:, None] * told.seen))
    off = covariance @ _cuts(taken, told, turned)
    after = alone + np.maximum(before - (known**2).sum(axis=0) - alone, LEAST_VARIANCE) + (off**2).sum(axis=1)
    return Estimate(
        view=replace(view, today=today),
        mean=_mean(view, turned, known),
        variance=after,
        variance_before=before,
        state=replace(view.state, told=(*view.state.told, told)),  # folding is for who keeps it
        residual_variance=view.residual_variance,
        alike_variance=view.alike_variance,
        residual_part=alone,
        joint=Joint(
            rows,
            view.today,
            of_cells,
            alone,
            view.users,
            known,
            off,
            lasting,
            turned.of(by_coefficients) - departs,
            of_the_day,
            departs,
            turned,
            of_users,
        ),
    )


def _with_cells(view: View, told: Told, taken: Sequence[Taken]) -> tuple[Known, Turned, tuple[FloatArray, ...]]:
    """Return what is known, the sums as turned, and how cells by coefficients, cells by all, and users go with them."""
    today, turned = view.today.given(told.seen, told.apart(view.state.factors), told.sums)
    apart = view.share_of_cell * (view.residual_variance - view.alike_variance)
    own = [_of_cells(view, one.design, apart, view.cell_variance) for one in taken]
    of_users = np.column_stack([_of_users(view, one.design) for one in taken])
    by_coefficients = view.rows.times(turned.together)
    covariance = by_coefficients + np.column_stack(own) + view.users @ of_users
    return today, turned, (by_coefficients, covariance, of_users)


def _mean(view: View, turned: Turned, known: FloatArray) -> FloatArray:
    return np.clip(view.unbounded + known.T @ turned.innovation, 0.0, POINTS)


def _of_cells(view: View, design: Design, residual: FloatArray, of_cells: FloatArray) -> FloatArray:
    """Return the covariance of each cell with the sums by its own part and its pairs' residuals, shape (G, Q)."""
    shared = view.strata.pair_sums(design.weight * residual)
    total = view.strata.pair_sums(design.weight)
    return view.strata.weighted_sums(design.loading, shared + of_cells[view.strata.cell] * total)


def _cuts(taken: Sequence[Taken], told: Told, turned: Turned) -> FloatArray:
    """Return what the balls may have cut off of each measurement otherwise than supposed, as weights of its sums.

    All sums of one measurement are larger, or all smaller, each by its own share of what moved it.

    Returns:
        For each measurement, its sums' errors, solved by the covariance of all sums, shape (Q, n).
    """
    solved = solve_triangular(turned.root, turned.innovation, lower=True, trans=1)
    moved = told.sums - told.noise @ solved - np.concatenate([one.expected for one in taken])
    columns, first = np.zeros((moved.size, len(taken))), 0
    for number, one in enumerate(taken):
        here = slice(first, first := first + one.sums.size)
        columns[here, number] = one.cut * moved[here]
    return cho_solve((turned.root, True), columns)
