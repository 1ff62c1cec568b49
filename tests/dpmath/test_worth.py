"""The choice of cells where some count more than others: the planner's programme with a worth for each cell."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle import shares_by_highs, worst_load_by_highs
from support import occupancy_of, random_occupancy, slow

from dpmath.cells.unsuppressed import exact_sums
from dpmath.core.accounting import LOSS_UNITS
from dpmath.core.cell_sums import user_losses
from dpmath.core.occupancy import Occupancy
from dpmath.planner.plans import Plan, most_carried
from dpmath.planner.programme import Programme
from dpmath.planner.solver import most_shares

QUICK = settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
SEEDS = st.integers(0, 2**32 - 1)
FINE = [10_000]


def published(plan: Plan) -> np.ndarray:
    return plan.sums[0].published


def uneven_city(seed: int, n_cells: int, n_users: int = 20) -> Occupancy:
    """A city whose busiest cell has a hundred times the records and many times the users of its emptiest."""
    rng = np.random.default_rng(seed)
    busy = rng.uniform(0, 1, n_cells)[:, None]
    counts = np.ceil(10 ** (1.5 * busy) * rng.uniform(0.2, 1, (n_cells, n_users)))
    counts *= rng.random((n_cells, n_users)) < 0.15 + 0.6 * busy
    counts[np.arange(n_cells), rng.integers(0, n_users, n_cells)] += 1
    return occupancy_of(counts.astype(int).tolist())


def programme_of(occupancy: Occupancy, cells: np.ndarray, epsilon: Fraction, target: Fraction) -> Programme:
    keep = cells[occupancy.cell]
    return Programme(
        (np.cumsum(cells) - 1)[occupancy.cell[keep]],
        occupancy.user[keep],
        occupancy.n_records[keep].astype(float),
        occupancy.cell_records[cells].astype(float),
        np.full(int(cells.sum()), float(target)),
        np.full(occupancy.n_users, float(epsilon)),
    )


def best_worth(occupancy: Occupancy, worth: np.ndarray, epsilon: Fraction, target: Fraction, room: float) -> int:
    """Return the most worth of all 2^G choices of cells that HiGHS can carry, with some room below the limits."""
    best = 0
    for choice in itertools.product([False, True], repeat=occupancy.n_cells):
        cells = np.array(choice)
        if worth[cells].sum() > best:
            load = worst_load_by_highs(programme_of(occupancy, cells, epsilon, target))
            best = int(worth[cells].sum()) if load <= 1 - room else best
    return best


@pytest.mark.quick(1)
@pytest.mark.theorem("HV-L6")
@pytest.mark.parametrize("seed", [*range(5), *map(slow, range(5, 12))])
def test_of_all_choices_of_up_to_eight_cells_none_passes_the_bound_and_the_plan_is_the_best_with_room(
    seed: int,
) -> None:
    """A choice that comes within a hundredth of a limit may be better than the plan, never beyond the bound."""
    rng = np.random.default_rng(seed)
    occupancy = uneven_city(seed, int(rng.integers(4, 9)), int(rng.integers(5, 25)))
    epsilon, target = Fraction(int(rng.integers(2, 9)), 4), Fraction(int(rng.integers(15, 40)), 100)
    worth = occupancy.cell_records if seed % 3 else rng.integers(1, 1000, occupancy.n_cells)
    plan = most_carried(occupancy, FINE, epsilon, target, worth=worth)
    carried = int(worth[published(plan)].sum())
    assert carried <= best_worth(occupancy, worth, epsilon, target, -1e-9) <= plan.most
    assert carried >= best_worth(occupancy, worth, epsilon, target, 0.01)


@pytest.mark.theorem("HV-L6")
@pytest.mark.parametrize("spread", [1, 30, 1_000])
@pytest.mark.parametrize("seed", range(6))
def test_the_bound_on_worth_is_above_the_relaxed_optimum_and_near_it_however_unequal_cells_are(
    seed: int, spread: int
) -> None:
    rng = np.random.default_rng(seed)
    limits = 10 ** rng.uniform(0.7, 1.7) * (rng.choice([1, 0.3, 0.1, 0.01], 40) if seed % 2 else np.ones(40))
    occupancy = random_occupancy(rng, 20, 40, most=30)
    programme = programme_of(occupancy, np.ones(20, dtype=bool), Fraction(1), Fraction(1, 5))
    worth = spread ** rng.uniform(0, 1, 20)
    programme = replace(programme, limits=limits, worth=worth / worth.mean())
    programme = programme.restricted(programme.alone[0] <= 1)
    optimum, packing = shares_by_highs(programme), most_shares(programme)
    assert optimum * (1 - 1e-7) <= packing.bound <= 1.005 * optimum, "a bound one per cent lower would be wrong"
    assert packing.point.share @ programme.worth == pytest.approx(optimum, rel=0.05)


@pytest.mark.slow
@pytest.mark.theorem("HV-L6")
@QUICK
@given(SEEDS, st.integers(1, 1_000))
def test_cells_of_equal_worth_are_chosen_as_the_most_cells(seed: int, each: int) -> None:
    occupancy = uneven_city(seed, 15)
    counted = most_carried(occupancy, FINE, Fraction(2), Fraction(1, 5))
    weighed = most_carried(occupancy, FINE, Fraction(2), Fraction(1, 5), worth=np.full(15, each))
    assert (published(weighed) == published(counted)).all()
    assert weighed.most // each == counted.most
    assert weighed.worst_load == counted.worst_load


@pytest.mark.theorem("HV-L6")
def test_counting_cells_prefers_those_of_a_single_user_and_counting_records_does_not() -> None:
    """Twelve users share a cell, and each has one of a single record, which costs that user all of the day."""
    alone = np.eye(12, dtype=int).tolist()
    occupancy, epsilon, target = occupancy_of([[10] * 12, *alone]), Fraction(501, 100), Fraction(1, 5)
    cells = published(most_carried(occupancy, FINE, epsilon, target))
    records = published(most_carried(occupancy, FINE, epsilon, target, worth=occupancy.cell_records))
    assert cells.tolist() == [False] + [True] * 12
    assert records[0]
    assert occupancy.cell_records[records].sum() >= 120
    assert records.sum() < 12


@pytest.mark.theorem("HV-L6")
def test_counting_records_covers_more_of_them_than_counting_cells_and_neither_passes_its_bound() -> None:
    """Five cities together.

    Of 270 others, two were covered by 0.96 and 0.99 times as much, all others by as much or more, on average by 1.18
    times; no theorem says by how much at least, so these five are always the same.
    """
    covered = np.zeros((5, 2))
    for number in range(5):
        occupancy = uneven_city(number, 25, 40)
        records = occupancy.cell_records
        by_cells, by_records = (
            most_carried(occupancy, FINE, Fraction(2), Fraction(1, 5), worth=worth) for worth in (None, records)
        )
        covered[number] = [records[published(plan)].sum() for plan in (by_cells, by_records)]
        assert published(by_cells).sum() <= by_cells.most
        assert 0.9 * covered[number, 0] <= covered[number, 1] <= by_records.most
    of_cells, of_records = covered.sum(axis=0)
    assert of_cells < of_records


@pytest.mark.quick(1)
@pytest.mark.theorem("HV-L1", "HV-L2", "HV-L6")
@pytest.mark.parametrize("value_range", [1, 10, 10_000, *map(slow, (2, 100))])
@pytest.mark.parametrize("seed", range(2))
def test_however_coarse_the_ticks_no_limit_or_promise_is_passed_and_no_less_is_carried_than_without_clipping(
    seed: int, value_range: int
) -> None:
    occupancy, rng = uneven_city(seed, 10), np.random.default_rng(seed)
    epsilon, target, ranges = Fraction(3), Fraction(1, 4), [value_range] * (1 + seed % 2)
    budgets = np.array([int(LOSS_UNITS * one) for one in rng.uniform(0, 4, occupancy.n_users)], dtype=object)
    worth = occupancy.cell_records
    plan = most_carried(occupancy, ranges, epsilon, target, budgets, worth)
    simple = exact_sums(occupancy, ranges, epsilon, target, budgets)
    assert worth[simple[0].published].sum() <= worth[published(plan)].sum() <= plan.most
    assert (user_losses(occupancy, plan.sums) <= np.minimum(budgets, 3 * LOSS_UNITS)).all()
    for one in plan.sums:
        assert all(error is None or error <= target * value_range for error in one.errors(occupancy))


@pytest.mark.parametrize("worth", [[1, 0], [1, -3]])
def test_a_cell_must_be_worth_something(worth: list[int]) -> None:
    with pytest.raises(ValueError, match="worth"):
        most_carried(occupancy_of([[1, 1], [1, 0]]), FINE, Fraction(1), Fraction(1, 5), worth=np.array(worth))
