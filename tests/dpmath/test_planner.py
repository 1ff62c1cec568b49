from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle import worst_load_by_highs
from support import occupancy_of, random_occupancy, slow

from dpmath.cells.clip_user import clip_user_sums
from dpmath.cells.clipped_sum import ClippedSum
from dpmath.cells.unsuppressed import baseline_sums, exact_sums
from dpmath.core.accounting import LOSS_UNITS
from dpmath.core.cell_sums import user_losses
from dpmath.core.currency import PURE
from dpmath.core.occupancy import Occupancy
from dpmath.planner.plans import Plan, least_epsilon, least_error, lower_bound, most_carried
from dpmath.planner.programme import Programme
from tests.bench.cities import city

QUICK = settings(max_examples=2, suppress_health_check=[HealthCheck.function_scoped_fixture])
SEEDS = st.integers(0, 2**32 - 1)


def bound_of(occupancy: Occupancy, sums: list[ClippedSum]) -> float:
    return lower_bound(occupancy, sums[0].errors(occupancy), sums[0].value_range, len(sums))


def a_city(seed: int, n_cells: int = 12, n_users: int = 40) -> Occupancy:
    return random_occupancy(np.random.default_rng(seed), n_cells, n_users, most=20)


def epsilon_of(occupancy: Occupancy, plan: Plan) -> Fraction:
    return Fraction(PURE.epsilon(max(user_losses(occupancy, plan.sums))))


def n_published(plan: Plan) -> int:
    return int(plan.sums[0].inverse_scale.astype(bool).sum())


@pytest.mark.theorem("HV-L5", "HV-L6")
@QUICK
@given(
    SEEDS,
    st.fractions(Fraction(1, 4), Fraction(8)),
    st.fractions(Fraction(1, 20), Fraction(2, 5)),
    st.sampled_from([[100], [100, 10_000]]),
)
def test_no_budget_is_passed_and_no_promise_broken(
    seed: int, epsilon: Fraction, target: Fraction, ranges: list[int]
) -> None:
    occupancy = a_city(seed)
    shares = np.random.default_rng(seed).integers(-1, 6, occupancy.n_users)
    budgets = np.array([int(LOSS_UNITS * epsilon * int(share) / 5) for share in shares], dtype=object)
    plan = most_carried(occupancy, ranges, epsilon, target, budgets)
    losses = user_losses(occupancy, plan.sums)
    assert all(loss <= max(budget, 0) for loss, budget in zip(losses, budgets, strict=True))
    assert Fraction(PURE.epsilon(max(losses))) <= epsilon
    for noisy_sum in plan.sums:
        errors = [error for error in noisy_sum.errors(occupancy) if error is not None]
        assert all(error <= target * noisy_sum.value_range for error in errors)
        assert len(errors) == n_published(plan)
    assert n_published(plan) <= plan.most


@pytest.mark.theorem("HV-L5")
@QUICK
@given(SEEDS)
def test_the_plan_is_within_one_percent_of_its_certified_bound(seed: int) -> None:
    occupancy = a_city(seed)
    errors = [Fraction(1, int(one)) for one in np.random.default_rng(seed).integers(3, 12, occupancy.n_cells)]
    plan = least_epsilon(occupancy, [10_000], errors)
    assert plan.gap <= 0.01
    assert float(epsilon_of(occupancy, plan)) == pytest.approx(plan.worst_load)
    assert bound_of(occupancy, plan.sums) <= plan.worst_load
    for error, promised in zip(plan.sums[0].errors(occupancy), errors, strict=True):
        assert error is not None
        assert error <= promised * 10_000


@pytest.mark.theorem("HV-L5")
def test_the_promise_is_used_up_to_the_last_tick(rng: np.random.Generator) -> None:
    occupancy = random_occupancy(rng, 8, 30)
    plan = least_epsilon(occupancy, [10_000], [Fraction(1, 5)] * 8)
    for error in plan.sums[0].errors(occupancy):
        assert error is not None
        assert 0 <= 2000 - error < Fraction(1, 1000)


@pytest.mark.theorem("HV-L5")
def test_for_the_same_promises_every_other_mechanism_costs_at_least_the_bound(rng: np.random.Generator) -> None:
    occupancy = random_occupancy(rng, 10, 60, most=40)
    target, epsilon = Fraction(1, 4), Fraction(6)
    others = [
        clip_user_sums(occupancy, [10_000], epsilon, target),
        baseline_sums(occupancy, [10_000], epsilon, target)[0],
        exact_sums(occupancy, [10_000], epsilon, target),
    ]
    for sums in others:
        assert any(sums[0].inverse_scale)
        assert 0 < bound_of(occupancy, sums) <= float(Fraction(PURE.epsilon(max(user_losses(occupancy, sums)))))


