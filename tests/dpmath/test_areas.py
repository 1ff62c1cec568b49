"""The means of larger areas: their variances against dense matrices, and which of them a cell gets."""

import os
from dataclasses import replace

import numpy as np
import pytest

from dpmath.core.occupancy import Occupancy
from dpmath.estimate.areas import (
    AREAS,
    HALF_WIDTH,
    Areas,
    added_by_alike,
    area_numbers,
    area_variances,
    areas_of_cells,
    averages,
)
from dpmath.estimate.asking import ask
from dpmath.estimate.basis import fit_basis
from dpmath.estimate.charges import charges, reach_of
from dpmath.estimate.covariates import covariates
from dpmath.estimate.day import Day
from dpmath.estimate.likelihood import NOTHING, ON_FIRST_DAY, Ladders
from dpmath.estimate.posterior import Design, Estimate, estimated
from dpmath.estimate.programme import Asked, programme
from dpmath.estimate.questions import PrivateDay
from dpmath.estimate.state import first_state
from dpmath.estimate.view import View

N_HEXAGONS, N_SLOTS, N_USERS, N_QUERIES = 6, 12, 25, 10
PARENT = np.array([1, 0, 0, 1, 1, 2])


def a_day(seed: int = 0) -> Day:
    """Return a day on which some cells have nobody, so that areas are of different sizes."""
    rng = np.random.default_rng(seed)
    places = np.sort(rng.choice(N_HEXAGONS * N_SLOTS, 50, replace=False))
    is_there = rng.random((50, N_USERS)) < 0.15
    is_there[np.arange(50), np.arange(50) % N_USERS] = True  # every cell has somebody
    cell, user = np.nonzero(is_there)
    number = np.arange(N_HEXAGONS)
    return Day(
        Occupancy(cell, user, rng.integers(1, 7, cell.size), 50, N_USERS),
        hexagon=places // N_SLOTS,
        slot=places % N_SLOTS,
        names=100 + number,
        position=np.column_stack([number % 3, number // 3, 0 * number]).astype(float),
        spacing=1.0,
        n_slots=N_SLOTS,
    )


def a_view(day: Day, seed: int = 1) -> View:
    """Return a day seen from a state whose coefficients go together, and whose cells have parts of their own."""
    rng = np.random.default_rng(seed)
    basis = fit_basis(day, covariates(day, True))
    short = replace(basis, courses=basis.courses[:, :4], left_out=basis.courses[:, 4:])
    state = first_state(day, short, 50.0, 4.0, 9.0, 0.3)
    mixed = rng.normal(size=(state.mean.size, 15)) * np.sqrt(state.lasting)[:, None]
    covariance = np.diag(state.lasting) / 2 + mixed @ mixed.T / 15
    return View.of(day, replace(state, covariance=covariance), covariates(day, True))


def a_design(day: Day, seed: int = 2) -> Design:
    rng = np.random.default_rng(seed)
    loading = rng.normal(size=(a_view(day).strata.cell.size, N_QUERIES))
    return Design(loading, rng.uniform(0, 0.02, day.occupancy.cell.size))


class Dense:
    """The cells' means and the sums as linear functions of independent pairs' residuals, cells' parts and coefficients.

    Written out with all zeros, from the view alone.
    """

    def __init__(self, view: View, design: Design, factors: dict[str, float]) -> None:
        occupancy, state = view.day.occupancy, view.state
        n_cells, n_pairs, n_common, n_own = occupancy.n_cells, occupancy.cell.size, *(
            one.shape[1] for one in (view.rows.common, view.rows.own)
        )  # fmt: skip
        values = np.zeros((n_cells, state.mean.size))
        values[:, :n_common] = view.rows.common
        for cell, hexagon in enumerate(view.rows.hexagon):
            values[cell, n_common + hexagon * n_own :][:n_own] = view.rows.own[cell]
        is_of = np.zeros((n_pairs, n_cells))
        is_of[np.arange(n_pairs), occupancy.cell] = 1
        of_states, row = is_of @ values, view.strata.of_pair
        of_states[:, state.basis.of_stay] = view.strata.of_pairs
        of_pairs = np.column_stack([of_states, of_states, is_of, np.eye(n_pairs)])
        of_coefficients = state.covariance + np.diag(
            state.lasting * np.where(np.arange(state.mean.size) < n_common, factors["city"], factors["own"])
            - state.lasting
        )
        alone = np.concatenate(
            [state.of_the_day, factors["own"] * view.cell_variance, factors["residual"] * view.residual_variance]
        )
        self.covariance = np.zeros((of_pairs.shape[1], of_pairs.shape[1]))
        self.covariance[: len(of_coefficients), : len(of_coefficients)] = of_coefficients
        self.covariance[len(of_coefficients) :, len(of_coefficients) :] = np.diag(alone)
        self.cells = (is_of * occupancy.n_records[:, None]).T @ of_pairs / occupancy.cell_records[:, None]
        self.sums = (design.weight[:, None] * design.loading[row]).T @ of_pairs
        self.residuals = np.zeros_like(self.cells)
        self.residuals[:, -n_pairs:] = self.cells[:, -n_pairs:]

    def variances(self, functions: np.ndarray) -> np.ndarray:
        return np.diag(functions @ self.covariance @ functions.T)


def shares_of(area: np.ndarray, records: np.ndarray) -> np.ndarray:
    """Return the share of each cell in the area of each cell, shape (G, G)."""
    weight = (area[:, None] == area) * records
    return weight / weight.sum(axis=1, keepdims=True)


def expected_variances(
    dense: Dense, share: np.ndarray, sums: np.ndarray, noise: float, cut: float, part: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the variance of means of cells after and before sums, widened as the estimate's are, in dense matrices."""
    seen = dense.sums
    whole = seen @ dense.covariance @ seen.T + noise**2 * np.eye(len(seen))
    gain = np.linalg.solve(whole, seen @ dense.covariance)
    left = dense.covariance - dense.covariance @ seen.T @ gain
    of_areas = share @ dense.cells
    before, residual = dense.variances(of_areas), dense.variances(share @ dense.residuals)
    after = np.diag(of_areas @ left @ of_areas.T)
    misfit = max(1.0, float(sums @ np.linalg.solve(whole, sums)) / sums.size)
    cut_off = cut * (of_areas @ gain.T @ sums)
    widened = np.maximum(after - residual, 1e-12) * misfit + cut_off**2 + share**2 @ part
    return widened, (before - residual) * misfit + share**2 @ part


def alike_in_dense(day: Day, residual_variance: np.ndarray, number: np.ndarray) -> np.ndarray:
    """Return what residuals of one user add to each area if each two of them have a correlation of 0.2."""
    occupancy = day.occupancy
    deviation = np.sqrt(residual_variance)
    covariance = 0.2 * np.outer(deviation, deviation) * np.equal.outer(occupancy.user, occupancy.user)
    np.fill_diagonal(covariance, 0)
    share = (number[:, None] == number[occupancy.cell]) * occupancy.n_records
    share = share / share.sum(axis=1, keepdims=True)
    return np.diag(share @ covariance @ share.T)


@pytest.mark.theorem("HV-E3")
@pytest.mark.parametrize("cut", [0.0, 0.3])
@pytest.mark.parametrize("chosen", [NOTHING, ON_FIRST_DAY])
@pytest.mark.parametrize("kind", [1, 2, 3])
def test_the_variance_of_an_area_is_that_of_the_dense_joint_gaussian(cut: float, chosen: Ladders, kind: int) -> None:
    day, rng, noise = a_day(), np.random.default_rng(3), 0.3
    view, design, sums = a_view(day), a_design(day), rng.normal(size=N_QUERIES) * 4
    found = estimated(view, design, sums, noise, cut, chosen)
    part = found.residual_part * rng.uniform(0.5, 2, 50)  # as after the check
    checked = replace(
        found,
        variance=found.variance - found.residual_part + part,
        variance_before=found.variance_before - found.residual_part + part,
        residual_part=part,
    )
    city, own = found.state.prior_factors
    assert (city * own > 1) == bool(chosen)
    dense = Dense(view, design, {"city": city, "own": own, "residual": found.residual_factor})
    areas = areas_of_cells(checked, day, PARENT)
    share = shares_of(areas.number[kind], day.occupancy.cell_records)
    after, before = expected_variances(dense, share, sums, noise, cut, part)
    alike = alike_in_dense(day, found.residual_variance, areas.number[kind])
    after, before = after + alike, before + alike
    assert areas.variance[kind] == pytest.approx(after, rel=1e-9)
    assert areas.variance_before[kind] == pytest.approx(before, rel=1e-9)
    assert areas.mean[kind] == pytest.approx(share @ found.mean)
    independent = share**2 @ checked.variance
    assert (areas.variance[kind] / independent).max() > 1.1, "the errors of cells go together"


def an_estimate(day: Day) -> Estimate:
    """Return the estimate of a first day, with all its questions."""
    rng, occupancy, limit = np.random.default_rng(4), day.occupancy, 20 << 101
    radius = reach_of(None, limit, N_USERS, "l2")
    asked = Asked(day, 1000, radius, {one.name: one for one in charges(True, limit, "l2")}, "l2")
    totals = rng.integers(200, 600, occupancy.cell.size) * occupancy.n_records
    return ask(programme(None, asked), PrivateDay(occupancy, totals, 0 * totals), os.urandom)[0]


@pytest.mark.theorem("HV-E3", "HV-E4")
def test_an_area_of_one_cell_has_the_cells_own_value_and_variance() -> None:
    day = a_day()
    estimate, cells = an_estimate(day), np.arange(50)
    after, before = area_variances(estimate, day.occupancy.cell_records, cells, PARENT[day.hexagon])
    assert after == pytest.approx(estimate.variance, rel=1e-9)
    assert before == pytest.approx(estimate.variance_before, rel=1e-9)
    alone = areas_of_cells(estimate, day, None)
    assert (alone.mean[0] == estimate.mean).all()
    assert (alone.chosen(np.inf) == 0).all()
    areas = areas_of_cells(estimate, day, PARENT)
    assert (areas.mean[0] == estimate.mean).all()
    for number, mean, width in zip(areas.number[1:], areas.mean[1:], areas.widths[1:], strict=True):
        single = np.bincount(number)[number] == 1
        assert single.any()
        assert mean[single] == pytest.approx(estimate.mean[single])
        assert np.isinf(width[single]).all(), "a cell alone in its area has no larger one to choose"
        assert np.isfinite(width[~single]).all()


@pytest.mark.theorem("HV-E3")
def test_areas_do_not_depend_on_which_regions_are_taken_together() -> None:
    day = a_day()
    estimate, records = an_estimate(day), day.occupancy.cell_records
    areas = areas_of_cells(estimate, day, PARENT)
    for kind in (1, 2, 3):
        at_once = area_variances(estimate, records, areas.number[kind], np.zeros(50, dtype=np.int64))
        at_once += added_by_alike(day.occupancy, estimate.residual_variance, areas.number[kind])
        assert at_once == pytest.approx(np.stack([areas.variance[kind], areas.variance_before[kind]]), rel=1e-9)


@pytest.mark.theorem("HV-E3")
def test_users_of_one_cell_of_an_area_are_not_alike_with_themselves() -> None:
    """Nothing is added where each user has one cell; where a user has all records of two cells, both add up."""
    occupancy = Occupancy(np.array([0, 1, 2, 3]), np.array([0, 1, 2, 2]), np.array([3, 1, 2, 2]), 4, 3)
    added = added_by_alike(occupancy, np.array([4.0, 9.0, 1.0, 25.0]), np.array([0, 0, 1, 1]))
    assert added == pytest.approx([0, 0, 0.2 * 2 * 0.25 * 1 * 5, 0.2 * 2 * 0.25 * 1 * 5])


@pytest.mark.theorem("HV-E3")
def test_areas_are_the_hexagons_four_hours_and_its_parent() -> None:
    hexagon, slot = np.array([0, 0, 0, 1, 2, 3]), np.array([7, 8, 11, 8, 8, 9])
    number = area_numbers(hexagon, slot, 24, np.array([0, 0, 1, 0]))
    together = [{tuple(np.flatnonzero(one == a)) for a in one} for one in number]
    assert together == [
        {(0,), (1,), (2,), (3,), (4,), (5,)},
        {(0,), (1, 2), (3,), (4,), (5,)},
        {(0,), (1, 3), (2,), (4,), (5,)},
        {(0,), (1, 2, 3, 5), (4,)},
    ]
    assert len(number) == len(AREAS)
    means = averages(number, np.array([1, 1, 3, 1, 1, 1]), np.array([1.0, 2.0, 6.0, 4.0, 5.0, 6.0]))
    assert means[:, 1].tolist() == [2.0, 5.0, 3.0, (2 + 18 + 4 + 6) / 6]


@pytest.mark.theorem("HV-E3")
@pytest.mark.statistical
def test_intervals_of_areas_hold_as_often_as_they_say() -> None:
    """All is drawn from the model, and one area of each of 400 draws counts: fails by chance once in 1e7 runs."""
    day, rng, noise, held = a_day(), np.random.default_rng(), 0.3, 0
    view, design = a_view(day), a_design(day)
    dense = Dense(view, design, dict.fromkeys(("city", "own", "residual"), 1.0))
    numbers = area_numbers(day.hexagon, day.slot, N_SLOTS, PARENT)
    root = np.linalg.cholesky(dense.covariance + 1e-12 * np.eye(len(dense.covariance)))
    for _ in range(400):
        drawn = root @ rng.normal(size=len(root))
        sums = dense.sums @ drawn + noise * rng.normal(size=N_QUERIES)
        found, number = estimated(view, design, sums, noise, 0.0, NOTHING), numbers[rng.integers(1, 4)]
        cell, records = rng.integers(50), day.occupancy.cell_records
        variance = area_variances(found, records, number, PARENT[day.hexagon])[0, cell]
        share = shares_of(number, records)[cell]
        error = share @ (view.expected + dense.cells @ drawn - found.mean)
        held += abs(error) <= HALF_WIDTH * np.sqrt(variance)
    assert held > 352


def with_widths(widths: np.ndarray) -> Areas:
    """Return areas with these widths; all hold several cells."""
    number = np.stack([np.arange(widths.shape[1]), *np.zeros((len(widths) - 1, widths.shape[1]), dtype=np.int64)])
    return Areas(number, np.ones(widths.shape[1], dtype=np.int64), widths, (widths / HALF_WIDTH) ** 2, widths)


@pytest.mark.theorem("HV-E3")
def test_a_cell_gets_the_first_area_that_meets_the_target_or_the_narrowest() -> None:
    widths = np.array(
        [[4.0, 9.0, 9.0, 9.0, 6.0], [1.0, 4.0, 8.0, 7.0, 9.0], [1.0, 1.0, 4.0, 6.0, 9.0], [1, 1, 1, 8, 9]]
    )
    assert with_widths(widths).chosen(5.0).tolist() == [0, 1, 2, 2, 0]


@pytest.mark.theorem("HV-E3")
def test_a_choice_is_allowed_exactly_if_widths_within_the_slack_give_it() -> None:
    rng, slack = np.random.default_rng(5), 0.01
    widths = rng.choice([3.0, 4.995, 5.0, 5.005, 5.006, 7.0, 7.01, 9.0], size=(4, 5000))
    areas = with_widths(widths)
    assert areas.allowed(areas.chosen(5.0), 5.0, 1e-9).all()
    possible = np.zeros(widths.shape, dtype=bool)
    for _ in range(200):
        nudged = with_widths(widths + rng.choice([-0.0099, 0.0, 0.0099], size=widths.shape)).chosen(5.0)
        assert areas.allowed(nudged, 5.0, slack).all()
        possible[nudged, np.arange(5000)] = True
    for kind in range(4):
        allowed = areas.allowed(np.full(5000, kind), 5.0, slack)
        assert (allowed == possible[kind]).mean() > 0.99, "what no such widths give is not allowed"
    assert 0.2 < possible.mean() < 0.6
