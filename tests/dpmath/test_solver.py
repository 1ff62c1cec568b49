from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from oracle import shares_by_highs, worst_load_by_highs
from support import random_occupancy

from dpmath.planner.cell_choice import cells_that_fit
from dpmath.planner.primal_dual import Start
from dpmath.planner.programme import Programme
from dpmath.planner.solver import least_worst_load, most_shares


def random_programme(
    rng: np.random.Generator, n_cells: int, n_users: int, limits: np.ndarray | None = None
) -> Programme:
    occupancy = random_occupancy(rng, n_cells, n_users, most=30)
    return Programme(
        occupancy.cell,
        occupancy.user,
        occupancy.n_records.astype(float),
        occupancy.cell_records.astype(float) * rng.choice([1.0, 1.1], n_cells),
        rng.uniform(0.15, 0.45, n_cells),
        np.ones(n_users) if limits is None else limits,
    )


def exact_costs(programme: Programme, prices: np.ndarray) -> list[Fraction]:
    """Return what the cells cost in rational arithmetic, of the numbers as given; every limit must be 1."""
    costs = []
    for cell, need in enumerate(programme.need):
        pairs = np.flatnonzero(programme.cell == cell)
        paid, over, options = Fraction(0), -Fraction(need), []
        for pair in sorted(pairs, key=lambda pair: prices[programme.user[pair]]):
            paid += Fraction(float(prices[programme.user[pair]])) * Fraction(programme.records[pair])
            over += Fraction(programme.records[pair])
            options += [2 * paid / over] if over > 0 else []
        costs.append(min(options))
    return costs


@pytest.mark.theorem("HV-L5", "HV-L6")
@pytest.mark.parametrize("heavy", [1.0, 1e6, 1e9, 1e12])
def test_bounds_are_on_the_safe_side_whatever_the_cells_hold(rng: np.random.Generator, heavy: float) -> None:
    """A cell's few records are counted exactly beside those of cells with millions of times as many."""
    programme = random_programme(rng, 300, 9)
    weight = np.where(rng.random(300) < 0.3, heavy, 1)
    programme = replace(
        programme,
        records=programme.records * weight[programme.cell],
        cell_records=programme.cell_records * weight,
        errors=rng.uniform(0.001, 0.4, 300)
        + (programme.cell_records / programme.sums(programme.records) > 1.05) * 0.05,
    )
    for prices in (rng.dirichlet(np.ones(9)), rng.dirichlet(np.full(9, 0.05)), np.full(9, 1 / 9)):
        exact = exact_costs(programme, prices)
        assert all(
            Fraction(ours) <= one * (1 + Fraction(1, 10**13))
            for ours, one in zip(programme.costs(prices), exact, strict=True)
        )
        assert programme.costs(prices) == pytest.approx([float(one) for one in exact], rel=1e-9)


@pytest.mark.theorem("HV-L6")
@pytest.mark.parametrize("heavy", [1, 10**6, 10**8])
def test_no_cell_is_lost_from_the_bound_by_rounding(heavy: int) -> None:
    """Each user's limit pays two of three cells to the last digit, so that the bound is a whole number."""
    user = np.repeat(np.arange(31), 3)
    records = np.where(user == 0, heavy, 1).astype(float)
    tight = Programme(np.arange(93), user, records, records, np.full(93, 0.1), np.full(31, 20.0))
    assert 62 <= most_shares(tight).bound < 62.001


@pytest.mark.theorem("HV-L5")
@pytest.mark.parametrize("shape", [(1, 1), (1, 6), (5, 3), (12, 20), (40, 15)])
def test_plan_and_bound_enclose_the_optimum_of_an_independent_solver(
    rng: np.random.Generator, shape: tuple[int, int]
) -> None:
    for unequal in (False, True):
        limits = rng.uniform(0.2, 3, shape[1]) if unequal else None
        programme = random_programme(rng, *shape, limits)
        optimum = worst_load_by_highs(programme)
        cover = least_worst_load(programme, 0.01)
        assert cover.lower_bound <= optimum * (1 + 1e-7)
        assert cover.worst_load >= optimum * (1 - 1e-7)
        assert cover.worst_load <= 1.01 * cover.lower_bound


@pytest.mark.theorem("HV-L5")
def test_the_plan_is_one_it_keeps_every_promise_and_causes_the_load_it_says(rng: np.random.Generator) -> None:
    programme = random_programme(rng, 15, 12)
    cover = least_worst_load(programme, 0.01)
    assert (cover.widths >= 0).all()
    assert (cover.widths <= programme.records).all()
    kept = (programme.cell_records - programme.sums(cover.widths)) / 2 + 1 / cover.scale
    assert kept == pytest.approx(programme.cell_records * programme.errors)
    loads = programme.loads(cover.widths * cover.scale[programme.cell])
    assert loads.max() == pytest.approx(cover.worst_load)


@pytest.mark.theorem("HV-L5")
def test_any_prices_give_a_lower_bound_and_the_prefix_is_the_best_corner(rng: np.random.Generator) -> None:
    """Over all corners of one small cell, none is cheaper; a bound 1 % higher than the optimum would be wrong."""
    import itertools

    for _ in range(50):
        programme = random_programme(rng, 1, 6)
        prices = rng.dirichlet(np.ones(6)) * (rng.random(6) < 0.7)
        price = prices[programme.user] * programme.per_limit
        corners = []
        for corner in itertools.product([0, 1], repeat=programme.cell.size):
            widths = programme.records * corner
            if widths.sum() > programme.need[0]:
                corners.append(2 * (price * widths).sum() / (widths.sum() - programme.need[0]))
        cost, spending, scale = programme.cheapest(prices)
        assert cost[0] == pytest.approx(min(corners))
        assert (programme.costs(prices) == cost).all()
        assert cost[0] == pytest.approx((price * spending).sum())
        assert spending.sum() - programme.need[0] * scale[0] == pytest.approx(2)