@pytest.mark.theorem("HV-L5")
@QUICK
@given(SEEDS)
def test_a_larger_target_never_costs_more(seed: int) -> None:
    occupancy = a_city(seed)
    plans = [
        least_epsilon(occupancy, [10_000], [target] * occupancy.n_cells)
        for target in (Fraction(1, 10), Fraction(1, 5), Fraction(2, 5))
    ]
    losses = [plan.worst_load for plan in plans]
    assert losses == sorted(losses, reverse=True)


@pytest.mark.theorem("HV-L5")
@pytest.mark.parametrize(
    ("epsilon", "n_cells", "n_users"),
    [slow("1/1000", 1, 5_000), ("1/100", 2, 1_000), ("1", 8, 60), ("10", 8, 60), ("1000", 8, 60), ("10000", 8, 60)],
)
def test_the_least_error_is_within_one_percent_of_what_an_independent_solver_cannot_do(
    rng: np.random.Generator, epsilon: str, n_cells: int, n_users: int
) -> None:
    occupancy = random_occupancy(rng, n_cells, n_users, most=20)
    plan, least = least_error(occupancy, [10_000], Fraction(epsilon))
    worst = max(error for error in plan.sums[0].errors(occupancy) if error is not None) / 10_000
    assert n_published(plan) == n_cells
    assert least <= worst <= least * Fraction(101, 100)
    assert plan.gap <= 0.01
    loads = [
        worst_load_by_highs(
            Programme(
                occupancy.cell,
                occupancy.user,
                occupancy.n_records.astype(float),
                occupancy.cell_records.astype(float),
                np.full(n_cells, float(error)),
                np.full(n_users, float(Fraction(epsilon))),
            )
        )
        for error in (least, least * Fraction(102, 100))
    ]
    assert loads[0] >= 1 - 1e-6
    assert loads[1] < 1, "a bound two percent higher would be wrong"


@pytest.mark.theorem("HV-L5")
def test_a_larger_epsilon_never_promises_a_larger_error(rng: np.random.Generator) -> None:
    occupancy = random_occupancy(rng, 10, 60, most=20)
    worst = []
    for epsilon in (Fraction(2), Fraction(4), Fraction(8)):
        plan, least = least_error(occupancy, [10_000], epsilon)
        errors = [error for error in plan.sums[0].errors(occupancy) if error is not None]
        assert len(errors) == 10
        assert epsilon_of(occupancy, plan) <= epsilon
        assert least * 10_000 <= max(errors) <= least * 10_000 * Fraction(102, 100) + 10
        worst.append(max(errors))
    assert worst == sorted(worst, reverse=True)


@pytest.mark.theorem("HV-L6")
@QUICK
@given(SEEDS)
def test_twice_the_epsilon_carries_at_least_as_many_cells(seed: int) -> None:
    occupancy = a_city(seed)
    counts = [n_published(most_carried(occupancy, [100], Fraction(e), Fraction(1, 5))) for e in (1, 2, 4, 8)]
    assert counts == sorted(counts)


@pytest.mark.theorem("HV-L5", "HV-L6")
@QUICK
@given(SEEDS)
def test_the_names_of_users_and_cells_do_not_matter(seed: int) -> None:
    occupancy = a_city(seed)
    shuffle = np.random.default_rng(seed)
    cells, users = shuffle.permutation(occupancy.n_cells), shuffle.permutation(occupancy.n_users)
    cell, user = cells[occupancy.cell], users[occupancy.user]
    order = np.lexsort((user, cell))
    renamed = Occupancy(cell[order], user[order], occupancy.n_records[order], occupancy.n_cells, occupancy.n_users)
    plans = [most_carried(one, [10_000], Fraction(3), Fraction(1, 5)) for one in (occupancy, renamed)]
    published = [plan.sums[0].inverse_scale.astype(bool) for plan in plans]
    assert (published[1][cells] == published[0]).all()
    assert plans[0].worst_load == pytest.approx(plans[1].worst_load, rel=1e-6)


