"""The estimate of a day and the next state from noisy sums: one linear-Gaussian solve. All of it is post-processing."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import solve_triangular

from dpmath.estimate.day import FloatArray
from dpmath.estimate.likelihood import Ladders, Parts, error_of, error_of_days, likeliest, unsure_of
from dpmath.estimate.products import product
from dpmath.estimate.rows import Rows
from dpmath.estimate.state import POINTS, State
from dpmath.estimate.view import View

_LEAST_VARIANCE = 1e-8
"""Of the city's mean, in squared points: with less, rounding would pass for what it tells."""


@dataclass(frozen=True)
class Design:
    """What is measured, as far as the estimate needs it.

    Attributes:
        loading: Loading of each stratum in each query, shape (R, Q).
        weight: Weight of each pair: a user's vector is the sum over pairs of weight (value - expected) loading, in
            radii of the ball if values are in points, shape (P,).
        length: How long vectors are expected to be before they are scaled down, in radii of the user's ball.
        part: Which part a component is expected to have in the square of the length, or in it for l1.
    """

    loading: FloatArray
    weight: FloatArray
    length: float = 0.0
    part: float = 0.0


@dataclass(frozen=True)
class Joint:
    """How the errors of cells go together: what the variance of a mean of several cells is made from.

    Attributes:
        rows: The functions' values at the cells.
        covariance: Covariance of the coefficients before the day, shape (S, S).
        added: What the day and the factors add to their variances, shape (S,).
        of_cells: Variance of what is each cell's own, shape (G,).
        residual: How much of each cell's variance is that of the pairs' residuals, before the check, shape (G,).
        known: Covariance of each cell with the sums, which are turned so that they are independent, shape (Q, G).
        misfit: What the rest of the variance is multiplied by.
        moved: How far the sums moved each cell's mean, shape (G,).
        cut: By which part of that it may be off, for what the balls cut off.
    """

    rows: Rows
    covariance: FloatArray
    added: FloatArray
    of_cells: FloatArray
    residual: FloatArray
    known: FloatArray
    misfit: float
    moved: FloatArray
    cut: float


@dataclass(frozen=True)
class Estimate:
    """The cells' means as estimated, and what the day tells of the days to come.

    Attributes:
        mean: Estimated mean of each cell's values, in points, shape (G,).
        variance: Its variance, shape (G,).
        variance_before: The same before the day's sums were known, shape (G,).
        expected: What was expected before, in points, shape (G,).
        state: The state after the day.
        residual_factor: What residual variances of the day were multiplied by.
        residual_variance: Variance of each pair's residual, shape (P,).
        residual_part: How much of the variance is that of the pairs' residuals, shape (G,).
        joint: How the errors of cells go together.
    """

    mean: FloatArray
    variance: FloatArray
    variance_before: FloatArray
    expected: FloatArray
    state: State
    residual_factor: float
    residual_variance: FloatArray
    residual_part: FloatArray
    joint: Joint


def estimated(view: View, design: Design, sums: FloatArray, noise: float, cut: float, chosen: Ladders) -> Estimate:
    """Return the estimate from noisy sums.

    Scales are chosen by the penalised likelihood of the sums: how much the day differs, how much pairs differ, and on
    the first day how much everything may vary.

    Args:
        view: The day as it was expected.
        design: What was measured, its loadings times the shares that the balls keep.
        sums: The noisy sums, in radii of the ball, shape (Q,).
        noise: Standard deviation of their noise, in radii.
        cut: By which part of what the sums move a mean that may be off, for what the balls cut off.
        chosen: Which variances may be multiplied by a factor, and by which.

    Source:
        HV-E3.
    """
    state, strata, loading = view.state, view.strata.weighed(design.weight), design.loading
    total = loading * strata.pair_sums(design.weight)[:, None]
    spread = strata.pair_sums(design.weight**2 * view.residual_variance)
    seen = strata.transposed_times(total, state.n_hexagons)  # (S, Q)
    n_common = state.basis.n_common
    common = np.arange(seen.shape[0]) < n_common
    lasting, prior = state.covariance_with(seen), state.lasting
    of_cells = strata.cell_sums(total)
    of_cells_alone = (of_cells * view.cell_variance[:, None]).T @ of_cells
    lasting_own = lasting[n_common:] - product(state.covariance[n_common:, :n_common], seen[:n_common])
    parts = Parts(
        before=seen.T @ lasting,
        own_before=seen[n_common:].T @ lasting_own,
        of_city=seen.T @ ((prior * common)[:, None] * seen),
        own=seen.T @ ((prior * ~common)[:, None] * seen) + of_cells_alone,
        of_cells=of_cells_alone,
        day=seen.T @ (state.of_the_day[:, None] * seen),
        residual=(loading * spread[:, None]).T @ loading,
        of_mean=np.outer(lasting[0], lasting[0]) / max(state.covariance[0, 0], _LEAST_VARIANCE),
        noise=noise,
    )
    factors = likeliest(parts, sums, chosen)
    unsure = unsure_of(parts, sums, factors, chosen["own"]) if "own" in chosen else 1.0
    added = prior * np.where(common, factors["city"] - 1, factors["own"] - 1)
    found = _solved(
        view, design, parts.root(factors), sums, cut, factors, unsure, lasting + added[:, None] * seen, added, seen
    )
    whole = parts.varying(factors) + parts.rest(factors)
    # Days that are alike would lower the scale: what days differ by counts on the first day, and once it falls no more.
    of_scale = factors if not state.n_days or state.scale_is_known else {**factors, "day": 0.0}
    errors = {"scale_error": error_of(parts.varying(of_scale), whole, sums, state.scale_error)}
    if "own" not in chosen:
        errors["day_error"] = error_of_days(parts, sums, factors, state.day_error)
        errors["own_error"] = error_of(parts.varying_by_place, whole, sums, state.own_error)
    return replace(found, state=replace(found.state, **errors))


