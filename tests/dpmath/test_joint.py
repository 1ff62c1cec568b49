"""How errors of cells go together: the matrix against dense ones, and what few factors of it make of areas."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from city_days import VALUE_RANGE, Textbook, a_city, a_taken, a_view, alike_in_cells, asked_of, run, values_of
from scipy.sparse import csr_array

from dpmath.estimate import errors as of_errors
from dpmath.estimate.day import Day
from dpmath.estimate.errors import errors_of, loadings_of, with_users_again
from dpmath.estimate.posterior import Estimate, solved, told_by
from dpmath.estimate.programme import programme
from dpmath.joint import loadings as of_loadings
from dpmath.joint.errors import OfFactors
from dpmath.joint.factors import Factors
from dpmath.joint.loadings import Cells, Loadings, Sizes


def solved_day(cut: float = 0.0) -> tuple[Day, Textbook, list, Estimate]:
    day, rng = a_city(), np.random.default_rng(5)
    view = a_view(day)
    taken = [a_taken(view, 9, rng, cut=cut), a_taken(view, 5, rng, cut=cut / 2)]
    return day, Textbook(view), taken, solved(view, told_by(view, taken), taken)


@pytest.mark.theorem("HV-E8", "HV-E3")
@pytest.mark.parametrize("cut", [0.0, 0.3])
def test_errors_are_those_of_the_dense_joint_gaussian(cut: float) -> None:
    day, model, taken, found = solved_day(cut)
    _, left = model.given(found.view, taken)
    off = found.joint.off
    expected = model.of_means @ left @ model.of_means.T + off @ off.T
    expected += alike_in_cells(day, found.residual_variance - found.alike_variance)
    errors, _ = errors_of(found, day)
    weights = np.eye(day.occupancy.n_cells)
    assert errors.times(weights) == pytest.approx(expected, rel=1e-6, abs=1e-8 * expected.max())
    assert errors.diagonal == pytest.approx(found.variance, rel=1e-6)
    apart = np.diag(np.diag(expected))
    assert np.abs(expected - apart).max() > 0.2 * expected.max(), "errors go together"
    cells = np.arange(60).reshape(10, 6)
    cells[3, 4:] = -1
    for block, some in zip(errors.blocks(cells), cells, strict=True):
        there = some >= 0
        assert block[np.ix_(there, there)] == pytest.approx(expected[np.ix_(some[there], some[there])], rel=1e-5)
        assert not block[~there].any()


@pytest.mark.theorem("HV-E8")
def test_what_lasts_is_the_covariance_of_what_lasts_with_the_days_values() -> None:
    """If users come again, so is what the sums leave of each user in each cell."""
    day, model, taken, found = solved_day()
    _, left = model.given(found.view, taken)
    lasts = model.of_means * (np.arange(len(model.mean)) < model.n_states)
    expected = lasts @ left @ model.of_means.T
    expected = (expected + expected.T) / 2
    _, lasting = errors_of(found, day)
    assert lasting.times(np.eye(60)) == pytest.approx(expected, abs=1e-7 * expected.max())
    of_users = left_of_users(model, found, taken)
    assert np.abs(of_users @ of_users.T).max() > 0.01 * expected.max()
    weights = np.column_stack([np.eye(60), np.random.default_rng(5).normal(size=(60, 20))])
    again = with_users_again(lasting, found.joint)(csr_array(weights))
    expected = weights.T @ (expected + of_users @ of_users.T) @ weights
    assert again == pytest.approx(np.diag(expected), abs=1e-7 * expected.max())


def left_of_users(model: Textbook, found: Estimate, taken: list) -> np.ndarray:
    """Return how much of what each user has everywhere is in the error of each cell, by dense algebra, shape (G, L)."""
    occupancy = found.view.day.occupancy
    seen, whole, _ = model.seen(found.view, taken)
    gain = np.linalg.solve(whole, seen @ model.covariance @ model.of_means.T).T
    deviation = np.sqrt(found.alike_variance)[:, None] * np.equal.outer(occupancy.user, np.arange(occupancy.n_users))
    return (model.of_means - gain @ seen)[:, -occupancy.cell.size :] @ deviation


@pytest.mark.theorem("HV-E8")
def test_errors_of_two_days_go_together_by_what_is_known_on_the_later_day() -> None:
    """In a textbook's numbers: x and x' of two days, Y known on the first, Y and Z on the later."""
    rng = np.random.default_rng(6)
    root = rng.normal(size=(9, 9))
    whole, x, later, first, both = root @ root.T, slice(0, 2), slice(2, 4), slice(4, 6), slice(4, 9)

    def error(values: slice, known: slice) -> np.ndarray:
        found = np.zeros((2, 9))
        found[:, values] = np.eye(2)
        found[:, known] -= np.linalg.solve(whole[known, known], whole[known, values]).T
        return found

    given = whole[x, later] - whole[x, both] @ np.linalg.solve(whole[both, both], whole[both, later])
    assert error(x, first) @ whole @ error(later, both).T == pytest.approx(given)


@pytest.fixture(scope="module")
def estimate() -> tuple[Day, Estimate]:
    """Return a second day of a city of 40 hexagons whose users differ from each other in all cells alike.

    Noise is drawn once: what the few factors leave out differs from draw to draw, by a third of what is allowed for it.
    """
    day, rng, state = a_city(seed=3, n_users=150, n_hexagons=40, n_slots=8), np.random.default_rng(4), None
    of_users = np.rint(rng.normal(0, 80, 150)).astype(int)[day.occupancy.user] * day.occupancy.n_records
    totals = np.clip(values_of(day) + of_users, 0, VALUE_RANGE * day.occupancy.n_records)
    for limit in (2 << 101, 1 << 98):
        found, _ = run(programme(state, asked_of(day, "l2", limit, state is None)), day, totals, rng.bytes)
        state = found.state
    return day, found


def areas(day: Day, seed: int) -> np.ndarray:
    """Return the share of each cell in 200 areas: places near each other, in some hours."""
    rng, found = np.random.default_rng(seed), []
    while len(found) < 200:
        about = ((day.position - day.position[rng.integers(len(day.position))]) ** 2).sum(axis=1)
        near = np.argsort(about)[: rng.integers(1, 25)]
        first = rng.integers(8)
        some = np.isin(day.hexagon, near) & (day.slot >= first) & (day.slot < first + rng.integers(1, 9))
        if some.any():
            found.append(some * day.occupancy.cell_records)
    weights = np.array(found, dtype=float).T
    return weights / weights.sum(axis=0)


def shares(errors: OfFactors, factors: Factors, weights: np.ndarray) -> np.ndarray:
    return np.sqrt(factors.variances(weights) / errors.variances(csr_array(weights)))


@pytest.mark.theorem("HV-E8")
def test_few_factors_give_the_deviation_of_any_area_nearly_exactly(estimate: tuple[Day, Estimate]) -> None:
    day, found = estimate
    few, weights = loadings_of(found, day), areas(day, 1)
    errors, _ = errors_of(found, day)
    share = shares(errors, few.day, weights)
    assert 0.9 < share.min() <= share.max() < 1.1
    assert np.quantile(share, 0.05) > 0.95
    assert few.day.diagonal == pytest.approx(errors.diagonal, rel=0.02)
    assert 0.85 < few.least < np.quantile(share, 0.2)
    assert share.max() - 0.1 < few.largest < 1.15
    cells = Cells(day.hexagon, day.slot, day.position, day.n_slots, day.occupancy.cell_records.astype(float))
    sizes = Sizes()
    plain = shares(
        errors, of_loadings._fitted(of_loadings._Target(errors, cells, sizes.common, sizes.own, False)), weights
    )
    assert share.min() * share.max() > plain.min() * plain.max(), "else too sure more than too unsure"
    _, lasting = errors_of(found, day)
    both = with_users_again(lasting, found.joint), lasting.variances
    more, less = (one(csr_array(weights)) for one in both)
    assert few.again == pytest.approx(np.median(more / less), rel=0.1)
    assert few.again > 1.08, "1.25 with a deviation of 0.03"
    apart = np.sqrt((errors.diagonal[:, None] * weights**2).sum(axis=0) / errors.variances(csr_array(weights)))
    assert np.quantile(apart, 0.1) < 0.85, "cells taken as independent are too sure of areas"


@pytest.mark.theorem("HV-E8")
def test_users_who_come_again_count_as_in_the_city_or_in_the_median_of_areas_if_that_is_more() -> None:
    """Each cell has a variance of its own of 1; if users come again, all have something in common, or go apart."""
    cells = Cells(np.repeat(np.arange(12), 6), np.tile(np.arange(6), 12), np.eye(12), 6, np.ones(72))
    nothing, ones = np.zeros((72, 0)), np.ones((72, 1))

    def errors(alone: float, common: float = 0.0, against: float = 0.0) -> OfFactors:
        adds, lowers = np.sqrt(common) * ones, np.sqrt(against) * ones
        factors = Factors(cells.hexagon, cells.slot, adds, lowers, nothing, nothing, np.full(72, alone))
        return OfFactors(factors, csr_array((72, 1)))

    of_city = of_loadings.loadings(errors(2), errors(1), cells, errors(1, common=1 / 72).variances).again
    assert of_city == pytest.approx(1 + 1), "less in any part of the city"
    of_areas = of_loadings.loadings(errors(2), errors(1), cells, errors(4, against=3 / 72).variances).again
    assert 3 < of_areas < 4, "in the city 1"
    assert of_loadings.loadings(errors(2), errors(1), cells, errors(0.5).variances).again == 1


@pytest.mark.theorem("HV-E8")
def test_fewer_factors_give_more_than_the_stated_error(
    estimate: tuple[Day, Estimate], monkeypatch: pytest.MonkeyPatch
) -> None:
    day, found = estimate
    usual = loadings_of(found, day).least
    monkeypatch.setattr(of_errors, "loadings", partial(of_loadings.loadings, sizes=Sizes(common=0, own=1)))
    assert loadings_of(found, day).least < usual - 0.03


@pytest.mark.theorem("HV-E8")
def test_factors_of_a_dense_covariance_are_found_and_may_go_against_each_other() -> None:
    """The sum of a place's cells is known, so its cells go against each other."""
    rng, n_cells = np.random.default_rng(7), 48
    hexagon, slot = np.arange(n_cells) // 6, np.arange(n_cells) % 6
    factors = Factors(
        hexagon,
        slot,
        common=rng.normal(size=(n_cells, 3)),
        against=0.2 * rng.normal(size=(n_cells, 1)),
        of_hexagon=rng.normal(size=(n_cells, 2)),
        of_slot=rng.normal(size=(n_cells, 1)),
        alone=rng.uniform(1, 2, n_cells),
    )
    dense = factors.times(np.eye(n_cells))
    expected = (factors.common @ factors.common.T - factors.against @ factors.against.T) + np.diag(factors.alone)
    expected += np.equal.outer(hexagon, hexagon) * (factors.of_hexagon @ factors.of_hexagon.T)
    expected += np.equal.outer(slot, slot) * (factors.of_slot @ factors.of_slot.T)
    assert dense == pytest.approx(expected)
    assert factors.diagonal == pytest.approx(np.diag(dense))
    cells = np.arange(n_cells).reshape(8, 6)
    assert factors.blocks(cells) == pytest.approx(np.array([dense[np.ix_(one, one)] for one in cells]))
    weights = rng.normal(size=(n_cells, 5))
    assert factors.variances(weights) == pytest.approx(np.diag(weights.T @ dense @ weights).clip(0))


def test_a_day_of_one_cell_has_factors() -> None:
    day = a_city(n_users=4, n_hexagons=1, n_slots=1)
    found = run(programme(None, asked_of(day, "l2", 1 << 99, first=True)), day, values_of(day))[0]
    few = loadings_of(found, day)
    assert isinstance(few, Loadings)
    assert few.day.diagonal == pytest.approx(found.variance, rel=1e-6)
    assert (few.least, few.largest) == pytest.approx((1, 1), rel=1e-6)
    assert replace(few.day, alone=0 * few.day.alone).diagonal[0] >= 0