@pytest.mark.theorem("HV-L6")
def test_no_choice_of_cells_that_fits_is_larger_than_the_bound(rng: np.random.Generator) -> None:
    """All 2^6 choices of a small city are tried."""
    import itertools

    occupancy = random_occupancy(rng, 6, 14, most=8)
    epsilon, target = Fraction(3, 2), Fraction(1, 5)
    plan = most_carried(occupancy, [10_000], epsilon, target)
    most = 0
    for choice in itertools.product([False, True], repeat=6):
        if not any(choice):
            continue
        keep = np.array(choice)[occupancy.cell]
        number = np.cumsum(choice) - 1
        part = Occupancy(number[occupancy.cell[keep]], occupancy.user[keep], occupancy.n_records[keep], sum(choice), 14)
        if least_epsilon(part, [10_000], [target] * sum(choice)).worst_load <= float(epsilon):
            most = max(most, sum(choice))
    assert 0 < n_published(plan) <= most <= plan.most
    assert n_published(plan) >= most - 1


@pytest.mark.theorem("HV-L6", "HV-L8")
def test_no_choice_of_cells_with_two_sums_is_larger_than_the_bound_however_limits_are_split(
    rng: np.random.Generator,
) -> None:
    import itertools

    occupancy = random_occupancy(rng, 5, 14, most=8)
    epsilon, target = Fraction(5, 2), Fraction(1, 5)
    plan = most_carried(occupancy, [100, 100], epsilon, target)
    most = 0
    for choice in itertools.product([False, True], repeat=5):
        if sum(choice) > most and worst_load_by_highs(twice(occupancy, np.array(choice), epsilon, target)) <= 1:
            most = sum(choice)
    assert 0 < most <= plan.most
    assert n_published(plan) >= most - 1


@pytest.mark.theorem("HV-L6")
@pytest.mark.parametrize("value_range", [1, 10, 10_000, *map(slow, (2, 100))])
@pytest.mark.parametrize("seed", range(8))
def test_no_fewer_cells_than_without_clipping_however_coarse_the_ticks(seed: int, value_range: int) -> None:
    occupancy, epsilon, target, budgets = small_instance(seed + 100 * value_range)
    ranges = [value_range] * (1 + seed % 2)
    plan = most_carried(occupancy, ranges, epsilon, target, budgets)
    simple = exact_sums(occupancy, ranges, epsilon, target, budgets)
    assert np.count_nonzero(simple[0].inverse_scale) <= n_published(plan) <= plan.most
    assert 0 <= plan.lower_bound <= plan.worst_load <= 1


@pytest.mark.theorem("HV-L6")
@pytest.mark.parametrize("seed", [*range(12), *map(slow, range(12, 40))])
def test_of_few_cells_at_most_one_less_is_carried_than_the_best_of_all_choices(seed: int) -> None:
    import itertools

    occupancy, epsilon, target, budgets = small_instance(seed)
    limits = np.full(occupancy.n_users, float(epsilon))
    if budgets is not None:
        limits = np.minimum(limits, np.maximum(budgets, 0).astype(float) / LOSS_UNITS)
    plan = most_carried(occupancy, [10_000], epsilon, target, budgets)
    best, best_with_room = 0, 0
    for choice in itertools.product([False, True], repeat=occupancy.n_cells):
        load = load_of_choice(occupancy, np.array(choice), limits, target)
        best = max(best, sum(choice) if load <= 1 - 1e-9 else 0)
        best_with_room = max(best_with_room, sum(choice) if load <= 0.99 else 0)
    assert best <= plan.most
    assert n_published(plan) >= max(best - 1, min(1, best_with_room))


@pytest.mark.parametrize(
    ("rows", "epsilon", "target", "best"),
    [
        ([[8, 3, 1, 1, 1, 0, 3, 1], [0, 1, 2, 0, 1, 6, 0, 0]], "2", "3/10", 1),
        ([[13, 6], [1, 0], [0, 7]], "11/2", "1/5", 2),
    ],
)
def test_cells_are_carried_though_the_relaxed_programme_leads_elsewhere(
    rows: list[list[int]], epsilon: str, target: str, best: int
) -> None:
    assert n_published(most_carried(occupancy_of(rows), [10_000], Fraction(epsilon), Fraction(target))) == best