def _solved(
    view: View,
    design: Design,
    root: FloatArray,
    sums: FloatArray,
    cut: float,
    factors: dict[str, float],
    unsure: float,
    lasting: FloatArray,
    added: FloatArray,
    seen: FloatArray,
) -> Estimate:
    """Return the estimate with factors that were chosen.

    Args:
        view: The day as it was expected.
        design: What was measured.
        root: Lower Cholesky root of the covariance of the sums.
        sums: The noisy sums.
        cut: By which part of what the sums move a mean that may be off.
        factors: What each group of variances is multiplied by.
        unsure: How much larger than chosen the variances of places may well be.
        lasting: Covariance of the coefficients with the sums, shape (S, Q).
        added: What the factors add to the coefficients' variances, shape (S,).
        seen: How the sums depend on the coefficients, shape (S, Q).
    """
    state, rows, occupancy = view.state, view.rows, view.day.occupancy
    n_cells, residual = occupancy.n_cells, factors["residual"] * view.residual_variance
    alone = np.bincount(occupancy.cell, view.share_of_cell**2 * residual, n_cells).astype(float)
    of_cells = factors["own"] * view.cell_variance
    of_the_day = factors["day"] * state.of_the_day
    told = solve_triangular(root, sums, lower=True)

    strata, loading = view.strata, design.loading
    shared = strata.pair_sums(design.weight * view.share_of_cell * residual)
    total = strata.pair_sums(design.weight)
    covariance = rows.times(lasting + of_the_day[:, None] * seen)
    covariance += strata.cell_sums(loading * (shared + of_cells[strata.cell] * total)[:, None])
    known = solve_triangular(root, covariance.T, lower=True)
    before = view.lasting_variance + rows.diagonal_variances(added + of_the_day) + of_cells + alone
    gain = solve_triangular(root, lasting.T, lower=True)
    moved = known.T @ told
    misfit = unsure * max(1.0, float(told @ told) / max(told.size, 1))
    after = gain.T @ gain
    np.subtract(state.covariance, after, out=after)  # in place: it is a day's largest array
    after[np.diag_indices_from(after)] += added
    of_city, own = state.prior_factors
    return Estimate(
        mean=np.clip(view.expected + moved, 0.0, POINTS),
        variance=honest(before - (known**2).sum(axis=0), alone, misfit, moved, cut),
        variance_before=honest(before, alone, misfit, np.zeros_like(moved), cut),
        expected=view.expected,
        state=replace(
            state,
            mean=state.mean + gain.T @ told,
            covariance=after,
            prior_factors=(of_city * factors["city"], own * factors["own"]),
        ),
        residual_factor=factors["residual"],
        residual_variance=residual,
        residual_part=alone,
        joint=Joint(rows, state.covariance, added + of_the_day, of_cells, alone, known, misfit, moved, cut),
    )


def honest(variance: FloatArray, residual: FloatArray, misfit: float, moved: FloatArray, cut: float) -> FloatArray:
    """Return variances that count what the model leaves out.

    Args:
        variance: Variance by the model, shape (n,).
        residual: How much of it is that of the pairs' residuals, shape (n,).
        misfit: What the rest is multiplied by: a day may be unlike all others.
        moved: How far the day's sums moved each mean, of which the balls cut a part off, shape (n,).
        cut: By which part of that it may be off.

    Source:
        HV-E3.
    """
    cut_off = (cut * moved) ** 2
    return (residual + np.maximum(variance - residual, 1e-12) * misfit + cut_off).astype(np.float64)
