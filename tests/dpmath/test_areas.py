"""The means of larger areas: their variances against dense matrices, and which of them a cell gets."""

import os
from dataclasses import replace

import numpy as np
import pytest
from city_days import Textbook, a_told, scales_of

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
from dpmath.estimate.asked import Asked
from dpmath.estimate.asking import ask
from dpmath.estimate.basis import fit_basis
from dpmath.estimate.charges import charges, reach_of
from dpmath.estimate.covariates import covariates
from dpmath.estimate.day import Day
from dpmath.estimate.posterior import Estimate, solved, told_by
from dpmath.estimate.programme import programme
from dpmath.estimate.questions import PrivateDay
from dpmath.estimate.scales import NAMES
from dpmath.estimate.state import first_state
from dpmath.estimate.taken import Design, Taken
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
    known = (a_told(state.mean.size, 15, rng),)
    scales = scales_of(rng.normal(size=len(NAMES)) * 0.2)
    return View.of(day, replace(state, told=known, scales=scales), covariates(day, True))


def a_design(view: View, n_queries: int, seed: int = 2) -> Design:
    rng = np.random.default_rng(seed)
    loading = rng.normal(size=(view.strata.cell.size, n_queries))
    return Design(loading, rng.uniform(0, 0.02, view.day.occupancy.cell.size))


def taken_of(view: View, noise: float, cut: float = 0.0) -> list[Taken]:
    """Return two measurements of the day, whose pairs are the same."""
    rng, sizes = np.random.default_rng(3), (N_QUERIES, 4)
    return [
        Taken(a_design(view, size, seed), rng.normal(size=size) * 4, noise * seed, rng.normal(size=size), cut / seed)
        for seed, size in enumerate(sizes, start=1)
    ]


def shares_of(area: np.ndarray, records: np.ndarray) -> np.ndarray:
    """Return the share of each cell in the area of each cell, shape (G, G)."""
    weight = (area[:, None] == area) * records
    return weight / weight.sum(axis=1, keepdims=True)


def expected_variances(
    view: View, share: np.ndarray, taken: list[Taken], before_check: np.ndarray, part: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the variance of means of cells after and before sums, in dense matrices, and for what balls cut off.

    Args:
        view: The day.
        share: The share of each cell in each mean.
        taken: The sums.
        before_check: Variance of each cell by residuals.
        part: The same as it is after the check.
    """
    model = Textbook(view)
    seen, whole, sums = model.seen(view, taken)
    _, left = model.given(view, taken)
    of_areas, residual = share @ model.of_means, share**2 @ before_check
    before = np.diag(of_areas @ model.covariance @ of_areas.T)
    after = np.diag(of_areas @ left @ of_areas.T)
    solved_sums = np.linalg.solve(whole, sums - seen @ model.mean)
    noise = np.concatenate([np.full(one.sums.size, one.noise**2) for one in taken])
    moved = sums - noise * solved_sums - np.concatenate([one.expected for one in taken])
    gain, cut_off = of_areas @ model.covariance @ seen.T @ np.linalg.inv(whole), np.zeros(len(share))
    number = np.repeat(np.arange(len(taken)), [one.sums.size for one in taken])
    for place, one in enumerate(taken):
        cut_off += (one.cut * (gain @ (moved * (number == place)))) ** 2
    widened = np.maximum(after - residual, 1e-12) + cut_off
    return widened + share**2 @ part, before - residual + share**2 @ part


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
@pytest.mark.parametrize("kind", [1, 2, 3])
@pytest.mark.parametrize("all_known", [True, False])
def test_the_variance_of_an_area_is_that_of_the_dense_joint_gaussian(cut: float, kind: int, all_known: bool) -> None:
    day, rng = a_day(), np.random.default_rng(3)
    view = a_view(day) if all_known else without_some(a_view(day))
    taken = taken_of(view, 0.3, cut)
    found = solved(view, told_by(view, taken), taken)
    part = found.residual_part * rng.uniform(0.5, 2, 50)  # as after the check
    checked = replace(
        found,
        variance=found.variance - found.residual_part + part,
        variance_before=found.variance_before - found.residual_part + part,
        residual_part=part,
    )
    areas = areas_of_cells(checked, day, PARENT)
    share = shares_of(areas.number[kind], day.occupancy.cell_records)
    after, before = expected_variances(view, share, taken, found.residual_part, part)
    alike = alike_in_dense(day, found.residual_variance - found.alike_variance, areas.number[kind])
    after, before = after + alike, before + alike
    assert areas.variance[kind] == pytest.approx(after, rel=1e-8)
    assert areas.variance_before[kind] == pytest.approx(before, rel=1e-8)
    assert areas.mean[kind] == pytest.approx(share @ found.mean)
    independent = share**2 @ checked.variance
    assert (areas.variance[kind] / independent).max() > 1.1, "the errors of cells go together"


def without_some(view: View) -> View:
    """Return the same day seen from a state that has no coefficients for the last two of its hexagons."""
    state = view.state
    n_states = state.basis.n_common + (N_HEXAGONS - 2) * state.basis.n_own
    told = tuple(replace(one, seen=one.seen[:n_states]) for one in state.told)
    fewer = replace(state, names=state.names[:-2], remote=state.remote[:-2], told=told)
    return View.of(view.day, fewer, covariates(view.day, True))


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
        apart = estimate.residual_variance - estimate.alike_variance
        at_once += added_by_alike(day.occupancy, apart, areas.number[kind])
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
    day, rng, held = a_day(), np.random.default_rng(), 0
    view = a_view(day)
    taken, model = taken_of(view, 0.3), Textbook(view)
    seen, whole, _ = model.seen(view, taken)
    noise = np.sqrt(np.diag(whole - seen @ model.covariance @ seen.T))
    numbers = area_numbers(day.hexagon, day.slot, N_SLOTS, PARENT)
    root = np.linalg.cholesky(model.covariance + 1e-12 * np.eye(len(model.covariance)))
    told = told_by(view, taken)
    for _ in range(400):
        drawn = model.mean + root @ rng.normal(size=len(root))
        sums = seen @ drawn + noise * rng.normal(size=noise.size)
        found, number = solved(view, replace(told, sums=sums), taken), numbers[rng.integers(1, 4)]
        cell, records = rng.integers(50), day.occupancy.cell_records
        variance = area_variances(found, records, number, PARENT[day.hexagon])[0, cell]
        share = shares_of(number, records)[cell]
        error = share @ (view.state.centre + model.of_means @ drawn - found.mean)
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