def small_instance(seed: int) -> tuple[Occupancy, Fraction, Fraction, np.ndarray | None]:
    rng = np.random.default_rng(seed)
    n_users = int(rng.integers(3, 15))
    occupancy = random_occupancy(rng, int(rng.integers(1, 6)), n_users, most=int(rng.choice([1, 5, 20])))
    epsilon, target = Fraction(int(rng.integers(1, 12)), 2), Fraction(int(rng.integers(5, 48)), 100)
    shares = rng.integers(-5, 150, occupancy.n_users)
    budgets = np.array([int(LOSS_UNITS * epsilon * int(share) / 100) for share in shares], dtype=object)
    return occupancy, epsilon, target, budgets if rng.random() < 0.5 else None


def load_of_choice(occupancy: Occupancy, cells: np.ndarray, limits: np.ndarray, target: Fraction) -> float:
    """Return the least worst load of a choice of cells by HiGHS, infinite where a promise cannot be kept."""
    keep = cells[occupancy.cell] & (limits[occupancy.user] > 0)
    cell = (np.cumsum(cells) - 1)[occupancy.cell[keep]]
    records = occupancy.n_records[keep].astype(float)
    needed = occupancy.cell_records[cells] * (1 - 2 * float(target))
    if not cells.any() or (np.bincount(cell, records, minlength=needed.size) <= needed * (1 + 1e-9)).any():
        return np.inf
    errors, n_records = np.full(needed.size, float(target)), occupancy.cell_records[cells].astype(float)
    spenders = np.where(limits > 0, limits, 1)
    return worst_load_by_highs(Programme(cell, occupancy.user[keep], records, n_records, errors, spenders))


@pytest.mark.theorem("HV-L6")
def test_a_larger_promised_error_carries_at_least_as_many_cells() -> None:
    for seed in range(2):
        occupancy = a_city(seed)
        counts = [n_published(most_carried(occupancy, [10_000], Fraction(2), Fraction(t, 100))) for t in (10, 20, 40)]
        assert counts == sorted(counts)


@pytest.mark.theorem("HV-L5")
def test_promises_of_about_a_half_cost_nothing_and_raise_no_bound(rng: np.random.Generator) -> None:
    occupancy = random_occupancy(rng, 3, 20, most=5)
    sums = exact_sums(occupancy, [100], Fraction(50), Fraction(49_995, 100_000))
    assert all(sums[0].inverse_scale)
    assert bound_of(occupancy, sums) == 0
    sums = exact_sums(occupancy, [100], Fraction(50), Fraction(4_995, 10_000))
    optimum = load_of_choice(occupancy, np.ones(3, dtype=bool), np.ones(20), Fraction(4_995, 10_000))
    assert 0 < bound_of(occupancy, sums) <= optimum * (1 + 1e-6)


@pytest.mark.theorem("HV-L5")
@pytest.mark.parametrize("seed", range(3))
def test_the_least_error_with_budgets_is_no_less_than_an_independent_solver_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    occupancy = random_occupancy(rng, 6, 40, most=8)
    budgets = np.array([int(LOSS_UNITS * 10**x) for x in rng.uniform(-1, 1, 40)], dtype=object)
    plan, least = least_error(occupancy, [10_000], Fraction(6), budgets)
    limits = np.minimum(6, budgets.astype(float) / LOSS_UNITS)
    everywhere = np.ones(6, dtype=bool)
    errors = [error for error in plan.sums[0].errors(occupancy) if error is not None]
    assert len(errors) == 6
    assert least * 10_000 <= max(errors) <= least * 10_500
    assert (user_losses(occupancy, plan.sums) <= budgets).all()
    assert load_of_choice(occupancy, everywhere, limits, least) >= 1 - 1e-6
    assert load_of_choice(occupancy, everywhere, limits, least * Fraction(105, 100)) < 1


def test_the_least_error_just_below_a_half_is_found() -> None:
    """One record of one user, read whole, costs one over the promised error."""
    occupancy = occupancy_of([[1]])
    plan, least = least_error(occupancy, [10_000], Fraction(1, 1) / Fraction(498, 1000))
    assert n_published(plan) == 1
    assert Fraction(49, 100) < least <= Fraction(499, 1000)


@pytest.mark.theorem("HV-L8")
def test_two_sums_of_the_same_promise_cost_twice_what_one_costs(rng: np.random.Generator) -> None:
    occupancy = random_occupancy(rng, 6, 20, most=8)
    both = worst_load_by_highs(twice(occupancy, np.ones(6, dtype=bool), Fraction(1), Fraction(1, 5)))
    plan = least_epsilon(occupancy, [10_000, 10_000], [Fraction(1, 5)] * 6)
    assert plan.lower_bound <= both * (1 + 1e-7)
    assert both * (1 - 1e-4) <= plan.worst_load <= both * 1.01


