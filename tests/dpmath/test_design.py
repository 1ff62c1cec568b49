"""What is measured of a day, against dense and general solvers."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from city_days import (
    NORMS,
    a_city,
    a_short_view,
    a_view,
    dense,
    expected_error,
    lengths_by_model,
    mean_lengths_l1,
    rows_of,
    silent,
    stays,
    users_of_pairs,
)
from scipy.optimize import minimize
from scipy.stats import ortho_group

from dpmath.core.occupancy import Occupancy
from dpmath.estimate import shrinkage
from dpmath.estimate.day import Day
from dpmath.estimate.design import RADIUS, as_measured, design, lengthened, whole_numbers
from dpmath.estimate.directions import N_DIRECTIONS, Directions, directions
from dpmath.estimate.measurement import LARGEST_RADIUS, Norm
from dpmath.estimate.posterior import solved
from dpmath.estimate.sharing import shared_l1, shared_l2
from dpmath.estimate.taken import Design
from dpmath.estimate.view import View


def together(view: View) -> np.ndarray:
    """Return the covariance of the strata's sums, each over the deviation that residuals give to it."""
    occupancy, row = view.day.occupancy, rows_of(view.day)
    first = np.unique(row, return_index=True)[1]  # a pair of each stratum
    strata = dense(view.rows, view.state.n_hexagons)[occupancy.cell[first]]
    for column, stay in enumerate(stays(view.day).T, start=view.state.basis.of_stay.start):
        of_records = np.bincount(row, occupancy.n_records * stay) / np.bincount(row, occupancy.n_records)
        strata[:, column] = of_records
    same_cell = np.equal.outer(occupancy.cell[first], occupancy.cell[first])
    own = same_cell * view.cell_variance[occupancy.cell[first]]
    root = np.bincount(row, occupancy.n_records) / energy_of(view)
    return (strata @ view.today.block(slice(None)) @ strata.T + own) * np.outer(root, root)


def eigen(view: View) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return variance, gain and values of the independent directions by a dense eigendecomposition."""
    occupancy, row = view.day.occupancy, rows_of(view.day)
    variance, vectors = np.linalg.eigh(together(view))
    variance, vectors = np.maximum(variance[::-1], 1e-12), vectors[:, ::-1]
    root, n_records = np.bincount(row, occupancy.n_records) / energy_of(view), np.bincount(row, occupancy.n_records)
    of_strata = (together(view) @ vectors) / root[:, None] / np.sqrt(variance)
    share = np.zeros((occupancy.n_cells, n_records.size))  # the mean of a cell is that of its strata over records
    share[occupancy.cell, row] = n_records[row] / occupancy.cell_records[occupancy.cell]
    return variance, occupancy.cell_records @ (share @ of_strata) ** 2, vectors / energy_of(view)[:, None]


def values_of(found: Directions) -> np.ndarray:
    return found.loading(np.ones(found.variance.size))


def energy_of(view: View) -> np.ndarray:
    """Return the deviation that residuals give to the sum of each stratum's records."""
    n_records = view.day.occupancy.n_records
    return np.sqrt(np.bincount(rows_of(view.day), n_records**2 * view.residual_variance))


@pytest.mark.theorem("HV-E2")
@pytest.mark.parametrize("make", [a_view, a_short_view])
@pytest.mark.parametrize("n_slots", [6, 32])
def test_directions_are_those_of_a_dense_eigendecomposition(make: Callable[[Day], View], n_slots: int) -> None:
    """The most uncertain ones also where there are more cells than directions."""
    view = make(a_city(n_slots=n_slots))
    found, (variance, gain, values) = directions(view), eigen(view)
    assert found.variance.size == min(N_DIRECTIONS, np.linalg.matrix_rank(together(view), hermitian=True))
    assert found.variance[:30] == pytest.approx(variance[:30], rel=1e-4)
    assert found.gain[:30] == pytest.approx(gain[:30], rel=1e-2)
    off = np.abs(values_of(found)[:, :10]) - np.abs(values[:, :10])
    assert np.abs(off).max() < 1e-2 * np.abs(values[:, :10]).max()