@pytest.mark.theorem("HV-L5")
def test_deciding_a_side_stops_on_the_right_one(rng: np.random.Generator) -> None:
    programme = random_programme(rng, 12, 10)
    optimum = worst_load_by_highs(programme)
    above = least_worst_load(programme, 1e-9, decide_at=1.05 * optimum)
    below = least_worst_load(programme, 1e-9, decide_at=0.95 * optimum)
    assert above.worst_load <= 1.05 * optimum
    assert below.lower_bound > 0.95 * optimum * (1 - 1e-6)


@pytest.mark.theorem("HV-L5")
@pytest.mark.parametrize("kind", ["its own end", "far away", "no prices"])
def test_wherever_it_starts_plan_and_bound_enclose_the_optimum(rng: np.random.Generator, kind: str) -> None:
    programme = random_programme(rng, 12, 20)
    optimum, start = worst_load_by_highs(programme), least_worst_load(programme, 0.01).start
    if kind != "its own end":
        prices = rng.dirichlet(np.ones(20)) if kind == "far away" else np.zeros(20)
        start = Start(programme.records, np.ones(12), prices)
    cover = least_worst_load(programme, 0.01, start=start)
    assert cover.lower_bound <= optimum * (1 + 1e-7)
    assert optimum * (1 - 1e-7) <= cover.worst_load <= 1.01 * cover.lower_bound
    assert programme.costs(cover.prices).sum() == pytest.approx(cover.lower_bound)


@pytest.mark.theorem("HV-L6")
@pytest.mark.parametrize("shape", [(25, 10), (30, 40)])
def test_the_cells_chosen_fit_their_limits_with_the_plan_that_says_so(
    rng: np.random.Generator, shape: tuple[int, int]
) -> None:
    programme = random_programme(rng, *shape, rng.uniform(0.3, 2, shape[1]))
    packing = most_shares(programme)
    choice = cells_that_fit(programme, packing)
    part = programme.restricted(choice.cells)
    assert choice.cover is not None
    assert 0 < choice.cells.sum() <= packing.bound
    assert worst_load_by_highs(part) * (1 - 1e-7) <= choice.cover.worst_load <= 1
    assert part.loads(choice.cover.spending).max() == pytest.approx(choice.cover.worst_load)


@pytest.mark.theorem("HV-L6")
@pytest.mark.parametrize("shape", [(6, 4), (25, 10), (30, 40)])
def test_the_bound_on_cells_is_above_the_relaxed_optimum_and_near_it(
    rng: np.random.Generator, shape: tuple[int, int]
) -> None:
    programme = random_programme(rng, *shape, rng.uniform(0.3, 2, shape[1]))
    optimum = shares_by_highs(programme)
    packing = most_shares(programme)
    bound, shares = packing.bound, packing.point.share
    assert bound >= optimum * (1 - 1e-7)
    assert bound <= 1.02 * optimum
    assert shares.sum() == pytest.approx(optimum, rel=0.05)


@pytest.mark.theorem("HV-L6")
@pytest.mark.parametrize("seed", range(30))
def test_the_bound_on_cells_converges_where_limits_differ_widely_or_hardly_bind(seed: int) -> None:
    """Nobody may have a price until the cells run away, and users outside the part may be far beyond their limits."""
    rng = np.random.default_rng(seed)
    limits = 10 ** rng.uniform(0.5, 2) * (rng.choice([1, 0.3, 0.1, 0.01], 60) if seed % 2 else np.ones(60))
    programme = random_programme(rng, 20, 60, limits)
    programme = programme.restricted(programme.alone[0] <= 1)
    optimum = shares_by_highs(programme)
    assert optimum * (1 - 1e-7) <= most_shares(programme).bound <= 1.005 * optimum


@pytest.mark.theorem("HV-L5", "HV-L6")
@pytest.mark.parametrize("n_steps", [0, 30, 70, 125, 1_030])
def test_any_number_of_steps_is_allowed_and_only_makes_the_bounds_better(
    rng: np.random.Generator, n_steps: int
) -> None:
    programme = random_programme(rng, 12, 20)
    cover = least_worst_load(programme, 1e-15, n_steps=n_steps)
    assert cover.n_steps == n_steps // 50 * 50
    assert cover.lower_bound <= worst_load_by_highs(programme) * (1 + 1e-7) <= cover.worst_load * (1 + 2e-7)
    tight = replace(programme, limits=np.full(20, 0.5))
    assert most_shares(tight, n_steps).bound >= shares_by_highs(tight) * (1 - 1e-7)


def test_a_restricted_programme_is_that_of_its_cells_alone(rng: np.random.Generator) -> None:
    programme = replace(random_programme(rng, 8, 9), free_width=rng.uniform(0, 1, 8))
    some = np.array([True, False] * 4)
    part = programme.restricted(some)
    prices = rng.dirichlet(np.ones(9))
    assert part.costs(prices) == pytest.approx(programme.costs(prices)[some])