def twice(occupancy: Occupancy, cells: np.ndarray, epsilon: Fraction, target: Fraction) -> Programme:
    """Return the programme of two sums for each of the cells, each with its own widths and noise."""
    keep = cells[occupancy.cell]
    cell = (np.cumsum(cells) - 1)[occupancy.cell[keep]]
    n_cells = int(cells.sum())
    return Programme(
        np.append(cell, cell + n_cells),
        np.tile(occupancy.user[keep], 2),
        np.tile(occupancy.n_records[keep].astype(float), 2),
        np.tile(occupancy.cell_records[cells].astype(float), 2),
        np.full(2 * n_cells, float(target)),
        np.full(occupancy.n_users, float(epsilon)),
    )


@pytest.mark.theorem("HV-L6")
def test_a_city_is_carried_to_within_five_percent_of_what_any_plan_could() -> None:
    plan = most_carried(city(np.random.default_rng(5), 100, 100, 5_000), [10_000], Fraction(8), Fraction(1, 10))
    assert 0.95 * plan.most <= n_published(plan) <= plan.most < 100
    assert plan.gap <= 0.01


@pytest.mark.theorem("HV-L5")
def test_where_coarse_ticks_withhold_cells_load_and_bound_are_of_those_published() -> None:
    occupancy = random_occupancy(np.random.default_rng(2), 20, 60, most=5)
    fine, plan = (most_carried(occupancy, [value_range], Fraction(2), Fraction(1, 10)) for value_range in (10_000, 1))
    published = plan.sums[0].inverse_scale.astype(bool)
    assert 0 < published.sum() < n_published(fine)
    optimum = worst_load_by_highs(twice(occupancy, published, Fraction(4), Fraction(1, 10)))
    assert plan.lower_bound <= optimum * (1 + 1e-7)
    assert optimum <= plan.worst_load == pytest.approx(float(epsilon_of(occupancy, plan)) / 2)


def test_users_with_nothing_left_are_left_out_without_failing_the_day(rng: np.random.Generator) -> None:
    occupancy = random_occupancy(rng, 4, 60, most=5)
    budgets = np.full(60, 100 * LOSS_UNITS, dtype=object)
    budgets[:6] = 0
    plan = most_carried(occupancy, [100], Fraction(6), Fraction(2, 5), budgets)
    assert n_published(plan) == 4
    assert not any(plan.sums[0].width[occupancy.user < 6])


def test_where_no_cell_can_be_carried_the_plan_is_empty() -> None:
    occupancy = occupancy_of([[1, 0], [0, 1]])
    assert n_published(most_carried(occupancy, [100], Fraction(1, 10), Fraction(1, 10))) == 0
    plan, least = least_error(occupancy, [100], Fraction(1, 10))
    assert n_published(plan) == 0
    assert least == Fraction(499, 1000)


@pytest.mark.theorem("HV-L6")
@pytest.mark.parametrize("target", [Fraction(499, 1000), Fraction(4995, 10_000), Fraction(1, 2), Fraction(9, 10)])
def test_targets_about_what_the_midpoint_keeps_exclude_no_cell_that_fits(target: Fraction) -> None:
    occupancy = occupancy_of([[1], [1], [1]])
    sums = exact_sums(occupancy, [10_000], Fraction(6_015, 1000), min(target, Fraction(1, 2)))
    plan = most_carried(occupancy, [10_000], Fraction(6_015, 1000), target)
    assert n_published(plan) == plan.most == np.count_nonzero(sums[0].inverse_scale) == 3
    assert plan.lower_bound <= plan.worst_load <= 1