@pytest.mark.theorem("HV-E2")
@pytest.mark.parametrize(("n_hexagons", "n_slots"), [(1, 1), (61, 1), (6, 4), (16, 6), (10, 24)])
@pytest.mark.parametrize("ratio", [1, 100, 100_000])
def test_no_direction_is_lost_or_found_twice(n_hexagons: int, n_slots: int, ratio: int) -> None:
    """Also where there are fewer cells than vectors, and some cells have far more records than others."""
    day = a_city(n_hexagons=n_hexagons, n_slots=n_slots)
    occupancy = day.occupancy
    more = np.random.default_rng(4).permutation(np.geomspace(1, ratio, occupancy.n_cells).astype(np.int64))
    unlike = replace(occupancy, n_records=occupancy.n_records * more[occupancy.cell])
    view = a_view(replace(day, occupancy=unlike))
    found, (variance, gain, _) = directions(view), eigen(view)
    shared = (values_of(found) * energy_of(view)[:, None] ** 2).T @ values_of(found)
    assert np.abs(shared - np.eye(found.variance.size)).max() < 1e-4
    assert found.variance.size <= view.strata.cell.size
    n_found = found.variance.size
    exact = 1e-6 if n_found == view.strata.cell.size else 1e-2
    assert found.gain.sum() == pytest.approx(gain[:n_found].sum(), rel=exact)
    assert found.variance.sum() == pytest.approx(variance[:n_found].sum(), rel=exact)


@pytest.mark.theorem("HV-E2")
def test_directions_are_found_where_no_strata_move_apart() -> None:
    """Each user has one record in each of three cells, so a cell has one stratum."""
    day = a_city()
    cell, user = np.array([[(one + apart) % 60, one] for one in range(60) for apart in (0, 7, 20)]).T
    cell, user = (numbers[np.lexsort((user, cell))] for numbers in (cell, user))
    view = a_view(replace(day, occupancy=Occupancy(cell, user, np.ones_like(cell), day.occupancy.n_cells, 60)))
    found, (variance, gain, _) = directions(view), eigen(view)
    assert values_of(found).shape == (view.day.occupancy.n_cells, found.variance.size)
    assert found.variance[:30] == pytest.approx(variance[:30], rel=1e-4)
    assert found.gain[:30] == pytest.approx(gain[:30], rel=1e-2)


@pytest.mark.theorem("HV-E2")
@pytest.mark.parametrize("make", [a_view, a_short_view])
@pytest.mark.parametrize("noise", [0.3, 3.0, 30.0])
def test_no_direction_is_worth_more_than_another_for_what_it_costs(make: Callable[[Day], View], noise: float) -> None:
    """The conditions of Karush, Kuhn and Tucker, with the directions of the dense eigendecomposition."""
    view = make(a_city())
    variance, gain, _ = eigen(view)
    found = design(view, "l2", noise, np.ones(60))
    loading = found.loading
    shares = loading.T * energy_of(view) ** 2 @ loading
    share = np.zeros(variance.size)
    # one of large variance may have no share, if little is gained by it
    number = np.abs(values_of(directions(view)).T * energy_of(view) ** 2 @ loading).argmax(axis=0)
    share[number] = np.diag(shares)
    assert np.unique(number).size == len(shares)
    assert np.abs(shares - np.diag(np.diag(shares))).max() < 1e-6 * shares.max()
    lengths, shrinks = shrinkage.possible_lengths(view.state.shrink)
    shrink = shrinks[lengths == found.length].item()
    cost, unit = 1 + variance / 60, (noise / shrink / found.length) ** 2 / 60
    assert cost @ share == pytest.approx(1, rel=1e-4)
    worth = gain * variance / unit / cost / (1 + variance * share / unit) ** 2
    used = share > 0
    price = worth[used].mean()
    assert worth[used] == pytest.approx(price, rel=2e-2)
    assert (worth[~used] < price * 1.02).all()