@pytest.mark.theorem("HV-L5", "HV-L6")
@pytest.mark.parametrize("order", [[0, 1, 2], [0, 2, 1], [1, 0, 2]])
def test_cells_of_users_who_may_lose_next_to_nothing_do_not_make_the_bound_a_false_one(order: list[int]) -> None:
    """The second cell is published unclipped; the planner has no user to spend in it, and no bound for it."""
    users = [[np.arange(50), np.arange(50, 2050), np.arange(40)][number] for number in order]
    cell, user = np.repeat([0, 1, 2], [one.size for one in users]), np.concatenate(users)
    n_records = np.where((cell == order.index(0)) & (user == 0), 8, 1)
    occupancy = Occupancy(cell, user, n_records, 3, 2050)
    budgets = np.where(np.arange(2050) < 50, 10 * LOSS_UNITS, 9 * LOSS_UNITS // 1000).astype(object)
    plan = most_carried(occupancy, [1000], Fraction(10), Fraction(1, 10), budgets)
    assert plan.sums[0].inverse_scale.all()
    spent_in = cell != order.index(1)
    optimum = worst_load_by_highs(
        Programme(
            np.unique(cell[spent_in], return_inverse=True)[1],
            user[spent_in],
            n_records[spent_in].astype(float),
            np.delete(occupancy.cell_records, order.index(1)).astype(float),
            np.full(2, 0.1),
            np.full(50, 10.0),
        )
    )
    assert 0.99 * optimum < plan.lower_bound <= optimum * (1 + 1e-7)


@pytest.mark.theorem("CPL-T2.3")
def test_equal_shares_are_charged_by_the_number_of_cells_at_least_the_exact_loss(rng: np.random.Generator) -> None:
    occupancy = random_occupancy(rng, 8, 50, most=20)
    sums, charged = baseline_sums(occupancy, [10_000], Fraction(5), Fraction(1, 5))
    exact = Fraction(PURE.epsilon(max(user_losses(occupancy, sums))))
    assert 0 < exact <= charged * (1 + Fraction(1, 10**6)) <= 5 * (1 + Fraction(1, 10**6))
    n_cells = np.bincount(occupancy.user[sums[0].width.astype(bool)]).max()
    cell_losses = sums[0].width * sums[0].inverse_scale[occupancy.cell]
    assert n_cells * Fraction(PURE.epsilon(max(cell_losses))) == pytest.approx(float(charged), rel=1e-6)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda o: most_carried(o, [100], Fraction(0), Fraction(1, 5)), "epsilon"),
        (lambda o: most_carried(o, [100], Fraction(1), Fraction(0)), "target"),
        (lambda o: most_carried(o, [0], Fraction(1), Fraction(1, 5)), "value_ranges"),
        (lambda o: least_epsilon(o, [100], [Fraction(1, 2)]), "errors"),
        (lambda o: least_epsilon(o, [100], [Fraction(0)]), "error"),
        (lambda o: least_epsilon(o, [100], [Fraction(1, 5)] * 2), "errors"),
        (lambda o: least_error(o, [100], Fraction(-1)), "epsilon"),
        (lambda o: least_error(o, [0], Fraction(1)), "value_ranges"),
        (lambda o: least_epsilon(o, [0], [Fraction(1, 5)]), "value_ranges"),
        (lambda o: baseline_sums(o, [100], Fraction(1), Fraction(0)), "target"),
        (lambda o: exact_sums(o, [100], Fraction(0), Fraction(1, 5)), "epsilon"),
    ],
)
def test_bad_arguments_are_refused(call, name: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=name):
        call(occupancy_of([[1, 1]]))


@pytest.mark.parametrize("tiny", [0, 1, LOSS_UNITS // 500_000])
def test_users_with_next_to_nothing_left_spoil_neither_plan_nor_bound(rng: np.random.Generator, tiny: int) -> None:
    occupancy = random_occupancy(rng, 15, 60, most=5)
    budgets = np.full(60, 2 * LOSS_UNITS, dtype=object)
    budgets[::6] = tiny
    plan = most_carried(occupancy, [1000], Fraction(2), Fraction(1, 4), budgets)
    assert n_published(plan) >= 5
    assert plan.gap <= 0.01


@pytest.mark.parametrize("value_range", [1, 2, 5, 20, 1000])
def test_the_least_error_is_published_though_ticks_are_coarse(rng: np.random.Generator, value_range: int) -> None:
    occupancy = random_occupancy(rng, 20, 60, most=20)
    plan, _ = least_error(occupancy, [value_range], Fraction(4))
    assert n_published(plan) == 20
    assert epsilon_of(occupancy, plan) <= 4


def test_an_epsilon_beyond_every_budget_is_the_largest_budget(rng: np.random.Generator) -> None:
    occupancy = random_occupancy(rng, 5, 60, most=5)
    budgets = np.full(60, LOSS_UNITS, dtype=object)
    counts = [n_published(most_carried(occupancy, [1000], Fraction(e), Fraction(1, 5), budgets)) for e in (1, 10**6)]
    assert counts[0] == counts[1] > 0