@pytest.mark.theorem("HV-E2")
@pytest.mark.parametrize("make", [a_view, a_short_view])
@pytest.mark.parametrize("noise", [0.01, 1.0, 30.0])
def test_users_vectors_have_the_expected_length_in_the_model(make: Callable[[Day], View], noise: float) -> None:
    view, reach = make(a_city()), np.where(np.arange(60) % 3, 1.0, 0.25)
    found = design(view, "l2", noise, reach)
    ratio = lengths_by_model(view, found) / (found.length * reach)
    assert ratio.mean() == pytest.approx(1, abs=0.1)
    assert ratio.min() > 0.6
    assert ratio.max() < 1.5
    found = design(view, "l1", noise, reach)
    ratio = mean_lengths_l1(view, found) / (found.length * reach)
    assert ratio.mean() == pytest.approx(1, abs=0.1)


@pytest.mark.theorem("HV-E6")
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("learned", [-2.0, 3.0])
def test_what_is_learned_of_values_changes_what_lengths_are_expected_by_as_much_as_in_the_model(
    norm: Norm, learned: float
) -> None:
    """Residuals, or what users have in common, vary more or less than thought when the lengths were told."""
    view, lengths = a_view(a_city()), lengths_by_model if norm == "l2" else mean_lengths_l1
    loading = np.random.default_rng(3).normal(size=(view.strata.cell.size, 5))
    one = Design(loading, view.day.occupancy.n_records.astype(float))
    for some in (slice(0, 12), slice(12, 13)):
        state = replace(view.state, residual=view.state.residual.copy())
        state.residual[some] += learned
        after = replace(view, state=state)
        expected = np.log(lengths(after, one) / lengths(view, one)).mean()
        assert lengthened(view, after, np.zeros(len(loading)), loading, norm) == pytest.approx(expected, rel=0.2)
        assert expected * learned > 0.05


@pytest.mark.theorem("HV-E6")
def test_vectors_were_longer_by_what_has_been_learned_of_where_values_are() -> None:
    view = a_view(a_city())
    loading = np.random.default_rng(3).normal(size=(view.strata.cell.size, 5))
    one = Design(loading, view.day.occupancy.n_records.astype(float))
    moved = np.random.default_rng(4).normal(0, 5, len(loading))
    occupancy = view.day.occupancy
    of_pairs = (one.weight * moved[view.strata.of_pair])[:, None] * loading[view.strata.of_pair]
    known = np.array([(of_pairs[occupancy.user == user].sum(axis=0) ** 2).sum() for user in range(occupancy.n_users)])
    lengths = lengths_by_model(view, one)
    expected = np.log(np.sqrt(lengths**2 + known) / lengths).mean()
    assert lengthened(view, view, moved, loading, "l2") == pytest.approx(expected, rel=0.2)
    assert expected > 0.05
    assert lengthened(view, view, 0 * moved, loading, "l2") == 0


@pytest.mark.quick(2)
@pytest.mark.theorem("HV-E2")
@pytest.mark.parametrize("noise", [3.0, 30.0])
@pytest.mark.parametrize("norm", NORMS)
def test_a_design_is_better_than_random_directions_and_than_the_cells_themselves(norm: Norm, noise: float) -> None:
    rng = np.random.default_rng(5)
    view = a_view(a_city())
    one, n_strata = design(view, norm, noise, np.ones(60)), view.strata.cell.size
    length, shrink = one.length, float(shrinkage.mean_shrink(0.0, one.length))
    ours = expected_error(view, one, noise, shrink)
    nothing = Design(np.zeros((n_strata, 1)), np.ones(view.day.occupancy.cell.size))
    before = solved(view, *silent(view, nothing, 1.0))
    assert ours < np.average(before.variance, weights=view.day.occupancy.cell_records)
    lengths = lengths_by_model if norm == "l2" else mean_lengths_l1
    others = [rng.normal(size=(n_strata, n)) for n in (1, 3, 10, 40)]
    others += [view.rows.common[view.strata.cell], np.eye(60)[view.strata.cell], np.eye(n_strata)]
    records = view.day.occupancy.n_records.astype(float)
    for loading in others:
        one = Design(loading, records)
        scaled = replace(one, weight=one.weight * (length / lengths(view, one))[view.day.occupancy.user])
        assert expected_error(view, scaled, noise, shrink) > ours
    flat = Design(np.ones((n_strata, 1)), records)  # the best of all where there is much noise
    scaled = replace(flat, weight=flat.weight * (length / lengths(view, flat))[view.day.occupancy.user])
    assert expected_error(view, scaled, noise, shrink) > ours * (1 if noise < 10 else 0.999)


@pytest.mark.theorem("HV-E2")
def test_rotated_directions_cost_and_tell_the_same_in_l2() -> None:
    view = a_view(a_city())
    one = design(view, "l2", 1.0, np.ones(60))
    n_queries = one.loading.shape[1]
    assert n_queries > 3
    other = replace(one, loading=one.loading @ ortho_group.rvs(n_queries, random_state=3))
    assert lengths_by_model(view, other) == pytest.approx(lengths_by_model(view, one))
    assert expected_error(view, other, 1.0, 0.8) == pytest.approx(expected_error(view, one, 1.0, 0.8))


@pytest.mark.theorem("HV-E2")
@pytest.mark.parametrize("unit", [1e-4, 0.05, 1.0, 100.0])
@pytest.mark.parametrize("seed", range(3))
def test_shares_of_a_ball_are_those_of_a_general_solver(unit: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    gain, variance, cost = np.exp(rng.normal(size=(3, 6)) * [[1.5], [1.0], [0.3]])

    def left(share: np.ndarray) -> float:
        return float((gain / (1 + variance * share / unit)).sum())

    share = shared_l2(gain, variance, unit, cost)
    assert share.min() >= 0
    assert cost @ share == pytest.approx(1)
    fair = {"type": "eq", "fun": lambda share: cost @ share - 1}
    starts = [np.full(6, 1 / cost.sum()), *(0.9 * row + 0.1 / cost.sum() for row in np.diag(1 / cost))]
    found = [minimize(left, start, bounds=[(0, None)] * 6, constraints=fair, tol=1e-12).fun for start in starts]
    assert left(share) <= min(found) * (1 + 1e-6)
    assert left(share) == pytest.approx(min(found), rel=1e-3)

    weight = shared_l1(gain, variance, unit, cost)
    assert weight.min() >= 0
    assert np.sqrt(cost) @ weight == pytest.approx(1)
    equal = np.full(6, 1 / np.sqrt(cost).sum())
    alone = np.diag(1 / np.sqrt(cost))
    assert left(weight**2) <= min(left(equal**2), *(left(row**2) for row in alone)) * 1.05


@pytest.mark.theorem("HV-L52")
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("noise", [0.01, 10.0])
@pytest.mark.parametrize("value_range", [100, 1 << 20])
def test_whole_numbers_stand_for_the_design_to_a_small_relative_error(
    norm: Norm, noise: float, value_range: int
) -> None:
    view = a_view(a_city())
    occupancy, reach = view.day.occupancy, np.where(np.arange(60) % 3, 1.0, 0.25)
    meant = design(view, norm, noise, reach)
    numbers = whole_numbers(meant, view, value_range, np.full(60, LARGEST_RADIUS), 1, norm)
    found = as_measured(numbers)
    assert np.abs(found.loading / found.loading.max() - meant.loading / meant.loading.max()).max() < 1e-5
    exact, stood = (one.weight[:, None] * one.loading[view.strata.of_pair] for one in (meant, found))
    assert np.abs(stood - exact).max() < 1e-5 * np.abs(exact).max()
    assert np.abs(numbers.centre / value_range * 100 - view.expected_of_strata).max() <= 50 / value_range + 1e-9

    totals = np.rint(np.random.default_rng(3).random(occupancy.cell.size) * occupancy.n_records * value_range)
    off = totals / occupancy.n_records * 100 / value_range - (numbers.centre * 100 / value_range)[view.strata.of_pair]
    vectors = users_of_pairs(view.day) @ (off[:, None] * exact)
    answers = numbers.answers(totals.astype(np.int64))
    assert (answers.room >= 1 << 19).all()
    assert np.abs(answers.vector / RADIUS - vectors).max() < 2 / RADIUS + 2e-5 * np.abs(vectors).max()
